"""The context policy of a session, as data: every number and choice that a context decision depends on.

A policy is recorded with each request, so it holds values only. Which values make up a named
policy is defined in ``context/presets.py``. Defaults here are those of the default policy.
"""

from typing import Any, Literal

from pydantic import model_validator

from palimpsest.transcript.context_values.prune_policy import PrunePolicy as PrunePolicy
from palimpsest.transcript.values import Value


class TruncatePolicy(Value):
    """When one tool output is shortened, and to what."""

    max_lines: int = 2_000
    """Lines shown of one tool output at most."""
    max_bytes: int = 50_000
    """Bytes of UTF-8 shown of one tool output at most."""
    window_share: float | None = 0.25
    """At most this share of the window for a single output; None means no such cap."""
    share_counted: Literal["tokens", "bytes"] = "tokens"
    """``tokens``: the share is measured by the policy's estimator; ``bytes``: four bytes count as a token."""
    direction: Literal["head", "tail", "auto"] = "auto"
    """``auto`` keeps head and tail when the tail holds an error, else the head."""
    form: Literal["ends", "lines"] = "ends"
    """``lines``: nothing is kept of a line longer than the cap, and the hint stands before a tail."""
    recall: bool = True
    """The hint says how to recall the rest; switched off where the tool ``recall`` is not offered."""
    task: bool = True
    """The hint advises to have a task look through the rest; switched off where the tool ``task`` is not
    offered, and of no consequence without ``recall``."""

    @model_validator(mode="before")
    @classmethod
    def _older(cls, data: Any) -> Any:
        """Complete a whole recorded policy of an older version with the values that applied before a field existed."""
        is_older = isinstance(data, dict) and {"max_lines", "direction", "recall"} <= data.keys()
        return {"task": False, "share_counted": "bytes"} | data if is_older else data


Refusals = Literal["none", "opencode", "openclaw-2026.2", "openclaw-2026.9", "union"]
"""Whose list of error messages means that a request was too long; ``union`` combines them, with ours."""


class OverflowPolicy(Value):
    """How much of the window a request may take."""

    rule: Literal["opencode-1.1", "opencode-1.18", "precheck", "estimate"] = "estimate"
    """How it is found out that a request does not fit: ``opencode-*`` also by the tokens reported of the
    last answer, ``precheck`` by a weighted estimate, ``estimate`` by counting tokens."""
    auto: bool = True
    """Compact by itself when a request does not fit."""
    reserved: int | None = None
    """Tokens kept free for the answer, when configured."""
    output_cap: int = 32_000
    """Tokens asked of one answer at most."""
    safety_margin: float = 1.2
    """``precheck`` multiplies its estimate by this."""
    refusals: Refusals = "union"
    """Which words of a provider mean that a request was too long for it."""
    silent: Literal["none", "stopped", "all"] = "all"
    """What a provider that cut the prompt in silence is known by: ``stopped``, a finished answer to
    more tokens than the window holds; ``all``, also an empty one that hit a limit at once."""
    reserve_share: bool = True
    """``precheck`` keeps at most a quarter of the window in reserve."""
    measured: bool = False
    """``precheck`` weighs a request by what the provider reported of the one before, where it did."""


class CompactPolicy(Value):
    """What a compaction keeps word for word, and how often it is tried."""

    tail_turns: int | None = 2
    """User turns kept word for word at most; None means as many as fit, 0 none."""
    tail_tokens: int | None = None
    """Tokens kept word for word; None takes a quarter of what is usable, within the bounds."""
    tail_minimum: int = 2_000
    """Tokens kept word for word at least, where the quarter is less."""
    tail_maximum: int = 8_000
    """Tokens kept word for word at most, where the quarter is more."""
    merge_summary: bool = True
    """The previous summary is given to be merged, instead of being summarised as a message."""
    serialize: bool = True
    """The history is sent as one text to summarise, instead of as a conversation."""
    result_chars: int = 2_000
    """Characters kept of each tool output in the serialised history."""
    judge: bool = True
    """Look at a summary before it cuts history: whether it says enough and saves enough."""
    min_summary_chars: int = 200
    """A shorter summary is useless and never cuts history."""
    audit: bool = True
    """Look whether a summary holds what it must: structure, names, the latest request (context/compaction/audit.py);
    one that lacks something is written again once, and cuts nothing if it lacks something still. Where
    ``prompt`` says what a summary is, only refusals are looked for."""
    max_share_after: float = 0.8
    """A compaction that leaves more than this share of what was before has failed."""
    max_attempts: int = 3
    """Compactions in one turn before the loop stops and explains."""
    max_failed: int = 2
    """Summaries of one turn that may fail before none is asked for any more in it."""
    stages: int = 16
    """Requests that one summary may take where the text is longer than the window; 1 means that such
    a text is not summarised."""
    always_continue: bool = False
    """Go on after each automatic compaction, even where no work is left."""
    replay: bool = False
    """Where the newest prompt itself was refused as too large: leave it out of the summary, and
    say it again after it."""
    model: str | None = None
    """The model that writes summaries, as ``provider/name``; None takes the session's."""
    prompt: str | None = None
    """What is asked of a summary, in the place of our template and rules."""
    continue_text: str = ""
    """What the engine says to go on; empty takes our own words, which quote what is unanswered."""
    refused_text: str = ""
    """What is said before ``continue_text`` where the provider had refused a request as too long."""
    cut: Literal["good", "finished", "unfinished-tail"] = "good"
    """Which summaries stand for what they cover. ``good``: those that are finished, without an
    error. ``finished``: failed ones too, and none keeps a tail. ``unfinished-tail``: as ``good``,
    but the tail of a summary that is still being written moves behind it at once."""


