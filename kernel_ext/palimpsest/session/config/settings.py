"""All settings, with their types and built-in values.

Border: values only; files are read by ``setting_files``, and layers are merged by ``layer_merge``.
"""

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from palimpsest.tools.permission_rules.modes import Mode
from palimpsest.tools.tool import Detail, WithoutPage
from palimpsest.transcript.context_values.cell_runs import NotebookDetail
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.session_record.hook_values import HookName
from palimpsest.transcript.values import Action, Density

ShareMode = Literal["auto", "manual", "disabled"]
ReplayMode = Literal["only", "ask", "prefer", "never"]
"""Whether cells show their recorded answers, from the mode that spends least to the one that spends most."""
REPLAY_BY_FREEDOM: tuple[ReplayMode, ...] = get_args(ReplayMode)


DEFAULT_STEPS = 100
"""Maximum model requests in one turn; a turn that needs more has usually gone wrong."""


Count = Annotated[int, Field(gt=0)]
Tokens = Annotated[int, Field(ge=0)]
Turns = Annotated[int, Field(ge=0)]
"""Number of turns; 0 means all of them."""
Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Dollars = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Days = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _check_size(text: str) -> str:
    if re.fullmatch(r"\d+(\.\d+)?\s*([kKmMgGtT]?[bB])?", text) is None:
        raise ValueError("must be a size such as 500MB or 2GB")
    return text


SizeText = Annotated[str, AfterValidator(_check_size)]
PermissionTable = Action | dict[str, Action | dict[str, Action]]
"""One action for everything, or by permission, or by permission and pattern; the last match wins."""


class Settings(BaseModel):
    """A table of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class PriceSettings(Settings):
    """US dollars per million tokens."""

    input: Cost | None = None
    output: Cost | None = None
    cache_read: Cost | None = None
    cache_write: Cost | None = None


class ModelSettings(Settings):
    """Facts about one model, where the built-in table lacks them or has them wrong."""

    window: Tokens | None = None
    """Context window in tokens, input and output together; 0 means no known or wanted limit."""
    input: Count | None = None
    """Maximum input tokens, where that is less than the window."""
    output: Count | None = None
    """Maximum tokens of one answer."""
    price: PriceSettings | None = None
    api_base: str | None = None
    """Address of a server that speaks the provider's protocol."""
    tools: bool | None = None
    """Whether the model supports tool calls."""
    vision: bool | None = None
    reasoning: bool | None = None
    caching: bool | None = None
    """Whether the provider caches the common beginning of requests."""


class PolicyPart(Settings):
    """A table that changes parts of the context policy; a value that is not set stays the policy's."""


class ToolOutput(PolicyPart):
    """Where a tool's output is truncated for the model."""

    max_lines: Count | None = None
    max_bytes: Count | None = None
    direction: Literal["head", "tail", "auto"] | None = None


class CompactionSettings(PolicyPart):
    """What happens when a session no longer fits the context window, or its tool outputs grow old."""

    auto: bool | None = None
    """Whether a summary is written when the next request would not fit."""
    prune: bool | None = None
    """Whether old tool outputs are cleared from requests."""
    reserved: Tokens | None = None
    """Tokens kept free for the answer."""
    tail_turns: Tokens | None = None
    """Maximum number of the newest turns that a compaction keeps unchanged."""
    tail_tokens: Tokens | None = None
    """Maximum tokens of the newest turns that a compaction keeps unchanged."""
    model: str | None = None
    """The model that writes summaries; if unset, the session's."""
    prompt: str | None = None
    """The instructions for a summary, instead of the built-in ones."""


def _policy_settings_type() -> type[PolicyPart]:
    """Return a table type that can change any single value of a preset; all are unset by default."""
    tables: dict[str, Any] = {}
    for name, field in Policy.model_fields.items():
        if isinstance(field.default, BaseModel):
            inner: dict[str, Any] = dict.fromkeys(type(field.default).model_fields, (Any, None))
            table = create_model(f"{name.title()}Settings", __base__=PolicyPart, **inner)
            tables[name] = (table, table())
        elif name not in ("name", "version"):
            tables[name] = (Any, None)
    model: type[PolicyPart] = create_model(
        "PolicySettings", __base__=PolicyPart, base=(str, "palimpsest"), **tables
    )
    return model


if TYPE_CHECKING:

    class PolicySettings(PolicyPart):
        """A preset and changes to it."""

        base: str = "palimpsest"
else:
    PolicySettings = _policy_settings_type()


class BudgetSettings(Settings):
    """What one session may spend before the user is asked."""

    usd: Dollars | None = None
    """US dollars."""
    tokens: Count | None = None
    """Input and output tokens, cached or not."""


