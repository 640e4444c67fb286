"""The data of a report: a session's view, tracks that were computed beforehand, and texts by choice.

A report has no kernel, so a slider snaps to what is here: for each policy its own numbers, and each of its
sliders' stops with one number moved at a time. Equal columns are written once, since moved numbers often change
nothing.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
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
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[TimelineView, str]:
    """Return the view that the report shows, and the data as JSON; both without what ``clean`` removes.

    ``progress`` is told how many of the tracks are computed. Raises UserError for an unknown policy, price or
    choice of texts.
    """
    _check(policies, texts)
    chosen = tuple(dict.fromkeys(policies or DEFAULT_POLICIES))
    found = answers.answer(checked_query(AskView, price=price))
    if found.view is None:
        raise UserError(found.error)
    view = _shown(found.view, texts, answers.review)
    view = TimelineView.model_validate(clean(view.model_dump(mode="json")))
    view = view.model_copy(update={"policies": _policies(view.policies, clean([*chosen]))})
    columns = _Columns()
    # One track after the other, so that only one is in memory as Python's numbers.
    data = {
        "view": columns.shared(view.model_dump(mode="json", exclude_none=True)),
        "stops": [columns.shared(clean(one)) for one in _stops(answers, chosen, price, progress)],
        "texts": texts,
        "items": columns.shared(clean(_texts(answers, texts))),
        "compactions": columns.shared(
            clean(_compactions(answers, texts, price)) if texts != "none" else []
        ),
    }
    return view, f'{{"columns":[{",".join(columns.written)}],"data":{_json(data)}}}'


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


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
    answers: ViewAnswers,
    policies: Sequence[str],
    price: str | None,
    progress: Callable[[int, int], None],
) -> Iterator[dict[str, Any]]:
    """Yield each policy with its own numbers first, then with one number moved at a time."""
    asked = [(policy, numbers, given) for policy in policies for numbers, given in _numbers(policy)]
    for done, (policy, numbers, given) in enumerate(asked):
        progress(done, len(asked))
        found = answers.answer(checked_query(AskTrack, policy=policy, numbers=given, price=price))
        if found.track is None:
            if not given:
                raise UserError(found.error)
            continue  # a number that this policy does not take beside its others
        yield {
            "policy": policy,
            "numbers": numbers,
            "track": found.track.model_dump(mode="json", exclude_none=True),
        }
    progress(len(asked), len(asked))


def _numbers(policy: str) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
    """Yield the numbers of each stop of a policy, and those of them that were moved."""
    option = next((one for one in policy_choices() if one.name == policy), None)
    sliders = option.sliders if option is not None else ()
    own = {one.name: one.default for one in sliders}
    yield own, {}
    for one in sliders:
        for stop in one.stops:
            if stop != one.default:
                yield {**own, one.name: stop}, {one.name: stop}


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


class _Columns:
    """The long lists of a report, each written once."""

    def __init__(self) -> None:
        self.written: list[str] = []
        """Each as JSON."""
        self._known: dict[bytes, int] = {}

    def shared(self, value: Any) -> Any:
        """Return a value in which each long list is a number in the columns, equal ones the same."""
        if isinstance(value, dict):
            return {name: self.shared(one) for name, one in value.items()}
        if not isinstance(value, list):
            return value
        if value and isinstance(value[0], dict | list):
            return [self.shared(one) for one in value]
        if len(value) < SHARED_LENGTH:
            return value
        written = _json(value)
        digest = sha256(written.encode("utf-8", "surrogatepass")).digest()
        if digest not in self._known:
            self._known[digest] = len(self.written)
            self.written.append(written)
        return {"column": self._known[digest]}
