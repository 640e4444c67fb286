"""The data of a report: a session's view, precomputed tracks, and texts by choice.

A report has no kernel, so a slider offers only precomputed values: for each policy its defaults, and each stop of its
sliders with one number moved at a time. Equal columns are written once, since moved numbers often change nothing.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, get_args

from palimpsest.render.content.phrases import counted_noun
from palimpsest.review.session_review import PolicyLike, SessionReview
from palimpsest.review.tables.question_limits import MAX_NAME_CHARS
from palimpsest.review.timeline_view.chosen_policies import ChosenPolicies, chosen_policies
from palimpsest.review.timeline_view.comparison_values import SessionComparison
from palimpsest.review.timeline_view.view_answers import ViewAnswers, notes_text
from palimpsest.review.timeline_view.view_queries import (
    AskCompaction,
    AskTrack,
    AskView,
    checked_query,
)
from palimpsest.review.timeline_view.view_values import PolicyOption, TimelineView
from palimpsest.transcript.errors import UserError

Progress = Callable[[int, int], None]
"""A function that is called with the number of computed tracks, and that of all tracks."""
ReportTexts = Literal["none", "preview", "all"]
TEXT_CHOICES: tuple[str, ...] = get_args(ReportTexts)
MAX_PREVIEW_CHARS = 200
"""Maximum characters of each text where ``texts`` is ``preview``."""
DEFAULT_POLICIES = ("opencode.prune", "anthropic.clear_tool_uses", "claude_code.auto")
"""Policies of a report: one that clears by size, one that clears by number, one that summarises."""
MAX_POLICIES = 12
MIN_SHARED_LENGTH = 8
"""Minimum values of a list that is written as a shared column; a shorter list is written in place."""


def report_data(
    answers: ViewAnswers,
    policies: Sequence[PolicyLike] | PolicyLike,
    texts: ReportTexts,
    price: str | None,
    clean_value: Callable[[Any], Any],
    progress: Progress = lambda _done, _total: None,
) -> tuple[TimelineView, str]:
    """Return the report's view, and its data as JSON, both processed by ``clean_value``.

    ``progress`` is called with the number of computed tracks. Raises UserError for an unknown policy, price or choice of
    texts, and for a policy that fails.
    """
    policies_by_name = chosen_policies(policies or DEFAULT_POLICIES)
    if texts not in TEXT_CHOICES:
        raise UserError(f"texts is one of {', '.join(TEXT_CHOICES)}, not {texts!r:.60}.")
    if len(policies_by_name) > MAX_POLICIES:
        raise UserError(f"A report holds at most {MAX_POLICIES} policies.")
    writer = _SessionWriter(policies_by_name, texts, price, clean_value)
    view, data = writer.session_data(answers, progress)
    # In a report without texts the view names no subagent, so that it holds no subagent's data.
    data["subagents"] = {
        review.timeline.session: writer.session_data(
            ViewAnswers(review, keeps_replays=False), within=view.session
        )[1]
        for review in (answers.review.subagent_reviews() if view.subagents else ())
    }
    return (
        view,
        f'{{"columns":[{",".join(writer.columns.columns_json)}],"data":{_compact_json(data)}}}',
    )


def compared_report_data(first_data: str, second_data: str, comparison: SessionComparison) -> str:
    """Return the data of a report of two sessions as JSON: the first one's, with the second one's and the comparison."""
    comparison_json = _compact_json(comparison.model_dump(mode="json", exclude_none=True))
    return f'{first_data[:-1]},"second":{second_data},"comparison":{comparison_json}}}'


def _compact_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _with_texts_removed(
    view: TimelineView, text_choice: ReportTexts, review: SessionReview
) -> TimelineView:
    """Return the view; if texts are left out, without the session's texts and sentences that quote files."""
    if text_choice != "none":
        return view
    labels = ("",) * len(view.items.id)
    unread_count = len(review.problems)
    unread_sentences = (
        (f"{counted_noun(unread_count, 'place')} could not be read.",) if unread_count else ()
    )
    return view.model_copy(
        update={
            "title": view.session,
            "items": view.items.model_copy(update={"label": labels}),
            "wastes": (),
            "gaps": (*review.timeline.gaps, *unread_sentences),
            "subagents": (),
        }
    )


