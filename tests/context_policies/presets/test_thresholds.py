"""Each preset acts at its threshold as its original does: only above it, or at it already.

Each row cites the comparison in the original's source; ``make soak`` asks those that can be installed, too.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.context_policies.presets.test_preset_laws import PRESETS
from tests.sample_size import thinned

from palimpsest.context_policies.interface.policy import ContextPolicy, Probe
from palimpsest.context_policies.presets.summarising import CodexCompact
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Usage

LONG = "some words of it\n" * 400
"""6,800 characters, 1,700 tokens."""


class Row(NamedTuple):
    """A preset with the number at which its original acts, or above which."""

    policy: str
    threshold: int
    acts: Literal["at", "above"]
    source: str


def _rows(table: str) -> tuple[Row, ...]:
    """Return the rows of a table with a line for each preset."""
    cells = (map(str.strip, line.split(" | ", 3)) for line in table.strip().splitlines())
    return tuple(Row(policy, int(number), acts, source) for policy, number, acts, source in cells)  # type: ignore[arg-type]


REPORTED = _rows("""
    anthropic.clear_tool_uses                      | 100_000 | above | context editing: once the prompt exceeds it
    anthropic.compact                              | 150_000 | at    | compact_20260112: once the threshold is reached
    anthropic_sdk.compaction_control               | 100_000 | at    | _beta_runner.py: tokens_used < threshold: return
    claude_code.auto                               | 167_000 | at    | cli.js 2.1.112: tokens >= threshold
    cline.compact                                  | 162_000 | at    | compaction.ts:323: requestInputTokens >= requestTriggerTokens
    cline.legacy                                   | 160_000 | at    | ContextManager.ts: totalTokens >= maxAllowedSize
    cline.legacy window=64000                      |  37_000 | at    | the same: contextWindow - 27_000
    codex.compact                                  | 244_800 | at    | codex.rs: total_usage_tokens >= auto_compact_limit
    codex.compact window=200001                    | 180_000 | at    | openai_models.rs: context_window * 9 / 10, of integers
    deepagents.summarization                       | 170_000 | at    | LangChain's: total_tokens < threshold: not met
    deepagents.summarization window=199999         | 169_999 | at    | the same: int(max_input_tokens * 0.85)
    deepagents.summarization_messages              | 170_000 | at    | LangChain's: total_tokens < threshold: not met
    gemini.compress                                | 524_288 | at    | chatCompressionService.ts:275: originalTokenCount < threshold * limit: no-op
    goose.compact                                  | 160_000 | above | context_mgmt/mod.rs: usage_ratio > threshold
    inspect.compaction_edit                        | 180_000 | above | _compaction.py:218: total_tokens > threshold
    inspect.compaction_summary                     | 180_000 | above | _compaction.py:218: total_tokens > threshold
    inspect.compaction_trim                        | 180_000 | above | _compaction.py:218: total_tokens > threshold
    langchain.summarization                        |   4_000 | at    | summarization.py:713: total_tokens < threshold: not met
    letta.sliding_window                           | 200_000 | above | refused over the window
    openai.compact                                 | 240_000 | above | guide: when the rendered token count crosses it
    openai.compact trigger=0 window_share=0.9 window=1047576 | 942_818 | above | compaction.py: int(window * 0.9)
    openai.truncation                              | 200_000 | above | reference: exceeds the context window
    openclaw.compact                               | 180_000 | above | pi's: contextTokens > contextWindow - reserveTokens
    opencode.compact                               | 148_000 | at    | overflow.ts: count >= usable
    openhands.conversation_window                  | 200_000 | above | refused over the window
    pi.compact                                     | 183_616 | above | compaction.ts:214: contextTokens > contextWindow - reserveTokens
    roo.condense                                   | 171_808 | above | context-management/index.ts:196: prevContextTokens > allowedTokens
    roo.condense window_share=0.5                            | 100_000 | at    | the same line: contextPercent >= effectiveThreshold
    roo.truncate                                   | 171_808 | above | context-management/index.ts:176: prevContextTokens > allowedTokens
    strands.summarizing                            | 200_000 | above | refused over the window
    strands.truncate_results                       | 200_000 | above | refused over the window
