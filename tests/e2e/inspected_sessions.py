"""Recordings and own sessions for the inspector's browser tests, and what Python says that their views must show."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, expect
from tests.harness.session import SessionHarness, ask
from tests.harness.subagent_session import definitions
from tests.loop.context_management.test_fit_driver import SUMMARY, reads
from tests.recordings.reconstruction.test_replay_laws import disk
from tests.session.runs.test_subagents import Cast, task
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.script import calls, says
from palimpsest.render.content.phrases import counted_noun
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.timeline_view import TimelineView
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import (
    AskCompaction,
    AskRequest,
    AskTrack,
    AskView,
)
from palimpsest.session.definitions.project_definitions import register_definitions
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.values import ModelInfo, ModelRef

POLICY = "sweagent.last_n"
MAX_REQUESTS = 10
"""Of a session with more requests, the first ones and the last are moved to."""
MAX_ITEMS_WITH_REASON = 200
"""Of a session with more items, the reason is only seen to be there."""


def own_project(root: Path) -> None:
    """Write a project with three sessions: pruned and compacted, with subagents, reverted and forked."""
    scenes = (_cleared, _with_subagents, _reverted_and_forked)
    before = list(SessionHarness.opened)
    # A thread of its own: playwright's event loop counts as running in this one.
    with ThreadPoolExecutor(1) as thread:
        for scene in scenes:
            thread.submit(asyncio.run, _told(scene, root)).result()
    SessionHarness.opened[:] = before


Scene = Callable[[Path], Awaitable[SessionHarness]]


async def _told(scene: Scene, root: Path) -> None:
    harness = await scene(root)
    await harness.workspace.close()


def _harness(root: Path, model: Any, window: int, **more: Any) -> SessionHarness:
    info = ModelInfo(
        ref=ModelRef(provider="scripted", name="model"), window=window, output_limit=2_000
    )
    return SessionHarness(root, model, store=disk(root), info=info, **more)


async def _cleared(root: Path) -> SessionHarness:
    for number in range(6):
        lines = [f"{number} {line} all is well with this line of a log" for line in range(250)]
        (root / f"log{number}.txt").write_text("\n".join(lines) + "\n")
    answers = [*reads(0, 1, 2, 3, 4, 5), says("Well."), says(SUMMARY), says("Yes.")]
    harness = _harness(root, ScriptedModel(*answers), 24_000)
    session = await harness.session("cleared.ipynb")
    await ask(session, "Read the logs.")
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await ask(session, "Sure?")
    return harness


async def _with_subagents(root: Path) -> SessionHarness:
    model = Cast(
        calls("task", **task("alpha")).reports(input=100, output=5),
        calls("task", **task("beta")).reports(input=200, output=5),
        says("Both.").reports(input=300, output=5),
        alpha=(says("A words.").reports(input=2_000, output=10),),
        beta=(says("B words.").reports(input=500, output=10),),
    )
    found = definitions(root)
    harness = SessionHarness(
        root, model, store=disk(root), definitions=found, known_agents=found.agents
    )
    register_definitions(harness.services.agents.registry, found)
    session = await harness.session("subagents.ipynb")
    await ask(session, "Go.", yes=True)
    return harness


async def _reverted_and_forked(root: Path) -> SessionHarness:
    answers = [*reads(0), says("Well."), *reads(1), says("No."), says("Better."), says("Other.")]
    harness = _harness(root, ScriptedModel(*answers), 60_000)
    session = await harness.session("forked.ipynb")
    await ask(session, "Read the first.")
    await ask(session, "Read the wrong one.")
    await session.reverts.revert()
    await ask(session, "Then answer.")
    fork = await harness.workspace.fork(session.id)
    await ask(fork, "And in the fork?")  # type: ignore[arg-type]
    return harness


def view_of(review: SessionReview) -> TimelineView:
    """Return the view that Python answers with."""
    view = ViewAnswers(review).answer(AskView()).view
    assert view is not None
    return view


def shows_what_python_says(views: Locator, review: SessionReview, *, whole: bool = True) -> None:
    """Go through every view of an inspector, and hold its numbers to a review's; ``whole``: it has all texts."""
    answers, view = ViewAnswers(review), view_of(review)
    last = len(view.requests.id)
    slider = views.get_by_role("slider", name="Request, recorded")
    _timeline(slider, view, last)
    expect(
        views.get_by_role("heading", name=f"Request {max(last - 1, 1)} → {last}")
    ).to_be_visible()
    expect(_section(views, "Cache breaks")).to_contain_text(f"{len(view.breaks)} · ")
    _items(views, review, view, last)
    _requests(views, answers, view, last, whole=whole)
    _cost(views, answers, view)
    _open(views, "Wastes")
    for sentence in (*view.totals, *view.gaps):
        expect(views.get_by_text(sentence, exact=True)).to_be_visible()
    found = _section(views, "Largest wastes").get_by_role("listitem")
    expect(found).to_have_count(len(view.waste_kinds) + len(view.wastes))
    _open(views, "Timeline")


