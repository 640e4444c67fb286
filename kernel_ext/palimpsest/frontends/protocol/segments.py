"""A segment of a turn's output in a cell."""

from pydantic import Field

from palimpsest.transcript.values import Value


class SegmentCut(Value):
    """A place in a turn: before the character ``offset`` of the part number ``part``."""

    part: int = Field(ge=0)
    offset: int = Field(default=0, ge=0)
    joint: str = Field(default="", max_length=200)
    """The text to insert at the cut, because it fell into a code fence."""


class TurnSegment(Value):
    """Which segment of a turn is meant."""

    session: str
    turn: str
    start: SegmentCut
    end: SegmentCut | None = None
    first_step: int = 1
    first_seq: int = 0
