"""The typed pieces of a message. Their fields mean what they mean in OpenCode; names are ours (snake case)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from palimpsest.transcript.errors import ApiError
from palimpsest.transcript.values import BlobRef, ModelRef, Usage, Value

Role = Literal["user", "assistant"]

SUMMARY_PROMPT = "What did we do so far?"
SUBTASK = "The following tool was executed by the user"


class Span(Value):
    """When something began and ended, in milliseconds since 1970."""

    start: int
    end: int | None = None


class PartBase(Value):
    """The fields of every part."""

    id: str
    session_id: str
    message_id: str

    def words_for_model(self, role: Role) -> str:  # noqa: ARG002  # for subclasses
        """Return the part's text in a request, by its message's role; empty where it has none."""
        return ""

    def words_for_summary(self) -> str:
        """Return the part's text in a summary request; by default that of a user's message."""
        return self.words_for_model("user")


class TextPart(PartBase):
    """Text by the user, the model, or the engine."""

    type: Literal["text"] = "text"
    text: str = ""
    synthetic: bool = False
    """Whether the engine wrote the text."""
    ignored: bool = False
    """Whether the text is only kept in the transcript, and not sent to the model."""
    pinned: bool = False
    """Whether no decision may reduce the text."""
    time: Span | None = None
    metadata: dict[str, Any] | None = None


class ReasoningPart(PartBase):
    """The model's thinking, byte-exact, since signatures cover it."""

    type: Literal["reasoning"] = "reasoning"
    text: str = ""
    time: Span | None = None
    metadata: dict[str, Any] | None = None
    """Provider data that must be sent back, such as ``thinking_blocks`` with signatures."""


class SourceText(Value):
    """The text in a prompt that names a source, and its position."""

    value: str = ""
    start: int = 0
    end: int = 0
    """Characters from the prompt's beginning, as Python counts them; the end is exclusive."""


class FileSource(Value):
    """A file of the project, or one that the user's own code passed in."""

    type: Literal["file"]
    path: str
    """The path as written in the prompt or the code."""
    text: SourceText = SourceText()


class SymbolSource(Value):
    """A symbol in a file, as a language server reports it; only read from logs, none runs here."""

    type: Literal["symbol"]
    path: str
    range: dict[str, Any]
    name: str
    kind: int
    """``SymbolKind`` of the Language Server Protocol."""
    text: SourceText = SourceText()


class ResourceSource(Value):
    """A source with an address but no path: an MCP server's resource, or an object of the kernel."""

    type: Literal["resource"]
    client_name: str
    """Name of the MCP server, or ``kernel``."""
    uri: str
    """For the kernel's objects ``variable:<name>``, or ``object:<type>`` where no variable holds it."""
    text: SourceText = SourceText()


KERNEL = "kernel"
"""The ``client_name`` of a source that is an object of the kernel."""

Source = Annotated[
    FileSource | SymbolSource | ResourceSource | dict[str, Any], Field(union_mode="left_to_right")
]
"""The origin of a file; a dict is an origin that was recorded in an unknown form, which is kept unchanged."""


class FilePart(PartBase):
    """A file or image that belongs to a message."""

    type: Literal["file"] = "file"
    mime: str
    filename: str | None = None
    url: str
    """``data:``, ``file:``, ``http(s):`` or ``blob:<sha256>``."""
    source: Source | None = None


CELL = "cell:"
"""Prefix of the ``uri`` of a picture that an output of the user's cell showed."""
NOTEBOOK = "notebook"
"""The type of a notebook part, and the kind of its tokens."""


def is_of_cell(part: FilePart) -> bool:
    """Return whether a file is a picture that one of the user's cells showed."""
    source = part.source
    return isinstance(source, ResourceSource) and source.uri.startswith(CELL)


class Attachment(Value):
    """A file or image that a tool returned."""

    mime: str
    filename: str | None = None
    url: str
    """``data:`` or ``blob:<sha256>``."""
    source: Source | None = None


