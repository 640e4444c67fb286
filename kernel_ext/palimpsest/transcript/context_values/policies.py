"""The context policy of a session, as data: every number and choice that a context decision depends on.

A policy is recorded with each request, so it holds values only. The values of each named policy
are in ``context/presets.py``. Defaults here are those of the default policy.
"""

from typing import Any, Literal

from pydantic import model_validator

from palimpsest.transcript.context_values.prune_policy import PrunePolicy as PrunePolicy
from palimpsest.transcript.strings.code_lines import code_line_count
from palimpsest.transcript.values import Value
from palimpsest.transcript.visible_text import visible_line


class TruncatePolicy(Value):
    """When a tool output is shortened, and what is kept of it."""

    max_lines: int = 2_000
    """Maximum lines shown of one tool output."""
    max_bytes: int = 50_000
    """Maximum bytes of UTF-8 shown of one tool output."""
    window_share: float | None = 0.25
    """Maximum share of the window for one output; None means no such limit."""
    share_counted: Literal["tokens", "bytes"] = "tokens"
    """How ``window_share`` is measured. ``tokens``: by the policy's estimator; ``bytes``: four bytes count as a token."""
    direction: Literal["head", "tail", "auto"] = "auto"
    """The part that is kept: ``head``, ``tail``, or ``auto``: both where the tail contains an error, else the head."""
    form: Literal["ends", "lines"] = "ends"
    """``lines``: a line longer than the limit is removed completely, and the hint precedes a tail that is kept."""
    recall: bool = True
    """Whether the hint explains how to recall the rest; off where the tool ``recall`` is not offered."""
    task: bool = True
    """Whether the hint advises to start a task that reads the rest; off where the tool ``task`` is not offered,
    and without effect unless ``recall`` is on."""

    @model_validator(mode="before")
    @classmethod
    def _with_older_values(cls, data: Any) -> Any:
        """Add to a recorded policy of an older version the values that applied before a field existed."""
        is_older = isinstance(data, dict) and {"max_lines", "direction", "recall"} <= data.keys()
        return {"task": False, "share_counted": "bytes"} | data if is_older else data


Refusals = Literal["none", "opencode", "openclaw-2026.2", "openclaw-2026.9", "union"]
"""Name of a list of error messages that mean that a request was too long; ``union`` combines all, with our own."""


class OverflowPolicy(Value):
    """How large a request may be, and how it is recognised that one was too large."""

    rule: Literal["opencode-1.1", "opencode-1.18", "precheck", "estimate"] = "estimate"
    """How it is checked whether a request fits: ``opencode-*`` also uses the tokens reported with the last answer,
    ``precheck`` uses a weighted estimate, ``estimate`` counts tokens."""
    auto: bool = True
    """Whether the session is compacted automatically when a request does not fit."""
    reserved: int | None = None
    """Configured number of tokens kept free for the answer; None if not configured."""
    output_cap: int = 32_000
    """Maximum number of tokens that is requested for one answer."""
    safety_margin: float = 1.2
    """Factor by which ``precheck`` multiplies its estimate."""
    refusals: Refusals = "union"
    """The list of a provider's error messages that mean that a request was too long."""
    silent: Literal["none", "stopped", "all"] = "all"
    """How a provider that truncated the prompt without an error is recognised. ``stopped``: by a finished answer to
    more tokens than the window holds; ``all``: also by an empty answer that reached a limit at once."""
    reserve_share: bool = True
    """Whether ``precheck`` reserves at most a quarter of the window."""
    measured: bool = False
    """Whether ``precheck`` bases its estimate on the tokens that the provider reported for the request before."""


