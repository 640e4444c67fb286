"""The grade of a new summary says what review finds afterwards, and which lost names are likely to be needed."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.harness.session import ask
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness, reads
from tests.recordings.decision_sessions import SCENES
from tests.review.request_contents.reviewed import review_of
from tests.sample_size import thinned
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.context.compaction.summary_grade import unused_summary_report
from palimpsest.context.visible_messages import View
from palimpsest.model.script import says
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.decisions import Decision


def reports(store: Store, session_id: str) -> list[Decision]:
    return [
        decision for decision in store.load(session_id).decisions if "retention" in decision.numbers
    ]


@pytest.mark.parametrize(
    "scene", thinned(["compacted", "compacted_by_hand", "refused", "reported_full"], 4)
)
async def test_the_grade_is_what_review_finds_afterwards(tmp_path: Path, scene: str) -> None:
    harness, session = await SCENES[scene](tmp_path)
    graded = reports(harness.store, session.id)
    compactions = review_of(harness.store, session.id).compactions()

    assert len(graded) == len(compactions) > 0
    for grade, loss in zip(graded, compactions, strict=True):
        told = grade.numbers["retention"]
        assert {kind: loss_of_kind["found"] for kind, loss_of_kind in told.items()} == dict(
            loss.found
        )
        for kind, loss_of_kind in told.items():
            assert loss_of_kind["lost"] == len(loss.lost_of(kind))
            assert set(loss_of_kind["names"]) == {lost.name for lost in loss.lost_of(kind)}


@pytest.mark.soak  # with each commit the grade is what review finds, above; this adds turns and pins that stay
async def test_the_report_says_what_stays_as_it_is(tmp_path: Path) -> None:
    answers = [*reads(0, 1), says("word " * 9_000), *[says("Well.")] * 2]
    harness, _ = make_fit_harness(tmp_path, *answers, says(SUMMARY), window=60_000)
    session = await harness.session()
    for words in ("Read old_table.csv.", "Say more.", "And more."):
        await ask(session, words)
    pinned = harness.store.load(session.id).messages()[0].parts[0]
    session.edit_context("pin", pinned.id)
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    [grade] = reports(harness.store, session.id)

    kept = grade.numbers["kept"]
    assert (kept["turns"], kept["pinned"]) == (2, 1)
    assert 0 < kept["tokens"] < grade.tokens_after


async def test_names_of_the_newest_answers_are_likely_to_be_needed(tmp_path: Path) -> None:
    answers = [*reads(0, 1), says("I go on with rare_table.csv."), *[says("Well.")] * 2]
    harness, _ = make_fit_harness(tmp_path, *answers, says(SUMMARY), says("Yes."), window=60_000)
    session = await harness.session()
    for words in ("Read old_table.csv.", "Say more.", "And more."):
        await ask(session, words)
    await asyncio.wait_for(session.compact("the numbers"), LAST_RESORT_SECONDS)
    [grade] = reports(harness.store, session.id)

    paths = grade.numbers["retention"]["paths"]
    assert "old_table.csv" in paths["names"]
    assert "rare_table.csv" in paths["names"][: paths["likely"]]
    assert "old_table.csv" not in paths["names"][: paths["likely"]]


async def test_a_summary_is_new_until_an_answer_follows_it_or_it_is_undone(tmp_path: Path) -> None:
    answers = [*reads(0, 1), says("Well."), says("More."), says(SUMMARY)]
    harness, _ = make_fit_harness(tmp_path, *answers, says("Yes."), window=60_000)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Say more.")

    async def new() -> Decision | None:
        await harness.records(session)  # all is written by then
        state = harness.store.load(session.id)
        return unused_summary_report(View(state.messages(), state.decisions))

    assert await new() is None
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    assert await new() == reports(harness.store, session.id)[0]
    session.edit_context("undo")
    assert await new() is None


async def test_only_a_person_demands_not_a_file_that_they_mention_nor_what_a_tool_returns(
    tmp_path: Path,
) -> None:
    answers = [*reads(0, 1), says("Well."), *[says("More.")] * 2, says(SUMMARY)]
    harness, _ = make_fit_harness(tmp_path, *answers, says("Yes."), window=60_000)
    session = await harness.session()
    rules = tmp_path / "rules.md"
    rules.write_text("Never open the second drawer of the desk.\n")
    for words in ("Read @rules.md. Never burn the first letter.", "Say more.", "And more."):
        await ask(session, words)
    shown = json.dumps(
        [message.model_dump(mode="json") for message in harness.store.load(session.id).messages()]
    )
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)

    [grade] = reports(harness.store, session.id)
    [loss] = review_of(harness.store, session.id).compactions()
    assert "second drawer" in shown
    assert grade.numbers["retention"]["constraints"]["found"] == 1
    assert [constraint.sentence for constraint in loss.constraints] == [
        "Never burn the first letter."
    ]
