"""What there is to set, with the built-in values.

Border: values only; where they are written and how layers are laid over each other is the work of
``config_files``, ``config_merge`` and ``config``.
"""

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from palimpsest.tools.permission_rules.modes import Mode
from palimpsest.tools.tool import Detail
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.session_record.hook_values import HookName
from palimpsest.transcript.values import Action

ShareMode = Literal["auto", "manual", "disabled"]


DEFAULT_STEPS = 100
"""Model requests in one turn; a turn that needs more has usually lost its way."""


Count = Annotated[int, Field(gt=0)]
Tokens = Annotated[int, Field(ge=0)]
Turns = Annotated[int, Field(ge=0)]
"""0 means all of them."""
Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Dollars = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Days = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _sized(text: str) -> str:
    if re.fullmatch(r"\d+(\.\d+)?\s*([kKmMgGtT]?[bB])?", text) is None:
        raise ValueError("must be a size such as 500MB or 2GB")
    return text


SizeText = Annotated[str, AfterValidator(_sized)]
PermissionTable = Action | dict[str, Action | dict[str, Action]]
"""A word for everything, or by permission, or by permission and pattern; the last match wins."""


class Settings(BaseModel):
    """A table of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PriceSettings(Settings):
    """US dollars per million tokens."""

    input: Cost | None = None
    output: Cost | None = None
    cache_read: Cost | None = None
    cache_write: Cost | None = None


class ModelSettings(Settings):
    """What is known of one model; for what the built-in table does not know, or has wrong."""

    window: Tokens | None = None
    """Tokens of context, input and output together; 0 means that no limit is known or wanted."""
    input: Count | None = None
    """Most tokens of input, where it is less than the window."""
    output: Count | None = None
    """Most tokens of one answer."""
    price: PriceSettings | None = None
    api_base: str | None = None
    """Address of a server that speaks the provider's protocol."""
    tools: bool | None = None
    """The model can call tools."""
    vision: bool | None = None
    reasoning: bool | None = None
    caching: bool | None = None
    """The provider caches what requests have in common."""


class PolicyPart(Settings):
    """A table that changes some of the context policy; what is not set is the policy's."""


class ToolOutput(PolicyPart):
    """When a tool's output is shortened for the model."""

    max_lines: Count | None = None
    max_bytes: Count | None = None
    direction: Literal["head", "tail", "auto"] | None = None


class CompactionSettings(PolicyPart):
    """What happens when a conversation no longer fits the window, or its outputs grow old."""

    auto: bool | None = None
    """A summary is written when the next request would not fit."""
    prune: bool | None = None
    """Old tool outputs are cleared from requests."""
    reserved: Tokens | None = None
    """Tokens kept free for the answer."""
    tail_turns: Tokens | None = None
    """The newest turns that stay word for word, at most."""
    tail_tokens: Tokens | None = None
    """The newest tokens that stay word for word, at most."""
    model: str | None = None
    """The model that writes summaries; without it, the session's."""
    prompt: str | None = None
    """What is asked of a summary, in the place of the built-in words."""


def _policy_settings() -> type[PolicyPart]:
    """Return the table that changes single numbers of a preset: all of them, unset."""
    tables: dict[str, Any] = {}
    for name, field in Policy.model_fields.items():
        if isinstance(field.default, BaseModel):
            inner: dict[str, Any] = dict.fromkeys(type(field.default).model_fields, (Any, None))
            table = create_model(f"{name.title()}Settings", __base__=PolicyPart, **inner)
            tables[name] = (table, table())
        elif name not in ("name", "version"):
            tables[name] = (Any, None)
    made: type[PolicyPart] = create_model(
        "PolicySettings", __base__=PolicyPart, base=(str, "palimpsest"), **tables
    )
    return made


if TYPE_CHECKING:

    class PolicySettings(PolicyPart):
        """A preset, and what is changed of it."""

        base: str = "palimpsest"
else:
    PolicySettings = _policy_settings()


class BudgetSettings(Settings):
    """What one session may spend before it asks."""

    usd: Dollars | None = None
    """US dollars."""
    tokens: Count | None = None
    """Tokens read and written, cached or not."""


