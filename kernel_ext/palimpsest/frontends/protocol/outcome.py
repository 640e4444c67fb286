"""What became of a command that took its time."""

from typing import Any, Literal

from palimpsest.frontends.protocol.choices import Choices
from palimpsest.frontends.protocol.connection import SessionHead
from palimpsest.frontends.protocol.permissions import ApprovalRow, RuleRow
from palimpsest.frontends.protocol.project import HookRow, ServerRow, SettingRow, StorageReport
from palimpsest.frontends.protocol.sessions import SessionRow
from palimpsest.frontends.protocol.sharing import ExportedFile, ImportedRow, UnreadableFile
from palimpsest.transcript.session_record.reverts import FileDiff, RevertPreview
from palimpsest.transcript.values import Value


class OutcomeNotice(Value):
    """What became of a command that took its time."""

    kind: Literal["outcome"] = "outcome"
    id: str
    error: str | None = None
    """One sentence, when it failed."""
    session: SessionHead | None = None
    sessions: tuple[SessionRow, ...] | None = None
    total: int | None = None
    """How many sessions there are in all."""
    cursor: str | None = None
    """Where the next page of sessions begins."""
    choices: Choices | None = None
    approvals: tuple[ApprovalRow, ...] | None = None
    """What is always allowed here."""
    rules: tuple[RuleRow, ...] | None = None
    """Beside it: the rules that hold for every agent, lowest first."""
    settings: tuple[SettingRow, ...] | None = None
    remarks: tuple[str, ...] | None = None
    """What is wrong with settings, not used yet, or waits for trust; and hooks that cannot be loaded."""
    storage: StorageReport | None = None
    hooks: tuple[HookRow, ...] | None = None
    servers: tuple[ServerRow, ...] | None = None
    image: str | None = None
    """A ``data:`` address, small enough for a page."""
    bundle: dict[str, Any] | None = None
    """A segment in its last form, by MIME type."""
    outputs: tuple[dict[str, Any], ...] | None = None
    """The outputs of a turn's cell, as a notebook saves them."""
    file: ExportedFile | None = None
    """What ``share`` or ``export`` wrote."""
    imported: tuple[ImportedRow, ...] | None = None
    unreadable: tuple[UnreadableFile, ...] | None = None
    revert: RevertPreview | None = None
    """What taking back does, or did."""
    diffs: tuple[FileDiff, ...] | None = None
    """What was changed in files."""
    late: bool = False
    """Somebody else was first; nothing was done."""
