"""The cells of a notebook as an open page shows them now, as values.

Border: values alone; ``frontends/page_channel/page_cells.py`` requests them from the pages. Of a hidden cell
only the id is here: neither its source nor its outputs leave the page.
"""

from dataclasses import dataclass
from typing import Any

from palimpsest.transcript.values import Value


class PageCell(Value):
    """One cell of a notebook, as the page holds it."""

    id: str
    kind: str = "code"
    """``code``, ``markdown`` or ``raw``."""
    source: str | None = None
    """The cell's text now; None for a hidden cell, and where the notebook is too large to be sent whole."""
    number: int | None = None
    """The execution count that stands beside the cell."""
    hidden: bool = False
    """The cell has the tag ``agent-hidden``: only its id is here."""
    outputs: tuple[dict[str, Any], ...] = ()
    """Its outputs as in a notebook file, cut to what was requested."""
    dropped: int = 0
    """Outputs that the page did not send, for their number or their size."""


class PageNotebook(Value):
    """One notebook that is open in a page."""

    path: str
    """The file's path on the page's server."""
    cells: tuple[PageCell, ...] = ()
    deleted: tuple[str, ...] = ()
    """Ids of cells that were deleted since a cell ran."""
    visible: bool = True
    """The page's tab is in front; where two pages show one notebook, the visible page counts."""


@dataclass(frozen=True, slots=True)
class CellsWanted:
    """A request to the pages for cells."""

    cell: str | None = None
    """Only the cell with this id; None means all."""
    output_chars: int = 0
    """Characters of each output's text; 0 leaves outputs out."""
    images: bool = False