""")
"""By the tokens of the request that the provider reported, with the preset's own numbers."""
ESTIMATED = _rows("""
    langchain.clear_tool_uses trigger=100000                     | 100_000 | above | context_editing.py:88: tokens <= self.trigger: return
    langchain.trim_messages max_tokens=100000                    | 100_000 | above | utils.py: token_counter(messages) <= max_tokens: all
    learn_claude_code.auto trigger=100000                        | 100_000 | above | s06: estimate_tokens(messages) > THRESHOLD
    opencode.compact_v2 window=132000                            | 100_000 | above | core/session/compaction.ts: estimate <= context - max(output, buffer): no
    deepagents.truncate_args window_share=0.5 window=200000 keep_share=0.4 | 100_000 | at    | summarization.py:1013: total_tokens >= threshold
""")
"""By the preset's own count of the request."""
RESULTS = _rows("""
    smolagents.output                         | 20_000 | above | utils.py: len(content) <= max_length
    mini_swe_agent.output                     | 10_000 | at    | swebench.yaml: output | length < 10000
    openai_agents.tool_output_trimmer turns=1 |    500 | above | tool_output_trimmer.py: output_len <= max_output_chars
    learn_claude_code.micro keep_results=0            |    100 | above | s06: len(content) > 100
    gemini.truncate                           | 40_000 | above | tool-executor.ts: content.length > threshold
    strands.offload                           | 10_000 | above | plugin.py:490: token_count <= self._max_result_tokens
    deepagents.offload                        | 80_000 | above | filesystem.py: len(content) > NUM_CHARS_PER_TOKEN * limit
""")
"""By the characters of one result; four of them are a token."""
ELSEWHERE = {
    "opencode.prune": "below: minimum",
    "gemini.mask": "below: minimum",
    "claude_code.microcompact": "below: pause",
    "openclaw.cache_ttl": "below: pause",
    "openhands.llm": "below: events",
    "openhands.llm_v1": "below: events",
    "openhands.recent": "below: events",
    "openhands.amortized": "below: events",
    "google_adk.compaction": "below: turns",
    "strands.sliding_window": "below: messages",
    "dcp.purge_errors": "below: requests",
    "aider.history": "below: conversation",
}
COUNTED = {
    "anthropic.clear_thinking",
    "sweagent.last_n",
    "sweagent.closed_window",
    "sweagent.remove_regex",
    "complexity_trap.mask",
    "openhands.observation_masking",
    "openhands.browser_output",
    "dcp.deduplicate",
    "dcp.supersede_writes",
}
"""Presets without a threshold: they keep a number of the newest, or look for what was repeated."""


def session(last: str = "Go on.", result: str = LONG) -> Timeline:
    """Return six turns with a call that wrote and one that read, and a prompt whose answer comes last."""
    maker = TimelineMaker()
    for turn in range(6):
        maker.prompt(LONG)
        given = (("path", f"{turn}.py"), ("content", LONG))
        calls = [Call("write_file", "ok", given), Call("bash", result, (("command", "ls"),))]
        maker.answer(LONG, calls, reasoning=LONG)
        maker.answer(LONG)
    maker.prompt(last)
    return maker.made()


def reporting(timeline: Timeline, tokens: int) -> Timeline:
    """Return a session whose last answered request reported so many tokens, and those before it nearly none."""
    last = len(timeline.requests) - 2
    requests = tuple(
        replace(request, usage=Usage(input=tokens if request.index == last else 1))
        for request in timeline.requests
    )
    return replace(timeline, requests=requests)


def last_probe(timeline: Timeline, policy: ContextPolicy) -> Probe:
    """Return what the policy looked at before the last request, first of all."""
    probes = [
        fired.probe
        for fired in simulate(timeline, policy, Ruler()).probes
        if fired.request == timeline.requests[-1].index
    ]
    probe = probes[-1]
    while probe.passed_before is not None:
        probe = probe.passed_before
    return probe


def acts(timeline: Timeline, policy: ContextPolicy) -> bool:
    """Return whether a policy acts before the last request."""
    return timeline.requests[-1].index in simulate(timeline, policy, Ruler()).firing_requests


