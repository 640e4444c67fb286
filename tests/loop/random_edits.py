"""A randomly edited session, with the changes that users, models and deciders make between requests."""

import hashlib
import random
from collections.abc import Callable

from tests.builders import SESSION, Builder

from palimpsest.context.visible_messages import CONTINUES_KEY
from palimpsest.transcript.context_values.decisions import (
    EXCLUDE,
    PIN,
    RESTORE,
    UNDO,
    UNPIN,
    Decision,
    DecisionAction,
)
from palimpsest.transcript.errors import AbortedError, ApiError, NotFound
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import (
    Attachment,
    CompactionPart,
    FilePart,
    Part,
    TextPart,
    ToolCompleted,
    ToolPart,
)
from palimpsest.transcript.values import BlobRef

PNG = "data:image/png;base64,iVBORw0KGgo="
DECISIONS: tuple[tuple[DecisionAction, str], ...] = (
    ("clear", "prune/batch"),
    ("clear", "prune/batch"),
    ("truncate", "truncate"),
    ("drop", "engine"),
    ("drop", EXCLUDE),
    ("restore", RESTORE),
    ("restore", UNPIN),
    ("restore", "prune/batch"),
    ("pin", PIN),
)
WORDS = ("Look at it.", "", "  ", "企鹅的体重", "How many?", "word " * 40)


