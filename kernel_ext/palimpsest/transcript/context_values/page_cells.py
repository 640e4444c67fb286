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
    """The execution count shown beside the cell."""
    session: str | None = None
    """Id of the session that wrote the cell's source, as the cell's metadata have it; None where a person did."""
    hidden: bool = False
    """Whether the cell has the tag ``agent-hidden``, so that only its id is sent."""
    outputs: tuple[dict[str, Any], ...] = ()
    """The outputs in the format of a notebook file, cut to the requested length."""
    dropped: int = 0
    """Number of outputs that the page did not send, because they were too many or too large."""


class PageNotebook(Value):
    """One notebook that is open in a page."""

    path: str
    """The file's path on the page's server."""
    cells: tuple[PageCell, ...] = ()
    deleted: tuple[str, ...] = ()
    """Ids of cells that were deleted since a cell ran."""
    visible: bool = True
    """Whether the page's tab is in front; where two pages show one notebook, the visible page is used."""


@dataclass(frozen=True, slots=True)
class CellsWanted:
    """A request to the pages for cells."""

    cell: str | None = None
    """Only the cell with this id; None means all."""
    output_chars: int = 0
    """Maximum characters of each output's text; 0 leaves outputs out."""
    images: bool = False
