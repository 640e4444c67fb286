"""Apply decisions to messages: the parts as the model is shown them.

Text reduction always starts from the stored original, so applying twice changes nothing.
"""

from collections.abc import Mapping

from palimpsest.context.standing import standing
from palimpsest.context.truncate import shorten
from palimpsest.context.view import View, whole_output
from palimpsest.transcript.decisions import Decision
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import Part, ToolCompleted, ToolPart

CLEARED = "[Old tool result content cleared]"
"""Shown where a decision does not say itself what is."""


def apply(messages: Messages, view: View) -> Messages:
    """Return the messages with every standing decision applied and blobs read in."""
    decisions = standing(view.decisions)
    return tuple(_message(message, decisions, view.texts) for message in messages)


def _message(
    message: Message, decisions: Mapping[str, Decision], texts: Mapping[str, str]
) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        decision = decisions.get(part.id)
        if decision is not None and decision.action == "drop":
            continue
        parts.append(_part(part, decision, texts))
    return message.model_copy(update={"parts": tuple(parts)})


def _part(part: Part, decision: Decision | None, texts: Mapping[str, str]) -> Part:
    if not isinstance(part, ToolPart) or not isinstance(part.state, ToolCompleted):
        return part
    state = part.state
    whole = whole_output(part, texts)
    attachments = tuple(
        attachment.model_copy(
            update={"url": texts.get(attachment.url.removeprefix("blob:"), attachment.url)}
        )
        for attachment in state.attachments
    )
    match decision:
        case None:
            shown = whole
        case Decision(action="clear"):
            shown, attachments = str(decision.numbers.get("text", CLEARED)), ()
        case _:
            shown = shorten(whole, decision.numbers)
            if decision.numbers.get("without_media"):
                attachments = ()
    return part.model_copy(
        update={"state": state.model_copy(update={"output": shown, "attachments": attachments})}
    )
