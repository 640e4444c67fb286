"""The data of a report: a session's view, precomputed tracks, and texts by choice.

A report has no kernel, so a slider offers only precomputed values: for each policy its defaults, and each stop of its
sliders with one number moved at a time. Equal columns are written once, since moved numbers often change nothing.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Literal, get_args

from palimpsest.render.content.phrases import some
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.comparison_values import SessionComparison
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
"""Policies of a report: one that clears by size, one that clears by number, one that summarises."""
MAX_POLICIES = 12
SHARED_LENGTH = 8
"""Length from which on a list is written as a shared column; a shorter one is written in place."""


def report_data(
    answers: ViewAnswers,
    policies: Sequence[str],
    texts: ReportTexts,
    price: str | None,
    clean: Callable[[Any], Any],
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[TimelineView, str]:
    """Return the report's view, and its data as JSON, both processed by ``clean``.

    ``progress`` is called with the number of computed tracks. Raises UserError for an unknown policy, price or choice
    of texts.
    """
    _check_arguments(policies, texts)
    policy_names = tuple(dict.fromkeys(policies or DEFAULT_POLICIES))
    answer = answers.answer(checked_query(AskView, price=price))
    if answer.view is None:
        raise UserError(answer.error)
    view = _with_texts_removed(answer.view, texts, answers.review)
    view = TimelineView.model_validate(clean(view.model_dump(mode="json")))
    view = view.model_copy(update={"policies": _policies(view.policies, clean([*policy_names]))})
    columns = _Columns()
    # Tracks are computed one after the other, so that only one is in memory.
    data = {
        "view": columns.shared(view.model_dump(mode="json", exclude_none=True)),
        "stops": [
            columns.shared(clean(stop)) for stop in _stops(answers, policy_names, price, progress)
        ],
        "texts": texts,
        "items": columns.shared(clean(_texts(answers, texts))),
        "compactions": columns.shared(
            clean(_compactions(answers, texts, price)) if texts != "none" else []
        ),
    }
    return view, f'{{"columns":[{",".join(columns.written)}],"data":{_json(data)}}}'


def compared_report_data(first: str, second: str, comparison: SessionComparison) -> str:
    """Return the data of a report of two sessions as JSON: the first one's, with the second one's and the comparison."""
    compared = _json(comparison.model_dump(mode="json", exclude_none=True))
    return f'{first[:-1]},"second":{second},"comparison":{compared}}}'


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _check_arguments(policies: Sequence[str], texts: str) -> None:
    if texts not in TEXTS:
        raise UserError(f"texts is one of {', '.join(TEXTS)}, not {texts!r:.60}.")
    if len(policies) > MAX_POLICIES:
        raise UserError(f"A report holds at most {MAX_POLICIES} policies.")


def _with_texts_removed(
    view: TimelineView, texts: ReportTexts, review: SessionReview
) -> TimelineView:
    """Return the view; if texts are left out, without the session's texts and sentences that quote files."""
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
    """Yield the track of each policy with its defaults, then with each stop of its sliders, one moved at a time."""
    track_queries = [
        (policy, numbers, moved_numbers)
        for policy in policies
        for numbers, moved_numbers in _stop_numbers(policy)
    ]
    for done, (policy, numbers, moved_numbers) in enumerate(track_queries):
        progress(done, len(track_queries))
        answer = answers.answer(
            checked_query(AskTrack, policy=policy, numbers=moved_numbers, price=price)
        )
        if answer.track is None:
            if not moved_numbers:
                raise UserError(answer.error)
            continue  # a number that this policy does not accept with its others
        yield {
            "policy": policy,
            "numbers": numbers,
            "track": answer.track.model_dump(mode="json", exclude_none=True),
        }
    progress(len(track_queries), len(track_queries))


def _stop_numbers(policy: str) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
    """Yield the numbers of a policy for its defaults and for each stop, with the numbers that are moved in it."""
    option = next((option for option in policy_choices() if option.name == policy), None)
    sliders = option.sliders if option is not None else ()
    defaults = {slider.name: slider.default for slider in sliders}
    yield defaults, {}
    for slider in sliders:
        for stop in slider.stops:
            if stop != slider.default:
                yield {**defaults, slider.name: stop}, {slider.name: stop}


def _policies(options: Sequence[PolicyOption], policies: Sequence[str]) -> tuple[PolicyOption, ...]:
    """Return the policies that the report can show; a policy with numbers in its name has no sliders."""
    by_name = {option.name: option for option in options}
    return tuple(
        by_name.get(name)
        or PolicyOption(name=name, what=f"{name}, as chosen for this report.", source="")
        for name in dict.fromkeys(policies)
    )


def _texts(answers: ViewAnswers, texts: ReportTexts) -> list[str]:
    if texts == "none":
        return []
    timeline = answers.review.timeline
    longest = PREVIEW_CHARS if texts == "preview" else None
    return [timeline.read(item.index)[:longest] for item in timeline.items]


def _compactions(
    answers: ViewAnswers, texts: ReportTexts, price: str | None
) -> list[dict[str, Any]]:
    compactions: list[dict[str, Any]] = []
    while True:
        view = answers.answer(AskCompaction(number=len(compactions), price=price)).compaction
        if view is None:
            return compactions
        if texts == "preview":
            view = view.model_copy(update={"summary": view.summary[:PREVIEW_CHARS]})
        compactions.append(view.model_dump(mode="json", exclude_none=True))


class _Columns:
    """The long lists of a report, each written once."""

    def __init__(self) -> None:
        self.written: list[str] = []
        """The columns as JSON."""
        self._index_by_digest: dict[bytes, int] = {}

    def shared(self, value: Any) -> Any:
        """Return a value in which each long list is replaced by its column's number; equal lists have one column."""
        if isinstance(value, dict):
            return {name: self.shared(inner) for name, inner in value.items()}
        if not isinstance(value, list):
            return value
        if value and isinstance(value[0], dict | list):
            return [self.shared(inner) for inner in value]
        if len(value) < SHARED_LENGTH:
            return value
        written = _json(value)
        digest = sha256(written.encode("utf-8", "surrogatepass")).digest()
        if digest not in self._index_by_digest:
            self._index_by_digest[digest] = len(self.written)
            self.written.append(written)
        return {"column": self._index_by_digest[digest]}
