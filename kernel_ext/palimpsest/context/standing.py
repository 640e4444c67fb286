"""What holds for each part after all the decisions about it.

Border: pure, and the same in the live loop and in review; how decisions about a part are piled up
is said in ``transcript/context_values/effective_decisions.py``.
"""

from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.effective_decisions import Standing
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import Part


def standing(decisions: tuple[Decision, ...]) -> dict[str, Decision]:
    """Return the reduction that holds for each part that was decided about by itself."""
    holding = Standing(decisions)
    homes: dict[str, str | None] = {}
    for one in decisions:
        if one.part_id is not None:
            homes[one.part_id] = one.message_id or homes.get(one.part_id)
    found = {}
    for part_id, message_id in homes.items():
        reduction = holding.reduction(part_id, message_id)
        if reduction is not None:
            found[part_id] = reduction
    return found


def pinned_parts(messages: Messages, decisions: tuple[Decision, ...]) -> frozenset[str]:
    """Return the parts that nothing may reduce: those that a person pinned, alone or by message."""
    holding = Standing(decisions)
    wished = holding.wished
    return frozenset(
        part.id
        for message in messages
        for part in message.parts
        if (
            holding.pinned(part.id, message.id)
            if part.id in wished or message.id in wished
            else says_pinned(part)
        )
    )


def says_pinned(part: Part) -> bool:
    """Say whether a part itself says that it is pinned, without a decision."""
    if part.type == "text" or part.type == "tool":
        return part.pinned
    # A newer version may pin more: unknown fields are kept.
    unknown = part.__pydantic_extra__
    return bool(unknown and unknown.get("pinned"))


def restored_parts(decisions: tuple[Decision, ...]) -> frozenset[str]:
    """Return the parts that a person made visible again; no rule hides them a second time."""
    return Standing(decisions).restored
