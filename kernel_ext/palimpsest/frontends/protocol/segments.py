"""Close a segment of a turn's output in a cell, and put a turn's outputs back into its cell."""

from typing import Literal

from pydantic import Field

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.transcript.values import Value


class SegmentCut(Value):
    """A place in a turn: before the character ``offset`` of the part number ``part``."""

    part: int = Field(ge=0)
    offset: int = Field(default=0, ge=0)
    joint: str = Field(default="", max_length=200)
    """The text to insert at the cut, because it fell into a code fence."""


class CloseSegment(CommandBase):
    """Build the final output of a segment that its cell did not get, since the page was reloaded."""

    type: Literal["close"] = "close"
    session: str
    turn: str
    start: SegmentCut
    end: SegmentCut | None = None
    first_step: int = 1
    first_seq: int = 0


class RecreateOutputs(CommandBase):
    """Build the outputs of a turn's cell again, where the notebook no longer has them."""

    type: Literal["recreate-outputs"] = "recreate-outputs"
    session: str
    turn: str
