"""A recorded session's values become messages, parts and decisions as our own sessions have them."""

from pathlib import Path

import pytest
from tests.recordings.import_journal.recordings import BEGIN, answer, load, read_call, result, user

from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.visible_messages import View
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    SessionBegin,
    Text,
    Thinking,
    TitleRead,
    UsageRead,
)
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.session_state.live_window import live_window
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import (
    FilePart,
    Part,
    ReasoningPart,
    StepFinishPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)
from palimpsest.transcript.session_record.events import MessageUpdated, PartUpdated
from palimpsest.transcript.values import ToolSpec, Usage


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def built(
    store: MemoryStore, folder: Path, *values: Recorded, begin: SessionBegin = BEGIN
) -> State:
    report = load(store, folder, begin, *values)
    assert report.problems == ()
    return store.load(report.sessions[-1].id)


def parts(state: State) -> list[Part]:
    return [part for message in state.messages() for part in message.parts]


def call(state: State) -> ToolPart:
    [found] = [part for part in parts(state) if isinstance(part, ToolPart)]
    return found


def shown(state: State, store: MemoryStore) -> list[str]:
    """What a request would show: texts and outputs, reduced and folded."""
    view = View.of(state.messages(), state.decisions, store.get_blob)
    lines = []
    for message in apply_decisions(view.folded_messages(), view):
        for part in message.parts:
            if isinstance(part, TextPart):
                lines.append(part.text)
            elif isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
                lines.append(part.state.output)
    return lines


def test_a_message_has_its_recorded_time_model_effort_usage_and_cost(
    store: MemoryStore, tmp_path: Path
) -> None:
    usage = Usage(input=1, output=2, reasoning=3, cache_read=4, cache_write=5)
    spoken = MessageRead(
        "a", "assistant", (Text("Hello"),), created=10, completed=30, model="openai/gpt-5",
        effort="high", usage=usage, cost=0.25, finish="length",
    )  # fmt: skip

    state = built(store, tmp_path, user("u", "Hi"), spoken)

    info = state.messages()[1].info
    assert isinstance(info, AssistantMessage)
    assert (info.time.created, info.time.completed) == (10, 30)
    assert (info.model.id, info.model.variant) == ("openai/gpt-5", "high")
    assert (info.tokens, info.cost, info.finish) == (usage, 0.25, "length")
    assert info.parent_id == state.messages()[0].id
    [end] = [part for part in parts(state) if isinstance(part, StepFinishPart)]
    assert (end.tokens, end.cost, end.seconds, end.context_tokens) == (usage, 0.25, 0.02, 15)


def test_an_answer_without_usage_has_no_step_finish(store: MemoryStore, tmp_path: Path) -> None:
    state = built(store, tmp_path, user("u", "Hi"), MessageRead("a", "assistant", (Text("Hello"),)))

    assert [part.type for part in parts(state)] == ["text", "step-start", "text"]
    assert state.session is not None
    assert (state.session.cost, state.session.tokens) == (None, Usage())


def test_usage_that_is_reported_later_counts_once(store: MemoryStore, tmp_path: Path) -> None:
    first, last = Usage(input=5, output=1), Usage(input=7, output=4)

    state = built(
        store, tmp_path,
        user("u", "Hi"), MessageRead("a", "assistant", (Text("Hello"),)),
        UsageRead("a", first), UsageRead("a", last, cost=0.5),
    )  # fmt: skip

    [end] = [part for part in parts(state) if isinstance(part, StepFinishPart)]
    assert end.tokens == last
    assert state.session is not None
    assert (state.session.tokens, state.session.cost, state.session.unpriced) == (last, 0.5, None)


def test_a_time_that_is_not_recorded_is_marked(store: MemoryStore, tmp_path: Path) -> None:
    state = built(
        store, tmp_path, user("u", "Hi", created=None), answer("a", "Hello", created=9_000)
    )

    first, second = (message.info for message in state.messages())
    assert first.imported == {"id": "u", "timed": False}  # type: ignore[union-attr]
    assert (first.time.created, second.time.created) == (1_000, 9_000)


def test_a_failed_call_and_one_without_a_result_say_so(store: MemoryStore, tmp_path: Path) -> None:
    failed = built(
        store,
        tmp_path,
        user("u", "Hi"),
        answer("a", read_call("c")),
        result("c", "No file", is_error=True),
    )
    assert call(failed).state == ToolFailed(
        input={"path": "c.py"},
        error="No file",
        time={"start": 2_000, "end": 3_000},  # type: ignore[arg-type]
    )

    other = built(MemoryStore(), tmp_path, user("u", "Hi"), answer("a", read_call("c")))
    state = call(other).state
    assert isinstance(state, ToolFailed)
    assert (state.error, state.metadata) == (
        "No result of this call was recorded.",
        {"interrupted": True},
    )


