"""Apply decisions to messages, which gives the parts as the model sees them.

Text reduction always starts from the stored original, so applying twice changes nothing. An excluded
part is dropped with everything that is meaningless without it; the newest prompt is always sent, since
a request without it would have no question: its exclusion takes effect from the next prompt on.
"""

from collections.abc import Mapping
from operator import is_
from types import MappingProxyType
from typing import Any

from palimpsest.context.engine_text.reminders import MODE_RULE, with_reminders
from palimpsest.context.reduction.truncation import apply_truncation
from palimpsest.context.visible_messages import View, whole_output
from palimpsest.transcript.context_values.decisions import (
    EXCLUDE,
    LEFT_OUT,
    PICTURES_RULE,
    Decision,
    EffectiveDecisions,
    OwnRule,
)
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import (
    FilePart,
    NotebookPart,
    Part,
    ReasoningPart,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolCompleted,
    ToolPart,
)
from palimpsest.transcript.provider_calls import is_provider_call, without_native

NO_CHANGES: Mapping[str, Any] = MappingProxyType({})
IMPORT: OwnRule = "import"
CLEARED_TEXT = "[Old tool result content cleared]"
"""Replaces a cleared output where the decision has no text."""


def apply_decisions(messages: Messages, view: View) -> Messages:
    """Return the messages with every effective decision applied and blobs loaded."""
    if not view.decisions:
        return tuple([_message_with_blobs(message, view.texts) for message in messages])
    effective = EffectiveDecisions(view.decisions)
    newest_prompt = newest_visible_prompt(messages, effective)
    decided_ids = {
        decided_id
        for decision in view.decisions
        for decided_id in (decision.part_id, decision.message_id)
    }
    reduced_messages = tuple(
        _reduced_message(message, effective, view.texts, is_newest=message is newest_prompt)
        if message.id in decided_ids
        or not decided_ids.isdisjoint([part.id for part in message.parts])
        else _message_with_blobs(message, view.texts)
        for message in messages
    )
    return with_reminders(reduced_messages, view.decisions)


def newest_visible_prompt(messages: Messages, effective: EffectiveDecisions) -> Message | None:
    """Return the newest user message, not counting those that the engine itself dropped."""
    for message in reversed(messages):
        if not isinstance(message.info, UserMessage):
            continue
        reductions = (effective.reduction(part.id, message.id) for part in message.parts)
        is_withdrawn = any(
            reduction is not None
            and reduction.action == "drop"
            and reduction.rule not in (EXCLUDE, MODE_RULE)
            for reduction in reductions
        )
        if not is_withdrawn:
            return message
    return None


def _reduced_message(
    message: Message,
    effective: EffectiveDecisions,
    blob_contents: Mapping[str, str],
    *,
    is_newest: bool,
) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        decision = effective.reduction(part.id, message.id)
        if decision is None or decision.action != "drop":
            parts.append(_reduced_part(part, decision, blob_contents, effective.pictures(part.id)))
    if len(parts) < len(message.parts):
        if is_newest and not parts:
            return message
        if isinstance(message.info, AssistantMessage) and not _has_content(parts):
            parts = []
    elif all(map(is_, parts, message.parts)):
        return message
    return message.model_copy(update={"parts": tuple(parts)})


def _message_with_blobs(message: Message, blob_contents: Mapping[str, str]) -> Message:
    # Every part of a session passes here, and comparing the name of its type is twice as fast as isinstance.
    if not [
        part
        for part in message.parts
        if (part.type == "tool" and _has_blobs(part))
        or (part.type == "file" and part.url.startswith("blob:"))
    ]:
        return message
    parts = tuple(_reduced_part(part, None, blob_contents) for part in message.parts)
    return message.model_copy(update={"parts": parts})


def _has_blobs(part: ToolPart) -> bool:
    """Return whether an output may be stored in blobs."""
    state = part.state
    return state.status == "completed" and (state.blob is not None or bool(state.attachments))


def _has_content(parts: list[Part]) -> bool:
    """Return whether an answer's remaining parts are more than thinking and step markers."""
    return any(
        not isinstance(part, ReasoningPart | StepStartPart | StepFinishPart) for part in parts
    )