def _timeline(slider: Locator, view: TimelineView, last: int) -> None:
    """Move to the first requests and to the last, and hold each one's tokens to the view."""
    slider.press("Home")
    for request in range(1, min(last, MAX_REQUESTS) + 1):
        expect(slider).to_have_attribute("aria-valuetext", _size(view, request))
        slider.press("ArrowRight")
    slider.press("End")
    expect(slider).to_have_attribute("aria-valuetext", _size(view, last))


def _size(view: TimelineView, request: int) -> re.Pattern[str]:
    """Return what the slider says of a request's size; its marks follow in words."""
    last, tokens = len(view.requests.id), view.recorded.total[request - 1]
    return re.compile(rf"^Request {request} of {last}: {tokens:,} tokens(, |$)")


def _open(views: Locator, name: str) -> None:
    views.get_by_role("tab", name=name, exact=True).click()


def _section(views: Locator, name: str) -> Locator:
    return views.locator("section").and_(views.get_by_role("group", name=name, exact=True))


def _items(views: Locator, review: SessionReview, view: TimelineView, last: int) -> None:
    _open(views, "Items")
    window = _section(views, f"The window at request {last}")
    expect(window).to_contain_text(f"items with {view.recorded.total[-1]:,} tokens")
    grid = views.get_by_role("grid")
    grid.press("ArrowDown")
    grid.press("Enter")
    why = views.locator(".plm-ItemCard-why")
    expect(why).not_to_be_empty()
    if len(view.items.id) <= MAX_ITEMS_WITH_REASON:
        said = {review.why(item, last) for item in range(1, len(view.items.id) + 1)}
        assert why.inner_text() in said


def _requests(
    views: Locator, answers: ViewAnswers, view: TimelineView, last: int, *, whole: bool
) -> None:
    _open(views, "Requests")
    sent = _section(views, "The request as it is sent")
    expect(sent.locator(".plm-RequestViewer-block").first).to_be_visible()
    request = answers.answer(AskRequest(request=last - 1)).request
    assert request is not None
    if whole:
        expect(sent).to_contain_text(f"{request.total:,} blocks, {request.tokens:,} tokens.")
    compactions = _section(views, "Compactions")
    compacted = [event for event in view.events if event.kind == "compact"]
    for number in range(len(compacted[:2])):
        head = compactions.get_by_role("button", name=f"Compaction {number + 1}, ")
        if head.get_attribute("aria-expanded") != "true":
            head.click()
        compaction = answers.answer(AskCompaction(number=number)).compaction
        assert compaction is not None
        expect(compactions).to_contain_text(f"~{compaction.tokens_before:,} tokens")
    subagents = _section(views, "Subagents")
    expect(subagents).to_have_count(1 if view.subagents else 0)
    for subagent in view.subagents:
        expect(subagents).to_contain_text(
            f"{counted_noun(subagent.requests, 'request')}, {subagent.tokens:,} tokens"
        )


def _cost(views: Locator, answers: ViewAnswers, view: TimelineView) -> None:
    _open(views, "Cost")
    track = answers.answer(AskTrack(policy=POLICY)).track
    assert track is not None
    columns = [view.recorded.facts, view.recorded.figures, track.figures]
    known = [column for column in columns if column is not None]
    figures = _section(views, "Figures")
    for name, values in (
        ("tokens in", [one.input for one in known]),
        ("largest request", [one.peak for one in known]),
        ("cache breaks", [one.breaks for one in known]),
    ):
        row = figures.get_by_role("row", name=name)
        expect(row.get_by_role("cell")).to_have_text([f"{round(value):,}" for value in values])
    expect(_section(views, "Cache breaks")).to_contain_text(f"{len(view.breaks)} · ")
