"""A closed segment of a cell is not updated until its message is complete, and then once more."""

from types import SimpleNamespace
from typing import Any

from palimpsest.frontends.turn_output.cell_output import LONG_INTERVAL_SECONDS, CellOutput
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.session.engine import Snapshot
from palimpsest.transcript.messages import AssistantMessage, Message, MessagePath, MessageTime
from palimpsest.transcript.parts import (
    Span,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolRunning,
)
from palimpsest.transcript.session_record.sessions import Busy
from palimpsest.transcript.values import ModelRef, Reply

MIME = "application/vnd.palimpsest.segment+json"
RUNNING = ToolRunning(input={}, time=Span(start=1))
ENDED = ToolCompleted(input={}, output="", title="", time=Span(start=1, end=2))


def answer(state: Any, *, completed: int | None = None, text: str = "") -> Message:
    info = AssistantMessage(
        id="msg_1",
        session_id="ses_1",
        parent_id="msg_0",
        time=MessageTime(created=1, completed=completed),
        agent="build",
        model=ModelRef(provider="test", name="scripted"),
        path=MessagePath(cwd="/", root="/"),
    )
    of = {"session_id": "ses_1", "message_id": "msg_1"}
    parts = (
        ToolPart(id="prt_1", call_id="call_1", tool="python", state=state, **of),
        *((TextPart(id="prt_2", text=text, **of),) if text else ()),
    )
    return Message(info=info, parts=parts)


class Feed:
    """A fake feed of a turn whose newest message the test sets."""

    first_seq = 1
    turn_id = "msg_0"
    session = None
    notes = OutlineNotes()
    change_count = ended_step_count = notable_count = 0
    is_told = True

    def __init__(self) -> None:
        self.newest = answer(RUNNING)

    def snapshot(self) -> Snapshot:
        self.change_count += 1
        self.notable_count += 1
        return Snapshot(None, Busy(), (self.newest,), (), (), (), None, self.change_count)

    def has_received(self, _snapshot: Snapshot) -> bool:
        return self.is_told

    def messages(self, snapshot: Snapshot, _answer: Any = None) -> tuple[Message, ...]:
        return snapshot.messages


def test_it_is_shown_once_more_when_its_message_is_complete() -> None:
    feed = Feed()
    published: list[tuple[str, Any]] = []

    def publish(data: dict[str, Any], *_: Any, transient: Any, update: bool) -> None:
        del update
        published.append((transient["display_id"][-1], data[MIME]))

    def shown_first() -> Any:
        found = [segment for name, segment in published if name == "0"]
        return found[-1]["messages"][0]["info"]["time"].get("completed"), len(found)

    story = CellOutput(feed, publish, scrub=str, is_watched=lambda: False)  # type: ignore[arg-type]
    story.prepare_native_output("call_1")
    feed.newest = answer(ENDED)
    story.refresh(force=True)
    assert shown_first()[0] is None

    times = shown_first()[1]
    feed.newest = answer(ENDED, text="More.")
    story.refresh(force=True)
    assert shown_first() == (None, times)

    feed.newest = answer(ENDED, completed=9, text="More.")
    story.finish(SimpleNamespace(seq=(1, 9)))  # type: ignore[arg-type]
    assert shown_first() == (9, times + 1)


def test_it_is_shown_with_the_answer_of_a_person_that_came_after_its_call_had_ended() -> None:
    feed = Feed()
    published: list[str] = []

    def publish(data: dict[str, Any], *_: Any, transient: Any, update: bool) -> None:
        del update
        if transient["display_id"].endswith("0"):
            published.append(data["text/markdown"])

    story = CellOutput(feed, publish, scrub=str, is_watched=lambda: False)  # type: ignore[arg-type]
    story.prepare_question("call_1")
    # The snapshot holds the refused call; the records of a moment ago are still on their way.
    feed.is_told = False
    feed.newest = answer(ToolFailed(input={}, error="No.", time=Span(start=1, end=2)))
    story.refresh(force=True)
    assert "refused" not in published[-1]

    feed.notes = OutlineNotes(answers={"call_1": Reply(answer="reject", by="person")})
    feed.is_told = True
    story.refresh(force=True)

    assert "refused" in published[-1]


class FastFeed(Feed):
    """A feed in which each look finds another step, and nothing that is shown at once."""

    def snapshot(self) -> Snapshot:
        self.ended_step_count += 1
        self.change_count += 1
        return Snapshot(None, Busy(), (self.newest,), (), (), (), None, self.change_count)


def test_steps_that_follow_each_other_fast_are_shown_together() -> None:
    feed, now = FastFeed(), [10.0]
    shown: list[str] = []

    def publish(data: dict[str, Any], *_: Any, **__: Any) -> None:
        shown.append(data["text/plain"])

    story = CellOutput(
        feed,  # type: ignore[arg-type]
        publish,
        scrub=str,
        is_watched=lambda: False,
        clock=lambda: now[0],
    )
    for number in range(100):  # a step every 20 ms for two seconds
        feed.newest = answer(ENDED, text=f"Step {number}.")
        story.refresh()
        now[0] += 0.02
    now[0] += LONG_INTERVAL_SECONDS
    story.refresh()

    assert 4 <= len(shown) <= 22
    assert "Step 99." in shown[-1]


def test_a_long_text_is_closed_while_it_grows_also_where_a_page_watches() -> None:
    feed, now = GrowingFeed(), [10.0]
    shown: list[tuple[str, str]] = []

    def publish(data: dict[str, Any], *_: Any, transient: Any, update: bool) -> None:
        del update
        shown.append((transient["display_id"][-1], data["text/markdown"]))

    story = CellOutput(
        feed,  # type: ignore[arg-type]
        publish,
        scrub=str,
        is_watched=lambda: True,
        clock=lambda: now[0],
    )
    for paragraph in range(1, 40):
        feed.newest = answer(
            ENDED, text="\n\n".join(f"No. {n} {'x' * 990}" for n in range(paragraph))
        )
        story.refresh()
        now[0] += LONG_INTERVAL_SECONDS
    segments = [segment for segment, _ in shown]
    sent = sum(len(text) for _, text in shown)

    assert segments[:1] == ["0"]
    assert segments[-1] == "4"
    assert sent < 2 * len(feed.newest.parts[-1].text)  # type: ignore[union-attr]


class GrowingFeed(Feed):
    """A feed in which each look finds more words, and nothing that is shown at once."""

    notable_count = 1

    def snapshot(self) -> Snapshot:
        self.change_count += 1
        return Snapshot(None, Busy(), (self.newest,), (), (), (), None, self.change_count)