def seen_as(policy: ContextPolicy, tokens: int) -> Timeline:
    """Return a session that a policy counts as so many tokens, whatever it adds to what was reported."""
    value = tokens
    for _ in range(3):
        timeline = reporting(session(), value)
        missing = tokens - last_probe(timeline, without_summary(policy)).value
        if not missing:
            return timeline
        value += round(missing)
    raise AssertionError(policy)


def without_summary(policy: ContextPolicy) -> ContextPolicy:
    """Return a policy that never acts, where it would write a summary: that would be larger than all it replaces."""
    return replace(policy, summary=10**9) if hasattr(policy, "summary") else policy  # type: ignore[type-var]


@pytest.mark.parametrize("row", thinned(REPORTED, 4), ids=lambda row: row.policy)
@pytest.mark.parametrize("beside", [-1, 0, 1])
def test_a_preset_acts_at_reported_tokens_as_its_original(row: Row, beside: int) -> None:
    policy = get(row.policy)
    timeline = seen_as(policy, row.threshold + beside)

    assert acts(timeline, policy) == (beside > 0 or (beside == 0 and row.acts == "at"))


@pytest.mark.parametrize("row", ESTIMATED, ids=lambda row: row.policy)
@pytest.mark.parametrize("beside", [-1, 0, 1])
def test_a_preset_acts_at_estimated_tokens_as_its_original(row: Row, beside: int) -> None:
    policy = get(row.policy)
    small = session("x", result="y" * 400)
    missing = row.threshold + beside - last_probe(small, replace(policy, **never(policy))).value  # type: ignore[type-var]
    assert missing > 0
    timeline = session("x" * (4 + 4 * round(missing)), result="y" * 400)

    assert acts(timeline, policy) == (beside > 0 or (beside == 0 and row.acts == "at"))


def never(policy: ContextPolicy) -> dict[str, int]:
    """Return the number with which a policy never acts."""
    return {name: 10**9 for name in ("trigger", "max_tokens", "window") if getattr(policy, name, 0)}


@pytest.mark.parametrize("row", RESULTS, ids=lambda row: row.policy)
@pytest.mark.parametrize("beside", [-4, 0, 4])
def test_a_preset_acts_at_the_length_of_a_result_as_its_original(row: Row, beside: int) -> None:
    maker = TimelineMaker()
    maker.prompt("Go.")
    tool = "edit_all" if row.policy.startswith("deepagents") else "bash"
    maker.answer("I look.", [Call(tool, "x" * (row.threshold + beside))])
    maker.answer("Well.")
    maker.prompt("Go on.")
    timeline = maker.made()
    policy = get(row.policy)

    replay = simulate(timeline, policy, Ruler())
    # A result that is hardly too long is not made shorter by what Gemini CLI shows of it.
    held = row.policy == "gemini.truncate" and any(
        probe.probe.passed_before is not None and probe.probe.passed_before.is_passed
        for probe in replay.probes
    )
    fired = held or bool(replay.timeline.transitions)
    assert fired == (beside > 0 or (beside == 0 and row.acts == "at"))


def fired_at(make: Callable[[int], Timeline], policy: str, threshold: int) -> list[bool]:
    """Return whether a policy changes anything in a session of one less, of the threshold and of one more."""
    return [
        bool(simulate(make(threshold + beside), get(policy), Ruler()).firing_requests)
        for beside in (-1, 0, 1)
    ]


def results_of(tokens: int) -> Timeline:
    """Return a session with one old result of so many tokens, and newer ones of 100 in three more turns."""
    maker = TimelineMaker()
    for number in range(4):
        maker.prompt("Go.")
        maker.answer("I look.", [Call("look", "word" * 25 if number else "x" * 4 * tokens)])
        maker.answer("Well.")
    return maker.made()


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # OpenCode: its source compares with more than PRUNE_MINIMUM
        ("opencode.prune protect=0 minimum=2000", [False, False, True]),
        # toolOutputMaskingService.ts:152: totalPrunableTokens < minPrunableThresholdTokens: nothing
        ("gemini.mask protect=75 minimum=2000", [False, True, True]),
    ],
)
def test_the_least_that_is_freed(policy: str, expected: list[bool]) -> None:
    assert fired_at(results_of, policy, 2_000) == expected


