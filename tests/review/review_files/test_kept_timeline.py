"""A timeline of any agent's session is the same after it was written and read, or is not written."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import SAMPLES, sample
from tests.review.review_files.recorded_project import made_review
from tests.sample_size import sampled_cases

from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.review_files.columns import MAX_TEXT_CHARS
from palimpsest.review.review_files.kept_references import KeptReferences
from palimpsest.review.review_files.kept_timeline import KeptTimeline
from palimpsest.review.tables.references import References
from palimpsest.transcript.timeline import (
    Timeline,
    TimelineEvent,
    TimelineItem,
    TimelineRequest,
    Transition,
)
from palimpsest.transcript.values import Price, PriceTier, ServicePrice

NAMES = sorted({path.name.removesuffix(".xz") for path in SAMPLES.iterdir() if path.is_file()})


@pytest.mark.parametrize(
    "name", sampled_cases(NAMES, *(name for name in NAMES if name != "pi_large_session.jsonl"))
)
def test_the_sessions_of_every_sample_are_the_same_again(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _read_again(sample(name, tmp_path_factory.mktemp("sample")))


@pytest.mark.soak  # with each commit every sample is the same again, above; this adds sessions whose cache lasts an hour
def test_sessions_whose_cache_lasts_an_hour_are_the_same_again(tmp_path: Path) -> None:
    for path in sample("claude_code_spotter", tmp_path).glob("*.jsonl"):
        _read_again(path)


def _read_again(path: Path) -> None:
    store, report = import_file(path)
    for session in report.sessions:
        made = timeline_of(store, session.id, price=lambda _model: Price(input=1, output=2))
        names = References.of(made)
        kept = KeptReferences.of(names).model_dump_json()

        assert _again(made) == made
        assert KeptReferences.model_validate_json(kept, strict=True).references(made) == names


def _again(timeline: Timeline) -> Timeline:
    """Return a timeline as it is read after it was written."""
    written = KeptTimeline.of(timeline).model_dump_json()
    return KeptTimeline.model_validate_json(written, strict=True).timeline


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("items", TimelineItem),
        ("requests", TimelineRequest),
        ("transitions", Transition),
        ("events", TimelineEvent),
    ],
)
def test_every_field_has_a_column(name: str, row: type) -> None:
    written = json.loads(KeptTimeline.of(made_review().timeline).model_dump_json())

    assert [*written[name]] == [field.name for field in fields(row)]


def test_every_field_of_a_timeline_is_written_or_belongs_to_a_replay() -> None:
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

    assert {*KeptTimeline.model_fields} | rest == {field.name for field in fields(Timeline)}


def test_a_timeline_that_holds_a_long_text_is_not_written() -> None:
    transition = Transition(3, 5, "masked", tokens=9, shown="x" * (MAX_TEXT_CHARS + 1))

    with pytest.raises(ValueError, match="too long"):
        _again(replace(made_review().timeline, transitions=(transition,)))


def test_numbers_of_a_decision_that_are_nested_too_deep_are_not_written() -> None:
    deep: object = 1
    for _ in range(10):
        deep = {"in": deep}
    transition = Transition(3, 5, "masked", tokens=9, numbers={"deep": deep})

    with pytest.raises(ValueError, match="too long"):
        _again(replace(made_review().timeline, transitions=(transition,)))


def test_prices_by_length_and_by_tier_are_the_same_again() -> None:
    long = PriceTier(above=200_000, price=Price(input=6, output=22.5))
    batch = ServicePrice(service_tier="batch", price=Price(input=1, tiers=(long,)))
    price = Price(input=3, output=15, tiers=(long,), services=(batch,))
    first, *others = made_review().timeline.requests
    made = replace(made_review().timeline, requests=(replace(first, price=price), *others))

    assert _again(made) == made