class LimitPolicy(Value):
    """How the newest user turns are chosen when a history limit holds."""

    rule: Literal["sliding", "batched"] = "batched"
    """``sliding`` sends exactly the configured number and moves with each turn; ``batched`` sends up to half
    as many more, moves once in a while, and keeps the prelude."""
    exact_provider: bool = False
    """A configured limit is found under the key's provider in small letters only."""
    loose_key: bool = True
    """Empty pieces of a session key are overlooked."""


class GuardPolicy(Value):
    """Windows too small to work in, refused or warned of before any request."""

    rule: Literal["fixed", "shares"] = "fixed"
    """``fixed``: by numbers of tokens; ``shares``: by shares of the window, where those are more."""
    hard_minimum: int = 16_000
    """A window with fewer tokens is refused."""
    warn_below: int = 32_000
    """A window with fewer tokens is warned of."""
    hard_share: float = 0.1
    """``shares`` refuses below this share of the model's own window."""
    warn_share: float = 0.2
    """``shares`` warns below this share of the model's own window."""
    provider_names: Literal["exact", "plain", "aliases"] = "aliases"
    """How a provider is found in the configuration: by its very name, by its name in any case, or
    by any of its names."""
    usable_tokens: bool = True
    """A number of tokens to be used is preferred to the window, where both are given."""
    capped: bool = True
    """The configured cap on every window holds."""
    refusal: str = ""
    """What is said when a window is too small, with ``{tokens}``, ``{minimum}`` and ``{source}``; empty
    takes our own words."""


class ConvertPolicy(Value):
    """How messages of parts become provider messages."""

    user_empty_texts: bool = False
    """Empty texts of the user are sent."""
    empty_texts: Literal["dropped", "kept", "spaced"] = "dropped"
    """Empty texts of the model: left out, sent, or sent as one space where thinking is signed."""
    other_thinking: Literal["text", "reasoning"] = "text"
    """Another model's thinking travels as plain text, or as thinking without its signatures."""
    partial_output: Literal["some", "any", "none"] = "some"
    """What an interrupted call had printed is its result: if there is some, always, or never."""
    result_media: Literal["writer", "inside", "by-model"] = "writer"
    """Where media of a tool result goes: left to the writer of the provider's words, always inside
    the result, or inside where the model's servers take it and after the answer where not."""
    media_notice: str = "Attached media from tool result:"
    """What stands before media that follows an answer."""


class TransformPolicy(Value):
    """What is made of neutral messages for one model, before they are written in its words."""

    rule: Literal["writer", "opencode"] = "writer"
    """``writer`` leaves it to whoever writes the provider's words; ``opencode`` does what the
    recorded agent does: media the model cannot take, empty texts, ids and thinking."""
    unsupported: str = "[{name} was left out: this model takes no {kind} input. Tell the user.]"
    """Stands for a file that the model cannot take."""
    empty_image: str = "[An image was left out because its file is empty. Tell the user.]"
    """Stands for an image without content."""


HygieneRule = Literal["opencode", "openclaw-2026.2", "openclaw-2026.9", "palimpsest"]


class HygienePolicy(Value):
    """How provider messages are repaired: which generation of the rules."""

    rule: HygieneRule = "palimpsest"
    """``opencode`` only pairs calls and results, since its conversion writes nothing else wrong."""