def _track_stops(
    answers: ViewAnswers,
    policies: ChosenPolicies,
    options: Sequence[PolicyOption],
    price: str | None,
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    """Yield the track of each policy with its defaults, then with each stop of its sliders, one moved at a time.

    Raises UserError with the reason where a policy has no track, unless it does not take a stop with its other numbers.
    """
    track_queries = [
        (checked_query(AskTrack, policy=option.name, numbers=moved_numbers, price=price), numbers)
        for option in options[: len(policies)]
        for numbers, moved_numbers in _stop_numbers(option)
    ]
    for done_count, (query, numbers) in enumerate(track_queries):
        progress(done_count, len(track_queries))
        answer = answers.answer(query, policies)
        if answer.track is not None:
            track = answer.track.model_dump(mode="json", exclude_none=True)
            yield {"policy": query.policy, "numbers": numbers, "track": track}
        elif not query.numbers or answers.accepts(query, policies):
            raise UserError(answer.error)
    progress(len(track_queries), len(track_queries))


def _stop_numbers(option: PolicyOption) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
    """Yield a policy's numbers for its defaults and for each stop: all of them, and those that differ from the defaults."""
    defaults = {slider.name: slider.default for slider in option.sliders}
    yield defaults, {}
    for slider in option.sliders:
        for stop in slider.stops:
            if stop != slider.default:
                yield {**defaults, slider.name: stop}, {slider.name: stop}


def _item_texts(answers: ViewAnswers, text_choice: ReportTexts) -> list[str]:
    if text_choice == "none":
        return []
    timeline = answers.review.timeline
    max_chars = MAX_PREVIEW_CHARS if text_choice == "preview" else None
    return [timeline.read(item.index)[:max_chars] for item in timeline.items]


def _name_uses(review: SessionReview, text_choice: ReportTexts) -> dict[str, Any]:
    """Return the names that answers used with the items that contain them, and each use as a row of three columns.

    The items of a name only grow, so that those of one use are the first ``sources`` of all of them. Names are words of
    the session: without texts there are none.
    """
    uses = () if text_choice == "none" else review.references.uses
    items_by_name = {use.name: use.sources for use in uses}
    index_by_name = {name: index for index, name in enumerate(items_by_name)}
    return {
        "names": [name[:MAX_NAME_CHARS] for name in items_by_name],
        "items": [[*items] for items in items_by_name.values()],
        "request": [use.request for use in uses],
        "name": [index_by_name[use.name] for use in uses],
        "sources": [len(use.sources) for use in uses],
    }


def _compaction_values(
    answers: ViewAnswers, text_choice: ReportTexts, price: str | None
) -> list[dict[str, Any]]:
    compactions: list[dict[str, Any]] = []
    while True:
        compaction = answers.answer(AskCompaction(number=len(compactions), price=price)).compaction
        if compaction is None:
            return compactions
        if text_choice == "preview":
            compaction = compaction.model_copy(
                update={"summary": compaction.summary[:MAX_PREVIEW_CHARS]}
            )
        compactions.append(compaction.model_dump(mode="json", exclude_none=True))


class _SharedColumns:
    """The long lists of a report, each written once."""

    def __init__(self) -> None:
        self.columns_json: list[str] = []
        """The columns as JSON."""
        self._index_by_digest: dict[bytes, int] = {}

    def shared_value(self, value: Any) -> Any:
        """Return a value in which each long list is replaced by its column's number; equal lists have one column."""
        if isinstance(value, dict):
            return {name: self.shared_value(element) for name, element in value.items()}
        if not isinstance(value, list):
            return value
        if value and isinstance(value[0], dict | list):
            return [self.shared_value(element) for element in value]
        if len(value) < MIN_SHARED_LENGTH:
            return value
        column_json = _compact_json(value)
        digest = sha256(column_json.encode("utf-8", "surrogatepass")).digest()
        if digest not in self._index_by_digest:
            self._index_by_digest[digest] = len(self.columns_json)
            self.columns_json.append(column_json)
        return {"column": self._index_by_digest[digest]}


@dataclass(frozen=True)
class _SessionWriter:
    """Makes the data of the sessions of a report, with one choice of policies, texts and prices."""

    policies: ChosenPolicies
    text_choice: ReportTexts
    price: str | None
    clean_value: Callable[[Any], Any]
    columns: _SharedColumns = field(default_factory=_SharedColumns)

    def session_data(
        self,
        answers: ViewAnswers,
        progress: Progress = lambda _done, _total: None,
        within: str = "",
    ) -> tuple[TimelineView, dict[str, Any]]:
        """Return a session's view and its data; for a subagent, which is ``within`` a session, policies have only their defaults."""

        def clean_and_shared(value: Any) -> Any:
            return self.columns.shared_value(self.clean_value(value))

        text_choice, price = self.text_choice, self.price
        answer = answers.answer(checked_query(AskView, price=price), self.policies)
        if answer.view is None:
            raise UserError(answer.error)
        options = answer.view.policies[: len(self.policies)]
        if within:
            options = tuple(option.model_copy(update={"sliders": ()}) for option in options)
        view = _with_texts_removed(answer.view, text_choice, answers.review)
        view = view.model_copy(update={"within": within, "policies": options})
        view = TimelineView.model_validate(self.clean_value(view.model_dump(mode="json")))
        # Tracks are computed one after the other, so that only one is in memory.
        return view, {
            "view": self.columns.shared_value(view.model_dump(mode="json", exclude_none=True)),
            "stops": [
                *map(
                    clean_and_shared, _track_stops(answers, self.policies, options, price, progress)
                )
            ],
            "texts": text_choice,
            "items": clean_and_shared(_item_texts(answers, text_choice)),
            "uses": clean_and_shared(_name_uses(answers.review, text_choice)),
            "compactions": clean_and_shared(
                _compaction_values(answers, text_choice, price) if text_choice != "none" else []
            ),
            "notes": self.clean_value(
                notes_text(answers.review.notes()).model_dump(mode="json", exclude_none=True)
            ),
            "subagents": {},
        }
