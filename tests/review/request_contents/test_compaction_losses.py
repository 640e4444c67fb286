"""A compaction tells what it replaced, which names are lost, and which of them were needed later."""

import asyncio
from pathlib import Path

import pytest
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.harness.session import ask
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness, reads
from tests.recordings.decision_sessions import SCENES
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.recordings.formats.test_pi import answer, line, user, write_file
from tests.review.request_contents.reviewed import pi_review, review_of
from tests.sample_size import thinned
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.context_policies.prompt_cache.ruler import PriceProfile
from palimpsest.context_policies.registry import get
from palimpsest.model.script import says
from palimpsest.render.content.decision_reasons import conversation_size
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskCompaction, AskView
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline

RECORDINGS = (
    "claude_code",
    "atif",
    "cline",
    "gemini_cli.jsonl",
    "pi_version_3.jsonl",
    "openhands_v1",
)
"""Recordings that hold compactions."""
OPUS = PriceProfile(input=5, output=25, read=0.5, write=6.25, name="anthropic/claude-opus-4-5")
SMALL = "pi.compact window=64000 measure=estimated"


async def test_a_recorded_compaction_names_what_its_summary_lost(tmp_path: Path) -> None:
    harness, session = await SCENES["compacted"](tmp_path)
    [compaction] = review_of(harness.store, session.id).compactions()

    assert compaction.summary.count("## Goal") == 1
    assert compaction.tokens_after < compaction.tokens_before
    assert {word.name for word in compaction.lost} == {f"log{number}.txt" for number in range(5)}
    assert compaction.sentences[1] == compaction.conversation
    assert compaction.sentences[2] == "No longer shown: 5 of 5 paths."


async def test_a_summary_that_failed_is_told_and_replaced_nothing(tmp_path: Path) -> None:
    harness, session = await SCENES["failed_summary"](tmp_path)

    losses = review_of(harness.store, session.id).compactions()

    sentence = "Before request 7 a summary (automatic) failed, so that it replaced nothing."
    assert (len(losses), losses.failures) == (0, (sentence,))
    assert sentence in losses.table.notes
    assert losses.json()["failures"] == [sentence]
    assert review_of(harness.store, session.id).compactions("pi.compact").failures == ()


async def test_a_summary_that_was_stopped_is_told_as_that(tmp_path: Path) -> None:
    harness, session = await SCENES["stopped_summary"](tmp_path)

    (sentence,) = review_of(harness.store, session.id).compactions().failures

    assert "was stopped, so that it replaced nothing." in sentence


def made_review(*before: str) -> SessionReview:
    """Return a session whose answer uses a name after the policy's compaction, and after other prompts."""
    maker = TimelineMaker()
    maker.prompt("Look at src/parser.py and total_cost.")
    maker.answer(calls=[Call("read", "parse_line failed\n" + "words " * 2_000, (("path", "a"),))])
    maker.answer("I looked at it. " * 200)
    for words in before:
        maker.prompt(words)
        maker.answer("Well.")
    maker.prompt("And now?")
    maker.answer("The function parse_line in src/parser.py is wrong.")
    return SessionReview(maker.made(), get, lambda _model: None)


def test_a_lost_name_that_a_later_answer_uses_was_needed() -> None:
    [compaction] = made_review().compactions("pi.compact window=3000 reserve=0 keep_tokens=700")

    assert compaction.request == 2
    needed = {word.name: word.needed for word in compaction.needed_names}
    assert needed == {"src/parser.py": (2,), "parse_line": (2,)}
    assert {word.name for word in compaction.lost} == {*needed, "total_cost"}
    assert "never written" in compaction.sentences[1]
    assert compaction.sentences[-2].startswith("Needed later: 2 of them, ")
    assert "(request 3)" in compaction.sentences[-2]


def test_a_lost_name_that_a_prompt_brings_back_was_not_needed() -> None:
    """Compactions and comparison agree: what is shown again needs no fetching."""
    review = made_review("And then?", "Is parse_line in src/parser.py wrong?")
    policy = "pi.compact window=3000 reserve=0 keep_tokens=700"

    [compaction] = review.compactions(policy)

    assert {word.name for word in compaction.lost} == {"src/parser.py", "parse_line", "total_cost"}
    assert (compaction.needed_names, compaction.fetches, compaction.refetching) == ((), 0, 0)
    assert review.compare([policy]).figures[0].refetching == 0


def test_fetching_again_what_was_needed_costs_a_request_for_each_source() -> None:
    policy = "pi.compact window=3000 reserve=0 keep_tokens=700"
    [compaction] = made_review().compactions(policy, price="units")
    [dear] = made_review().compactions(policy, price=OPUS)

    # One name stands in the prompt, the other in the result: two sources.
    assert compaction.fetches == 2
    assert compaction.refetching > 2 * 0.1 * 700
    assert compaction.sentences[-1].startswith(
        "To fetch them again would take 2 requests, and cost "
    )
    assert compaction.table.title.endswith("3 names lost")
    assert dear.refetching == pytest.approx(compaction.refetching * 5 / 1e6, rel=1e-9)
    assert dear.sentences[-1].endswith("USD: an estimate.")


@pytest.mark.parametrize("name", thinned(RECORDINGS, 3))
def test_each_compact_event_of_a_recording_is_one_loss_at_its_place(
    tmp_path: Path, name: str
) -> None:
    store, report = import_file(sample(name, tmp_path))
    found = [review_of(store, session.id) for session in report.sessions]

    assert sum(lost_count(loss) for loss in found) > 0


