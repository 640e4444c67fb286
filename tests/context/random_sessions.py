"""Generate random sessions from a seed: messages of parts, as runs, crashes and other models leave them."""

from typing import Any

from tests.builders import SESSION, Builder
from tests.context.odd_inputs import IDS, INPUTS, THOUGHTS, TOOLS, OddInputs

from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.errors import AbortedError, ApiError, OutputLengthError
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import (
    AgentPart,
    Attachment,
    CompactionPart,
    FilePart,
    Part,
    PatchPart,
    Span,
    SubtaskPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
    ToolState,
)
from palimpsest.transcript.values import ModelRef

MODELS = (
    ModelRef(provider="openai", name="gpt-4o"),
    ModelRef(provider="anthropic", name="claude-sonnet-4-5"),
    ModelRef(provider="gemini", name="gemini-2.5-pro"),
    ModelRef(provider="mistral", name="mistral-large-latest"),
)
ERRORS = (None, None, None, AbortedError(), ApiError(message="500"), OutputLengthError())
FINISHES = ("stop", "tool-calls", "length", "unknown", None)


def session(seed: int) -> View:
    """Return a session as the projection receives it, with some results cleared."""
    drawn = _Session(seed)
    messages: list[Message] = []
    for _ in range(1 + drawn.odd.count(6)):
        messages += drawn.turn()
    if drawn.odd.chance(0.8):
        messages.append(drawn.builder.user(drawn.builder.text("Go on.")))
    return View(tuple(messages), drawn.decisions(tuple(messages)))


class _Session:
    def __init__(self, seed: int) -> None:
        self.odd = OddInputs(seed)
        self.builder = Builder()

    def _base(self) -> dict[str, str]:
        return {"id": self.builder.id("prt"), "session_id": SESSION, "message_id": "msg_pending"}

    def turn(self) -> list[Message]:
        asked = self.builder.user(*self._question())
        steps = [
            self.builder.assistant(
                *self._step(),
                to=asked,
                finish=self.odd.one(FINISHES),
                error=self.odd.one(ERRORS),
                model=self.odd.one(MODELS),
            )
            for _ in range(self.odd.count(3))
        ]
        if not self.odd.chance(0.1):
            return [asked, *steps]
        marker = self.builder.user(CompactionPart(**self._base(), auto=self.odd.chance(0.5)))
        summary = self.builder.assistant(
            self.builder.text(self.odd.words()),
            to=marker,
            finish=self.odd.one(FINISHES),
            error=self.odd.one(ERRORS),
            summary=True,
        )
        return [asked, *steps, marker, summary]

    def _question(self) -> list[Part]:
        odd = self.odd
        parts: list[Part] = [
            self.builder.text(odd.words(), ignored=odd.chance(0.1), synthetic=odd.chance(0.1))
            for _ in range(1 + odd.count(2))
        ]
        if odd.chance(0.2):
            media = odd.media()
            parts.append(FilePart(**self._base(), mime=media.mime, url=media.url))
        if odd.chance(0.1):
            parts.append(AgentPart(**self._base(), name="plan"))
        if odd.chance(0.1):
            asked = {"prompt": odd.words(), "description": "x", "agent": "build"}
            parts.append(SubtaskPart(**self._base(), **asked))
        return parts

    def _step(self) -> list[Part]:
        parts: list[Part] = []
        for _ in range(1 + self.odd.count(2)):
            parts.append(self.builder.step_start())
            if self.odd.chance(0.4):
                thought = self.builder.thought(self.odd.words(), metadata=self.odd.one(THOUGHTS))
                parts.append(thought)
            if self.odd.chance(0.6):
                parts.append(self.builder.text(self.odd.words(), metadata=self._metadata()))
            parts += [self._tool() for _ in range(self.odd.count(3))]
            if self.odd.chance(0.1):
                parts.append(PatchPart(**self._base(), hash="x", files=("a.py",)))
            parts.append(self.builder.step_finish())
        return parts

    def _metadata(self) -> dict[str, Any] | None:
        return {"failed_attempt": 1} if self.odd.chance(0.05) else None

    def _tool(self) -> ToolPart:
        return ToolPart(
            **self._base(),
            call_id=self.odd.one(IDS),
            tool=self.odd.one(TOOLS),
            state=self._state(self.odd.one(INPUTS)),
            metadata=self._metadata(),
        )

    def _state(self, given: dict[str, Any]) -> ToolState:
        odd, span = self.odd, Span(start=1, end=2)
        kind = odd.random.randrange(8)
        if kind == 0:
            return ToolPending(input=given, raw="{")
        if kind == 1:
            return ToolRunning(input=given, time=Span(start=1))
        if kind == 2:
            metadata = {"interrupted": True, "output": odd.words()} if odd.chance(0.5) else {}
            return ToolFailed(input=given, error=odd.words(), metadata=metadata, time=span)
        files = [odd.media() for _ in range(odd.count(2))] if odd.chance(0.3) else []
        attachments = tuple(
            Attachment(mime=file.mime, url=file.url, filename=file.filename) for file in files
        )
        return ToolCompleted(input=given, output=odd.words(), time=span, attachments=attachments)

    def decisions(self, messages: Messages) -> tuple[Decision, ...]:
        """Return decisions that clear, drop or truncate some parts."""
        parts = [part.id for message in messages for part in message.parts]
        chosen = [part for part in parts if self.odd.chance(0.1)]
        return tuple(
            Decision(
                id=f"dec_{i}", action=self.odd.one(["clear", "drop"]), rule="x", part_id=part_id
            )
            for i, part_id in enumerate(chosen)
        )
