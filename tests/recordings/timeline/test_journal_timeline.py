"""The timeline of a session comes from its log alone, whether the session was recorded here or imported."""

from pathlib import Path

from tests.context_policies.pi_session import pi_timeline
from tests.harness.session import SessionHarness, ask
from tests.recordings.decision_sessions import SCENES
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.recordings.import_journal.recordings import BEGIN, answer, load, read_call, result, user

from palimpsest.context.budget.request_tokens import MEDIA_TOKENS
from palimpsest.model.script import calls, says
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    Text,
)
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.tables.explanation import explanation
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.timeline import Timeline


def imported_timeline(tmp_path: Path, *values: Recorded) -> Timeline:
    store = MemoryStore()
    report = load(store, tmp_path, BEGIN, *values)
    return timeline_of(store, report.sessions[0].id)


def test_calls_come_before_their_results_and_each_result_is_a_message_of_its_own(
    tmp_path: Path,
) -> None:
    timeline = imported_timeline(
        tmp_path,
        user("u", "Look."),
        answer("a", "I look.", read_call("one"), read_call("two")),
        result("two", "second"),
        result("one", "first"),
        answer("b", "Done."),
    )

    assert [(item.kind, item.turn, item.entered) for item in timeline.items] == [
        ("user", 1, 0),
        ("assistant", 1, 1),
        ("call", 1, 1),
        ("call", 1, 1),
        ("output", 1, 1),
        ("output", 1, 1),
        ("assistant", 1, 2),
    ]
    assert [timeline.read(index) for index in (4, 5)] == ["first", "second"]
    blocks = [item.block for item in timeline.items]
    assert blocks[1] == blocks[2] == blocks[3]
    assert len(set(blocks[3:6])) == 3
    assert [(request.items, request.answer) for request in timeline.requests] == [
        (1, (1, 4)),
        (6, (6, 7)),
    ]


def test_a_summary_stands_where_the_first_replaced_item_was(tmp_path: Path) -> None:
    timeline = imported_timeline(
        tmp_path,
        user("u1", "Long ago."),
        answer("a1", "Yes."),
        user("u2", "Now."),
        CompactionRead("c", "It was long ago.", keeps_from="u2"),
        answer("a2", "Here."),
    )

    summary = next(item for item in timeline.items if item.kind == "summary")
    assert summary.covers == (0, 1)
    assert summary.before == 0
    assert timeline.ranks[summary.index] < timeline.ranks[0]
    assert [timeline.state(index, 1) for index in (0, 1, 2)] == [
        "summarised",
        "summarised",
        "whole",
    ]
    assert [timeline.state(index, 0) for index in (0, 1)] == ["whole", None]
    assert [(event.kind, event.request) for event in timeline.events] == [("compact", 1)]


def test_what_was_reduced_and_taken_back_is_known_from_the_request_on(tmp_path: Path) -> None:
    timeline = imported_timeline(
        tmp_path,
        user("u1", "Look."),
        answer("a1", read_call("one")),
        result("one", "a long output"),
        answer("a2", "Seen."),
        ReducedRead("one", "(1 line omitted)", "last_n"),
        user("u2", "On."),
        answer("a3", "No."),
        RemovedRead(("u2", "a3")),
        user("u3", "Back."),
        answer("a4", "Yes."),
    )

    output = next(item.index for item in timeline.items if item.kind == "output")
    assert [timeline.state(output, request) for request in range(4)] == [
        None,
        "whole",
        "cleared",
        "cleared",
    ]
    held = timeline.transition_at(output, 2)
    assert held is not None
    assert (held.shown, held.rule) == ("(1 line omitted)", "last_n")
    gone = [item.index for item in timeline.items if timeline.state(item.index, 3) == "reverted"]
    assert [timeline.read(index) for index in gone] == ["", ""]
    assert [timeline.items[index].label for index in gone] == ["On.", "No."]


def test_a_result_that_was_not_recorded_is_no_item(tmp_path: Path) -> None:
    timeline = imported_timeline(
        tmp_path, user("u", "Look."), answer("a", read_call("one")), answer("b", "Well.")
    )

    assert "output" not in [item.kind for item in timeline.items[: timeline.requests[1].items]]