@pytest.mark.parametrize(
    "scene", thinned(["compacted", "refused", "reported_full", "edited", "in_parts"], 5)
)
async def test_each_compact_event_of_our_own_session_is_one_loss_at_its_place(
    tmp_path: Path, scene: str
) -> None:
    harness, session = await SCENES[scene](tmp_path)

    review = review_of(harness.store, session.id)
    assert lost_count(review) > 0
    # The size of the replaced items, and that of the conversation which the transcript tells.
    sizes = [
        conversation_size(
            decision.tokens_before, decision.tokens_after, decision.numbers.get("kept")
        )
        for decision in session.decisions()
        if decision.action == "summarise" and decision.rule == "compact"
    ]
    shown = [loss.conversation for loss in review.compactions() if loss.conversation]
    assert shown == [size for size in sizes if size]
    assert all(
        loss.conversation in loss.sentences for loss in review.compactions() if loss.conversation
    )


def lost_count(review: SessionReview) -> int:
    """Return how many compactions a session has, which view, answers and review tell alike."""
    answers = ViewAnswers(review)
    view, losses = answers.answer(AskView()).view, review.compactions()
    assert view is not None
    assert [event.request for event in view.events if event.kind == "compact"] == [
        lost_in.request for lost_in in losses
    ]
    for loss in losses:
        text = answers.answer(AskCompaction(number=loss.number)).compaction
        assert text is not None
        assert (text.request, text.items) == (loss.request, loss.items)
        assert (text.tokens_before, text.tokens_after) == (
            round(loss.tokens_before),
            round(loss.tokens_after),
        )
        assert [(kind.kind, kind.found) for kind in text.kinds] == [*loss.found.items()]
        assert sum(kind.lost for kind in text.kinds) == len(loss.lost)
        assert sum(kind.needed for kind in text.kinds) == len(loss.needed_names)
    assert answers.answer(AskCompaction(number=len(losses))).error
    return len(losses)


def test_a_recording_that_begins_with_a_summary_keeps_the_numbers_of_the_others(
    tmp_path: Path,
) -> None:
    path = write_file(
        tmp_path / "resumed.jsonl",
        line("compaction", "a", None, summary="Earlier work.", firstKeptEntryId="b"),
        user("b", "a", "Read src/parser.py"),
        answer("c", "b", "I read src/parser.py."),
        user("d", "c", "And then?"),
        line("compaction", "e", "d", summary="A file was read.", firstKeptEntryId="d"),
        answer("f", "e", "I go on."),
    )
    store, report = import_file(path)
    review = review_of(store, report.sessions[0].id)

    assert lost_count(review) == 2
    first, second = review.compactions()
    assert first.items == ()
    assert first.sentences[-1] == (
        "What it replaced is not in the recording, so what it lost is not known."
    )
    assert {word.name for word in second.lost} == {"src/parser.py"}


async def test_an_undone_compaction_says_so_and_counts_only_what_was_needed_until_then(
    tmp_path: Path,
) -> None:
    answers = [
        *reads(0, 1),
        says("Well."),
        says("More."),
        says(SUMMARY),
        says("I look at log0.txt."),
    ]
    harness, _ = make_fit_harness(tmp_path, *answers, says("And at log0.txt again."), window=60_000)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Say more.")
    await asyncio.wait_for(session.compact("the numbers"), LAST_RESORT_SECONDS)
    await ask(session, "Sure?")
    session.edit_context("undo")
    await ask(session, "Really?")
    [compaction] = review_of(harness.store, session.id).compactions()

    assert (compaction.request, compaction.undone) == (4, 5)
    assert {word.name: word.needed for word in compaction.needed_names} == {"log0.txt": (4,)}
    assert "It was undone: request 6 shows again what it replaced." in compaction.sentences


async def test_what_stays_beside_a_summary_that_no_request_used_yet_is_not_lost(
    tmp_path: Path,
) -> None:
    answers = [*reads(0, 1), says("Well."), says("It is in kept_table.csv."), says(SUMMARY)]
    harness, _ = make_fit_harness(tmp_path, *answers, window=60_000)
    session = await harness.session()
    await ask(session, "Read the logs and kept_table.csv.")
    await ask(session, "Say more.")
    await asyncio.wait_for(session.compact("the numbers"), LAST_RESORT_SECONDS)
    [compaction] = review_of(harness.store, session.id).compactions()

    assert compaction.request == len(compaction.timeline.requests)
    assert "kept_table.csv" not in {word.name for word in compaction.lost}
    assert compaction.sentences[0].startswith("After the last request compaction 1 replaced ")


@pytest.mark.soak  # with each commit a recorded compaction names what its summary lost, above; this adds summaries that are filled
def test_an_extract_keeps_names_that_a_placeholder_loses() -> None:
    stub = pi_review().compactions(SMALL, summary="stub(2000)")
    extract = pi_review().compactions(SMALL, summary="extract(2000)")

    assert len(stub) == len(extract) == 3
    assert stub[0].items == extract[0].items
    assert {word.name for word in extract[0].lost} < {word.name for word in stub[0].lost}
    for loss in extract:
        assert 0 < len(loss.summary) <= 4 * 2_000
    for loss in stub:
        assert loss.tokens_after == pytest.approx(2_000 * pi_review().ruler.factor)


def test_a_session_without_compactions_says_so() -> None:
    assert pi_review().compactions().table.title == "0 compactions of /mode under recorded"
    empty = SessionReview(Timeline("ses_none"), get, lambda _model: None)
    assert len(empty.compactions()) == 0


@pytest.mark.parametrize(
    "written", ["", "stub", "extract(0)", "extract(-1)", "stub(9999999999)", "best"]
)
def test_a_way_to_fill_summaries_that_does_not_exist_is_said_in_one_sentence(written: str) -> None:
    with pytest.raises(UserError, match=r"write stub\(1500\), extract\(2000\) or recorded"):
        pi_review().compare(SMALL, summary=written)