def _reduced_part(
    part: Part,
    decision: Decision | None,
    blob_contents: Mapping[str, str],
    picture_changes_by_index: Mapping[str, Any] = NO_CHANGES,
) -> Part:
    if isinstance(part, FilePart):
        return _sent_file(part, blob_contents, picture_changes_by_index.get("0"))
    if isinstance(part, NotebookPart):
        return part if decision is None else _reduced_cells(part, decision)
    if not isinstance(part, ToolPart) or not isinstance(part.state, ToolCompleted):
        return part
    state = part.state
    if decision is None and not _has_blobs(part):
        return part
    full_output = whole_output(part, blob_contents)
    indexes = range(len(state.attachments))
    picture_changes = [picture_changes_by_index.get(str(index), NO_CHANGES) for index in indexes]
    attachments = tuple(
        attachment.model_copy(
            update=_content_fields(attachment.url, attachment.mime, blob_contents, picture_change)
        )
        for attachment, picture_change in zip(state.attachments, picture_changes, strict=True)
        if LEFT_OUT not in picture_change
    )
    replacement_texts = [
        str(picture_change[LEFT_OUT])
        for picture_change in picture_changes
        if LEFT_OUT in picture_change
    ]
    match decision:
        case None:
            shown_text = full_output
        case Decision(action="clear"):
            shown_text, attachments, replacement_texts = _placeholder(decision), (), []
        case _:
            shown_text = recorded_text(decision) or apply_truncation(full_output, decision.numbers)
            if decision.numbers.get("without_media"):
                attachments, replacement_texts = (), []
    shown_text = "\n\n".join(
        text for text in (shown_text, *replacement_texts) if text or not replacement_texts
    )
    update: dict[str, object] = {"output": shown_text, "attachments": attachments}
    if decision is None or not is_provider_call(part):
        return part.model_copy(update={"state": state.model_copy(update=update)})
    # The provider accepts its own blocks only unchanged, so a reduced call and its result are both sent as text.
    update["metadata"] = without_native(state.metadata)
    return part.model_copy(
        update={"state": state.model_copy(update=update), "metadata": without_native(part.metadata)}
    )


def _content_fields(
    url: str, mime: str, blob_contents: Mapping[str, str], picture_change: Mapping[str, Any]
) -> dict[str, str]:
    """Return url and type of a picture's content; those of its smaller version where one exists."""
    smaller_content = blob_contents.get(str(picture_change.get("url", "")).removeprefix("blob:"))
    if smaller_content is not None:
        return {"url": smaller_content, "mime": str(picture_change["mime"])}
    return {"url": blob_contents.get(url.removeprefix("blob:"), url), "mime": mime}


def _sent_file(
    part: FilePart, blob_contents: Mapping[str, str], picture_change: Mapping[str, Any] | None
) -> Part:
    """Return an attached file with its content, or the text that replaces it."""
    if picture_change is not None and LEFT_OUT in picture_change:
        return TextPart(
            id=part.id,
            session_id=part.session_id,
            message_id=part.message_id,
            text=str(picture_change[LEFT_OUT]),
            synthetic=True,
        )
    if picture_change is None and not part.url.startswith("blob:"):
        return part
    return part.model_copy(
        update=_content_fields(part.url, part.mime, blob_contents, picture_change or NO_CHANGES)
    )


def _placeholder(decision: Decision) -> str:
    recorded = recorded_text(decision)
    return str(decision.numbers.get("text", CLEARED_TEXT)) if recorded is None else recorded


def recorded_text(decision: Decision) -> str | None:
    """Return the text that replaced an output in another agent's recording; None for our own decisions."""
    replacement = (
        decision.numbers.get("shown") if decision.rule in (IMPORT, PICTURES_RULE) else None
    )
    return replacement if isinstance(replacement, str) else None


def _reduced_cells(part: NotebookPart, decision: Decision) -> NotebookPart:
    """Return a note about the user's cells after a reduction."""
    if decision.action == "clear":
        shown_text = _placeholder(decision)
    else:
        shown_text = apply_truncation(part.text, decision.numbers)
    return part.model_copy(update={"text": shown_text})
