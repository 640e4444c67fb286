"""Values that record changed files and reverted messages."""

from typing import Literal

from palimpsest.transcript.context_values.cell_changes import MadeChange
from palimpsest.transcript.values import Value

ChangeStatus = Literal["added", "modified", "deleted"]


class FileDiff(Value):
    """The change to one file."""

    file: str
    """Path below the project's directory, with slashes."""
    status: ChangeStatus
    additions: int = 0
    """Number of added lines; 0 where the file is no text."""
    deletions: int = 0
    patch: str | None = None
    """The lines in unified form; None where they are not kept, and ``note`` says why."""
    note: str | None = None
    before: str | None = None
    """Name, in a snapshot, of the content before the change; None where there was no file."""
    after: str | None = None


class RevertedCell(Value):
    """The effect of a revert on one cell that the agent changed."""

    message: str
    """Id of the answer's message, with the call that made the change."""
    call: str
    index: int
    """Number of the change among those of the call, from 0."""
    change: MadeChange
    """What the revert does: the change that undoes the agent's."""
    problem: str = ""
    """Why the cell stays as it is, in a sentence; empty where it is changed."""
    note: str | None = None
    """What the user should know of how it was changed, in a sentence."""


class RevertState(Value):
    """Messages that are reverted and not yet removed: ``session.revert``."""

    message_id: str
    """Id of the first reverted message; with ``part_id``, only its parts from that part on are reverted."""
    part_id: str | None = None
    snapshot: str | None = None
    """The snapshot of the files before the revert; None where none could be taken."""
    left: str | None = None
    """The snapshot of the files after the revert."""
    files: tuple[str, ...] = ()
    """Files that the revert changed, and ``unrevert`` restores."""
    diff: tuple[FileDiff, ...] = ()
    """The revert's changes to the files, without the lines."""
    kept: tuple[str, ...] = ()
    """Files that were not reverted, since something other than the session changed them."""
    cells: tuple[RevertedCell, ...] = ()
    """What the revert did to cells, in the order in which it was done; ``unrevert`` does the opposite."""


class RevertedMessage(Value):
    """A message that a revert hides."""

    id: str
    role: Literal["user", "assistant"]
    excerpt: str = ""
    """The first words of the message, or a description of its work."""


class RevertedFile(Value):
    """The effect of a revert on one file."""

    file: str
    action: Literal["restore", "delete", "nothing", "conflict", "impossible"]
    reason: str | None = None
    """Why the file is not changed; None where it is."""
    diff: FileDiff | None = None
    """The change to the file; for a conflict, the change that overwriting it would make."""


class RevertPreview(Value):
    """The effect of a revert or an unrevert, as a preview or after it was done."""

    message_id: str
    part_id: str | None = None
    messages: tuple[RevertedMessage, ...] = ()
    files: tuple[RevertedFile, ...] = ()
    cells: tuple[RevertedCell, ...] = ()
    """Cells of the notebook that the agent changed; an ``unrevert`` changes them to what they were."""
    problem: str | None = None
    """Why no file is changed at all; None where files can be changed."""
    done: bool = False
    """Whether the revert was done; else this is only a preview."""

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The files that something other than the session changed."""
        return tuple(file.file for file in self.files if file.action == "conflict")
