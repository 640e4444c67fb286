"""A segment of a turn's output in a cell."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from palimpsest.transcript.values import Value


@dataclass(frozen=True, slots=True)
class SegmentCut:
    """A place in a turn: before the character ``offset`` of the part number ``part``."""

    part: Annotated[int, Field(ge=0)] = 0
    offset: Annotated[int, Field(ge=0)] = 0
    joint: Annotated[str, Field(max_length=200)] = ""
    """The text to insert where the cut fell into a code fence."""


class TurnSegment(Value):
    """A reference to a segment of a turn."""

    session: str
    """The session's id."""
    turn: str
    """The turn's id."""
    start: SegmentCut
    end: SegmentCut | None = None
    first_step: int = 1
    """The number in the turn of its first step."""
    first_seq: int = 0
    """The number of the turn's first record."""
