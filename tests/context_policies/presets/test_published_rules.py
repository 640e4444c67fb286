"""Presets of services and closed programs beside cases from what their makers publish: pages, type stubs, the program itself.

Claude Code's rules were read from the published ``cli.js`` of the versions that each preset names, OpenCode's and
Codex's from their sources, the servers' rules from the pages of their API.
"""

from dataclasses import replace
from math import ceil
from typing import Any

import pytest
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.context_policies.presets.test_presets import LONG, states_of, turns

from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.presets.clearing import ClearThinking, ClearToolUses
from palimpsest.context_policies.presets.cutting import OpenAITruncation
from palimpsest.context_policies.presets.idle import ClaudeCodeMicrocompact
from palimpsest.context_policies.presets.summarising import (
    ClaudeCodeAuto,
    CodexCompact,
    OpenCodeCompact,
    OpenCodeCompactV2,
)
from palimpsest.context_policies.presets.summarising_all import AnthropicCompact, OpenAICompact
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.transcript.timeline import Timeline


def shown_texts(timeline: Timeline, policy: ContextPolicy) -> list[str]:
    """Return the texts of what a policy still shows at the last request, without the newest turn."""
    first = max(item.index for item in timeline.items if item.kind == "user")
    return [
        timeline.read(index)
        for index, state in enumerate(states_of(timeline, policy)[:first])
        if state not in ("summarised", "out")
    ]


def acting(timeline: Timeline, policy: Any) -> Any:
    """Return a policy with the window or trigger at which it acts before the last request, and not earlier."""
    trigger = getattr(policy, "trigger", 0)
    never = replace(policy, **{"trigger" if trigger else "window": 10**9})
    last = simulate(timeline, never, Ruler()).probes[-1].probe
    tokens = round(last.value) - (not last.inclusive)
    if trigger:
        return replace(policy, trigger=tokens)
    return replace(policy, window=ceil((tokens + policy.reserve) / policy.window_share))


# Claude Code's auto-compaction


def session(*calls: Call) -> Timeline:
    """Return a session with a turn of calls, one by one, and a further prompt."""
    maker = TimelineMaker()
    maker.prompt(LONG * 4)
    for call in calls:
        maker.answer("I do.", [call])
    maker.answer("Well.")
    maker.prompt("Go on.")
    return maker.made()


def reading(path: str, text: str = "", *, failed: bool = False) -> Call:
    return Call("Read", text or f"the text of {path}", (("file_path", path),), failed=failed)


def editing(path: str, tool: str = "Edit") -> Call:
    return Call(tool, "done", (("file_path", path),))


def files_again(timeline: Timeline) -> list[str]:
    """Return which files are shown again after a compaction."""
    policy = acting(timeline, ClaudeCodeAuto(summary=10))
    return [text for text in shown_texts(timeline, policy) if text.startswith("the text of")]


def test_claude_code_shows_five_files_again() -> None:
    timeline = session(*(reading(f"{number}.py") for number in range(7)))

    assert files_again(timeline) == [f"the text of {number}.py" for number in range(2, 7)]


def test_a_file_that_was_edited_later_is_one_of_the_newest() -> None:
    """The state of read files is written anew by Edit and Write."""
    timeline = session(*(reading(f"{number}.py") for number in range(6)), editing("0.py"))

    assert files_again(timeline) == [f"the text of {place}.py" for place in (0, 2, 3, 4, 5)]


def test_a_file_that_was_written_and_not_read_takes_a_place() -> None:
    timeline = session(
        *(reading(f"{number}.py") for number in range(6)), editing("new.py", "Write")
    )

    assert files_again(timeline) == [f"the text of {number}.py" for number in range(2, 6)]


def test_of_a_file_that_was_read_twice_the_newest_read_is_shown() -> None:
    timeline = session(reading("a.py", "the text of old"), reading("a.py", "the text of new"))

    assert files_again(timeline) == ["the text of new"]