def paused(seconds: int) -> Timeline:
    """Return a session with a pause of so many seconds after an answer."""
    maker = TimelineMaker()
    maker.prompt("Go.")
    for _ in range(8):
        maker.answer("I look.", [Call("bash", LONG)])
    maker.prompt("Go on.")
    maker.answer("Well.", pause=seconds)
    return maker.made()


@pytest.mark.parametrize(
    ("policy", "seconds"),
    [
        # cli.js 2.1.96: minutes < gapThresholdMinutes: nothing
        ("claude_code.microcompact", 3_600),
        # context-pruning/extension.ts: ttlMs > 0 and now - lastTouch < ttlMs: nothing
        ("openclaw.cache_ttl window=10000", 300),
    ],
)
def test_a_pause(policy: str, seconds: int) -> None:
    assert fired_at(paused, policy, seconds) == [False, True, True]


def events(count: int) -> Timeline:
    """Return a session that has so many events at its last request, with the system prompt."""
    maker = TimelineMaker()
    maker.prompt(LONG)
    for _ in range((count - 2) // 2):
        maker.answer("", [Call("bash", LONG)])
    if count % 2:
        maker.prompt(LONG)
    return maker.made()


@pytest.mark.parametrize(
    "policy", ["openhands.llm max_events=20", "openhands.llm_v1 max_events=20", "openhands.recent max_events=20 events_left=10", "openhands.amortized max_events=20 events_left=10"]
)  # fmt: skip
def test_events(policy: str) -> None:
    """Its source: len(view) > self.max_size."""
    assert fired_at(events, policy, 20) == [False, False, True]


def test_turns_of_google_adk() -> None:
    """Its source: len(new invocation ids) < compaction_interval: nothing."""
    assert fired_at(turns_of, "google_adk.compaction summary=10", 3) == [False, True, True]


def turns_of(count: int) -> Timeline:
    """Return a session in which so many turns ended before the last request."""
    maker = TimelineMaker()
    for _ in range(count):
        maker.prompt(LONG)
        maker.answer(LONG)
    maker.prompt(LONG)
    return maker.made()


def test_messages_of_strands() -> None:
    """Its source: len(messages) <= self.window_size: nothing; it looks at the end of turns, whose messages are two."""
    assert fired_at(turns_of, "strands.sliding_window messages=8", 4) == [False, False, True]


def test_requests_since_a_call_failed() -> None:
    """Its source: turnAge >= turnThreshold."""

    def after(count: int) -> Timeline:
        maker = TimelineMaker()
        maker.prompt("Go.")
        maker.answer("I do.", [Call("edit", "No.", (("text", LONG),), failed=True)])
        for _ in range(count):
            maker.answer("I look.", [Call("bash", "x")])
        return maker.made()

    assert fired_at(after, "dcp.purge_errors", 4) == [False, True, True]


def test_tokens_of_aiders_conversation() -> None:
    """Its source: history.py: total <= max_tokens at depth 0: nothing."""

    def conversation(tokens: int) -> Timeline:
        maker = TimelineMaker()
        for _ in range(3):
            maker.prompt("x" * 800)
            maker.answer("y" * 400)
        maker.prompt("x" * 4 * (tokens - 900 - 100))
        maker.answer("y" * 400)
        maker.prompt("Go.")
        return maker.made()

    assert fired_at(conversation, "aider.history summary=10 window=16384", 1_024) == [
        False,
        False,
        True,
    ]


def test_every_preset_with_a_threshold_has_a_row() -> None:
    rows = {row.policy.split()[0] for row in (*REPORTED, *ESTIMATED, *RESULTS)}

    assert {preset.preset for preset in PRESETS} == rows | {*ELSEWHERE} | COUNTED


@given(st.integers(1_000, 10_000_000))
def test_codex_counts_its_nine_tenths_in_whole_tokens(window: int) -> None:
    """Its source divides integers, so that no fraction of a token lifts or lowers the threshold."""
    policy = CodexCompact(window=window)

    assert policy.threshold_tokens(window) == window * 9 // 10
