"""Values that record changed files and reverted messages."""

from typing import Literal

from palimpsest.transcript.values import Value

ChangeStatus = Literal["added", "modified", "deleted"]


class FileDiff(Value):
    """The change to one file."""

    file: str
    """Path below the project's directory, with slashes."""
    status: ChangeStatus
    additions: int = 0
    """Lines; 0 where the file is no text."""
    deletions: int = 0
    patch: str | None = None
    """The lines in unified form; None where they are not kept, and ``note`` says why."""
    note: str | None = None
    before: str | None = None
    """The content before, by its name in a snapshot; None where there was no file."""
    after: str | None = None


class RevertState(Value):
    """Messages that are reverted and not yet removed: ``session.revert``."""

    message_id: str
    """The first message that is reverted; with ``part_id`` only its parts from that one on."""
    part_id: str | None = None
    snapshot: str | None = None
    """The files as they were before; None where no snapshot could be taken."""
    left: str | None = None
    """The files as the revert left them."""
    files: tuple[str, ...] = ()
    """Files that the revert changed, and ``unrevert`` restores."""
    diff: tuple[FileDiff, ...] = ()
    """The revert's changes to the files, without the lines."""
    kept: tuple[str, ...] = ()
    """Files that stayed as they are, since something other than the session changed them."""


class RevertedMessage(Value):
    """A message that a revert hides."""

    id: str
    role: Literal["user", "assistant"]
    excerpt: str = ""
    """Its first words, or a description of its work."""


class RevertedFile(Value):
    """The effect of a revert on one file."""

    file: str
    action: Literal["restore", "delete", "nothing", "conflict", "impossible"]
    reason: str | None = None
    """Why it is left alone."""
    diff: FileDiff | None = None
    """The change to the file; for a conflict, the change that overwriting it would make."""


class RevertPreview(Value):
    """The effect of a revert or an unrevert, as a preview or after it was done."""

    message_id: str
    part_id: str | None = None
    messages: tuple[RevertedMessage, ...] = ()
    files: tuple[RevertedFile, ...] = ()
    problem: str | None = None
    """Why files are not touched at all."""
    done: bool = False
    """It was done; else this is only a preview."""

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The files that something other than the session changed."""
        return tuple(file.file for file in self.files if file.action == "conflict")