WAITED = "waited_ms"
"""Key in the metadata of a call's state: milliseconds of its time spent waiting for the user."""


class ToolPending(Value):
    """The model is still writing the call."""

    status: Literal["pending"] = "pending"
    input: dict[str, Any] = Field(default_factory=dict)
    raw: str = ""
    """The input as far as it has arrived."""


class ToolRunning(Value):
    """The tool is running."""

    status: Literal["running"] = "running"
    input: dict[str, Any]
    title: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    """``output`` holds partial output while the tool runs."""
    time: Span


class ToolCompleted(Value):
    """The tool returned."""

    status: Literal["completed"] = "completed"
    input: dict[str, Any]
    output: str
    """The whole output, or its head and tail when ``blob`` is set."""
    blob: BlobRef | None = None
    """The blob with the whole output, where that is over 32 KB."""
    title: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    time: Span
    attachments: tuple[Attachment, ...] = ()


class ToolFailed(Value):
    """The tool failed, was refused, or was interrupted."""

    status: Literal["error"] = "error"
    input: dict[str, Any]
    error: str
    metadata: dict[str, Any] = Field(default_factory=dict)
    """``interrupted`` is true for a stopped call; ``output`` then has the text printed before."""
    time: Span


ToolState = Annotated[
    ToolPending | ToolRunning | ToolCompleted | ToolFailed, Field(discriminator="status")
]


class ToolPart(PartBase):
    """One tool call and its state."""

    type: Literal["tool"] = "tool"
    call_id: str
    """The provider's id of the call; may be kilobytes long (Gemini)."""
    tool: str
    state: ToolState
    pinned: bool = False
    metadata: dict[str, Any] | None = None
    """Provider data; ``provider_executed`` is true for calls the provider ran itself."""


class StepStartPart(PartBase):
    """A model request begins."""

    type: Literal["step-start"] = "step-start"
    snapshot: str | None = None
    request_id: str | None = None
    """The ``step.requested`` record that this step sent."""


class StepFinishPart(PartBase):
    """A model request and the tool calls it caused are done."""

    type: Literal["step-finish"] = "step-finish"
    reason: str
    snapshot: str | None = None
    cost: float | None = None
    """US dollars; None means unknown."""
    cost_listed: bool | None = None
    """Whether ``cost`` is an estimate: a gateway serves the model, and the price is that of the listed model with its name."""
    tokens: Usage = Usage()
    seconds: float | None = None
    """Duration of the step, without the time spent waiting for the user."""
    waited_seconds: float | None = None
    """Time that the step waited for the user."""
    context_tokens: int | None = None
    """Tokens in the context of this request, as the provider counted them."""
    window: int | None = None
    """Context window of the model that answered; 0 where it has no limit."""


class SnapshotPart(PartBase):
    """The project's files at the beginning of a turn, added to its prompt when its first step runs."""

    type: Literal["snapshot"] = "snapshot"
    snapshot: str


class PatchPart(PartBase):
    """Files that a step changed."""

    type: Literal["patch"] = "patch"
    hash: str
    """The snapshot before the tools' changes: of the step, or since the last answer of a person."""
    files: tuple[str, ...] = ()
    """Paths below the project's directory."""
    more: int | None = None
    """Number of further changed files, which are not listed; the two snapshots show which."""
    after: str | None = None
    """The snapshot after the step."""


class AgentPart(PartBase):
    """An agent that the user named in the prompt."""

    type: Literal["agent"] = "agent"
    name: str
    source: dict[str, Any] | None = None


class SubtaskPart(PartBase):
    """Work that the user delegates to another agent."""

    type: Literal["subtask"] = "subtask"
    prompt: str
    description: str
    agent: str
    model: ModelRef | None = None
    command: str | None = None

    def words_for_model(self, role: Role) -> str:
        """Return the text that introduces the result."""
        return SUBTASK if role == "user" else ""

    def words_for_summary(self) -> str:
        """Return an empty text: the result describes the work."""
        return ""


