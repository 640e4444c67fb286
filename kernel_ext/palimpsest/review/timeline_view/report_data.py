"""The data of a report: a session's view, tracks that were computed beforehand, and texts by choice.

A report has no kernel, so a slider snaps to what is here: for each policy its own numbers, and each of its
sliders' stops with one number moved at a time. Equal columns are written once, since moved numbers often change
nothing.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

from palimpsest.render.content.phrases import some
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.timeline_view.sliders import policy_choices
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import (
    AskCompaction,
    AskTrack,
    AskView,
    checked_query,
)
from palimpsest.review.timeline_view.view_values import PolicyOption, TimelineView
from palimpsest.transcript.errors import UserError

ReportTexts = Literal["none", "preview", "all"]
TEXTS: tuple[str, ...] = get_args(ReportTexts)
PREVIEW_CHARS = 200
DEFAULT_POLICIES = ("opencode.prune", "anthropic.clear_tool_uses", "claude_code.auto")
"""One that clears by size, one that clears by number, one that summarises; each as its agent ships it."""
MOST_POLICIES = 12
SHARED_LENGTH = 8
"""Shorter lists are written where they are."""


def report_data(
    answers: ViewAnswers,
    policies: Sequence[str],
    texts: ReportTexts,
    price: str | None,
    clean: Callable[[Any], Any],
) -> tuple[TimelineView, str]:
    """Return the view that the report shows, and the data as JSON; both without what ``clean`` removes.

    Raises UserError for an unknown policy, price or choice of texts.
    """
    _check(policies, texts)
    found = answers.answer(checked_query(AskView, price=price))
    if found.view is None:
        raise UserError(found.error)
    view = _shown(found.view, texts, answers.review)
    view = TimelineView.model_validate(clean(view.model_dump(mode="json")))
    stops = [clean(one) for one in _stops(answers, policies or DEFAULT_POLICIES, price)]
    named = _policies(view.policies, [one["policy"] for one in stops])
    view = view.model_copy(update={"policies": named})
    data = {
        "view": view.model_dump(mode="json", exclude_none=True),
        "stops": stops,
        "texts": texts,
        "items": clean(_texts(answers, texts)),
        "compactions": clean(_compactions(answers, texts, price)) if texts != "none" else [],
    }
    columns: list[Any] = []
    made = _shared(data, columns, {})
    return view, json.dumps({"columns": columns, "data": made}, separators=(",", ":"))


def _check(policies: Sequence[str], texts: str) -> None:
    if texts not in TEXTS:
        raise UserError(f"texts is one of {', '.join(TEXTS)}, not {texts!r:.60}.")
    if len(policies) > MOST_POLICIES:
        raise UserError(f"A report holds at most {MOST_POLICIES} policies.")


def _shown(view: TimelineView, texts: ReportTexts, review: SessionReview) -> TimelineView:
    """Return the view without words of the session, where texts are left out.

    What could not be read is counted then, since those sentences name files and what stands in them.
    """
    if texts != "none":
        return view
    labels = ("",) * len(view.items.id)
    unread = len(review.problems)
    counted = (f"{some(unread, 'place')} could not be read.",) if unread else ()
    return view.model_copy(
        update={
            "title": view.session,
            "items": view.items.model_copy(update={"label": labels}),
            "wastes": (),
            "gaps": (*review.timeline.gaps, *counted),
            "subagents": (),
        }
    )


def _stops(
    answers: ViewAnswers, policies: Sequence[str], price: str | None
) -> Iterator[dict[str, Any]]:
    """Yield each policy with its own numbers first, then with one number moved at a time."""
    options = {one.name: one for one in policy_choices()}
    for policy in dict.fromkeys(policies):
        sliders = options[policy].sliders if policy in options else ()
        own = {one.name: one.default for one in sliders}
        moved = [
            {**own, one.name: stop} for one in sliders for stop in one.stops if stop != one.default
        ]
        for numbers in (own, *moved):
            given = {name: value for name, value in numbers.items() if value != own[name]}
            query = checked_query(AskTrack, policy=policy, numbers=given, price=price)
            found = answers.answer(query)
            if found.track is None:
                if not given:
                    raise UserError(found.error)
                continue  # a number that this policy does not take beside its others
            yield {
                "policy": policy,
                "numbers": numbers,
                "track": found.track.model_dump(mode="json", exclude_none=True),
            }


def _policies(options: Sequence[PolicyOption], policies: Sequence[str]) -> tuple[PolicyOption, ...]:
    """Return the policies that the report can show; one with numbers of its own has no sliders."""
    known = {one.name: one for one in options}
    return tuple(
        known.get(one)
        or PolicyOption(name=one, what=f"{one}, as chosen for this report.", source="")
        for one in dict.fromkeys(policies)
    )


def _texts(answers: ViewAnswers, texts: ReportTexts) -> list[str]:
    if texts == "none":
        return []
    timeline = answers.review.timeline
    longest = PREVIEW_CHARS if texts == "preview" else None
    return [timeline.read(one.index)[:longest] for one in timeline.items]


def _compactions(
    answers: ViewAnswers, texts: ReportTexts, price: str | None
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        one = answers.answer(AskCompaction(number=len(found), price=price)).compaction
        if one is None:
            return found
        if texts == "preview":
            one = one.model_copy(update={"summary": one.summary[:PREVIEW_CHARS]})
        found.append(one.model_dump(mode="json", exclude_none=True))


def _shared(value: Any, columns: list[Any], known: dict[str, int]) -> Any:
    """Return a value in which each long list is a number in ``columns``, equal ones the same."""
    if isinstance(value, dict):
        return {name: _shared(one, columns, known) for name, one in value.items()}
    if not isinstance(value, list) or (value and isinstance(value[0], dict | list)):
        return [_shared(one, columns, known) for one in value] if isinstance(value, list) else value
    if len(value) < SHARED_LENGTH:
        return value
    written = json.dumps(value)
    if written not in known:
        known[written] = len(columns)
        columns.append(value)
    return {"column": known[written]}
