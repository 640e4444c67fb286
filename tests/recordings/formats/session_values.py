"""Make our messages of what a recording says, as far as an export needs them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    Media,
    MessageRead,
    Recorded,
    ReducedRead,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
)
from palimpsest.render.formats.atif import OutputShown, TrajectoryHead, atif_trajectory
from palimpsest.transcript.errors import UnknownError
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessagePath,
    MessageTime,
    Origin,
    UserMessage,
)
from palimpsest.transcript.parts import (
    Attachment,
    CompactionPart,
    FilePart,
    Part,
    ReasoningPart,
    Span,
    StepFinishPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolRunning,
)
from palimpsest.transcript.values import ModelRef, Usage

HERE = MessagePath(cwd="", root="")


@dataclass
class SessionValues:
    """One session as our messages."""

    begin: SessionBegin
    messages: list[Message] = field(default_factory=list)
    shown: dict[str, list[OutputShown]] = field(default_factory=dict)
    waiting: list[OutputShown] = field(default_factory=list)
    model: str = "unknown/unknown"

    def trajectory(self) -> dict[str, Any]:
        """Return the session as ATIF."""
        head = TrajectoryHead(
            session_id=self.begin.id,
            title=self.begin.title,
            version="1",
            model=self.begin.model or None,
            window=self.begin.window,
            system=self.begin.system,
            tools=self.begin.tools,
        )
        return atif_trajectory(head, self.messages, when, self.shown)

    def add(self, said: Recorded) -> None:
        """Add what is said."""
        match said:
            case MessageRead(role="user"):
                origin = Origin(kind="engine") if said.by_program else Origin()
                self._message(self._asked(said.id, said.created, origin), self._parts(said))
            case MessageRead():
                self.shown[said.id], self.waiting = self.waiting, []
                self._message(self._answer(said), self._parts(said))
            case ResultRead():
                self._result(said)
            case ReducedRead():
                seen = OutputShown(said.call, said.shown_text, said.rule, said.restored)
                self.waiting.append(seen)
            case CompactionRead():
                self._compaction(said)
            case _:
                pass

    def _message(self, info: UserMessage | AssistantMessage, parts: Sequence[Part]) -> None:
        self.messages.append(Message(info=info, parts=tuple(parts)))

    def _asked(self, name: str, created: int | None, origin: Origin) -> UserMessage:
        return UserMessage(
            id=name,
            session_id="s",
            time=MessageTime(created=created or 0),
            agent="build",
            model=reference(self.model),
            origin=origin,
        )

    def _answer(self, said: MessageRead) -> AssistantMessage:
        self.model = said.model or self.model
        model = reference(self.model).model_copy(update={"variant": said.effort})
        return AssistantMessage(
            id=said.id,
            session_id="s",
            parent_id="",
            time=MessageTime(created=said.created or 0, completed=said.completed),
            agent="build",
            model=model,
            path=HERE,
            finish=said.finish,
            error=None if said.error is None else UnknownError(message=said.error),
        )

    def _parts(self, said: MessageRead) -> list[Part]:
        made: list[Part] = []
        for number, part in enumerate(said.parts):
            base = {"id": f"{said.id}_{number}", "session_id": "s", "message_id": said.id}
            match part:
                case Text():
                    made.append(TextPart(**base, text=part.text))
                case Thinking():
                    made.append(ReasoningPart(**base, text=part.text))
                case Media():
                    made.append(
                        FilePart(**base, mime=part.mime, filename=part.name, url=address(part))
                    )
                case Call():
                    running = ToolRunning(input=part.input, time=Span(start=0))
                    made.append(ToolPart(**base, call_id=part.id, tool=part.tool, state=running))
        if said.usage is not None:
            made.append(counted(said.id, said.usage, said.cost))
        return made

    def _result(self, said: ResultRead) -> None:
        for index, message in enumerate(self.messages):
            parts = tuple(
                part.model_copy(update={"state": ended(part, said)})
                if isinstance(part, ToolPart) and part.call_id == said.call
                else part
                for part in message.parts
            )
            self.messages[index] = message.model_copy(update={"parts": parts})

    def _compaction(self, said: CompactionRead) -> None:
        numbers = {"tokens_before": said.tokens_before, "tokens_after": said.tokens_after}
        info = self._asked(said.id, said.created, Origin(kind="engine"))
        marker = CompactionPart(
            id=f"{said.id}_0",
            session_id="s",
            message_id=said.id,
            auto=said.is_automatic,
            tail_start_id=said.keeps_from,
        )
        self._message(info.model_copy(update={"imported": numbers}), [marker])
        name = f"{said.id}_summary"
        answer = MessageRead(name, "assistant", (), model=said.model, usage=said.usage)
        before = self.model
        summary = self._answer(answer).model_copy(update={"summary": True})
        self.model = before
        text = TextPart(id=f"{name}_0", session_id="s", message_id=name, text=said.summary or "")
        self._message(summary, [text, *self._parts(answer)])


def values_of(recorded: Sequence[Recorded]) -> list[SessionValues]:
    """Return the sessions of a recording as our messages."""
    values: list[SessionValues] = []
    for said in recorded:
        if isinstance(said, SessionBegin):
            values.append(SessionValues(said, model=said.model or "unknown/unknown"))
        else:
            values[-1].add(said)
    return values


def reference(name: str) -> ModelRef:
    provider, _, model = name.partition("/")
    return ModelRef(provider=provider, name=model)


def address(media: Media) -> str:
    return f"data:{media.mime};base64,{media.data}" if media.data is not None else media.name or ""


def counted(message: str, usage: Usage, cost: float | None) -> StepFinishPart:
    return StepFinishPart(
        id=f"{message}_finish",
        session_id="s",
        message_id=message,
        reason="stop",
        tokens=usage,
        cost=cost,
    )


def ended(part: ToolPart, said: ResultRead) -> ToolCompleted | ToolFailed:
    time = Span(start=said.started or 0, end=said.ended)
    given = part.state.input
    if said.is_error:
        return ToolFailed(input=given, error=said.output, time=time)
    files = tuple(
        Attachment(mime=medium.mime, filename=medium.name, url=address(medium))
        for medium in said.media
    )
    return ToolCompleted(input=given, output=said.output, time=time, attachments=files)


def when(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1_000, tz=UTC)
    return moment.isoformat(timespec="milliseconds")
