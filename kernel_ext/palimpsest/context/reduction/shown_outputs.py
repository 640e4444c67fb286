"""List the tool outputs that a request shows, for the deciders that reduce them."""

from dataclasses import dataclass

from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.visible_messages.view import View, whole_output
from palimpsest.transcript.context_values.decisions import effective_reductions
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import ToolCompleted, ToolPart


@dataclass(frozen=True, slots=True)
class CallOutput:
    """What one completed call returned, whole and as the model is shown it."""

    position: int
    """Index of its message in the messages that were given."""
    part: ToolPart
    shown: str
    whole: str
    media: int
    """Images and other attachments that are shown with it."""


def shown_outputs(view: View, messages: Messages) -> list[CallOutput]:
    """Return the outputs that are still shown, oldest first: nothing cleared or dropped."""
    gone = {
        part_id
        for part_id, decision in effective_reductions(view.decisions).items()
        if decision.action in {"clear", "drop"}
    }
    originals = {part.id: part for message in messages for part in message.parts}
    return [
        CallOutput(
            position=position,
            part=part,
            shown=part.state.output,
            whole=whole_output(originals[part.id], view.texts),
            media=len(part.state.attachments),
        )
        for position, message in enumerate(apply_decisions(messages, view))
        for part in message.parts
        if isinstance(part, ToolPart)
        and isinstance(part.state, ToolCompleted)
        and part.id not in gone
    ]