class AgentSettings(Settings):
    """A built-in agent with changes, or a new agent."""

    description: str | None = None
    mode: Literal["primary", "subagent", "all"] | None = None
    """Whether it answers the user's prompts, is a subagent, or both."""
    model: str | None = None
    variant: str | None = None
    """Reasoning effort."""
    prompt: str | None = None
    """Replaces the header of the system prompt."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    steps: Count | None = None
    hidden: bool | None = None
    """Whether the agent is left out of lists."""
    disable: bool | None = None
    """Whether the agent is removed."""
    color: str | None = None
    permission: tuple[PermissionTable, ...] = ()
    """One table per layer, lowest first; a file writes one table or one action."""


class CommandSettings(Settings):
    """A user-defined command: a prompt under a short name."""

    template: str | None = None
    """The prompt; ``$1``, ``$ARGUMENTS``, ``@file`` and ``!`command` `` are filled in."""
    description: str | None = None
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    subtask: bool | None = None
    """Whether the prompt runs as a task of a subagent in its own session."""


HookTable = list[str] | dict[HookName, str | list[str]]
"""A list of functions that name their own kind of hook, or functions by kind of hook."""


class McpSettings(Settings):
    """An MCP server: a program to start, or an address."""

    command: str | None = None
    """The program of a server that is used over its standard input and output."""
    args: list[str] = []
    env: dict[str, str] = {}
    """Environment variables for it; ``${NAME}`` is replaced by the kernel's variable."""
    cwd: str | None = None
    """Its working directory; if unset, the project's folder."""
    url: str | None = None
    """The address of a server that is used over streamable HTTP."""
    headers: dict[str, str] = {}
    enabled: bool = True
    timeout: Seconds | None = None
    """Timeout of one call in seconds; if unset, 60."""


class PersonSettings(Settings):
    """Settings for the sessions of one user."""

    history_limit: Turns | None = None


class RetentionSettings(Settings):
    """How long and how much is kept before ``%agent storage prune`` deletes it."""

    days: Days | None = None
    """Days since a session was last used; if unset, sessions are kept whatever their age."""
    size: SizeText | None = None
    """Maximum size of the folder, such as ``2GB``; if unset, there is no limit."""
    texts: Days = 1.0
    """Days for which long texts are kept after no session needs them, at least 1."""


class Config(Settings):
    """All settings, with their built-in values."""

    model: str | None = None
    """``provider/name``; if unset, the provider of an API key, else a local Ollama, else rehearsal."""
    small_model: str | None = None
    """For titles and turn summaries; if unset, a small one of the same provider, else the session's model."""
    variables: Detail = "names and types"
    """What the model is told about variables that no prompt or call names; named ones are shown with values."""
    notebook: NotebookDetail = "all"
    """Which cells that the user ran since the last turn are sent with a prompt: none, those that failed, or all."""
    notebook_tokens: Count = 6_000
    """Upper limit of what is sent about the user's cells with one prompt, in tokens."""
    cells_without_page: WithoutPage = "refuse"
    """Whether the agent may change the file of a notebook that no open page shows, where an editor may have it open."""
    hidden_variables: tuple[str, ...] = ()
    """Names of variables that the agent is never told of, from all layers; they may hold ``*``."""
    replay: ReplayMode = "ask"
    """Whether cells show their recorded answers: only those, with a question before a Run All sends a changed
    prompt (``ask``), without one (``prefer``), or never."""
    titles: bool = True
    """Request the title of a new session from a model; if off, the first words of its prompt are used."""
    density: Density = "quiet"
    """What is shown of a turn, on pages, in terminals and in what is saved: its work folded into rows, or all steps."""
    turn_summaries: bool = False
    """After each turn, request a summary of the turn, and of the session in a paragraph, from a model."""
    variant: str | None = None
    """Reasoning effort."""
    direct: bool = True
    """Ask servers of OpenAI's and Anthropic's formats directly; if off, every model is asked through litellm."""
    models: dict[str, ModelSettings] = {}
    context_tokens: Count | None = None
    """Upper limit for every model's context window, in tokens."""
    policy: PolicySettings = PolicySettings()
    """The context policy: a preset by name, or a table with ``base`` and changes to it."""
    compaction: CompactionSettings = CompactionSettings()
    tool_output: ToolOutput = ToolOutput()
    history_limit: Turns | None = None
    """Number of the newest user turns that are sent, in sessions that several users share."""
    dm_history_limit: Turns | None = None
    """Number of the newest user turns that are sent, in the session of one user."""
    dms: dict[str, PersonSettings] = {}
    """By login name; used instead of ``dm_history_limit``."""
    permission: tuple[PermissionTable, ...] = ()
    """One table per layer, lowest first; a file writes one table or one action."""
    mode: Mode = "ask"
    """The permission mode of sessions for which none was chosen."""
    budget: BudgetSettings = BudgetSettings()
    """The spending limit of a session."""
    agent: dict[str, AgentSettings] = {}
    default_agent: str = "build"
    command: dict[str, CommandSettings] = {}
    subagent_depth: Turns = 1
    """How deep subagents may nest: with 1, the agent of the user's session may start some, and they none."""
    instructions: tuple[str, ...] = ()
    """Files read into the system prompt, from all layers; absolute paths, which may hold ``*``."""
    mcp: dict[str, McpSettings] = {}
    """MCP servers, by name."""
    hooks: tuple[HookTable, ...] = ()
    """One table or list per layer, lowest first; a file writes one."""
    max_steps: Count | None = None
    """Maximum model requests in one turn."""
    on_failure: Literal["raise", "show", "auto"] = "auto"
    """Whether a cell fails if its turn did not finish; ``auto`` raises where nobody can type an answer."""
    system: str | None = None
    """Text added to every system prompt."""
    share: ShareMode = "manual"
    """Whether a session's page is written automatically, only on request, or never."""
    snapshot: bool = True
    """Keep the project's files as of before and after each step, so that a revert can restore them."""
    retention: RetentionSettings = RetentionSettings()
    """What ``%agent storage prune`` deletes; a number sets ``texts`` alone. Nothing is deleted automatically."""