def test_a_picture_weighs_what_the_engine_takes_it_for(tmp_path: Path) -> None:
    picture = Media("image/png", "iVBORw0KGgo=", "plot.png")
    timeline = imported_timeline(
        tmp_path,
        MessageRead("u", "user", (Text("See."), picture)),
        answer("a", read_call("one")),
        ResultRead("one", "drawn", media=(picture,)),
        answer("b", "Nice."),
    )

    media = [item for item in timeline.items if item.kind == "media"]
    weights = timeline.weights()
    assert [weights[item.index] for item in media] == [MEDIA_TOKENS, MEDIA_TOKENS]
    output = next(item for item in timeline.items if item.kind == "output")
    assert media[1].group == output.group
    assert media[1].block == output.block


def test_times_that_a_recording_has_not_are_none(tmp_path: Path) -> None:
    timeline = imported_timeline(
        tmp_path,
        user("u", "Look.", created=None),
        MessageRead("a", "assistant", created=None),
    )

    assert [request.started for request in timeline.requests] == [None]


async def test_a_session_of_ours_has_system_prompt_tools_and_the_requests_that_were_sent(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(says("Looking."), calls("list", path="."), says("Nothing there."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Hello.")
    await ask(session, "What is here?")

    timeline = timeline_of(harness.store, session.id)

    kinds = [item.kind for item in timeline.items]
    assert kinds.count("system") == kinds.count("tools") == 1
    assert timeline.origin == "palimpsest"
    assert [request.seen for request in timeline.requests] == ["exact"] * 3
    assert [request.turn for request in timeline.requests] == [1, 2, 2]
    system, tools = kinds.index("system"), kinds.index("tools")
    assert {timeline.ranks[system], timeline.ranks[tools]} == {0, 1}
    assert timeline.read(system)


def test_the_golden_numbers_of_pi_come_from_the_timeline() -> None:
    timeline = pi_timeline()
    usages = [request.usage for request in timeline.requests if request.usage is not None]

    assert len(timeline.requests) == 453
    assert len(usages) == 439
    assert sum(usage.prompt for usage in usages) == 47_526_750
    assert max(usage.prompt for usage in usages) == 177_604
    assert sum(usage.output for usage in usages) == 83_156
    assert round(sum(request.cost or 0 for request in timeline.requests), 4) == 30.3302


def test_recorded_reductions_of_swe_agent_are_transitions(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))
    timeline = timeline_of(store, report.sessions[0].id)

    assert len(timeline.requests) == 13
    assert [transition.request for transition in timeline.transitions] == [6, 7, 8, 9, 10, 11, 12]
    assert all(request.usage is None for request in timeline.requests)


async def test_what_a_person_pins_excludes_and_restores_is_on_its_items(tmp_path: Path) -> None:
    harness, session = await SCENES["edited"](tmp_path)
    timeline = timeline_of(harness.store, session.id, counter)
    excluded, pinned = [item.index for item in timeline.items if item.kind == "output"][:2]
    call = next(
        item.index for item in timeline.items if item.group == timeline.items[excluded].group
    )

    states = [timeline.state(excluded, request) for request in range(len(timeline.requests))]
    assert timeline.items[pinned].pinned
    assert states[:6] == [None, "whole", "whole", "whole", "out", "out"]
    assert states[-1] == "whole"
    assert [timeline.state(call, request) for request in (3, 4)] == ["whole", "out"]

    back = states.index("whole", states.index("out"))
    assert "is left out in request 5, since request 5" in explanation(timeline, excluded, 4)
    assert "as the user excluded it" in explanation(timeline, excluded, 4)
    again = explanation(timeline, excluded, back)
    assert f"again since request {back + 1}" in again
    assert "as the user undid the compaction; from request 7 on it had been replaced" in again


def test_gaps_are_sentences_each_told_once(tmp_path: Path) -> None:
    timeline = imported_timeline(
        tmp_path,
        user("u", "Look."),
        GapRead("Records are missing."),
        answer("a", "Yes."),
        GapRead("Records are missing."),
        GapRead("The tools are not in the recording."),
    )

    assert timeline.gaps == (
        "Records are missing. (2 times)",
        "The tools are not in the recording.",
    )