class RetryPart(PartBase):
    """A model request failed and was, or will be, sent again."""

    type: Literal["retry"] = "retry"
    attempt: int
    error: ApiError
    time: Span
    """``end`` is when the next attempt begins."""


class CompactionPart(PartBase):
    """The marker of a compaction."""

    type: Literal["compaction"] = "compaction"
    auto: bool
    overflow: bool = False
    tail_start_id: str | None = None
    """Id of the first message that stays word for word, None where none does; set before the summary is requested."""
    focus: str | None = None
    """The subject that the user wants the summary to keep above all."""
    model: ModelRef | None = None
    """The model that the user chose for this summary alone."""
    goes_on: bool = False
    """Whether the user wants the work to continue after the summary, as after an automatic compaction."""

    def words_for_model(self, role: Role) -> str:
        """Return the question to which the summary is the answer."""
        return SUMMARY_PROMPT if role == "user" else ""

    def words_for_summary(self) -> str:
        """Return an empty text: the previous summary is sent separately."""
        return ""


class NotedCell(Value):
    """A run of a cell that a notebook part describes."""

    serial: int
    """Number of the run in its kernel, from 1."""
    number: int | None = None
    """The execution count shown beside the cell."""
    cell_id: str | None = None
    status: Literal["running", "ok", "error", "stopped"] = "ok"
    source: str | None = None
    """The cell's source when it failed, so that a proposed change can be compared with it; else None."""
    version: int = 0
    """A counter that grows with each output of the run; a higher value later means more output."""


class NotedEdit(Value):
    """A change of a cell since its run, as a notebook part describes it."""

    cell_id: str
    number: int | None = None
    """The execution count of the run with which the cell was compared."""
    serial: int = 0
    """The serial number of that run; 0 where the cell never ran."""
    state: Literal["edited", "as it ran", "deleted"] = "edited"
    """``as it ran``: the cell again has the source of its run, after an edit that was reported before."""
    mark: str = ""
    """A digest of the cell's source."""


class NotebookPart(PartBase):
    """A note for the model, sent with a prompt, about what the user did in the notebook since the last turn."""

    type: Literal["notebook"] = "notebook"
    about: Literal["runs", "mention", "error"] = "runs"
    """``runs``: the cells that ran since the last turn; ``mention``: a cell or variable that the prompt names;
    ``error``: a cell that failed, with the context needed to mend it."""
    text: str
    """The cells with their outputs, between tags; sent unchanged, byte for byte."""
    cells: tuple[NotedCell, ...] = ()
    names: tuple[str, ...] = ()
    """Variables that the prompt names and the text describes."""
    omitted: tuple[NotedCell, ...] = ()
    """Cells that ran and are only named in the text, to save tokens."""
    edits: tuple[NotedEdit, ...] = ()
    """Cells that were edited without being run, and deleted cells, as an open page reported them."""
    reviews: tuple[str, ...] = ()
    """Changes of cells by the agent that the user took back, each as its call's id, a colon and its number in the call."""
    kernel: str = ""
    """Id of the kernel that recorded these runs."""
    through: int = 0
    """Serial number of the newest run that was considered; later runs are reported with the next prompt."""
    hidden: int = 0
    """Number of cells that ran and are hidden from the agent by their tag or by ``%agent private``."""
    tokens: int | None = None
    """Tokens of the text when it was written."""

    def words_for_model(self, role: Role) -> str:
        """Return the text, which is sent with the user's prompt."""
        return self.text if role == "user" else ""


FormedPart = TextPart | ReasoningPart | FilePart | ToolPart
"""Parts with a form of their own in a request, which ``context/conversion/part_conversion.py`` writes."""

NotedPart = (
    StepStartPart
    | StepFinishPart
    | SnapshotPart
    | PatchPart
    | AgentPart
    | SubtaskPart
    | RetryPart
    | CompactionPart
    | NotebookPart
)
"""Parts that a request contains as text, if at all; ``words_for_model`` returns the text."""

Part = Annotated[FormedPart | NotedPart, Field(discriminator="type")]
