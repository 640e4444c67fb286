"""What a page may command, what it is answered, and what it is told.

Commands travel on the control channel (``palimpsest_request``), which is heard while a cell
blocks; the reply (``palimpsest_reply``) comes at once and says only what is known without
waiting. What follows arrives as notices on iopub (``palimpsest_notice``). Every command has an
id, and the same id again does nothing but repeat the reply.
"""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, TypeAdapter, field_validator

from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.session_record.events import PromptAdmitted, QuestionAsked
from palimpsest.transcript.session_record.reverts import FileDiff, RevertPreview
from palimpsest.transcript.session_record.sessions import SessionInfo, Status
from palimpsest.transcript.values import Ask, Reply, Todo, Value

PROTOCOL_VERSION = 1
WATCH_SECONDS = 20.0
"""A watch that is not renewed within this time is over; a page that was closed says nothing."""


class CommandBase(Value):
    """What every command has."""

    id: str = Field(min_length=1, max_length=200)
    """Chosen by the page; sending the same id again is harmless."""


class Hello(CommandBase):
    """A page is there; it learns versions, project and session."""

    type: Literal["hello"] = "hello"
    protocol: int
    version: str = ""
    """Version of the page's own package."""
    client: str = ""


class Watch(CommandBase):
    """Tell this page what happens, for 20 seconds."""

    type: Literal["watch"] = "watch"
    client: str
    session: str | None = None
    """None means every session of this kernel."""
    pings: bool = False
    """This page answers a ping by watching again."""


class Unwatch(CommandBase):
    """Tell this page no more."""

    type: Literal["unwatch"] = "unwatch"
    client: str
    session: str | None = None


