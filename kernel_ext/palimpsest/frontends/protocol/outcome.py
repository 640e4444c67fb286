"""The notice with the result of a command that was not finished when it was replied to."""

from typing import Any, Literal

from palimpsest.frontends.protocol.choices import Choices
from palimpsest.frontends.protocol.connection import SessionHead
from palimpsest.frontends.protocol.permissions import ApprovalRow, RuleRow
from palimpsest.frontends.protocol.project import SettingRow, StorageReport
from palimpsest.frontends.protocol.sharing import ExportedFile
from palimpsest.review.recordings.branch import BranchTable
from palimpsest.review.timeline_view.view_queries import ViewAnswer
from palimpsest.session.extensions.hooks import HookStatus
from palimpsest.store.exchange.importer import Imported
from palimpsest.store.interface import Problem, SessionSummary
from palimpsest.tools.mcp.servers import McpServerStatus
from palimpsest.transcript.context_values.prompt_mentions import MentionList, MentionPreview
from palimpsest.transcript.session_record.reverts import FileDiff, RevertPreview
from palimpsest.transcript.values import Value


class OutcomeNotice(Value):
    """The result of a command that was not finished when it was replied to."""

    kind: Literal["outcome"] = "outcome"
    id: str
    error: str | None = None
    """One sentence, when it failed."""
    session: SessionHead | None = None
    sessions: tuple[SessionSummary, ...] | None = None
    total: int | None = None
    """How many sessions there are in all."""
    cursor: str | None = None
    """Where the next page of sessions begins."""
    branches: BranchTable | None = None
    choices: Choices | None = None
    mentions: MentionList | None = None
    """What a prompt may name."""
    previews: tuple[MentionPreview, ...] | None = None
    """What would go along with each mention of a prompt."""
    approvals: tuple[ApprovalRow, ...] | None = None
    """What is always allowed here."""
    rules: tuple[RuleRow, ...] | None = None
    """The rules that hold for every agent, lowest precedence first."""
    settings: tuple[SettingRow, ...] | None = None
    remarks: tuple[str, ...] | None = None
    """Settings that are wrong, not used yet or wait for trust; and hooks that cannot be loaded."""
    storage: StorageReport | None = None
    hooks: tuple[HookStatus, ...] | None = None
    servers: tuple[McpServerStatus, ...] | None = None
    image: str | None = None
    """A ``data:`` URL, small enough for a page."""
    bundle: dict[str, Any] | None = None
    """The final output of a closed segment, or the context report, by MIME type."""
    outputs: tuple[dict[str, Any], ...] | None = None
    """The outputs of a turn's cell, as a notebook saves them."""
    file: ExportedFile | None = None
    """What ``share`` or ``export`` wrote."""
    imported: tuple[Imported, ...] | None = None
    unreadable: tuple[Problem, ...] | None = None
    revert: RevertPreview | None = None
    """What a revert or unrevert would do, or did."""
    diffs: tuple[FileDiff, ...] | None = None
    """The changes in files."""
    inspection: ViewAnswer | None = None
    """The answer to an inspector's question."""
    late: bool = False
    """The command came too late, for example after another answer; nothing was done."""
