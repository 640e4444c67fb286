"""A view's questions are answered from the timeline and from replays."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.context_policies.made_timeline import TimelineMaker
from tests.context_policies.pi_session import pi_timeline
from tests.recordings.decision_sessions import SCENES
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.review.request_contents.reviewed import review_of
from tests.sample_size import thinned

from palimpsest.context_policies.registry import get, presets
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.sliders import MAX_SLIDERS, MAX_STOPS, policy_choices
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import (
    AskCompaction,
    AskItem,
    AskRequest,
    AskSearch,
    AskTrack,
    AskView,
)
from palimpsest.review.timeline_view.view_summary import view_summary
from palimpsest.transcript.values import Usage


@pytest.fixture(scope="module")
def pi() -> ViewAnswers:
    return ViewAnswers(SessionReview(pi_timeline(), get, lambda _model: None), seq=7)


def test_view_holds_what_was_reported(pi: ViewAnswers) -> None:
    view = pi.answer(AskView()).view

    assert view is not None
    assert view.recorded.facts is not None
    assert (view.recorded.facts.input, view.recorded.facts.peak) == (47_526_750, 177_604)
    assert sum(request or 0 for request in view.requests.output) == 83_156
    assert (len(view.breaks), len(view.items.id), len(view.requests.id)) == (37, 1_115, 453)
    lengths = {
        len(getattr(view.items, name))
        for name in ("kind", "label", "tool", "turn", "entered", "tokens", "block", "partner")
    }
    assert lengths == {1_115}


def test_a_search_finds_the_items_whose_whole_texts_hold_the_words(pi: ViewAnswers) -> None:
    timeline = pi.review.timeline
    held = [item for item in range(len(timeline.items)) if "assert" in timeline.read(item)]

    search = pi.answer(AskSearch(text="assert")).search

    assert search is not None
    assert held
    assert {*held} <= {row.item for row in search.items}
    assert search.total == len(search.items)
    for row in search.items:
        assert "assert" in row.excerpt.lower()
        assert row.count == timeline.read(row.item).lower().count("assert")
    nothing = pi.answer(AskSearch(text="nobody wrote this")).search
    assert nothing is not None
    assert (nothing.items, nothing.total) == ((), 0)


def test_view_that_is_still_the_newest_is_not_sent_again(pi: ViewAnswers) -> None:
    answer = pi.answer(AskView(after=7))

    assert answer.unchanged
    assert answer.view is None


def test_track_is_the_replay_of_its_policy_with_its_numbers(pi: ViewAnswers) -> None:
    answer = pi.answer(AskTrack(policy="sweagent.last_n", numbers={"n": 10.0, "polling": 10.0}))

    compared = pi.review.compare("sweagent.last_n n=10 polling=10", price="units")
    assert answer.track is not None
    assert answer.track.figures is not None
    assert answer.track.policy == "sweagent.last_n n=10 polling=10"
    assert answer.track.figures.input == compared.figures[0].input
    assert answer.track.fired == compared.simulations[0].firing_requests
    assert len(answer.track.transitions.item) == len(compared.simulations[0].timeline.transitions)


def test_every_preset_has_sliders_whose_stops_it_takes() -> None:
    known = {preset.preset for preset in presets()}

    for choice in policy_choices():
        assert choice.name in known
        assert len(choice.sliders) <= MAX_SLIDERS
        for slider in choice.sliders:
            assert slider.default in slider.stops
            assert 1 < len(slider.stops) <= MAX_STOPS
            for stop in slider.stops:
                assert get(choice.name, **{slider.name: int(stop) if stop.is_integer() else stop})


def test_item_is_told_with_what_stands_in_its_place(pi: ViewAnswers) -> None:
    answer = pi.answer(AskItem(item=35, request=300, policy="sweagent.last_n"))

    assert answer.item is not None
    assert answer.item.text == pi_timeline().read(35)[: len(answer.item.text)]
    assert answer.item.chars == len(pi_timeline().read(35))
    assert answer.item.state == "masked"
    assert answer.item.shown is not None
    assert "omitted" in answer.item.shown


def test_request_holds_the_blocks_it_shows_and_finds_a_text(pi: ViewAnswers) -> None:
    whole = pi.answer(AskRequest(request=300)).request
    request = pi.answer(AskRequest(request=300, find="TUI-RENDERER")).request

    assert whole is not None
    assert request is not None
    assert whole.total == pi_timeline().requests[300].items
    assert 0 < request.total < whole.total
    assert all("tui-renderer" in block.text.casefold() for block in request.blocks)


def test_blocks_of_a_request_add_up_to_what_the_replay_counts(pi: ViewAnswers) -> None:
    tokens, first, total = 0, 0, 1
    while first < total:
        piece = pi.answer(AskRequest(request=200, policy="opencode.prune", first=first)).request
        assert piece is not None
        tokens += sum(block.tokens for block in piece.blocks)
        first, total = first + len(piece.blocks), piece.total

    whole = pi.answer(AskRequest(request=200, policy="opencode.prune")).request
    assert whole is not None
    shown = pi.review.request(201, "opencode.prune")
    (unseen,) = shown.outside_blocks
    assert abs(tokens + unseen.tokens - whole.tokens) < total


@pytest.mark.parametrize(
    "query",
    thinned(
        [
            AskTrack(policy="nobody.knows"),
            AskTrack(policy="sweagent.last_n", numbers={"n": -1.0}),
            AskTrack(policy="sweagent.last_n", numbers={"nothing": 1.0}),
            AskItem(item=9_999, request=1),
            AskRequest(request=9_999),
            AskView(price="nobody/knows"),
        ],
        2,
    ),
)
def test_question_that_cannot_be_answered_gets_one_sentence(
    pi: ViewAnswers, query: AskView | AskTrack | AskItem | AskRequest
) -> None:
    answer = pi.answer(query)

    assert answer.error.endswith((".", "?"))
    assert "\n" not in answer.error
    assert answer.view is answer.track is answer.item is answer.request is None


async def test_compaction_is_told_with_what_its_summary_lost(tmp_path: Path) -> None:
    harness, session = await SCENES["compacted"](tmp_path)
    answers = ViewAnswers(review_of(harness.store, session.id))

    compaction = answers.answer(AskCompaction(number=0)).compaction
    exact = answers.answer(AskRequest(request=6)).request

    assert compaction is not None
    assert exact is not None
    assert (compaction.number, compaction.request) == (0, 6)
    assert {word.kind for word in compaction.lost} == {"paths"}
    assert exact.basis == "exact"
    assert compaction.summary in {block.text for block in exact.blocks if block.kind == "summary"}
    assert answers.answer(AskCompaction(number=1)).error == "The session has no such compaction."


def test_view_tells_the_subagents_that_the_review_tells(tmp_path: Path) -> None:
    with open_recording(sample("claude_code", tmp_path)) as recording:
        reviews = [session for session in recording if session.subagents.runs]
        assert reviews
        for review in reviews:
            subagents = timeline_view(review).subagents
            assert [
                (subagent.session, subagent.request, subagent.requests) for subagent in subagents
            ] == [
                (run.timeline.session, run.request, run.totals.requests) for run in review.subagents
            ]


@pytest.mark.parametrize(
    ("costs", "sentence"),
    [
        ((0.1, 0.02), "The session cost 0.12 USD."),
        ((0.001, 0.0009), "The session cost 0.002 USD."),
        (
            (0.1, None),
            "1 of 2 requests cost 0.10 USD; of the others no cost was recorded, and with them it comes to ~0.22 USD.",
        ),
        # What costs nothing by the recording is unknown, and what was reported is counted, not what was estimated.
        ((0.0, 0.0), "It would cost ~1,110 units; the recording holds no cost."),
    ],
)
def test_total_says_what_was_paid_as_far_as_that_is_known(
    costs: tuple[float | None, ...], sentence: str
) -> None:
    maker = TimelineMaker()
    maker.prompt("Go on.")
    for _ in costs:
        maker.answer("Done.")
    usages = (Usage(input=500, output=1), Usage(input=600, output=1))
    requests = tuple(
        replace(request, usage=usage, cost=cost)
        for request, usage, cost in zip(maker.requests, usages, costs, strict=True)
    )
    made = replace(maker.made(), requests=requests)

    view = timeline_view(SessionReview(made, get, lambda _model: None))

    assert view.totals[1] == sentence


def test_total_says_how_many_requests_reported_their_usage(pi: ViewAnswers) -> None:
    view = pi.answer(AskView()).view

    assert view is not None
    assert view.totals[0] == (
        "439 of 453 requests reported their usage: they read 47,526,750 tokens, at most 177,604 at once; "
        "91% came from the cache."
    )


def test_the_saved_tables_name_kinds_and_money_as_the_inspector_does(pi: ViewAnswers) -> None:
    view = pi.answer(AskView()).view

    assert view is not None
    in_dollars = view.model_copy(update={"price": replace(view.price, unit="USD")})
    breaks, largest = view_summary(in_dollars).tables
    assert (
        {"call", "output"} <= {row[1] for row in largest.rows} <= {"call", "output", "you", "agent"}
    )
    assert "cost, USD" in [column.title for column in breaks.columns]
    assert (len(breaks.rows), breaks.notes) == (10, ("27 more are in the session.",))
    (chosen,) = view_summary(view, ("breaks",)).tables
    assert (len(chosen.rows), chosen.notes) == (37, ())


def test_the_saved_picture_marks_where_items_were_cleared(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))
    timeline = timeline_of(store, report.sessions[0].id, counter)
    view = timeline_view(SessionReview(timeline, get, lambda _model: None))

    marks = view_summary(view).picture.marks

    assert [mark.request for mark in marks if mark.kind == "prune"] == [6, 7, 8, 9, 10, 11, 12]
