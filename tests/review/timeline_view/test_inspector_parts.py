"""What is hidden of an inspector is told by no other part of it."""

import pytest

from palimpsest.review.timeline_view.inspector_parts import (
    INSPECTOR_PARTS,
    PARTS_THAT_TELL,
    hidden_with,
    inspector_opening,
    parts_named,
)
from palimpsest.transcript.errors import UserError


def test_what_tells_a_hidden_answer_is_hidden_with_it() -> None:
    assert hidden_with(["totals"]) == ("totals",)
    assert hidden_with(["wastes"]) == ("wastes", "totals")
    assert {"sentence", "difference", "figures", "totals"} < {*hidden_with(["cost"])}
    assert hidden_with(["cost"]) == tuple(
        part for part in INSPECTOR_PARTS if part in ("cost", *PARTS_THAT_TELL["cost"])
    )


def test_parts_are_named_one_or_several_and_an_unknown_one_is_a_sentence() -> None:
    assert parts_named("grid", "views") == ("grid",)
    assert parts_named(["grid", "cost", "grid"], "views") == ("grid", "cost")
    with pytest.raises(UserError, match="'costs' in hide is no part of the inspector; they are"):
        inspector_opening("ses_1", link=None, views=(), hide=["costs"], place={})
