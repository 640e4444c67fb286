"""List the newest parts that the user can pin, exclude or restore, by their short ids.

Border: rows of text from a snapshot of a session.
"""

from palimpsest.context.visible_messages import View
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.records.part_lookup import Target, describe_target, is_used
from palimpsest.transcript.context_values.decisions import Decision, EffectiveDecisions
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.messages import Message, is_summary
from palimpsest.transcript.parts import FilePart, ReasoningPart, TextPart, ToolPart

PART_COLUMNS = ("id", "what", "the model sees it")
MAX_LISTED_PARTS = 30
"""Maximum parts that are listed; the log and the API have the ids of older ones."""

WORDS_BY_ACTION = {"truncate": "cut", "clear": "cleared", "drop": "left out"}


def part_rows(session: KernelSession) -> list[tuple[str, str, str]]:
    """Return rows for the parts that the user can pin, exclude or restore, newest first."""
    messages, decisions = session.snapshot().messages, session.decisions()
    effective_decisions = EffectiveDecisions(decisions)
    visible_message_ids = {message.id for message in View(messages, decisions).folded_messages()}
    rows: list[tuple[str, str, str]] = []
    for message in reversed(messages):
        for target in reversed(_targets(message)):
            if len(rows) == MAX_LISTED_PARTS:
                return rows
            visibility = _visibility_text(effective_decisions, target, visible_message_ids)
            rows.append((short_id(target.id), describe_target(target), visibility))
    return rows


def _targets(message: Message) -> list[Target]:
    if is_summary(message):
        return [Target(message)]
    return [
        Target(message, part)
        for part in message.parts
        if isinstance(part, ToolPart | FilePart)
        or (isinstance(part, TextPart) and part.text.strip() and not part.synthetic)
        or (isinstance(part, ReasoningPart) and part.text.strip())
    ]


def _visibility_text(
    effective_decisions: EffectiveDecisions, target: Target, visible_message_ids: set[str]
) -> str:
    if target.part is None:
        if not is_used(target.message):
            return "not used; nothing was cut"
        is_shown = target.id in visible_message_ids
        return _summary_visibility_text(effective_decisions.edit(target.id), is_shown=is_shown)
    hidden_text = "" if target.message.id in visible_message_ids else "behind a summary"
    if effective_decisions.is_pinned(target.part.id, target.message.id):
        return "pinned, quoted after the summary" if hidden_text else "pinned"
    reduction = effective_decisions.reduction(target.part.id, target.message.id)
    if reduction is not None and (reduction.action == "drop" or not hidden_text):
        return WORDS_BY_ACTION.get(reduction.action, "whole")
    return hidden_text or "whole"


def _summary_visibility_text(edit: Decision | None, *, is_shown: bool) -> str:
    is_pinned = edit is not None and edit.action == "pin"
    if edit is not None and not is_pinned:
        return "left out, with what it covers"
    if not is_shown:
        return "pinned, quoted after the newest summary" if is_pinned else "no more"
    return "in place of what it covers" + (", pinned" if is_pinned else "")