def test_a_long_output_and_the_system_prompt_are_blobs_without_secrets(
    store: MemoryStore, tmp_path: Path
) -> None:
    key = "sk-ant-api03-" + "a1B2c3D4" * 10
    begin = SessionBegin(
        "one", "listed", system=f"Be kind. {key}", tools=(ToolSpec(name="read", description="", parameters={}),)
    )  # fmt: skip
    whole = f"{key}\n" + "x" * 100_000

    state = built(
        store,
        tmp_path,
        user("u", "Hi"),
        answer("a", read_call("c")),
        result("c", whole),
        begin=begin,
    )

    held = call(state).state
    assert isinstance(held, ToolCompleted)
    assert held.blob is not None
    assert store.get_blob(held.blob.sha256).decode() == "[redacted]\n" + "x" * 100_000
    assert state.session is not None
    note = (state.session.metadata or {})["imported"]
    assert store.get_blob(note["system"]["sha256"]) == b"Be kind. [redacted]"
    assert b'"name": "read"' in store.get_blob(note["tools"]["sha256"])
    assert key not in "".join(record.line() for record in store.read(state.session.id))


def test_media_and_thinking_are_kept_and_what_is_missing_is_named(
    store: MemoryStore, tmp_path: Path
) -> None:
    asked = MessageRead("u", "user", (Media("image/png", "aGk="), Media("image/png", name="b.png")))
    thought = MessageRead(
        "a", "assistant", (Thinking("So"), Thinking("", encrypted=True, tokens=40), Text("Done"))
    )

    state = built(store, tmp_path, asked, thought)

    pictures = [part.url for part in parts(state) if isinstance(part, FilePart)]
    thoughts = [(p.text, p.metadata) for p in parts(state) if isinstance(p, ReasoningPart)]
    assert pictures == ["data:image/png;base64,aGk="]
    assert thoughts == [("So", None), ("", {"imported": {"encrypted": True, "tokens": 40}})]
    [named] = [part for part in parts(state) if isinstance(part, TextPart) and part.ignored]
    assert named.text == "[b.png, which is not in the recording]"


def test_a_compaction_hides_what_it_replaced_and_keeps_its_tail(
    store: MemoryStore, tmp_path: Path
) -> None:
    state = built(
        store, tmp_path,
        user("u1", "Old"), answer("a1", "Older"), user("u2", "Kept"), answer("a2", "Kept too"),
        CompactionRead("k", "Summary", keeps_from="u2", is_automatic=True, tokens_before=900),
        user("u3", "New"),
    )  # fmt: skip

    assert shown(state, store) == ["Summary", "Kept", "Kept too", "New"]
    window = live_window(state)
    assert (
        [state.message(name).id for name in window.checkpoint_fields["window"]["ids"]]
        == [  # type: ignore[union-attr]
            message.id for message in state.messages()[2:]
        ]
    )


def test_a_compaction_that_names_what_it_replaced_keeps_what_follows(
    store: MemoryStore, tmp_path: Path
) -> None:
    state = built(
        store, tmp_path,
        user("u1", "Task"), answer("a1", "One"), answer("a2", "Two"), answer("a3", "Three"),
        CompactionRead("k", "Summary", replaced_messages=("a1", "a2")), user("u2", "Next"),
    )  # fmt: skip

    assert shown(state, store) == ["Summary", "Three", "Next"]
    marker = state.messages()[4].info
    replaced = [state.messages()[1].id, state.messages()[2].id]
    assert marker.imported["replaced"] == replaced  # type: ignore[union-attr]


def test_a_summary_that_is_an_answer_belongs_to_its_compaction(
    store: MemoryStore, tmp_path: Path
) -> None:
    state = built(
        store, tmp_path,
        user("u1", "Old"), answer("a1", "Older"), CompactionRead("k", None),
        MessageRead("s", "assistant", (Text("Summary"),), usage=Usage(input=3), is_summary=True),
        user("u2", "New"),
    )  # fmt: skip

    assert shown(state, store) == ["Summary", "New"]
    assert state.last_compacted_id == state.messages()[3].id


def test_an_encrypted_summary_hides_what_it_replaced_too(
    store: MemoryStore, tmp_path: Path
) -> None:
    state = built(store, tmp_path, user("u1", "Old"), CompactionRead("k", None), user("u2", "New"))

    assert shown(state, store) == ["New"]
    summary = state.messages()[2].info
    assert isinstance(summary, AssistantMessage)
    assert summary.summary
    assert summary.imported == {"id": "k", "timed": False, "not_recorded": True}  # type: ignore[attr-defined]


