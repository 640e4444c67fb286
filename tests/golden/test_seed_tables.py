"""Numbers and texts that the seed documents name hold under the presets that stand for them.

One table for each document: the name, the documented value, and what our functions do with the policy of
the preset. Prompts that the documents do not quote are ours everywhere.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from tests.builders import INFO, MODEL, Builder

from palimpsest.context.budget.precheck import result_chars
from palimpsest.context.budget.request_tokens import (
    BudgetCheck,
    answer_token_limit,
    usable_tokens,
    usage_overflows,
)
from palimpsest.context.budget.window_guard import (
    DEFAULT_WINDOW,
    WindowSize,
    evaluate_guard,
    resolve_window,
    window_refusal,
)
from palimpsest.context.compaction.continuation import continuation_text
from palimpsest.context.compaction.plan import CompactionPlan
from palimpsest.context.compaction.summary_request import summary_messages
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.engine_text.reminders import decide_reminders, last_step
from palimpsest.context.engine_text.system_prompt import EnvironmentDetails, system_prompt
from palimpsest.context.message_repair.rule_order import pair_by_rule, repaired_in_order
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.reduction.oversized_results import cut_result
from palimpsest.context.reduction.pruning import prune
from palimpsest.context.reduction.truncation import apply_truncation, choose_ends, truncate
from palimpsest.context.request_assembly.turn_limit import history_limit, with_turn_limit
from palimpsest.context.visible_messages import View, fold
from palimpsest.loop.model_requests.request_failures import too_large_error
from palimpsest.loop.run_inputs.compaction_state import (
    CompactionState,
    MessagesSnapshot,
    choose_snapshot,
    compaction_timed_out,
)
from palimpsest.loop.turn import UNFINISHED_REASONS
from palimpsest.model.tokenizer import counter
from palimpsest.session.config.setting_files import SWITCHES_OFF
from palimpsest.session.config.settings import Config
from palimpsest.session.runs.title_writer import default_title
from palimpsest.session.runs.tool_gate import LOOP_ROUNDS, repeated_calls
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import CompactionPart, FilePart, Part
from palimpsest.transcript.provider_profile.profile import guidance_of, profile
from palimpsest.transcript.session_record import events
from palimpsest.transcript.values import ModelRef, Usage

OPENCODE = preset_policy("opencode-1.1")
OPENCLAW = preset_policy("openclaw-2026.2")
FACTS = Facts(now=0, estimator="chars/4", window=200_000, reserve=0)

CLEARED = "[Old tool result content cleared]"
PROMPT = (
    "Provide a detailed prompt for continuing our conversation above. Focus on information that would be "
    "helpful for continuing the conversation, including what we did, what we're doing, which files we're "
    "working on, and what we're going to do next considering new session will not have access to our "
    "conversation."
)

Row = tuple[str, Any, Callable[[], Any]]


def ids() -> Callable[[], str]:
    numbers = iter(range(1_000))
    return lambda: f"dec_{next(numbers)}"


# Pruning, with the preset's own numbers


def turns_of(*sizes: int, tool: str = "bash") -> tuple[Builder, Messages]:
    """Return a session with one output of the given tokens in each turn, and two more turns."""
    build = Builder()
    messages: list[Message] = []
    for size in (*sizes, 0, 0):
        asked = build.user("next")
        messages += [asked, build.assistant(build.ran(tool, "abcd" * size), to=asked)]
    return build, tuple(messages)


def pruned(*sizes: int, tool: str = "bash") -> list[int]:
    """Return the indexes of the pruned outputs, from the oldest."""
    _, messages = turns_of(*sizes, tool=tool)
    count = counter(OPENCODE.estimator)
    found = {one.part_id for one in prune(View(messages), OPENCODE, FACTS, ids(), count)}
    outputs = [part.id for message in messages[1::2] for part in message.parts]
    return [at for at, part_id in enumerate(outputs) if part_id in found]


def shown_pruned() -> str:
    """Return what the model sees of a pruned output."""
    _, messages = turns_of(21_000, 40_000)
    count = counter(OPENCODE.estimator)
    decisions = prune(View(messages), OPENCODE, FACTS, ids(), count)
    flat = neutral_messages(
        apply_decisions(messages, View(messages, decisions)), MODEL, OPENCODE.convert
    )
    return next(
        block.text for one in flat for block in one.blocks if isinstance(block, ResultBlock)
    )


# The request of a compaction, and the messages after it


def compacted() -> Messages:
    build = Builder()
    asked = build.user("do it")
    mark = CompactionPart(id="prt_mark", session_id="ses_test", message_id="x", auto=True)
    marker = build.user(mark)
    return (
        asked,
        build.assistant("done", to=asked),
        marker,
        build.assistant("The summary.", to=marker, summary=True),
        build.user(build.text("Continue if you have next steps", synthetic=True)),
    )


def asked_of_a_summary() -> str:
    messages = compacted()[:3]
    flat = summary_messages(messages, View(messages), messages[-1].id, MODEL, OPENCODE)
    return words(flat)[-1]


def words(flat: NeutralMessages) -> list[str]:
    return [
        block.text
        for message in flat
        for block in message.blocks
        if isinstance(block, TextBlock | ResultBlock)
    ]


def seen_after_a_compaction() -> list[tuple[str, str]]:
    flat = neutral_messages(fold(compacted(), OPENCODE.compact), MODEL, OPENCODE.convert)
    return [(message.role, text) for message, text in zip(flat, words(flat), strict=True)]


def unfinished_call() -> str:
    build = Builder()
    flat = neutral_messages((build.assistant(build.running("bash")),), MODEL, OPENCODE.convert)
    return words(flat)[-1]


def overflow_at(limits: dict[str, int], *counts: int) -> list[bool]:
    model = INFO.model_copy(update=limits)
    return [
        usage_overflows(Usage(input=count - 3, cache_read=1, output=2), model, OPENCODE.overflow)
        for count in counts
    ]


def surroundings() -> EnvironmentDetails:
    return EnvironmentDetails(
        model="openai/gpt-5",
        directory="/p/w",
        root="/p",
        git=True,
        platform="linux",
        date="Fri Nov 20 2026",
    )


def system_of(prompt: str | None, *extra: str) -> tuple[str, ...]:
    return system_prompt(surroundings(), agent_prompt=prompt, extra=extra)


ENVIRONMENT = """\
You are powered by the model named gpt-5.
Here is some useful information about the environment you are running in:
<env>
  Working directory: /p/w
  Is directory a git repo: yes
  Platform: linux
  Today's date: Fri Nov 20 2026