class AgentSettings(Settings):
    """An agent: a built-in one changed, or a new one."""

    description: str | None = None
    mode: Literal["primary", "subagent", "all"] | None = None
    """Whether it answers a person, works for other agents, or both."""
    model: str | None = None
    variant: str | None = None
    """Reasoning effort."""
    prompt: str | None = None
    """Replaces the header of the system prompt."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    steps: Count | None = None
    hidden: bool | None = None
    """Nobody is shown it."""
    disable: bool | None = None
    """There is no such agent."""
    color: str | None = None
    permission: tuple[PermissionTable, ...] = ()
    """One table per layer, low to high; a file writes one table or word."""


class CommandSettings(Settings):
    """A command of one's own: words for the agent under a short name."""

    template: str | None = None
    """The prompt; ``$1``, ``$ARGUMENTS``, ``@file`` and ``!`command` `` are filled in."""
    description: str | None = None
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    subtask: bool | None = None
    """Its words go to an agent in a session of its own."""


HookTable = list[str] | dict[HookName, str | list[str]]
"""Functions that say themselves which hook they are, or functions by hook."""


class McpSettings(Settings):
    """An MCP server: a program, or an address."""

    command: str | None = None
    """The program of a server that is spoken to by its input and output."""
    args: list[str] = []
    env: dict[str, str] = {}
    """Environment variables for it; ``${NAME}`` stands for one of the kernel's."""
    cwd: str | None = None
    """Where it runs; without it, in the project's folder."""
    url: str | None = None
    """The address of a server that is spoken to by streamable HTTP."""
    headers: dict[str, str] = {}
    enabled: bool = True
    timeout: Seconds | None = None
    """Seconds for one call; without it, 60."""


class PersonSettings(Settings):
    """What holds for the sessions of one person."""

    history_limit: Turns | None = None


class RetentionSettings(Settings):
    """How long and how much is kept before ``%agent storage prune`` takes it."""

    days: Days | None = None
    """Since a session was last used; without it, sessions are kept however old they are."""
    size: SizeText | None = None
    """Most that the folder takes, such as ``2GB``; without it, as much as there is."""
    texts: Days = 1.0
    """For which long texts are kept after no session needs them, a day at least."""


class Config(Settings):
    """Every setting, with its built-in value."""

    model: str | None = None
    """``provider/name``; without it, what is there: a key, a local Ollama, else rehearsal."""
    small_model: str | None = None
    """For titles and turn summaries; without it, a small one of the same provider, else the session's model."""
    variables: Detail = "names and types"
    """What the model is told of variables that nobody named; what a prompt or a call names is shown."""
    titles: bool = True
    """A model is asked for the title of a new session; without it, the first words stand there."""
    turn_summaries: bool = False
    """A model is asked after each turn for what was done in it, and for the session in a paragraph."""
    variant: str | None = None
    """Reasoning effort."""
    models: dict[str, ModelSettings] = {}
    context_tokens: Count | None = None
    """Hard cap on every model's window."""
    policy: PolicySettings = PolicySettings()
    """The context policy: a preset by name, or a table with ``base`` and what is changed of it."""
    compaction: CompactionSettings = CompactionSettings()
    tool_output: ToolOutput = ToolOutput()
    history_limit: Turns | None = None
    """User turns that are sent, in sessions that several people use."""
    dm_history_limit: Turns | None = None
    """User turns that are sent, in the session of one person."""
    dms: dict[str, PersonSettings] = {}
    """By login name, in the place of ``dm_history_limit``."""
    permission: tuple[PermissionTable, ...] = ()
    """One table per layer, low to high; a file writes one table or word."""
    mode: Mode = "ask"
    """How freely the agent works in sessions for which nobody chose otherwise."""
    budget: BudgetSettings = BudgetSettings()
    """The spending limit of a session."""
    agent: dict[str, AgentSettings] = {}
    default_agent: str = "build"
    command: dict[str, CommandSettings] = {}
    subagent_depth: Turns = 1
    """How deep agents may hand on work: 1 lets the agent of a person's session, and no further."""
    instructions: tuple[str, ...] = ()
    """Files read into the system prompt, of all layers; absolute, may hold ``*``."""
    mcp: dict[str, McpSettings] = {}
    """MCP servers, by name."""
    hooks: tuple[HookTable, ...] = ()
    """One table or list per layer, low to high; a file writes one."""
    max_steps: Count | None = None
    """Model requests in one turn."""
    on_failure: Literal["raise", "show", "auto"] = "auto"
    """Whether a cell fails whose turn did not finish; ``auto`` where nobody can type an answer."""
    system: str | None = None
    """Words added to every system prompt."""
    share: Literal["auto", "manual", "disabled"] = "manual"
    """Whether a session's page is written by itself, only when asked for, or never."""
    snapshot: bool = True
    """The files before and behind each step are kept, so that a revert brings them back."""
    retention: RetentionSettings = RetentionSettings()
    """What ``%agent storage prune`` takes; a number is ``texts`` alone. Nothing goes by itself."""
