"""What is recorded of changed files, and of messages that were taken back."""

from typing import Literal

from palimpsest.transcript.values import Value

ChangeStatus = Literal["added", "modified", "deleted"]


class FileDiff(Value):
    """What became of one file."""

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
    """What stood there before, as a snapshot names it; None for nothing."""
    after: str | None = None


class RevertState(Value):
    """Messages that are taken back and not yet removed: ``session.revert``."""

    message_id: str
    """The first message that is taken back; with ``part_id`` only its parts from that one on."""
    part_id: str | None = None
    snapshot: str | None = None
    """The files as they were before; None where no snapshot could be taken."""
    left: str | None = None
    """The files as the revert left them."""
    files: tuple[str, ...] = ()
    """What the revert changed, and ``unrevert`` changes back."""
    diff: tuple[FileDiff, ...] = ()
    """What the revert did to the files, without the lines."""
    kept: tuple[str, ...] = ()
    """Files that it left alone, since somebody else had changed them."""


class RevertedMessage(Value):
    """A message that a revert takes back."""

    id: str
    role: Literal["user", "assistant"]
    excerpt: str = ""
    """Its first words, or what it did."""


class RevertedFile(Value):
    """What a revert does, or did, with one file."""

    file: str
    action: Literal["restore", "delete", "nothing", "conflict", "impossible"]
    reason: str | None = None
    """Why it is left alone."""
    diff: FileDiff | None = None
    """From how it is now to how it becomes; of a conflict, what overwriting it would do."""


class RevertPreview(Value):
    """What taking back a message, or undoing that, would do, or did."""

    message_id: str
    part_id: str | None = None
    messages: tuple[RevertedMessage, ...] = ()
    files: tuple[RevertedFile, ...] = ()
    problem: str | None = None
    """Why files are not touched at all."""
    done: bool = False
    """It was done; without it, this only says what would be."""

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The files that somebody else changed."""
        return tuple(one.file for one in self.files if one.action == "conflict")
