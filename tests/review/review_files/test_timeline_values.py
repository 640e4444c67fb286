"""A timeline of any agent's session is the same after it was written and read, or is not written."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from tests.review.importers.imported import bring
from tests.review.importers.sample_files import FOLDER, sample
from tests.review.review_files.recorded_project import made_review

from palimpsest.review.comparison.references import References
from palimpsest.review.review_files.columns import LONGEST_TEXT, NotAsWritten
from palimpsest.review.review_files.reference_values import reference_values, references_from
from palimpsest.review.review_files.timeline_values import (
    EVENTS,
    HEADS,
    ITEMS,
    REQUESTS,
    TRANSITIONS,
    timeline_from,
    timeline_values,
)
from palimpsest.review.timeline.journal_timeline import timeline_of
from palimpsest.transcript.timeline import (
    Timeline,
    TimelineEvent,
    TimelineItem,
    TimelineRequest,
    Transition,
)
from palimpsest.transcript.values import Price

SAMPLES = sorted({path.name.removesuffix(".xz") for path in FOLDER.iterdir() if path.is_file()})


@pytest.mark.parametrize("name", SAMPLES)
def test_the_sessions_of_every_sample_are_the_same_again(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _read_again(sample(name, tmp_path_factory.mktemp("sample")))


def test_sessions_whose_cache_lasts_an_hour_are_the_same_again(tmp_path: Path) -> None:
    for path in sample("claude_code_spotter", tmp_path).glob("*.jsonl"):
        _read_again(path)


def _read_again(path: Path) -> None:
    store, report = bring(path)
    for one in report.sessions:
        made = timeline_of(store, one.id, price=lambda _model: Price(input=1, output=2))
        names = References.of(made)
        written = json.loads(json.dumps([timeline_values(made), reference_values(names)]))

        assert timeline_from(written[0]) == made
        assert references_from(written[1], made) == names


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        (ITEMS, TimelineItem),
        (REQUESTS, TimelineRequest),
        (TRANSITIONS, Transition),
        (EVENTS, TimelineEvent),
    ],
)
def test_every_field_has_a_column(columns: dict[str, object], row: type) -> None:
    assert [*columns] == [one.name for one in fields(row)]


def test_every_field_of_a_timeline_is_written_or_belongs_to_a_replay() -> None:
    written = {*HEADS, "items", "requests", "transitions", "events", "gaps", "unread", "version"}
    written |= {"subagents", "recorded_totals"}
    # What is coming is told of a session that runs, which is read from its log.
    rest = {
        "read",
        "count",
        "coming",
        "facts_until",
        "earlier",
        "_weights",
        "_derived",
        "_of_items",
    }

    assert written | rest == {one.name for one in fields(Timeline)}


def test_a_timeline_that_holds_a_long_text_is_not_written() -> None:
    shown = Transition(3, 5, "masked", tokens=9, shown="x" * (LONGEST_TEXT + 1))

    with pytest.raises(NotAsWritten):
        timeline_values(replace(made_review().timeline, transitions=(shown,)))


def test_numbers_of_a_decision_that_are_nested_too_deep_are_not_written() -> None:
    deep: object = 1
    for _ in range(10):
        deep = {"in": deep}
    one = Transition(3, 5, "masked", tokens=9, numbers={"deep": deep})

    with pytest.raises(NotAsWritten):
        timeline_values(replace(made_review().timeline, transitions=(one,)))
