"""Values of one run of a user's cell: its source and its outputs; and the tag that hides a cell from the agent.

Border: pure, and plain dataclasses, since the recorder that makes them is loaded with ``%load_ext``.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

OutputKind = Literal["stdout", "stderr", "result", "display", "error"]
CellStatus = Literal["running", "ok", "error", "stopped"]
HiddenBy = Literal["", "tag", "private"]
"""Why a cell is hidden from the agent: its tag ``agent-hidden``, or ``%agent private`` before it."""

NotebookDetail = Literal["none", "errors", "all"]
"""Which runs of the user's cells are reported to the model with each prompt."""

HIDDEN_TAG = "agent-hidden"
"""The cell tag that keeps a cell, its output and its errors from the agent."""
SOURCE_HASH_CHARS = 12
MAX_TAG_DEPTH = 5
"""Maximum depth to which a cell's metadata is searched for tags."""
_TAG_SEPARATOR = re.compile(r"[\s,;]+")
SEEN_KEY = "seen"
"""Key in the metadata of a call's state: hashes of the sources that its output shows the model, by cell id."""
_PROMPT_MAGIC = re.compile(r"\s*%{1,2}agent\b")


@dataclass(frozen=True, slots=True)
class RecordedOutput:
    """One output of a cell: printed text, a result, a display or an error."""

    kind: OutputKind
    text: str
    """The text as a terminal shows it: without colours and overwritten lines; a long text is cut in the middle."""
    markup: str = ""
    """HTML, Markdown or LaTeX of an output without useful plain text; a long one is cut at its end."""
    mimes: tuple[str, ...] = ()
    """MIME types of the output beside plain text, such as ``image/png`` or a widget's."""
    image: tuple[str, bytes] | None = None
    """MIME type and data of the output's picture."""
    error: tuple[str, str] | None = None
    """Name and message of the exception."""


@dataclass(frozen=True, slots=True)
class CellRun:
    """One execution of one cell."""

    serial: int
    """Number of the run in this kernel, from 1; a cell that runs twice has two such numbers."""
    version: int
    """A counter that grows with each output, also with outputs that arrive after the cell has ended."""
    source: str
    cell_id: str | None = None
    number: int | None = None
    """The execution count shown beside the cell; None while it runs, or where it is not counted."""
    status: CellStatus = "ok"
    hidden: HiddenBy = ""
    by_agent: bool = False
    """Whether the cell prompted the agent, so that its session already has the prompt and the answer."""
    requested_by: str = ""
    """Id of the session whose agent had the cell run; empty for a run of the user."""
    outputs: tuple[RecordedOutput, ...] = ()
    dropped: int = 0
    """Number of outputs that were not stored, since the cell had too many."""


@dataclass(frozen=True, slots=True)
class NotebookRuns:
    """The runs that a kernel has recorded, oldest first."""

    runs: tuple[CellRun, ...] = ()
    deleted_cells: frozenset[str] = frozenset()
    """Ids of cells that were deleted, as the page reported."""
    forgotten: int = 0
    """Number of older runs that are no longer stored."""
    earlier_runs: tuple[tuple[int, str], ...] = ()
    """Number and source of cells that ran before the recording began; no source where a cell may have been hidden."""


def is_prompt_cell(source: str) -> bool:
    """Return whether a cell prompts the agent, so that its session has the prompt and the answer."""
    return _PROMPT_MAGIC.match(source) is not None


def source_hash(source: str) -> str:
    """Return a hash of a source, equal for sources that differ only in blank space around them."""
    return hashlib.sha256(source.strip().encode("utf-8", "surrogatepass")).hexdigest()[
        :SOURCE_HASH_CHARS
    ]


def is_same_source(first: str, second: str) -> bool:
    """Return whether two sources are equal, apart from blank space around them."""
    return first.strip() == second.strip()


def has_hidden_tag(metadata: Any, depth: int = MAX_TAG_DEPTH) -> bool:
    """Return whether a cell's metadata has the tag ``agent-hidden``.

    Tags are a list, or one text in which commas, semicolons or spaces separate them.
    """
    if not isinstance(metadata, Mapping) or depth == 0:
        return False
    return any(
        (key == "tags" and names_hidden_tag(value)) or has_hidden_tag(value, depth - 1)
        for key, value in metadata.items()
    )


def names_hidden_tag(tags: Any) -> bool:
    """Return whether tags, as a list or as one text, contain the tag ``agent-hidden``."""
    texts = [tags] if isinstance(tags, str) else tags if isinstance(tags, list | tuple) else ()
    return any(
        isinstance(text, str) and HIDDEN_TAG in _TAG_SEPARATOR.split(text.strip().lower())
        for text in texts
    )
