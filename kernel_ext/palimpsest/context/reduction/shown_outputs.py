"""List the outputs of tools and of the user's cells that a request shows, for the deciders that reduce them."""

from dataclasses import dataclass
from typing import Protocol

from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.visible_messages import View, whole_output
from palimpsest.transcript.context_values.decisions import effective_reductions
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import NotebookPart, ToolCompleted, ToolPart


class OutputText(Protocol):
    """An output that a decider may shorten: of a message's part, or of a timeline's item."""

    @property
    def part_id(self) -> str:
        """The part whose output it is."""
        ...

    @property
    def shown(self) -> str:
        """The text as the model is shown it now."""
        ...

    @property
    def whole(self) -> str:
        """The whole text."""
        ...

    @property
    def media(self) -> int:
        """Images and other attachments that are shown with it."""
        ...


@dataclass(frozen=True, slots=True)
class CallOutput:
    """What one completed call returned, or what the user's cells did, whole and as the model is shown it."""

    position: int
    """Index of its message in the messages that were given."""
    part: ToolPart | NotebookPart
    shown: str
    whole: str
    media: int
    """Images and other attachments that are shown with it."""

    @property
    def part_id(self) -> str:
        """The part whose output it is."""
        return self.part.id

    @property
    def tool(self) -> str:
        """The name by which a policy protects or allows it: a tool's, or ``notebook``."""
        return self.part.tool if isinstance(self.part, ToolPart) else self.part.type


def shown_outputs(view: View, messages: Messages) -> list[CallOutput]:
    """Return the outputs that are still shown, oldest first: nothing cleared or dropped."""
    gone = {
        part_id
        for part_id, decision in effective_reductions(view.decisions).items()
        if decision.action in {"clear", "drop"}
    }
    originals = {part.id: part for message in messages for part in message.parts}
    found: list[CallOutput] = []
    for position, message in enumerate(apply_decisions(messages, view)):
        for part in message.parts:
            if part.id in gone:
                continue
            match part:
                case ToolPart(state=ToolCompleted(output=shown, attachments=attachments)):
                    whole = whole_output(originals[part.id], view.texts)
                    found.append(CallOutput(position, part, shown, whole, len(attachments)))
                case NotebookPart(text=shown):
                    whole = whole_output(originals[part.id], view.texts)
                    found.append(CallOutput(position, part, shown, whole, 0))
                case _:
                    pass
    return found