def test_a_read_that_failed_shows_no_file() -> None:
    timeline = session(reading("a.py"), reading("b.py", "the text of an error", failed=True))

    assert files_again(timeline) == ["the text of a.py"]


@pytest.mark.parametrize(("chars", "shows"), [(20_000, True), (20_001, False)])
def test_a_file_over_5_000_tokens_is_named_only(chars: int, *, shows: bool) -> None:
    """MaxFileReadTokenExceededError makes a reference of it, and it takes one of the places."""
    long = "the text of it".ljust(chars, "x")
    timeline = session(*(reading(f"{number}.py") for number in range(5)), reading("long.py", long))

    assert (long in files_again(timeline)) == shows
    assert "the text of 0.py" not in files_again(timeline)


# Claude Code's microcompaction


def paused_session(*calls: Call, pause: float = 3_600) -> Timeline:
    maker = TimelineMaker()
    maker.prompt("Go.")
    for call in calls:
        maker.answer("I do.", [call])
    maker.answer("Well.")
    maker.prompt("Go on.")
    maker.answer("Well.", pause=pause)
    return maker.made()


def test_the_newest_five_results_of_its_tools_stay_after_a_pause() -> None:
    tools = ["Read", "Bash", "PowerShell", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"]
    others = ["Task", "TodoWrite", "MultiEdit", "NotebookEdit", "mcp__a__b"]
    timeline = paused_session(*(Call(tool, LONG) for tool in [*tools, *others]))

    states = states_of(timeline, ClaudeCodeMicrocompact(), "output")

    assert states == ["cleared"] * 4 + ["whole"] * 5 + ["whole"] * len(others)


def test_one_result_stays_at_least() -> None:
    """``Math.max(1, keepRecent)``."""
    timeline = paused_session(*[Call("Read", LONG)] * 3)

    assert states_of(timeline, ClaudeCodeMicrocompact(keep_results=0), "output") == [
        "cleared"
    ] * 2 + ["whole"]


def test_a_pause_is_counted_from_the_end_of_the_answer() -> None:
    timeline = paused_session(*[Call("Read", LONG)] * 6, pause=3_599)

    assert set(states_of(timeline, ClaudeCodeMicrocompact(), "output")) == {"whole"}


# OpenCode's two compactions


def tail_of(timeline: Timeline, policy: Any) -> list[int]:
    """Return which items stay whole of those that were answered."""
    states = states_of(timeline, acting(timeline, policy))
    newest = timeline.requests[-2].items
    return [index for index, state in enumerate(states[:newest]) if state == "whole"]


@pytest.mark.parametrize(
    ("tokens", "first"),
    [
        (3 * 1_279, 5),  # three turns of 1,279 tokens
        (2 * 1_279, 10),
        (2 * 1_279 - 1, 11),  # all but the prompt of a turn
        (1_279, 15),
        (1_278, 16),
        (2 + 2 + 425 + 425, 16),
        (2 + 2 + 425 + 424, 19),  # an answer does not stay without the result of its call
        (10, 19),  # the newest answer stays with every preset
    ],
)
def test_opencode_keeps_the_longest_tail_of_messages_that_fits(tokens: int, first: int) -> None:
    timeline = turns(4, Call("bash", LONG), said=LONG)
    policy = OpenCodeCompact(keep_tokens=tokens, min_keep_tokens=1, keep_share=1.0, summary=10)

    states = states_of(timeline, acting(timeline, policy))

    assert states == ["summarised"] * first + ["whole"] * (len(states) - first)


def test_where_nothing_of_opencodes_fits_nothing_stays() -> None:
    timeline = turns(8, Call("bash", LONG))
    assert tail_of(timeline, OpenCodeCompact(keep_tokens=10, min_keep_tokens=10, summary=10)) == []


def test_a_tail_of_opencodes_second_compaction_shows_2_000_characters_of_a_result() -> None:
    timeline = turns(6, Call("bash", "x" * 8_000), said="Well.")
    policy = acting(timeline, OpenCodeCompactV2(keep_tokens=1_600, summary=10))
    replay = simulate(timeline, policy, Ruler())
    cut = [
        transition.chars
        for transition in replay.timeline.transitions
        if transition.state == "truncated"
    ]

    assert (
        len(cut) == 2
    )  # 503 tokens each, as they stay; of the 2,000 that they have none would fit
    assert set(cut) == {2_000 + len("\n[truncated]")}


# Codex's compaction


def test_codex_cuts_the_prompt_that_exceeds_what_stays_and_notes_how_much() -> None:
    maker = TimelineMaker()
    for length in (4_000, 4_000, 4_000):
        maker.prompt("p" * length)
        maker.answer("a" * 40_000)
    maker.prompt("Go.")
    timeline = maker.made()
    replay = simulate(
        timeline, CodexCompact(window=30_000, prompt_tokens=1_500, summary=10), Ruler()
    )
    last = [
        transition for transition in replay.timeline.transitions if transition.state == "truncated"
    ]

    assert [transition.chars for transition in last][:1] == [
        4 * 499 + len("…501 tokens truncated…")
    ]


# What servers do


def test_anthropics_server_clears_the_oldest_uses_and_leaves_out_excluded_tools() -> None:
    calls = [Call(tool, LONG) for tool in ("read", "web_search", "read", "read", "read", "read")]
    timeline = session(*calls)
    policy = ClearToolUses(trigger=1_000, keep_results=3, spared_tools=("web_search",))

    assert states_of(timeline, policy, "output") == ["cleared", "whole", "cleared", *["whole"] * 3]


def test_nothing_is_cleared_where_it_would_be_less_than_clear_at_least() -> None:
    timeline = session(*[Call("read", LONG)] * 5)
    freed = 2 * (425 - 9)  # the placeholder has 33 characters

    for least, cleared in ((freed, 2), (freed + 1, 0)):
        policy = ClearToolUses(trigger=1_000, keep_results=3, at_least=least)
        assert states_of(timeline, policy, "output").count("cleared") == cleared


def test_clear_tool_inputs_empties_the_calls_as_well() -> None:
    timeline = session(*[Call("read", LONG, (("text", LONG),))] * 4)

    assert (
        states_of(timeline, ClearToolUses(trigger=1_000, clear_inputs=True), "call")[0] == "cleared"
    )
    assert states_of(timeline, ClearToolUses(trigger=1_000), "call")[0] == "whole"


def test_thinking_stays_of_the_newest_turns_that_have_some() -> None:
    maker = TimelineMaker()
    for number in range(4):
        maker.prompt("Go.")
        maker.answer("I look.", [Call("read", LONG)], reasoning="hm" if number != 2 else "")
        maker.answer("Well.", reasoning="hm" if number != 2 else "")
    timeline = maker.made()

    for keep, left in ((1, 2), (2, 4), (10, 6)):
        states = states_of(timeline, ClearThinking(keep_turns=keep), "reasoning")
        assert states == ["out"] * (6 - left) + ["whole"] * left


def test_a_compaction_on_a_server_drops_all_before_it() -> None:
    timeline = session(*[Call("read", LONG)] * 5)

    for policy in (AnthropicCompact(summary=10), OpenAICompact(summary=10)):
        assert shown_texts(timeline, acting(timeline, policy)) == [
            "Well."
        ]  # not counted: the newest answer


def test_openais_truncation_drops_the_least_from_the_front() -> None:
    timeline = session(*[Call("read", LONG)] * 5)
    total = int(simulate(timeline, OpenAITruncation(), Ruler()).sizes[-1].total)
    states = states_of(timeline, OpenAITruncation(window=total - 1, measure="estimated"))

    assert states[0] == "out"
    assert states.count("out") == 1