</env>"""


def environment_of(chosen: Policy) -> str:
    return system_prompt(surroundings(), environment_name=chosen.environment)[1].partition("\n\n")[
        0
    ]


REMINDER = (
    "<system-reminder>\nThe user sent the following message:\n{}\n\nPlease address this message and continue "
    "with your tasks.\n</system-reminder>"
)


def steered() -> str:
    """Return what the model sees of a prompt that joined a running turn."""
    build = Builder()
    asked = build.user("do it")
    step = build.assistant(build.ran("bash", "ok"), to=asked, finish="tool-calls")
    messages = (asked, step, build.user("and this", joins=True))
    count = counter(OPENCODE.estimator)
    decisions = decide_reminders(View(messages), OPENCODE.reminders, ids(), count)
    applied = apply_decisions(messages, View(messages, decisions))
    return words(neutral_messages(applied, MODEL, OPENCODE.convert))[-1]


SEED_000: list[Row] = [
    ("PRUNE_PROTECT", 40_000, lambda: OPENCODE.prune.protect_tokens),
    ("PRUNE_MINIMUM", 20_000, lambda: OPENCODE.prune.minimum_tokens),
    ("PRUNE_PROTECTED_TOOLS", ("skill",), lambda: OPENCODE.prune.protected_tools),
    ("turns that are never pruned", 2, lambda: OPENCODE.prune.protect_turns),
    ("40,000 tokens kept, 20,000 behind them: nothing", [], lambda: pruned(20_000, 40_000)),
    ("one token more behind them: cleared", [0], lambda: pruned(20_001, 40_000)),
    ("skill is never cleared", [], lambda: pruned(90_000, 40_000, tool="skill")),
    ("a cleared output", CLEARED, shown_pruned),
    (
        "finishes that do not end a turn",
        {"tool-calls", "unknown"},
        lambda: UNFINISHED_REASONS - {None},
    ),
    ("the compaction's prompt", PROMPT, asked_of_a_summary),
    (
        "said after an automatic compaction",
        "Continue if you have next steps",
        lambda: continuation_text(OPENCODE, CompactionPlan(summarised_messages=()), None),
    ),
    (
        "usable: the input limit, else context - output; more than that overflows",
        ([False, True], [False, True]),
        lambda: (
            overflow_at({"window": 200_000, "output_limit": 8_000}, 192_000, 192_001),
            overflow_at({"window": 200_000, "input_limit": 150_000}, 150_000, 150_001),
        ),
    ),
    (
        "no overflow for a model without a window, nor with auto off",
        [False, False],
        lambda: [
            *overflow_at({"window": 0}, 900_000),
            usage_overflows(
                Usage(input=900_000), INFO, OPENCODE.overflow.model_copy(update={"auto": False})
            ),
        ],
    ),
    ("said around words that come in the middle of a turn", REMINDER.format("and this"), steered),
    ("system prompt in two parts, header first", 2, lambda: len(system_of(None, "a", "b"))),
    ("an agent's prompt replaces the header", "Mine.", lambda: system_of("Mine.")[0]),
    (
        "custom words, then those of the message",
        True,
        lambda: system_of(None, "custom", "of the message")[1].endswith(
            "custom\n\nFurther instructions:\nof the message"
        ),
    ),
]


def doom_loop_action() -> list[str]:
    return [rule.action for rule in DEFAULT_RULES if rule.permission == "doom_loop"]


OWN_PARTS = {"notebook"}
"""Types of parts that the recorded system does not have: it works in no notebook."""


def part_types() -> set[str]:
    types = {one.model_fields["type"].default for one in get_args(get_args(Part)[0])}
    return types - OWN_PARTS


SEED_001: list[Row] = [
    ("DOOM_LOOP_THRESHOLD", 3, lambda: LOOP_ROUNDS),
    ("three equal calls, not two", [0, 1], lambda: [len(repeated_calls(["a"] * n)) for n in (2, 3)]),
    ("the permission asked for", ["ask"], doom_loop_action),
    ("PRUNE_PROTECT", 40_000, lambda: OPENCODE.prune.protect_tokens),
    ("PRUNE_MINIMUM", 20_000, lambda: OPENCODE.prune.minimum_tokens),
    (
        "said after an automatic compaction",
        "Continue if you have next steps",
        lambda: OPENCODE.compact.continue_text,
    ),
    ("the compaction's prompt begins", PROMPT[:64], lambda: asked_of_a_summary()[:64]),
    (
        "types of parts",
        {
            "text", "subtask", "reasoning", "file", "tool", "step-start", "step-finish",
            "snapshot", "patch", "agent", "retry", "compaction",
        },
        part_types,
    ),
    ("the environment", ENVIRONMENT, lambda: environment_of(OPENCODE)),
    (
        "whose prompt a model is given, by its name",
        ["reasoning", "gpt", "gpt", "gpt", "gemini", "claude", "other"],
        lambda: [
            guidance_of(f"p/{name}")
            for name in ("gpt-5", "gpt-4o", "o1-mini", "o3", "gemini-3-pro", "claude-opus-4", "qwen3")
        ],
    ),
    (
        "plain text files are not sent as files",
        1,
        lambda: len(neutral_messages((with_files(),), MODEL, OPENCODE.convert)[0].blocks),
    ),
]  # fmt: skip


def with_files() -> Message:
    build = Builder()
    base = {"session_id": "ses_test", "message_id": "x"}
    return build.user(
        FilePart(id="prt_a", mime="text/plain", url="data:text/plain,a", **base),
        FilePart(id="prt_b", mime="image/png", url="data:image/png;base64,AA==", **base),
    )


# Seed 002: windows, limits, pairs, snapshots, recovery


def guarded(tokens: int) -> tuple[bool, bool]:
    guard = evaluate_guard(WindowSize(tokens, "model"), OPENCLAW.guard)
    return guard.warns, guard.blocks


def sources() -> list[str]:
    configured = {"p": {"m": {"window": 90_000}}}
    given: list[dict[str, Any]] = [
        {"models": configured, "model": {"window": 80_000}},
        {"models": {}, "model": {"window": 80_000}},
        {"models": {}, "model": {"window": 80_000}, "cap": 70_000},
        {"models": {}, "model": {}},
    ]
    return [resolve_window("p", "m", policy=OPENCLAW.guard, **one).source for one in given]


def said(role: Any, text: str) -> NeutralMessage:
    return NeutralMessage(role=role, blocks=(TextBlock(text=text),))


def called(*names: str) -> NeutralMessage:
    calls = tuple(CallBlock(call_id=name, tool="bash", input={}) for name in names)
    return NeutralMessage(role="assistant", blocks=calls)


def returned(name: str, text: str = "ok") -> NeutralMessage:
    return NeutralMessage(role="tool", blocks=(ResultBlock(call_id=name, tool="bash", text=text),))


def repaired(*messages: NeutralMessage) -> list[tuple[str, str, bool]]:
    """Return role, text and error flag of the repaired messages."""
    return [
        (
            message.role,
            getattr(block, "text", "call"),
            isinstance(block, ResultBlock) and block.is_error,
        )
        for message in pair_by_rule(messages, OPENCLAW.hygiene.rule).messages
        for block in message.blocks
    ]


def limited_then_paired() -> list[str]:
    """Return the texts sent of a result whose call is older than the newest turn."""
    messages = (said("user", "1"), called("a"), said("user", "2"), returned("a"))
    flat = repaired_in_order(
        messages,
        lambda newest: with_turn_limit(newest, 1, OPENCLAW.limit),
        OPENCLAW.hygiene.rule,
        profile(ModelRef(provider="anthropic", name="claude-test")),
    )
    return words(flat)


def closed_while_waiting() -> str:
    """Return how a wait for a compaction ends when the session is closed."""

    async def wait() -> str:
        state = CompactionState(OPENCLAW.recovery.counted)
        state.note_start()
        waiting = asyncio.create_task(state.wait_until_idle())
        await asyncio.sleep(0)
        state.close()
        return type((await asyncio.gather(waiting, return_exceptions=True))[0]).__name__

    return asyncio.run(wait())


SYNTHETIC = (
    "[openclaw] missing tool result in session history; inserted synthetic error result for "
    "transcript repair."
)
TRUNCATED = (
    "\n\n⚠️ [Content truncated — original was too large for the model's context window. The content above is "
    "a partial view. If you need more, request specific sections or use offset/limit parameters to read "
    "smaller chunks.]"
)


def limits_of(key: str) -> Any:
    limits = {
        "tel": {"history_limit": 9, "dm_history_limit": 5, "dms": {"ann": {"history_limit": 2}}}
    }
    return history_limit(key, limits, OPENCLAW.limit)


def snapshot_of(*, timed_out: bool, before: bool) -> str:
    current, earlier = (
        MessagesSnapshot(("b",), "s", "current"),
        MessagesSnapshot(("a",), "s", "pre-compaction"),
    )
    return choose_snapshot(
        current,
        earlier if before else None,
        OPENCLAW.recovery,
        timed_out=timed_out,
        answerable=lambda _: True,
    ).source


SEED_002: list[Row] = [
    ("CONTEXT_WINDOW_HARD_MIN_TOKENS", 16_000, lambda: OPENCLAW.guard.hard_minimum),
    ("CONTEXT_WINDOW_WARN_BELOW_TOKENS", 32_000, lambda: OPENCLAW.guard.warn_below),
    ("one token under the minimum blocks", (True, True), lambda: guarded(15_999)),
    ("from the minimum on it warns", (True, False), lambda: guarded(16_000)),
    ("from 32,000 on it does not", (False, False), lambda: guarded(32_000)),
    ("where windows are from", ["configured", "model", "cap", "default"], sources),
    ("the window of an unknown model", 200_000, lambda: DEFAULT_WINDOW),
    (
        "the guard's sentence",
        "Model context window too small (8000 tokens). Minimum is 16000.",
        lambda: window_refusal(INFO.model_copy(update={"window": 8_000}), OPENCLAW.guard),
    ),
    ("limit of a person's own", 2, lambda: limits_of("agent:main:tel:dm:ann")),
    ("limit of other persons", 5, lambda: limits_of("agent:main:tel:direct:bob")),
    ("limit of a group", 9, lambda: limits_of("agent:main:tel:group:team")),
    ("limit of a channel", 9, lambda: limits_of("tel:channel:news")),
    (
        "the newest turns are kept with what belongs to them",
        ["user", "assistant", "user"],
        lambda: [
            one.role
            for one in with_turn_limit(
                (said("user", "1"), said("assistant", "a"), said("user", "2"),
                 said("assistant", "b"), said("user", "3")), 2, OPENCLAW.limit,
            )
        ],
    ),
    (
        "a call without a result gets a synthetic error",
        [("assistant", "call", False), ("tool", SYNTHETIC, True), ("user", "next", False)],
        lambda: repaired(called("a"), said("user", "next")),
    ),
    (
        "a result in the wrong place moves behind its call",
        [("assistant", "call", False), ("tool", "ok", False), ("user", "next", False)],
        lambda: repaired(called("a"), said("user", "next"), returned("a")),
    ),
    (
        "a result said twice is said once",
        ["call", "ok", "done"],
        lambda: [
            text
            for _, text, _ in repaired(called("a"), returned("a"), said("assistant", "done"), returned("a"))
        ],
    ),
    ("an orphan is dropped", ["next"], lambda: [text for _, text, _ in repaired(returned("a"), said("user", "next"))]),
    (
        "pairs are repaired after the limit, which may cut a call from its result",
        ["2"],
        limited_then_paired,
    ),
    ("who waits when nobody listens any more is aborted", "Aborted", closed_while_waiting),
    (
        "a timeout is the compaction's only while one runs or is tried again",
        [False, True, True, False],
        lambda: [
            compaction_timed_out(timed_out=late, in_flight=flying, retrying=again)
            for late, flying, again in ((True, False, False), (True, True, False), (True, False, True), (False, True, True))
        ],
    ),
    (
        "the snapshot from before the compaction is preferred, the current one the way out",
        ["pre-compaction", "current", "current"],
        lambda: [
            snapshot_of(timed_out=True, before=True),
            snapshot_of(timed_out=True, before=False),
            snapshot_of(timed_out=False, before=True),
        ],
    ),
    ("compactions after an overflow", 3, lambda: OPENCLAW.recovery.compactions),
    ("truncations of oversized results", 1, lambda: OPENCLAW.recovery.truncations),
    ("share of the window for one result", 0.3, lambda: OPENCLAW.recovery.result_share),
    ("in characters", 240_000, lambda: result_chars(200_000, OPENCLAW.recovery)),
    ("and at most", 400_000, lambda: result_chars(2_000_000, OPENCLAW.recovery)),
    ("kept of a result at least", 2_000, lambda: OPENCLAW.recovery.result_minimum),
    ("said behind a cut result", TRUNCATED, lambda: cut_result("x" * 9_000, 4_000, OPENCLAW.recovery).suffix),
    ("a compaction's time", 300.0, lambda: OPENCLAW.recovery.compaction_seconds),
    (
        "the last sentence names a new session and a larger window",
        [True, True],
        lambda: [
            hint in too_large_error(BudgetCheck(fits=False, tokens=2, budget=1), INFO).message
            for hint in ("new session", "larger window")
        ],
    ),
    ("pruned when the cache is older than", 300.0, lambda: OPENCLAW.prune.ttl_seconds),
    ("answers that stay as they are", 3, lambda: OPENCLAW.prune.keep_assistants),
    ("shortened from this share on", 0.3, lambda: OPENCLAW.prune.soft_ratio),
    ("cleared from this share on", 0.5, lambda: OPENCLAW.prune.hard_ratio),
    ("cleared only where so much can go", 50_000, lambda: OPENCLAW.prune.min_prunable_chars),
    (
        "a long result, its head and its tail",
        (4_000, 1_500, 1_500),
        lambda: (
            OPENCLAW.prune.soft_max_chars,
            OPENCLAW.prune.soft_head_chars,
            OPENCLAW.prune.soft_tail_chars,
        ),
    ),
    ("a cleared result", CLEARED, lambda: OPENCLAW.prune.placeholder),
]  # fmt: skip


def truncated(text: str) -> list[str]:
    """Return the pieces of a truncated output, without the hint, whose text is ours."""
    decision = truncate(
        "dec", "prt", "msg", text, OPENCODE.truncate, FACTS, counter(OPENCODE.estimator)
    )
    return (
        apply_truncation(text, decision.numbers).split("\n\n")[:-1]
        if decision is not None
        else [text]
    )


SEED_003: list[Row] = [
    ("MAX_LINES", 2_000, lambda: OPENCODE.truncate.max_lines),
    ("MAX_BYTES", 50 * 1024, lambda: OPENCODE.truncate.max_bytes),
    ("2,000 lines are whole", ["\n".join(["x"] * 2_000)], lambda: truncated("\n".join(["x"] * 2_000))),
    (
        "said where lines were left out",
        ["\n".join(["x"] * 2_000), "...7 lines truncated..."],
        lambda: truncated("\n".join(["x"] * 2_007)),
    ),
    (
        "said where bytes were left out",
        ["y" * 51_000, "...1001 bytes truncated..."],
        lambda: truncated("y" * 51_000 + "\n" + "z" * 1_000),
    ),
    ("CHARS_PER_TOKEN", [0, 1, 3, 1_000], lambda: [counter(OPENCODE.estimator)("x" * n) for n in (1, 4, 10, 4_000)]),
    ("PRUNE_MINIMUM", 20_000, lambda: OPENCODE.prune.minimum_tokens),
    ("PRUNE_PROTECT", 40_000, lambda: OPENCODE.prune.protect_tokens),
    ("what a marker asks", "What did we do so far?", lambda: seen_after_a_compaction()[0][1]),
    ("said around words that come in the middle of a turn", REMINDER.format("and this"), steered),
    ("at the last step the assistant speaks", "assistant", lambda: last_step(3, OPENCODE.reminders).role),
    ("a cleared output", CLEARED, shown_pruned),
    ("a call that did not end", "[Tool execution was interrupted]", unfinished_call),
    ("the compaction's prompt", PROMPT, asked_of_a_summary),
    (
        "seen after a compaction",
        [
            ("user", "What did we do so far?"),
            ("assistant", "The summary."),
            ("user", "Continue if you have next steps"),
        ],
        seen_after_a_compaction,
    ),
]  # fmt: skip


def event_types() -> Iterator[str]:
    for one in vars(events).values():
        fields = getattr(one, "model_fields", {})
        if "type" in fields:
            yield fields["type"].default


def error_types() -> set[str]:
    return {one.model_fields["type"].default for one in get_args(get_args(ErrorValue)[0])}


NAMED_EVENTS = {
    "session.created", "session.updated", "session.deleted", "session.diff", "session.compacted",
    "session.error", "message.updated", "message.removed", "message.part.updated", "message.part.removed",
}  # fmt: skip


SEED_004: list[Row] = [
    ("characters in a token", 4, lambda: 4_000 // counter(OPENCODE.estimator)("x" * 4_000)),
    ("PRUNE_MINIMUM", 20_000, lambda: OPENCODE.prune.minimum_tokens),
    ("PRUNE_PROTECT", 40_000, lambda: OPENCODE.prune.protect_tokens),
    ("turns that are never pruned", 2, lambda: OPENCODE.prune.protect_turns),
    ("tools that are never pruned", ("skill",), lambda: OPENCODE.prune.protected_tools),
    ("a cleared output", CLEARED, shown_pruned),
    (
        "OUTPUT_TOKEN_MAX, also for a model that names no limit",
        [32_000, 32_000, 8_000],
        lambda: [
            answer_token_limit(INFO.model_copy(update={"output_limit": n}), OPENCODE.overflow)
            for n in (64_000, 0, 8_000)
        ],
    ),
    (
        "usable = context - output",
        168_000,
        lambda: usable_tokens(INFO.model_copy(update={"output_limit": 64_000}), OPENCODE.overflow),
    ),
    ("total = input + cache.read + output", [False, True], lambda: overflow_at({"output_limit": 64_000}, 168_000, 168_001)),
    ("lines of a tool's output", 2_000, lambda: OPENCODE.truncate.max_lines),
    ("bytes of a tool's output", 50 * 1024, lambda: OPENCODE.truncate.max_bytes),
    (
        "head or tail",
        [(1, 0), (0, 1)],
        lambda: [
            (found.head_chars, found.tail_chars)
            for end in (False, True)
            if (found := choose_ends("a\nb\nc", 1, 100, from_end=end)) is not None
        ],
    ),
    ("the compaction's prompt", PROMPT, asked_of_a_summary),
    ("DOOM_LOOP_THRESHOLD", 3, lambda: LOOP_ROUNDS),
    ("title of a new session", "New session - 1970-01-01T00:00:00.000Z", lambda: default_title(0)),
    ("compaction.auto", True, lambda: OPENCODE.overflow.auto),
    ("compaction.prune", True, lambda: OPENCODE.prune.rule != "none"),
    ("neither is set in the configuration", (None, None), lambda: (Config().compaction.auto, Config().compaction.prune)),
    (
        "flags that switch them off",
        {"PALIMPSEST_DISABLE_AUTOCOMPACT": "auto", "PALIMPSEST_DISABLE_PRUNE": "prune"},
        lambda: dict(SWITCHES_OFF),
    ),
    (
        "errors",
        {"output-length", "aborted", "auth", "api", "unknown"},
        lambda: {"output-length", "aborted", "auth", "api", "unknown"} & error_types(),
    ),
    ("events", NAMED_EVENTS, lambda: NAMED_EVENTS & set(event_types())),
]  # fmt: skip


@pytest.mark.parametrize(
    "rows",
    [SEED_000, SEED_001, SEED_002, SEED_003, SEED_004],
    ids=["000", "001", "002", "003", "004"],
)
def test_what_the_document_names_holds_under_its_preset(rows: list[Row]) -> None:
    assert {name: found() for name, _, found in rows} == {name: said for name, said, _ in rows}
    assert len({name for name, _, _ in rows}) == len(rows)