class CompactPolicy(Value):
    """What a compaction keeps word for word, how its summary is made and checked, and how often it is tried."""

    tail_turns: int | None = 2
    """Maximum user turns kept word for word; None means as many as fit, 0 none."""
    tail_tokens: int | None = None
    """Tokens kept word for word; None means a quarter of the usable tokens, within the two limits below."""
    tail_minimum: int = 2_000
    """Minimum tokens kept word for word, where the quarter is less."""
    tail_maximum: int = 8_000
    """Maximum tokens kept word for word, where the quarter is more."""
    merge_summary: bool = True
    """Whether the previous summary is given separately, to be merged, instead of as one of the messages."""
    serialize: bool = True
    """Whether the history to summarise is sent as one text, instead of as a conversation."""
    result_chars: int = 2_000
    """Characters kept of each tool output in a history that is sent as one text."""
    judge: bool = True
    """Whether a summary is checked before it replaces history: it must be long enough and save enough."""
    min_summary_chars: int = 200
    """Minimum characters of a summary; a shorter one never replaces history."""
    audit: bool = True
    """Whether the contents of a summary are checked: structure, names, the latest request
    (context/compaction/audit.py). A summary that lacks something is written again once, and replaces nothing
    if it still lacks something. With an own ``prompt`` only refusals are checked for."""
    max_share_after: float = 0.8
    """A compaction has failed if the request after it has more than this share of the tokens before it."""
    max_attempts: int = 3
    """Compactions in one turn after which the loop stops with an explanation."""
    max_failed: int = 2
    """Failed summaries in one turn after which no more are requested in it."""
    stages: int = 16
    """Maximum requests for one summary where the text is longer than the window; 1 means that such a text is
    not summarised."""
    always_continue: bool = False
    """Whether the turn goes on after each automatic compaction, even if the agent had finished."""
    replay: bool = False
    """Whether a newest prompt that was refused as too large is left out of the summary and repeated after it."""
    model: str | None = None
    """The model that writes summaries, as ``provider/name``; None means the session's model."""
    prompt: str | None = None
    """The instructions for a summary; they replace the built-in template and rules."""
    continue_text: str = ""
    """The engine's message after a compaction that lets the model go on; empty means the built-in one, which
    quotes the unanswered prompt."""
    refused_text: str = ""
    """Text before ``continue_text`` where the provider had refused a request as too long."""
    cut: Literal["good", "finished", "unfinished-tail"] = "good"
    """Which summaries replace the messages that they cover. ``good``: finished ones without an error.
    ``finished``: failed ones too, and no messages are kept word for word. ``unfinished-tail``: as ``good``, but
    the messages kept word for word move behind a summary while it is still being written."""


class LimitPolicy(Value):
    """How the newest user turns are chosen when a history limit applies."""

    rule: Literal["sliding", "batched"] = "batched"
    """``sliding`` sends exactly the configured number of turns, so that the first one sent changes with each turn;
    ``batched`` sends up to half as many more, so that it changes seldom, and keeps the messages before the first turn."""
    exact_provider: bool = False
    """Whether a limit applies only if the configuration has the provider's name in lower case."""
    loose_key: bool = True
    """Whether empty parts of a session key are ignored."""


class GuardPolicy(Value):
    """Which windows are too small: refused, or used with a warning, before any request."""

    rule: Literal["fixed", "shares"] = "fixed"
    """``fixed``: limits in tokens; ``shares``: shares of the model's window, where those are more tokens."""
    hard_minimum: int = 16_000
    """A window with fewer tokens is refused."""
    warn_below: int = 32_000
    """A window with fewer tokens is used with a warning."""
    hard_share: float = 0.1
    """``shares`` refuses below this share of the model's own window."""
    warn_share: float = 0.2
    """``shares`` warns below this share of the model's own window."""
    provider_names: Literal["exact", "plain", "aliases"] = "aliases"
    """How a provider is looked up in the configuration: by exactly its name, by its name in upper or lower case,
    or by any of its names."""
    usable_tokens: bool = True
    """Whether a configured number of usable tokens takes precedence over a configured window."""
    capped: bool = True
    """Whether the configured maximum for all windows applies."""
    refusal: str = ""
    """The message for a window that is too small, with ``{tokens}``, ``{minimum}`` and ``{source}``; empty means
    the built-in one."""