def test_a_recorded_reduction_shows_what_stood_there(store: MemoryStore, tmp_path: Path) -> None:
    whole = "line\n" * 200
    begin = (user("u", "Hi"), answer("a", read_call("c")), result("c", whole))

    cleared = built(store, tmp_path, *begin, ReducedRead("c", "[gone]", rule="old"))
    assert shown(cleared, store) == ["Hi", "[gone]"]
    [decision] = cleared.decisions
    assert decision == Decision(
        id=decision.id,
        action="clear",
        rule="import",
        message_id=call(cleared).message_id,
        part_id=call(cleared).id,
        numbers={"shown": "[gone]", "rule": "old"},
        tokens_before=250,
        tokens_after=1,
    )

    other = MemoryStore()
    cut = built(other, tmp_path, *begin, ReducedRead("c", whole[:100] + "...", rule="cap"))
    assert (cut.decisions[0].action, shown(cut, other)) == ("truncate", ["Hi", whole[:100] + "..."])

    third = MemoryStore()
    back = built(
        third, tmp_path, *begin, ReducedRead("c", "[gone]"), ReducedRead("c", "", restored=True)
    )
    assert shown(back, third) == ["Hi", whole]


def test_messages_that_were_taken_back_are_removed_and_stay_paid(
    store: MemoryStore, tmp_path: Path
) -> None:
    state = built(
        store, tmp_path,
        user("u1", "One"), answer("a1", "First"), RemovedRead(("u1", "a1")), user("u2", "Two"),
    )  # fmt: skip

    assert shown(state, store) == ["Two"]
    assert state.session is not None
    assert state.session.cost == 0.5
    written = [record.event for record in store.read(state.session.id)]
    assert sum(isinstance(event, MessageUpdated) for event in written) == 3


def test_gaps_are_named_in_the_session_and_at_their_call(
    store: MemoryStore, tmp_path: Path
) -> None:
    state = built(
        store, tmp_path,
        user("u", "Hi"), GapRead("The system prompt is not recorded."), answer("a", read_call("c")),
        result("c", "head"), GapRead("The output was cut.", call="c", chars=900),
    )  # fmt: skip

    assert state.session is not None
    assert (state.session.metadata or {})["imported"]["gaps"] == [
        {"what": "The system prompt is not recorded."},
        {"what": "The output was cut.", "call": "c", "chars": 900},
    ]
    assert call(state).metadata == {"gaps": ["The output was cut."]}


def test_titles_come_from_the_recording_or_from_the_first_prompt(tmp_path: Path) -> None:
    titled_begin = SessionBegin("one", "listed", title="First")
    prompts = (user("u", "Please   read\nthis " + "word " * 40),)

    titles = [
        built(MemoryStore(), tmp_path, *values, begin=begin).session.title  # type: ignore[union-attr]
        for begin, values in (
            (titled_begin, prompts),
            (titled_begin, (*prompts, TitleRead("Later"))),
            (BEGIN, prompts),
            (BEGIN, ()),
        )
    ]

    assert titles[:2] == ["First", "Later"]
    assert titles[2].startswith("Please read this word")
    assert len(titles[2]) == 80
    assert titles[3] == "A session of listed"


def test_what_the_program_wrote_begins_no_turn(store: MemoryStore, tmp_path: Path) -> None:
    note = MessageRead("n", "user", (Text("Reminder"),), by_program=True)

    state = built(store, tmp_path, note, user("u", "Hi"))

    first, second = state.messages()
    assert (first.info.by_engine, second.info.by_engine) == (True, False)  # type: ignore[union-attr]
    assert [part.synthetic for part in parts(state) if isinstance(part, TextPart)] == [True, False]


def test_a_subagent_is_a_child_and_a_branch_names_its_origin(
    store: MemoryStore, tmp_path: Path
) -> None:
    report = load(
        store, tmp_path,
        BEGIN, user("u", "Hi"),
        SessionBegin("two", "listed", parent="one", parent_call="c9"), user("v", "Search"),
        SessionBegin("three", "listed", branch_of="one", branch_at="u"), user("u", "Hi"),
    )  # fmt: skip

    first, two, three = (store.load(session.id).session for session in report.sessions)
    assert first is not None
    assert two is not None
    assert three is not None
    assert two.parent_id == first.id
    assert (two.metadata or {})["imported"]["parent_call"] == "c9"
    note = (three.metadata or {})["imported"]
    assert note["branch_of"] == first.id
    assert note["branch_at"] == store.load(three.id).messages()[0].id


@pytest.mark.soak  # with each commit a call without a result says so, above; this adds more of them than are held
def test_calls_that_never_end_are_given_up_after_a_thousand(
    store: MemoryStore, tmp_path: Path
) -> None:
    many = (answer(f"a{n}", read_call(f"c{n}")) for n in range(1_100))

    state = built(store, tmp_path, user("u", "Hi"), *many)

    ends = [part.state.status for part in parts(state) if isinstance(part, ToolPart)]
    assert ends == ["error"] * 1_100
    written = [
        record.event.part.state.status
        for record in store.read(state.session.id)  # type: ignore[union-attr]
        if isinstance(record.event, PartUpdated) and isinstance(record.event.part, ToolPart)
    ]
    assert written.count("error") == 1_100