class RecoveryPolicy(Value):
    """What is tried after a request did not fit, and how often in one turn."""

    compactions: int = 3
    """Compactions in one turn after the provider refused a request as too long."""
    truncations: int = 1
    """Times in one turn that oversized results are cut."""
    result_share: float = 0.3
    """A single tool result larger than this share of the window is oversized."""
    results_counted: Literal["tokens", "characters"] = "tokens"
    """``tokens``: the share of one result is measured by the policy's estimator, too; ``characters``: four of them count as a token."""
    result_cap: int | None = None
    """Most characters of one result; None takes the newest table by window."""
    result_minimum: int = 2_000
    """Characters kept of a result that is cut alone, where the form allows."""
    result_form: Literal["head", "ends", "weighed"] = "weighed"
    """``head`` keeps the head only; ``ends`` keeps the tail too where it matters; ``weighed`` also
    counts a Chinese, Japanese or Korean character as four, and never goes over the limit."""
    result_middle: str = "\n\n[... the middle is left out ...]\n\n"
    """Stands where the middle of a result was cut out."""
    result_suffix: str = (
        "\n\n[{omitted} more characters were left out here to make room; the session keeps them.]"
    )
    """``{omitted}`` stands for the number of characters."""
    recall: bool = True
    """The last words say how to recall the rest; as in ``truncate``."""
    results_together: Literal["none", "single", "window"] = "window"
    """What all results together may take: anything, as much as a single one, or a share of the
    window."""
    cut_first: Literal["oldest", "newest"] = "oldest"
    """Which results are cut first when all together are too long: the newest leave the provider's
    cache alone, the oldest leave the work at hand alone."""
    compaction_seconds: float = 180.0
    """One request for a summary is given up after so long, and history stays as it was."""
    wait_seconds: float = 60.0
    """Who waits for a compaction looks again after so long, and goes on where none runs."""
    counted: Literal["ends", "results"] = "results"
    """Which compactions count: all that ended for good, or those that gave a summary."""
    snapshot: Literal["whole", "continuable"] = "continuable"
    """After a compaction ran out of time the messages before it are taken whole, or up to the
    last that a model can answer."""
    turn_seconds: float | None = None
    """A turn is stopped after so long, a compaction that runs then once let come to its end; None
    means no such limit."""

    @model_validator(mode="before")
    @classmethod
    def _older(cls, data: Any) -> Any:
        """Complete a policy that was recorded whole before results were counted with what held then."""
        is_older = (
            isinstance(data, dict) and {"compactions", "result_form", "recall"} <= data.keys()
        )
        return {"results_counted": "characters"} | data if is_older else data


class ReminderPolicy(Value):
    """What the engine says beside the words of a person, and when."""

    steered: Literal["plain", "once", "until-answered"] = "once"
    """Words said into a turn that runs are sent as they are; with something said around them, from
    when they are first sent on; or only until the next answer, as the recorded agent does it."""
    before: str = (
        "<note>The user wrote this while you were at work. See to it, and go on with what is still "
        "open.</note>\n\n"
    )
    """What is said before such words."""
    after: str = ""
    """What is said behind them."""
    last_step: Literal["user", "assistant"] = "user"
    """In whose name the model is told that a turn has reached its step limit."""
    news: bool = True
    """A new day and changed variables are told with the next prompt."""
    real_call: bool = True
    """A model that ends its answer with a tool call in words is asked once for a real call."""
    mode: Literal["note", "newest"] = "note"
    """Plan mode and its end are told once, in a note that stays beside the prompt that brought them;
    or, as the recorded agent does it, in each request anew, beside the newest user message alone.
    Any other change of agent is told in a note."""


class Policy(Value):
    """The context policy of a session, as data."""

    name: str = "palimpsest"
    """The preset that the policy is, or was made from."""
    version: int = 1
    """Version of this form of a policy."""
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
    """In whose words a new session's system prompt tells where the model works."""


class OwnPolicy(Value):
    """A person's own policy as it is recorded: to be read, and never run from a log."""

    name: str
    source: str = ""
    """Where its rule comes from: a function of the person's, or the project of a preset."""
    text: str = ""
    """The source of the function, or the preset's name with its numbers."""
    sha256: str = ""
    """Digest of the text and of the plain values outside of it that it uses."""


class PolicyChoice(Value):
    """A policy as a person chose it: a preset, and the numbers that differ from it."""

    base: str = "palimpsest"
    changes: dict[str, Any] = {}
    """By dotted name, such as ``prune.protect_tokens``."""
