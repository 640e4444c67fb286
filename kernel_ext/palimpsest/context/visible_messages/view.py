"""What a projection starts from: the messages, the decisions, and the texts kept in blobs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from palimpsest.context.visible_messages.blob_texts import Read, load_texts
from palimpsest.context.visible_messages.fold import fold
from palimpsest.context.visible_messages.undone_compactions import without_undone
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import Part, ToolCompleted, ToolPart


@dataclass(frozen=True, slots=True)
class View:
    """A session at one moment, ready to be projected."""

    messages: Messages
    decisions: tuple[Decision, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """Whole texts by sha256, for parts whose output is kept as a blob."""

    @classmethod
    def of(cls, messages: Messages, decisions: tuple[Decision, ...], read: Read) -> "View":
        """Return the view of a session whose long texts ``read`` gives by their hash, when they are needed."""
        return cls(messages, decisions, load_texts(messages, read, decisions))

    def decided(self, *more: Decision) -> "View":
        """Return the view after these decisions, too; they need no other texts."""
        return replace(self, decisions=(*self.decisions, *more))

    def folded(self, policy: CompactPolicy | None = None) -> Messages:
        """Return the messages that stand for the whole history, undone compactions passed over."""
        return fold(without_undone(self.messages, self.decisions), policy)


def whole_output(part: Part, texts: Mapping[str, str]) -> str:
    """Return all that a completed call returned; the log's head and tail where the blob is gone."""
    match part:
        case ToolPart(state=ToolCompleted(blob=None, output=output)):
            return output
        case ToolPart(state=ToolCompleted(blob=blob, output=output)) if blob is not None:
            return texts.get(blob.sha256, output)
        case _:
            return ""


def messages_before(messages: Messages, message_id: str) -> Messages:
    """Return the messages before one."""
    ids = [message.id for message in messages]
    return messages[: ids.index(message_id)]