class ConvertPolicy(Value):
    """How a session's messages become provider messages."""

    user_empty_texts: bool = False
    """Whether empty texts of the user are sent."""
    empty_texts: Literal["dropped", "kept", "spaced"] = "dropped"
    """Empty texts of the model: left out, sent, or, where its thinking is signed, sent as one space."""
    other_thinking: Literal["text", "reasoning"] = "text"
    """Another model's thinking is sent as plain text, or as thinking without its signatures."""
    partial_output: Literal["some", "any", "none"] = "some"
    """When the output of an interrupted call is sent as its result: if there is some, always, or never."""
    result_media: Literal["writer", "inside", "by-model"] = "writer"
    """The place of a tool result's media. ``writer``: left to the code that writes the provider's format;
    ``inside``: in the result; ``by-model``: in the result if the model's servers accept that, else after the answer."""
    media_notice: str = "Attached media from tool result:"
    """Text before media that are sent after an answer."""


class TransformPolicy(Value):
    """How provider-neutral messages are changed for one model, before they are written in the provider's format."""

    rule: Literal["writer", "opencode"] = "writer"
    """``writer`` leaves this to the code that writes the provider's format; ``opencode`` makes OpenCode's changes
    to media that the model does not accept, empty texts, ids and thinking."""
    unsupported: str = "[{name} was left out: this model takes no {kind} input. Tell the user.]"
    """Text in place of a file that the model does not accept."""
    empty_image: str = "[An image was left out because its file is empty. Tell the user.]"
    """Text in place of an image without content."""


HygieneRule = Literal["opencode", "openclaw-2026.2", "openclaw-2026.9", "palimpsest"]


class HygienePolicy(Value):
    """How invalid provider messages are repaired."""

    rule: HygieneRule = "palimpsest"
    """The set of repairs. ``opencode`` only pairs calls and results: its conversion makes no other mistakes."""


class RecoveryPolicy(Value):
    """What is tried after a request did not fit, and how often in one turn."""

    compactions: int = 3
    """Compactions in one turn after the provider refused a request as too long."""
    truncations: int = 1
    """How often in one turn oversized results are cut."""
    result_share: float = 0.3
    """A single tool result larger than this share of the window is oversized."""
    results_counted: Literal["tokens", "characters"] = "tokens"
    """How ``result_share`` is measured. ``tokens``: by characters and by the policy's estimator; ``characters``: only
    by characters, four of them as a token."""
    result_cap: int | None = None
    """Maximum characters of one result; None means by the newest table of window sizes."""
    result_minimum: int = 2_000
    """Minimum characters that are kept of a result that is cut by itself, where ``result_form`` allows it."""
    result_form: Literal["head", "ends", "weighed"] = "weighed"
    """``head`` keeps only the head; ``ends`` also keeps the tail where it is important; ``weighed`` also counts a
    Chinese, Japanese or Korean character as four, and never exceeds the limit."""
    result_middle: str = "\n\n[... the middle is left out ...]\n\n"
    """Text in place of the middle of a result that was cut out."""
    result_suffix: str = (
        "\n\n[{omitted} more characters were left out here to make room; the session keeps them.]"
    )
    """Text after a cut result; ``{omitted}`` is replaced by the number of characters left out."""
    recall: bool = True
    """Whether the text after a cut result explains how to recall the rest; as in ``truncate``."""
    results_together: Literal["none", "single", "window"] = "window"
    """The limit for all results together: none, that of a single result, or a share of the window."""
    cut_first: Literal["oldest", "newest"] = "oldest"
    """Which results are cut first when all together are too long. ``newest`` preserves the provider's cache,
    ``oldest`` the results that the model works with now."""
    compaction_seconds: float = 180.0
    """Seconds after which a request for a summary is given up, so that history stays as it was."""
    wait_seconds: float = 60.0
    """Seconds after which a caller that waits for a compaction checks again, and goes on if none runs."""
    counted: Literal["ends", "results"] = "results"
    """Which compactions count towards ``compactions``: all that ended, or only those that gave a summary."""
    snapshot: Literal["whole", "continuable"] = "continuable"
    """The messages that are used after a compaction timed out: all of those before it, or only up to the last
    that a model can answer."""
    turn_seconds: float | None = None
    """Seconds after which a turn is stopped; a compaction that runs then may end first, once. None means no such
    limit."""

    @model_validator(mode="before")
    @classmethod
    def _with_older_values(cls, data: Any) -> Any:
        """Add to a policy that was recorded before ``results_counted`` existed the value that applied then."""
        older_fields = {"compactions", "result_form", "recall"}
        is_older = isinstance(data, dict) and older_fields <= data.keys()
        return {"results_counted": "characters"} | data if is_older else data


