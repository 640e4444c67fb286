"""List the newest parts that a person can pin, exclude or restore, by their short ids.

Border: rows of text from values.
"""

from palimpsest.context.visible_messages import View
from palimpsest.session.records.part_lookup import Target, describe, is_used
from palimpsest.transcript.context_values.decisions import Decision, EffectiveDecisions
from palimpsest.transcript.ids import short
from palimpsest.transcript.messages import Message, Messages, is_summary
from palimpsest.transcript.parts import FilePart, ReasoningPart, TextPart, ToolPart

HEAD = ("id", "what", "the model sees it")
MOST_PARTS = 30
"""How many of the newest are listed; the ids of older ones are in the log and the API."""

HOW = {"truncate": "cut", "clear": "cleared", "drop": "left out"}


def part_rows(messages: Messages, decisions: tuple[Decision, ...]) -> list[tuple[str, str, str]]:
    """Return rows for the newest parts that a person can edit the context of, newest first."""
    effective = EffectiveDecisions(decisions)
    shown = {message.id for message in View(messages, decisions).folded()}
    rows: list[tuple[str, str, str]] = []
    for message in reversed(messages):
        for target in reversed(_targets(message)):
            if len(rows) == MOST_PARTS:
                return rows
            rows.append((short(target.id), describe(target), _how(effective, target, shown)))
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


def _how(effective: EffectiveDecisions, target: Target, shown: set[str]) -> str:
    if target.part is None:
        if not is_used(target.message):
            return "not used; nothing was cut"
        return _how_summary(effective.edit(target.id), seen=target.id in shown)
    behind = "" if target.message.id in shown else "behind a summary"
    if effective.pinned(target.part.id, target.message.id):
        return "pinned, quoted after the summary" if behind else "pinned"
    reduction = effective.reduction(target.part.id, target.message.id)
    if reduction is not None and (reduction.action == "drop" or not behind):
        return HOW.get(reduction.action, "whole")
    return behind or "whole"


def _how_summary(wish: Decision | None, *, seen: bool) -> str:
    pinned = wish is not None and wish.action == "pin"
    if wish is not None and not pinned:
        return "left out, with what it covers"
    if not seen:
        return "pinned, quoted after the newest summary" if pinned else "no more"
    return "in place of what it covers" + (", pinned" if pinned else "")
