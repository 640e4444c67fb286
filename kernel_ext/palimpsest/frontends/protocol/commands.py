"""Every command that a page may send, as one union.

Commands travel on the control channel (``palimpsest_request``), which is served while a cell
blocks; the reply (``palimpsest_reply``) comes at once and contains only what is known without
waiting. What follows arrives as notices on iopub (``palimpsest_notice``). Every command has an
id, and a second command with the same id only repeats the reply.
"""

from typing import Annotated, get_args

from pydantic import Field, TypeAdapter

from palimpsest.frontends.protocol.branches import ListBranches
from palimpsest.frontends.protocol.choices import ListChoices
from palimpsest.frontends.protocol.connection import (
    AnnounceRun,
    Hello,
    TellCells,
    Unwatch,
    Watch,
)
from palimpsest.frontends.protocol.context import ApplyContextEdit, Compact, ShowContext, UsePolicy
from palimpsest.frontends.protocol.inspector import Inspect
from palimpsest.frontends.protocol.mentions import ListMentions, PreviewMentions
from palimpsest.frontends.protocol.permissions import (
    AskForAnotherSummary,
    ListApprovals,
    ReleaseRequest,
    SetBudget,
    SetMode,
    SetStepMode,
    TrustProject,
    UseOlderSummary,
)
from palimpsest.frontends.protocol.project import ListExtensions, ListSettings, ShowStorage
from palimpsest.frontends.protocol.prompts import (
    AnswerAsk,
    AnswerQuestion,
    Cancel,
    Join,
    Prompt,
    Queue,
    Retry,
    Steer,
    Withdraw,
)
from palimpsest.frontends.protocol.segments import CloseSegment, RecreateOutputs
from palimpsest.frontends.protocol.sessions import (
    Archive,
    Delete,
    Fork,
    ListChildren,
    ListSessions,
    NewSession,
    OpenSession,
    RenameNotebook,
    Retitle,
    Revert,
)
from palimpsest.frontends.protocol.sharing import Export, Import, Share, StopImport, Unshare
from palimpsest.frontends.protocol.transcript import Resync, ShowImage

Command = Annotated[
    Hello
    | Watch
    | Unwatch
    | AnnounceRun
    | TellCells
    | Prompt
    | Queue
    | Steer
    | AnswerAsk
    | AnswerQuestion
    | ShowImage
    | Retry
    | Join
    | Compact
    | UsePolicy
    | Cancel
    | Withdraw
    | Resync
    | CloseSegment
    | RecreateOutputs
    | ListChoices
    | ListMentions
    | PreviewMentions
    | ListSettings
    | ShowStorage
    | ShowContext
    | Inspect
    | ListExtensions
    | ListSessions
    | ListChildren
    | Retitle
    | Archive
    | Delete
    | Fork
    | ListBranches
    | OpenSession
    | NewSession
    | RenameNotebook
    | SetMode
    | SetBudget
    | SetStepMode
    | ReleaseRequest
    | AskForAnotherSummary
    | UseOlderSummary
    | ListApprovals
    | TrustProject
    | ApplyContextEdit
    | Revert
    | Share
    | Unshare
    | Export
    | Import
    | StopImport,
    Field(discriminator="type"),
]

COMMANDS: TypeAdapter[Command] = TypeAdapter(Command)
FORMER_TYPES = {
    "allowed": "approvals",
    "choose": "context-edit",
    "guests": "extensions",
    "picture": "image",
    "put-back": "recreate-outputs",
}
"""Command types of protocol 1 and the types that replaced them."""
COMMAND_TYPES = ", ".join(
    one.model_fields["type"].default for one in get_args(get_args(Command)[0])
)