class RandomlyEditedSession:
    """Messages, decisions and blobs of a session, and random changes to them."""

    def __init__(self, seed: int, *, tidy: bool) -> None:
        self.messages: list[Message] = []
        self.decisions: list[Decision] = []
        self.blobs: dict[str, bytes] = {}
        self._random = random.Random(seed)
        self._builder = Builder()
        self._tidy = tidy
        """Allow only changes of our own sessions without context edits."""

    def read(self, sha256: str) -> bytes:
        """Return a blob, as the store does."""
        if sha256 not in self.blobs:
            raise NotFound(sha256)
        return self.blobs[sha256]

    def edit(self) -> None:
        """Make one random change."""
        usual: tuple[Callable[[], None], ...] = (
            self.prompt,
            self.step,
            self.step,
            self.step,
            self.answer,
            self.stream,
            self.decide,
            self.nothing,
        )
        rare: tuple[Callable[[], None], ...] = (
            self.compact,
            self.rewrite,
            self.revert,
            self.fail,
            self.undo,
        )
        self._random.choice(rare if self._chance(0.15) else usual)()

    def nothing(self) -> None:
        """Change nothing, so that the same request is built again."""

    def prompt(self) -> None:
        """Add a prompt."""
        parts: list[Part | str] = [self._random.choice(WORDS) or "Go on."]
        if self._chance(0.2):
            parts.append(self._file())
        if self._chance(0.1):
            parts.append(self._builder.text("Kept.", pinned=not self._tidy))
        self.messages.append(self._builder.user(*parts))

    def step(self) -> None:
        """Add an answer with tool calls."""
        self._say(self._parts(calls=1 + self._random.randrange(3)), "tool-calls")

    def answer(self) -> None:
        """Add an answer with text."""
        self._say(self._parts(calls=0), "stop")

    def stream(self) -> None:
        """Extend the newest message, or change one of its parts."""
        if self.messages:
            last = self.messages[-1]
            if isinstance(last.info, AssistantMessage) and self._chance(0.6):
                self._replace(-1, (*last.parts, *self._parts(calls=self._random.randrange(2))))
            else:
                self.rewrite(-1)

    def rewrite(self, at: int | None = None) -> None:
        """Change a text of any message."""
        if self.messages:
            at = self._random.randrange(len(self.messages)) if at is None else at
            parts = tuple(
                part.model_copy(update={"text": part.text + "!"})
                if isinstance(part, TextPart)
                else part
                for part in self.messages[at].parts
            )
            self._replace(at, parts)

    def fail(self) -> None:
        """End the newest answer with an error."""
        if self.messages and isinstance(self.messages[-1].info, AssistantMessage):
            error = self._random.choice((AbortedError(), ApiError(message="500")))
            info = self.messages[-1].info.model_copy(update={"error": error})
            self.messages[-1] = self.messages[-1].model_copy(update={"info": info})

    def revert(self) -> None:
        """Remove the newest messages."""
        del self.messages[len(self.messages) - self._random.randrange(4) :]

    def compact(self) -> None:
        """Ask for a summary, and mostly add one."""
        tail = (
            self._random.choice(self.messages).id if self.messages and self._chance(0.6) else None
        )
        base = {"id": self._builder.id("prt"), "session_id": SESSION, "message_id": "msg_pending"}
        marker = self._builder.user(CompactionPart(**base, auto=True, tail_start_id=tail))
        self.messages.append(marker)
        if self._chance(0.8):
            error = ApiError(message="500") if self._chance(0.2) else None
            summary = self._builder.assistant(
                "What was done.", to=marker, error=error, summary=True
            )
            self.messages.append(summary)
        if self._chance(0.5):
            self.messages.append(
                self._builder.user(self._builder.text("Go on.", metadata={CONTINUES_KEY: True}))
            )

    def undo(self) -> None:
        """Undo a compaction."""
        summaries = [
            message.id
            for message in self.messages
            if getattr(message.info, "summary", False) is True
        ]
        if summaries and not self._tidy:
            self._decided("restore", UNDO, self._random.choice(summaries), None)

    def decide(self) -> None:
        """Make a decision about a part, or about a whole message."""
        if not self.messages:
            return
        message = self._random.choice(self.messages)
        action, rule = self._random.choice(DECISIONS[:3] if self._tidy else DECISIONS)
        tools = [part.id for part in message.parts if isinstance(part, ToolPart)]
        names = tools if self._tidy else [part.id for part in message.parts]
        part = self._random.choice(names) if names else None
        if part is None or (rule in (PIN, EXCLUDE) and self._chance(0.3)):
            part = None
            if self._tidy:
                return
        self._decided(action, rule, message.id, part)

    def _decided(
        self, action: DecisionAction, rule: str, message_id: str, part_id: str | None
    ) -> None:
        numbers = {"head_chars": 3, "tail_chars": 0, "omitted": 9, "unit": "bytes"}
        self.decisions.append(
            Decision(
                id=self._builder.id("dec"),
                action=action,
                rule=rule,
                message_id=message_id,
                part_id=part_id,
                numbers=numbers if action == "truncate" else {},
            )
        )

    def _say(self, parts: tuple[Part, ...], finish: str) -> None:
        self.messages.append(self._builder.assistant(*parts, finish=finish))

    def _parts(self, *, calls: int) -> tuple[Part, ...]:
        build = self._builder
        parts: list[Part] = [build.step_start()]
        if self._chance(0.3):
            thought = {
                "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}]
            }
            parts.append(build.thought("hm", metadata=thought))
        if calls == 0 or self._chance(0.4):
            parts.append(build.text(self._random.choice(WORDS)))
        parts += [self._call() for _ in range(calls)]
        return (*parts, build.step_finish())

    def _call(self) -> ToolPart:
        build = self._builder
        if self._chance(0.1):
            return build.running("python")
        output = self._random.choice(WORDS)
        # Nine letters and digits, so that every provider accepts it unchanged.
        call_id = f"call{build.count:05d}"
        if not self._tidy and self._chance(0.05):
            call_id = self._random.choice(("call_same", "", "x" * 60, "with space"))
        part = build.ran(self._random.choice(("read", "python")), output, call_id, code="1+1")
        if not self._chance(0.2) or not isinstance(part.state, ToolCompleted):
            return part
        whole = (output + " the whole of it").encode()
        sha256 = hashlib.sha256(whole).hexdigest()
        if sha256[0] < "d":
            self.blobs[sha256] = whole
        pictures = (Attachment(mime="image/png", url=PNG),) if self._chance(0.3) else ()
        state = part.state.model_copy(
            update={"blob": BlobRef(sha256=sha256, bytes=len(whole)), "attachments": pictures}
        )
        return part.model_copy(update={"state": state, "pinned": self._wish(0.1)})

    def _file(self) -> FilePart:
        base = {"id": self._builder.id("prt"), "session_id": SESSION, "message_id": "msg_pending"}
        mime = self._random.choice(("image/png", "text/plain"))
        return FilePart(**base, mime=mime, url=PNG, filename="a.png")

    def _replace(self, at: int, parts: tuple[Part, ...]) -> None:
        message = self.messages[at]
        own = tuple(part.model_copy(update={"message_id": message.id}) for part in parts)
        self.messages[at] = message.model_copy(update={"parts": own})

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _wish(self, share: float) -> bool:
        return not self._tidy and self._chance(share)