class PromptBase(CommandBase):
    """Words for the agent; ``id`` is the prompt's id too."""

    text: str = Field(min_length=1)
    session: str | None = None
    """None means the notebook's current session."""
    model: str | None = None
    variant: str | None = None
    agent: str | None = None
    system: str | None = None
    tools: tuple[str, ...] | dict[str, bool] | None = None
    """Only these tools, or a mapping that switches single ones on and off."""
    max_steps: int | None = Field(default=None, ge=1)
    files: tuple[Attachment, ...] = ()
    """What goes with the words, such as the files of a prompt that was taken back."""

    @field_validator("files")
    @classmethod
    def _lie_here(cls, files: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
        for one in files:
            if not re.match(r"data:|blob:[0-9a-f]{64}$", one.url):
                raise ValueError(
                    f"A file goes along by its content (data:) or as the log keeps it (blob:), not by {one.url!r:.60}."
                )
        return files


class Prompt(PromptBase):
    """Send a prompt; while a turn runs it waits behind it."""

    type: Literal["prompt"] = "prompt"


class Queue(PromptBase):
    """Send a prompt that waits until the turn that runs has ended."""

    type: Literal["queue"] = "queue"


class Steer(PromptBase):
    """Send a prompt into the turn that runs, before its next request."""

    type: Literal["steer"] = "steer"


class AnswerAsk(CommandBase):
    """Answer a question; the first answer wins."""

    type: Literal["reply"] = "reply"
    session: str | None = None
    ask_id: str
    answer: Literal["once", "always", "reject"]
    feedback: str | None = None
    scope: Literal["session", "project"] | None = None
    """How far an ``always`` reaches; the session, where nothing is said."""


class AnswerQuestion(CommandBase):
    """Answer what the model asks; the first answer wins."""

    type: Literal["answer"] = "answer"
    session: str | None = None
    question_id: str
    answers: tuple[tuple[str, ...], ...] | None = None
    """For each question the labels chosen, or own words; none declines."""


class ShowPicture(CommandBase):
    """Show a picture of the session that its log keeps as a blob."""

    type: Literal["picture"] = "picture"
    session: str | None = None
    url: str = Field(max_length=200)
    """As the attachment has it: ``blob:`` and a hash."""


class Retry(CommandBase):
    """Send the newest turn's request again, because it failed."""

    type: Literal["retry"] = "retry"
    session: str | None = None


class Join(CommandBase):
    """Await the end of the run; where none runs, answer what a killed kernel left."""

    type: Literal["loop"] = "loop"
    session: str | None = None


class Compact(CommandBase):
    """Put a summary in the place of what was said; one that runs already is joined."""

    type: Literal["compact"] = "compact"
    session: str | None = None
    focus: str | None = Field(default=None, max_length=2_000)
    """What the summary keeps above all."""
    model: str | None = Field(default=None, max_length=200)
    """Writes this one summary."""
    auto: bool = False
    """The agent goes on by itself after it."""


class UsePolicy(CommandBase):
    """Choose the context policy, from the next request on."""

    type: Literal["policy"] = "policy"
    session: str | None = None
    words: tuple[str, ...] = Field(min_length=1)
    """The name of a preset, ``name=value`` for one number, or ``default``."""


class Cancel(CommandBase):
    """Stop the turn that runs and withdraw what waits."""

    type: Literal["cancel"] = "cancel"
    session: str | None = None


class Withdraw(CommandBase):
    """Take a waiting prompt back."""

    type: Literal["withdraw"] = "withdraw"
    session: str | None = None
    prompt_id: str


class Resync(CommandBase):
    """Tell everything after a sequence number again, or the whole picture when ``after`` is None."""

    type: Literal["resync"] = "resync"
    session: str | None = None
    after: int | None = Field(default=None, ge=0)
    client: str = ""


class Cut(Value):
    """A place in a turn: before the character ``offset`` of the part number ``part``."""

    part: int = Field(ge=0)
    offset: int = Field(default=0, ge=0)
    joint: str = Field(default="", max_length=200)
    """What must be written at the cut, because it fell into a code fence."""


class CloseSegment(CommandBase):
    """Make the last form of a segment that its cell did not get, since the page was reloaded."""

    type: Literal["close"] = "close"
    session: str
    turn: str
    start: Cut
    end: Cut | None = None
    first_step: int = 1
    first_seq: int = 0


class PutBack(CommandBase):
    """Make the outputs of a turn's cell again, where the notebook no longer has them."""

    type: Literal["put-back"] = "put-back"
    session: str
    turn: str


class ListChoices(CommandBase):
    """List the models and agents that can answer here."""

    type: Literal["choices"] = "choices"


class ListSettings(CommandBase):
    """List every setting and where it came from."""

    type: Literal["config"] = "config"


class ShowStorage(CommandBase):
    """Weigh the project's folder, and say what may go of it, or delete that first."""

    type: Literal["storage"] = "storage"
    days: float | None = None
    """Not used for so long; the configured number where nothing is said."""
    max_size: int | str | None = None
    """Most that the folder takes: bytes, or words such as ``2GB``."""
    delete: bool = False
    """What may go is deleted, for good."""


class ShowContext(CommandBase):
    """Draw what fills the model's window, and what is gone from it."""

    type: Literal["context"] = "context"
    session: str | None = None


class ListGuests(CommandBase):
    """List the hooks and MCP servers of this kernel, and try its servers again first."""

    type: Literal["guests"] = "guests"
    connect: bool = False


class ListSessions(CommandBase):
    """List the sessions of the project, newest first, or those that hold all of some words."""

    type: Literal["sessions"] = "sessions"
    words: str = Field(default="", max_length=1_000)
    archived: bool | None = False
    """Those that were put away; None asks for both."""
    cursor: str | None = None
    """Where the page before ended, as it said."""
    limit: int | None = Field(default=None, ge=1, le=1_000)


class ListChildren(CommandBase):
    """List the sessions that ``task`` calls of a session began."""

    type: Literal["children"] = "children"
    session: str


class Retitle(CommandBase):
    """Call a session otherwise."""

    type: Literal["title"] = "title"
    session: str
    title: str = Field(min_length=1, max_length=1_000)


class Archive(CommandBase):
    """Put a session away, or fetch it back."""

    type: Literal["archive"] = "archive"
    session: str
    archived: bool = True


class Delete(CommandBase):
    """Delete a session and those that it began, for good."""

    type: Literal["delete"] = "delete"
    session: str


class Fork(CommandBase):
    """Begin a session in this notebook with all of another one, or all before a message."""

    type: Literal["fork"] = "fork"
    session: str
    message: str | None = Field(default=None, max_length=200)


class OpenSession(CommandBase):
    """Go on with another session in this notebook."""

    type: Literal["open"] = "open"
    session: str


class NewSession(CommandBase):
    """Begin a new session in this notebook; one with a parent belongs to that, and is not its current one."""

    type: Literal["new"] = "new"
    title: str | None = None
    parent: str | None = None
    permission: dict[str, Any] | str | None = None
    """Rules as the settings write them, for this session alone."""


class Rename(CommandBase):
    """The notebook is called otherwise now, and its sessions go with it.

    Both paths are as the server tells them. Where the kernel's notebook is another one, or was
    renamed already, nothing happens.
    """

    type: Literal["rename"] = "rename"
    was: str
    notebook: str


class Choose(CommandBase):
    """Choose what the model sees of a part or message, from the next request on."""

    type: Literal["choose"] = "choose"
    session: str | None = None
    action: Literal["pin", "unpin", "exclude", "restore", "undo"]
    target: str = Field(default="", max_length=200)
    """The id of a part or message; none for ``undo``, which is about the newest compaction."""


class Revert(CommandBase):
    """Take back a message and what follows, undo that, make it final, or only look."""

    type: Literal["revert"] = "revert"
    session: str | None = None
    action: Literal["preview", "revert", "unrevert", "cleanup", "diff"]
    target: str = Field(default="", max_length=200)
    """The id of a message or part; none means the newest prompt, and for ``diff`` the whole session."""
    overwrite: tuple[str, ...] = ()
    """Files that are overwritten though somebody else changed them."""


class Share(CommandBase):
    """Make a page of the session that can be passed on, or make it anew."""

    type: Literal["share"] = "share"
    session: str | None = None


class Unshare(CommandBase):
    """Delete the session's page."""

    type: Literal["unshare"] = "unshare"
    session: str | None = None


class Export(CommandBase):
    """Write the session to a new file inside the project."""

    type: Literal["export"] = "export"
    session: str | None = None
    form: Literal["md", "ipynb", "json", "html", "opencode"] | None = None
    path: str | None = Field(default=None, max_length=1000)


class Import(CommandBase):
    """Bring sessions in from a file or folder inside the project."""

    type: Literal["import"] = "import"
    path: str = Field(min_length=1, max_length=1000)


class SetMode(CommandBase):
    """Choose how freely the agent works in this session, from the next call on."""

    type: Literal["mode"] = "mode"
    session: str | None = None
    mode: str = Field(max_length=40)
    """ask, plan, accept-edits or bypass; ``default`` takes the configured one."""


class SetBudget(CommandBase):
    """Limit what this session may spend in all; nothing takes the limit off."""

    type: Literal["budget"] = "budget"
    session: str | None = None
    usd: float | None = None
    tokens: int | None = None


class ListAllowed(CommandBase):
    """List what is always allowed here, and take some of it back first."""

    type: Literal["allowed"] = "allowed"
    session: str | None = None
    revoke: tuple[int, ...] | None = None
    """Numbers of the list as it was shown last; an empty list takes all of it back."""


class TrustProject(CommandBase):
    """Believe what this project's files say about permissions, or believe it no more."""

    type: Literal["trust"] = "trust"
    trusted: bool = True


Command = Annotated[
    Hello
    | Watch
    | Unwatch
    | Prompt
    | Queue
    | Steer
    | AnswerAsk
    | AnswerQuestion
    | ShowPicture
    | Retry
    | Join
    | Compact
    | UsePolicy
    | Cancel
    | Withdraw
    | Resync
    | CloseSegment
    | PutBack
    | ListChoices
    | ListSettings
    | ShowStorage
    | ShowContext
    | ListGuests
    | ListSessions
    | ListChildren
    | Retitle
    | Archive
    | Delete
    | Fork
    | OpenSession
    | NewSession
    | Rename
    | SetMode
    | SetBudget
    | ListAllowed
    | TrustProject
    | Choose
    | Revert
    | Share
    | Unshare
    | Export
    | Import,
    Field(discriminator="type"),
]

COMMANDS: TypeAdapter[Command] = TypeAdapter(Command)
COMMAND_TYPES = ", ".join(
    one.model_fields["type"].default for one in get_args(get_args(Command)[0])
)


class SessionHead(Value):
    """What a page shows of a session before it has read it."""

    session: str
    title: str = ""
    notebook: str | None = None
    read_only: bool = False
    seq: int = 0
    status: Status
    asks: tuple[Ask, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()
    """What the model asks the person."""
    waiting: int = 0
    """Prompts in the inbox."""
    partial: bool = False
    """What a summary stands for is not told: a message that is not there may still be in the log."""
    problem: str | None = None
    """One sentence while nothing can be written, since the disk does not answer."""


class CommandReply(Value):
    """The reply to a command, from what is known at once."""

    status: Literal["ok", "error", "loading"]
    id: str | None = None
    error: str | None = None
    """One sentence."""
    protocol: int = PROTOCOL_VERSION
    version: str = ""
    """Version of the kernel's package."""
    repeated: bool = False
    """This id was seen before; nothing was done again."""
    project: str | None = None
    notebook: str | None = None
    session: SessionHead | None = None
    """The session that the command was about, once it is open."""
    watch_seconds: float | None = None


class SessionRow(Value):
    """One line of the session list."""

    id: str
    title: str
    notebook: str | None = None
    created: int
    updated: int
    messages: int = 0
    archived: int | None = None
    """When it was put away."""
    parent: str | None = None
    """The session whose ``task`` call began it."""
    forked: bool | None = None
    shared: bool | None = None
    about: str | None = None
    """The beginning of what a model noted of it."""


class ModelChoice(Value):
    """A model that can answer here."""

    id: str
    window: str
    """Tokens of context, as a person reads them."""
    because: str
    """Why it is here."""


class AgentChoice(Value):
    """An agent that can answer here."""

    name: str
    description: str


class ModeChoice(Value):
    """A mode that a session can be in."""

    name: str
    description: str


class AllowanceRow(Value):
    """Something that is always allowed."""

    number: int
    """By which it is taken back."""
    permission: str
    pattern: str
    scope: Literal["session", "project"]
    where: str
    """Where and when it was said, in words."""


class AllowedRule(Value):
    """A rule that holds for every agent; of those that match a call, the last one holds."""

    permission: str
    pattern: str
    action: Literal["allow", "ask", "deny"]
    origin: str


class Choices(Value):
    """What a person can choose for a prompt."""

    models: tuple[ModelChoice, ...]
    agents: tuple[AgentChoice, ...]
    model: str = ""
    """The model that answers when nobody chose one."""
    agent: str = ""
    commands: tuple[AgentChoice, ...] = ()
    """Commands of the person's own; ``/name arguments`` is the prompt."""
    skills: tuple[AgentChoice, ...] = ()
    """Texts that the model loads for one kind of task."""
    helpers: tuple[AgentChoice, ...] = ()
    """Agents to whom work can be handed; ``@name task`` is the prompt."""
    modes: tuple[ModeChoice, ...] = ()
    mode: str = ""
    """The mode of sessions for which nobody chose one."""
    waits: tuple[str, ...] = ()
    """What this project's files say that waits for a person's trust."""


class Filling(Value):
    """What the newest request was full of."""

    tokens: int
    """Estimated, as the kinds are."""
    kinds: dict[str, int] = {}
    window: int
    """0 where the model has no limit."""
    reserve: int
    message_id: str | None = None
    """The answer that the request was for; its numbers are the provider's."""


class RecordsNotice(Value):
    """Journal records, as they were written in one tick, or again after ``resync``."""

    kind: Literal["records"] = "records"
    session: str
    records: tuple[dict[str, Any], ...]
    resync: str | None = None
    """Id of the resync command that this answers."""
    after: int | None = None
    """In such an answer: the record that the first of these follows, none missing between them."""
    last: bool = False
    """The last notice of that answer."""


class PictureNotice(Value):
    """A session as it is, in numbered pieces; a piece may arrive more than once."""

    kind: Literal["picture"] = "picture"
    session: str
    resync: str
    seq: int
    head: SessionHead
    messages: tuple[Message, ...]
    todos: tuple[Todo, ...] = ()
    inbox: tuple[PromptAdmitted, ...] = ()
    info: SessionInfo | None = None
    replies: dict[str, Reply] = {}
    """What was answered, by the id of the tool call that asked."""
    decisions: tuple[Decision, ...] = ()
    """What was scraped off for the model; it comes with the last piece."""
    filling: Filling | None = None
    piece: int | None = None
    """The number of this piece, from 0."""
    pieces: int | None = None
    """How many there are; the picture is whole when all of them came."""
    last: bool = False


class GivenFile(Value):
    """A file that a session was written to."""

    path: str
    shown: str
    """Relative to the project, where it is inside."""
    bytes: int
    content: str | None = None
    """A shared page, where it is small enough to be sent."""


class ImportedRow(Value):
    """What became of one session of an import."""

    id: str
    title: str
    outcome: Literal["new", "same", "updated", "copy"]
    messages: int


class Unreadable(Value):
    """Something that an import could not read."""

    where: str
    what: str


class SettingRow(Value):
    """A setting, its value in words, and where that came from."""

    key: str
    value: str
    origin: str


class StorageRow(Value):
    """What a session takes, with those that it began."""

    id: str
    title: str
    bytes: int
    updated: int
    with_children: int = 1
    """How many sessions go together."""
    why: str | None = None
    """Why it is never taken."""


class StorageReport(Value):
    """What the project's folder takes, in bytes, and what may go of it."""

    total: int
    logs: int
    blobs: int
    snapshots: int
    share: int
    other: int
    sessions: tuple[StorageRow, ...] = ()
    due: tuple[StorageRow, ...] = ()
    """What is over the limits of age and size, and may go."""
    spared: tuple[StorageRow, ...] = ()
    """What is over them, and never goes."""
    unneeded: int = 0
    """Of texts that no session needs any more, and that may go."""
    gone: tuple[StorageRow, ...] | None = None
    """What was deleted, where it was asked for."""


class HookRow(Value):
    """A hook as a page lists it."""

    name: str
    label: str
    origin: str
    calls: int
    failures: int
    problem: str = ""


class ServerRow(Value):
    """An MCP server as a page lists it."""

    name: str
    state: Literal["off", "waiting", "connecting", "connected", "failed"]
    origin: str
    tools: tuple[str, ...] = ()
    problem: str = ""


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
    allowed: tuple[AllowanceRow, ...] | None = None
    """What is always allowed here."""
    rules: tuple[AllowedRule, ...] | None = None
    """Beside it: the rules that hold for every agent, lowest first."""
    settings: tuple[SettingRow, ...] | None = None
    remarks: tuple[str, ...] | None = None
    """What is wrong with settings, not used yet, or waits for trust; and hooks that cannot be loaded."""
    storage: StorageReport | None = None
    hooks: tuple[HookRow, ...] | None = None
    servers: tuple[ServerRow, ...] | None = None
    picture: str | None = None
    """A ``data:`` address, small enough for a page."""
    bundle: dict[str, Any] | None = None
    """A segment in its last form, by MIME type."""
    outputs: tuple[dict[str, Any], ...] | None = None
    """The outputs of a turn's cell, as a notebook saves them."""
    file: GivenFile | None = None
    """What ``share`` or ``export`` wrote."""
    imported: tuple[ImportedRow, ...] | None = None
    unreadable: tuple[Unreadable, ...] | None = None
    revert: RevertPreview | None = None
    """What taking back does, or did."""
    diffs: tuple[FileDiff, ...] | None = None
    """What was changed in files."""
    late: bool = False
    """Somebody else was first; nothing was done."""


class CurrentNotice(Value):
    """The notebook goes on with this session from now on, or what a page shows of it changed without a record."""

    kind: Literal["current"] = "current"
    session: SessionHead


class PingNotice(Value):
    """A question is open: a page that is there watches again, at once."""

    kind: Literal["ping"] = "ping"
