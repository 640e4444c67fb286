"""Context edits (pin, exclude, restore) are shown with the earlier decisions that still hold."""

import pytest
from tests.builders import Builder

from palimpsest.render.content.outline import OutlineCall, OutlineNotes, outline_parts
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.parts import ToolPart


def reductions(*decided: tuple[str, str]) -> tuple[str, ...]:
    """Return what is shown of a call after decisions, each an action and a rule."""
    part: ToolPart = Builder().ran("read", "x,y")
    decisions = tuple(
        Decision(
            id=f"dec_{number}",
            action=action,  # type: ignore[arg-type]
            rule=rule,
            message_id=part.message_id,
            part_id=part.id,
            tokens_before=200,
            tokens_after=10,
        )
        for number, (action, rule) in enumerate(decided)
    )
    [call] = outline_parts([part], notes=OutlineNotes(decisions=decisions))
    assert isinstance(call, OutlineCall)
    return call.reductions


CUT = "Truncated for the model: 200 → 10 tokens, by rule truncate; the whole text is kept"
CLEARED = "Cleared for the model: 200 → 10 tokens, by rule prune/batch; the whole text is kept"


@pytest.mark.parametrize(
    ("decided", "told"),
    [
        ((), ()),
        ((("pin", "user/pin"),), ("Pinned: kept in every request",)),
        (
            (("drop", "user/exclude"),),
            ("Excluded from every request, as asked; it is kept here",),
        ),
        (
            (("drop", "compact/aside"),),
            (
                (
                    "Left out for the model; it is kept here. It belongs to a compaction that came to "
                    "nothing, so the history goes on as it was before."
                ),
            ),
        ),
        ((("drop", "user/exclude"), ("restore", "user/restore")), ()),
        ((("clear", "prune/batch"),), (CLEARED,)),
        ((("clear", "prune/batch"), ("restore", "user/restore")), ()),
        (
            (("truncate", "truncate"), ("pin", "user/pin")),
            ("Pinned: kept in every request", CUT),
        ),
    ],
)
def test_tells_what_holds(decided: tuple[tuple[str, str], ...], told: tuple[str, ...]) -> None:
    assert reductions(*decided) == told
