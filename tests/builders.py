"""Build transcripts concisely: ``user("...")``, ``assistant(text("..."), ran("python"))``."""

from typing import Any

from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessagePath,
    MessageTime,
    UserMessage,
)
from palimpsest.transcript.parts import (
    Part,
    ReasoningPart,
    Span,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolRunning,
)
from palimpsest.transcript.values import ModelInfo, ModelRef

SESSION = "ses_test"
MODEL = ModelRef(provider="openai", name="gpt-test")
INFO = ModelInfo(ref=MODEL, window=200_000, output_limit=8_000)


class Builder:
    """Numbers messages and parts as they are built, so that transcripts are comparable values."""

    def __init__(self) -> None:
        self.count = 0

    def id(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count:04d}"

    def _base(self) -> dict[str, str]:
        return {"id": self.id("prt"), "session_id": SESSION, "message_id": "msg_pending"}

    def text(self, words: str, **more: Any) -> TextPart:
        return TextPart(**self._base(), text=words, **more)

    def thought(self, words: str, **more: Any) -> ReasoningPart:
        return ReasoningPart(**self._base(), text=words, **more)

    def step_start(self) -> StepStartPart:
        return StepStartPart(**self._base())

    def step_finish(self, reason: str = "stop") -> StepFinishPart:
        return StepFinishPart(**self._base(), reason=reason)

    def ran(self, tool: str, output: str, call_id: str | None = None, **given: Any) -> ToolPart:
        base = self._base()
        state = ToolCompleted(input=given, output=output, title=tool, time=Span(start=1, end=2))
        return ToolPart(**base, call_id=call_id or f"call_{base['id']}", tool=tool, state=state)

    def failed(self, tool: str, error: str, metadata: dict[str, Any] | None = None) -> ToolPart:
        base = self._base()
        state = ToolFailed(
            input={}, error=error, metadata=metadata or {}, time=Span(start=1, end=2)
        )
        return ToolPart(**base, call_id=f"call_{base['id']}", tool=tool, state=state)

    def running(self, tool: str) -> ToolPart:
        base = self._base()
        state = ToolRunning(input={}, time=Span(start=1))
        return ToolPart(**base, call_id=f"call_{base['id']}", tool=tool, state=state)

    def user(self, *parts: Part | str, **more: Any) -> Message:
        info = UserMessage(
            id=self.id("msg"),
            session_id=SESSION,
            time=MessageTime(created=self.count),
            agent="build",
            model=MODEL,
            **more,
        )
        return self._message(info, parts)

    def assistant(
        self,
        *parts: Part | str,
        to: Message | None = None,
        finish: str | None = "stop",
        error: ErrorValue | None = None,
        model: ModelRef = MODEL,
        **more: Any,
    ) -> Message:
        info = AssistantMessage(
            id=self.id("msg"),
            session_id=SESSION,
            parent_id=to.id if to is not None else "msg_none",
            time=MessageTime(created=self.count, completed=self.count),
            agent="build",
            model=model,
            path=MessagePath(cwd="/w", root="/w"),
            finish=finish,
            error=error,
            **more,
        )
        return self._message(info, parts)

    def _message(
        self, info: UserMessage | AssistantMessage, parts: tuple[Part | str, ...]
    ) -> Message:
        made = [self.text(part) if isinstance(part, str) else part for part in parts]
        return Message(
            info=info,
            parts=tuple(part.model_copy(update={"message_id": info.id}) for part in made),
        )