class ReminderPolicy(Value):
    """Texts that the engine adds to the user's messages, and when."""

    steered: Literal["plain", "once", "until-answered"] = "once"
    """How a message that the user sends into a running turn is sent: as it is; with ``before`` and ``after`` around
    it, in all requests; or so only until the next answer, as OpenCode does."""
    before: str = (
        "<note>The user wrote this while you were at work. See to it, and go on with what is still "
        "open.</note>\n\n"
    )
    """Text before such a message."""
    after: str = ""
    """Text after such a message."""
    last_step: Literal["user", "assistant"] = "user"
    """Role of the message that informs the model that a turn has reached its step limit."""
    news: bool = True
    """Whether the next prompt has a note about a new date and changed variables."""
    real_call: bool = True
    """Whether a model that ends its answer with a tool call written as text is asked once for a real call."""
    mode: Literal["note", "newest"] = "note"
    """Where a note about plan mode and its end is sent. ``note``: once, with the prompt that changed the mode;
    ``newest``: in each request, with the newest user message alone, as OpenCode does. Any other change of agent is
    always noted once."""


class Policy(Value):
    """The context policy of a session, as data."""

    name: str = "palimpsest"
    """Name of the preset that the policy equals or was made from."""
    version: int = 1
    """Version of the policy's format."""
    estimator: str = "tiktoken/o200k_base"
    """Token counter: ``tiktoken/<encoding>`` or ``chars/4``."""
    truncate: TruncatePolicy = TruncatePolicy()
    reserved: int = 20_000
    """Tokens kept free for the answer, at most the model's output limit."""
    history_limit: int | None = None
    """User turns that are sent; None means all."""
    prune: PrunePolicy = PrunePolicy(
        protect_tokens=10_000, minimum_tokens=90_000, minimum_scaled="square"
    )
    overflow: OverflowPolicy = OverflowPolicy()
    compact: CompactPolicy = CompactPolicy()
    limit: LimitPolicy = LimitPolicy()
    guard: GuardPolicy = GuardPolicy()
    convert: ConvertPolicy = ConvertPolicy()
    transform: TransformPolicy = TransformPolicy()
    hygiene: HygienePolicy = HygienePolicy()
    recovery: RecoveryPolicy = RecoveryPolicy()
    reminders: ReminderPolicy = ReminderPolicy()
    environment: Literal["palimpsest", "opencode-1.1", "opencode-1.18"] = "palimpsest"
    """The agent whose wording describes the environment in a new session's system prompt."""


class OwnPolicy(Value):
    """The user's own policy as it is recorded: for reading only, it is never run from a log."""

    name: str
    source: str = ""
    """The origin of its rule: a function of the user, or the project of a preset."""
    text: str = ""
    """The source of the function, or the preset's name with its numbers."""
    sha256: str = ""
    """Digest of the text and of the plain values outside of it that the function uses."""

    def __repr__(self) -> str:
        source = f": {self.source}" if self.source else ""
        lines = code_line_count(self.text)
        length = f", {lines} line{'s'[: lines != 1]}" if lines else ""
        return f"<OwnPolicy {visible_line(f'{self.name}{source}{length}')}>"


class PolicyChoice(Value):
    """A policy as the user chose it: a preset, and the numbers that differ from it."""

    base: str = "palimpsest"
    changes: dict[str, Any] = {}
    """The changed numbers, by dotted name such as ``prune.protect_tokens``."""
