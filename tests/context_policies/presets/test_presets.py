"""Each preset does what its project does: which items, when, and what is left of them."""

from pathlib import Path

import pytest
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.context_policies.pi_session import RULER, pi_timeline
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample

from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.presets.clearing import (
    ClearThinking,
    ClearToolUses,
    InspectEdit,
    LearnClaudeCodeMicro,
    OpenCodePrune,
)
from palimpsest.context_policies.presets.cutting import (
    InspectTrim,
    KeepEnds,
    LangChainTrim,
    OpenAITruncation,
    OpenHandsAmortized,
    OpenHandsConversationWindow,
    RooTruncate,
)
from palimpsest.context_policies.presets.duplicates import (
    ClineLegacy,
    DcpDeduplicate,
    DcpPurgeErrors,
    DcpSupersedeWrites,
)
from palimpsest.context_policies.presets.gemini import GeminiCompress, GeminiTruncate
from palimpsest.context_policies.presets.idle import ClaudeCodeMicrocompact, OpenClawCacheTtl
from palimpsest.context_policies.presets.masking import (
    OpenHandsBrowserOutput,
    SweAgentLastN,
    SweAgentRemoveRegex,
)
from palimpsest.context_policies.presets.shortening import (
    DeepAgentsOffload,
    DeepAgentsTruncateArgs,
    MiniSweAgentOutput,
    OpenAIAgentsTrimmer,
    SmolagentsOutput,
    StrandsOffload,
)
from palimpsest.context_policies.presets.strands import StrandsTruncateResults
from palimpsest.context_policies.presets.summarising import (
    ClaudeCodeAuto,
    CodexCompact,
    OpenCodeCompact,
)
from palimpsest.context_policies.presets.summarising_all import AnthropicCompact, InspectSummary
from palimpsest.context_policies.presets.summarising_messages import (
    AiderHistory,
    GoogleAdkCompaction,
    LettaSlidingWindow,
    OpenHandsLlm,
    StrandsSummarise,
)
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.simulation import Simulation, simulate
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.transcript.timeline import Timeline

LONG = "some words of it\n" * 100
"""1,700 characters, 425 tokens."""


def turns(count: int, *calls: Call, said: str = LONG) -> Timeline:
    """Return a session of so many turns, each a prompt, an answer with calls, and one without."""
    maker = TimelineMaker()
    for _ in range(count):
        maker.prompt(LONG)
        maker.answer("I look.", calls)
        maker.answer(said)
    return maker.made()


def states_of(
    timeline: Timeline, policy: ContextPolicy, kind: str = "", request: int = -1
) -> list[str]:
    """Return what a request shows of each item, or of those of one kind; by default the last request."""
    replay = simulate(timeline, policy, Ruler())
    at = timeline.requests[request]
    return [
        replay.timeline.state(item.index, at.index) or ""
        for item in timeline.items[: at.items]
        if kind in ("", item.kind)
    ]


def replacement_texts(timeline: Timeline, policy: ContextPolicy) -> list[str | None]:
    """Return the texts that stand in place of others, oldest decision first."""
    return [
        transition.shown for transition in simulate(timeline, policy, Ruler()).timeline.transitions
    ]


def simulate_pi(policy: ContextPolicy) -> Simulation:
    return simulate(pi_timeline(), policy, RULER)


def test_swe_agents_recorded_requests_are_those_of_its_rule(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))
    timeline = timeline_of(store, report.sessions[0].id, counter)
    replay = simulate(timeline, SweAgentLastN(), Ruler())

    def decided(replayed: Timeline) -> list[tuple[int, int, str | None]]:
        return [
            (transition.request, transition.item, transition.shown)
            for transition in replayed.transitions
        ]

    assert len(timeline.transitions) == 7
    assert decided(replay.timeline) == decided(timeline)


@pytest.mark.parametrize(
    ("policy", "fired", "items"),
    [
        (DcpDeduplicate(), 46, 46),  # 391 calls, 345 of them distinct
        (GeminiTruncate(), 0, 0),  # its one long result is of a file, which Gemini CLI never cuts
        (GeminiTruncate(longest_chars=4_000), 1, 1),
        (SmolagentsOutput(), 1, 1),
        (ClaudeCodeMicrocompact(), 0, 0),
        (ClaudeCodeMicrocompact(idle_seconds=300), 3, None),  # of four pauses one has nothing old
        (OpenClawCacheTtl(), 1, None),
    ],
    ids=lambda preset: getattr(preset, "name", ""),
)
def test_a_preset_acts_on_the_session_of_pi_as_counted(
    policy: ContextPolicy, fired: int, items: int | None
) -> None:
    replay = simulate_pi(policy)

    assert len(replay.firing_requests) == fired
    assert (
        items is None
        or len({transition.item for transition in replay.timeline.transitions}) == items
    )


def test_rules_that_act_after_a_pause_break_no_warm_prefix() -> None:
    for policy in (ClaudeCodeMicrocompact(idle_seconds=300), OpenClawCacheTtl(window=100_000)):
        replay = simulate_pi(policy)

        assert replay.firing_requests
        assert not any(size.first_changed is not None and size.read for size in replay.sizes)


def test_shortening_a_result_when_it_comes_breaks_no_prefix() -> None:
    for policy in (MiniSweAgentOutput(), StrandsOffload(), GeminiTruncate(longest_chars=4_000)):
        replay = simulate_pi(policy)

        assert replay.firing_requests
        assert all(size.first_changed is None for size in replay.sizes)


def test_opencode_spares_two_turns_and_its_skills() -> None:
    timeline = turns(4, Call("bash", LONG), Call("skill", LONG))

    # The last prune was at the end of the third turn, and spared the second.
    assert states_of(timeline, OpenCodePrune(protect=0, minimum=400), "output") == [
        "cleared",
        *["whole"] * 7,
    ]


def test_anthropic_clears_inputs_and_spares_tools_on_demand() -> None:
    timeline = turns(3, Call("bash", LONG), Call("read", LONG))
    policy = ClearToolUses(trigger=100, keep_results=2, spared_tools=("read",), clear_inputs=True)

    assert states_of(timeline, policy, "output") == ["cleared", "whole"] * 2 + ["whole"] * 2
    assert states_of(timeline, policy, "call") == ["cleared", "whole"] * 2 + ["whole"] * 2
    assert "bash{}" in replacement_texts(timeline, policy)


def thinking() -> Timeline:
    maker = TimelineMaker()
    for _ in range(3):
        maker.prompt(LONG)
        maker.answer("I look.", [Call("bash", LONG)], reasoning=LONG)
        maker.answer("Done.", reasoning=LONG)
    return maker.made()


def test_reasoning_stays_of_the_newest_turns_only() -> None:
    assert states_of(thinking(), ClearThinking(), "reasoning") == ["out"] * 4 + ["whole"] * 2
    assert (
        states_of(thinking(), ClearThinking(keep_turns=2), "reasoning")
        == ["out"] * 2 + ["whole"] * 4
    )
    assert states_of(thinking(), ClearThinking(keep_turns=3), "reasoning") == ["whole"] * 6


def test_inspect_edits_reasoning_and_results_near_the_window() -> None:
    policy = InspectEdit(window=4_000, keep_results=1)

    # It acted last where the second answer of the second turn was the newest.
    assert states_of(thinking(), policy, "reasoning") == ["out"] * 3 + ["whole"] * 3
    assert states_of(thinking(), policy, "output") == ["cleared"] + ["whole"] * 2
    assert set(states_of(thinking(), InspectEdit(window=50_000))) == {"whole"}


def test_learn_claude_code_spares_short_results_and_files() -> None:
    timeline = turns(3, Call("bash", "ok"), Call("grep", LONG), Call("read_file", LONG))

    assert states_of(timeline, LearnClaudeCodeMicro(), "output") == [
        *["whole", "cleared", "whole"] * 2,
        *["whole"] * 3,
    ]
    assert replacement_texts(timeline, LearnClaudeCodeMicro())[0] == "[Previous: used grep]"


def test_tagged_tools_are_always_kept_or_never() -> None:
    timeline = turns(3, Call("bash", LONG), Call("read", LONG))

    kept = SweAgentLastN(n=2, always_keep=("bash",))
    assert states_of(timeline, kept, "output") == ["whole", "masked"] * 2 + ["whole"] * 2
    removed = SweAgentLastN(n=2, always_remove=("bash",))
    assert states_of(timeline, removed, "output") == ["masked"] * 4 + ["masked", "whole"]


def test_what_matches_is_taken_out() -> None:
    timeline = turns(1, Call("bash", "a <diff>one\ntwo</diff> b"), Call("bash", "c"))

    assert replacement_texts(timeline, SweAgentRemoveRegex()) == ["a  b"]


def test_of_the_pages_of_a_browser_the_newest_stays() -> None:
    timeline = turns(2, Call("browser_navigate", LONG), Call("bash", LONG))

    assert states_of(timeline, OpenHandsBrowserOutput(), "output") == ["masked"] + ["whole"] * 3


def test_a_head_and_a_tail_of_a_long_result_stay() -> None:
    timeline = turns(
        1, Call("bash", "x" * 9_999), Call("bash", "x" * 10_000), Call("bash", "x" * 30_000)
    )
    transitions = simulate(timeline, MiniSweAgentOutput(), Ruler()).timeline.transitions

    assert [
        (transition.item, transition.request, transition.state, transition.chars)
        for transition in transitions
    ] == [
        (6, 1, "truncated", 10_564),
        (7, 1, "truncated", 10_564),
    ]


def test_long_results_and_prompts_go_to_a_file() -> None:
    maker = TimelineMaker()
    maker.prompt("word\n" * 50_000)
    maker.answer("I look.", [Call("bash", "word\n" * 20_000), Call("bash", "word\n" * 10_000)])
    timeline = maker.made()
    transitions = simulate(timeline, DeepAgentsOffload(), Ruler()).timeline.transitions

    assert [
        (transition.item, transition.request, transition.state, transition.chars)
        for transition in transitions
    ] == [
        (0, 0, "offloaded", 10 * 12 + 640),
        (4, 1, "offloaded", 10 * 12 + 640),
    ]


def test_inputs_of_old_writes_are_cut_near_the_window() -> None:
    timeline = turns(9, Call("write_file", "Done.", (("text", "x" * 3_000),)))
    half = DeepAgentsTruncateArgs(window=8_000, keep_share=0.5)

    assert states_of(timeline, half, "call") == ["truncated"] * 7 + ["whole"] * 2
    assert states_of(timeline, DeepAgentsTruncateArgs(window=8_000), "call") == ["truncated"] * 9
    assert set(states_of(timeline, DeepAgentsTruncateArgs())) == {"whole"}


def test_strands_shortens_the_oldest_results_once_then_drops_from_the_front() -> None:
    timeline = turns(4, Call("bash", LONG))

    once = StrandsTruncateResults(window=5_000)
    assert states_of(timeline, once, "output") == ["truncated", "whole", "whole", "whole"]
    states = states_of(timeline, StrandsTruncateResults(window=4_800))
    # The two oldest messages, and more up to the next prompt.
    assert states == ["out"] * 5 + ["whole"] * 15


def test_results_of_older_turns_are_previews() -> None:
    timeline = turns(4, Call("bash", LONG), Call("bash", "x" * 500))

    assert states_of(timeline, OpenAIAgentsTrimmer(), "output") == [
        *["truncated", "whole"] * 2,
        *["whole"] * 4,
    ]


def test_of_the_reads_of_a_file_the_newest_stays_near_the_window() -> None:
    timeline = turns(3, Call("read", LONG, (("path", "a.py"),)), Call("bash", LONG))
    policy = ClineLegacy(window=5_500, reserve=1_000, min_saved_share=0.1)

    assert states_of(timeline, policy, "output") == ["cleared", "whole"] * 2 + ["whole", "whole"]
    assert set(states_of(timeline, ClineLegacy())) == {"whole"}


def test_where_that_is_not_enough_half_of_the_messages_go() -> None:
    states = states_of(turns(6, Call("bash", LONG)), ClineLegacy(window=5_000, reserve=1_000))

    assert states[:2] == ["whole", "whole"]
    assert "out" in states


def test_the_input_of_a_write_goes_when_the_file_was_read() -> None:
    maker = TimelineMaker()
    maker.prompt("Go.")
    for tool, path in (("write", "a.py"), ("write", "b.py"), ("read", "a.py")):
        maker.answer("I do.", [Call(tool, "Done.", (("filePath", path), ("content", LONG)))])
    timeline = maker.made()

    assert states_of(timeline, DcpSupersedeWrites(), "call") == ["cleared", "whole", "whole"]
    assert replacement_texts(timeline, DcpSupersedeWrites()) == ["write{}"]


def test_the_input_of_a_failed_call_goes_after_four_requests() -> None:
    maker = TimelineMaker()
    maker.prompt("Go.")
    maker.answer("I do.", [Call("edit", "No such text.", (("text", LONG),), failed=True)])
    for _ in range(5):
        maker.answer("I do.", [Call("bash", LONG)])
    replay = simulate(maker.made(), DcpPurgeErrors(), Ruler())

    assert [
        (transition.item, transition.request) for transition in replay.timeline.transitions
    ] == [(2, 5)]


def test_images_go_after_three_turns() -> None:
    maker = TimelineMaker()
    for _ in range(6):
        maker.prompt("Look.", media="picture.png")
        maker.answer("A cat.")
    timeline = maker.made()

    assert states_of(timeline, OpenClawCacheTtl(), "media") == ["cleared"] * 2 + ["whole"] * 4


def test_the_middle_is_dropped_one_by_one_or_by_half() -> None:
    timeline = turns(10)

    recent = states_of(timeline, KeepEnds(max_events=12, events_left=12))
    assert recent == ["whole"] + ["out"] * 18 + ["whole"] * 11
    amortized = simulate(timeline, OpenHandsAmortized(max_events=12, events_left=6), Ruler())
    assert (
        len(amortized.firing_requests)
        < 5
        < len(simulate(timeline, KeepEnds(max_events=12), Ruler()).sizes)
    )


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        (OpenHandsConversationWindow(window=3_600), [0, 5, 6, 7, 8, 9]),
        (RooTruncate(window=4_000, reserve=0), [0, 5, 6, 7, 8, 9]),
        (RooTruncate(window=13_102), [0, 5, 6, 7, 8, 9]),  # 0.9 of it less 8,192: 3,600
        (InspectTrim(window=4_000), [0, 3, 4, 5, 6, 7, 8, 9]),
        (OpenAITruncation(window=3_600), [2, 3, 4, 5, 6, 7, 8, 9]),
        (LangChainTrim(max_tokens=3_500), [2, 3, 4, 5, 6, 7, 8, 9]),
        (LangChainTrim(max_tokens=3_200, start_on="user"), [4, 5, 6, 7, 8, 9]),
        (LangChainTrim(), [*range(10)]),
    ],
    ids=lambda preset: getattr(preset, "name", ""),
)
def test_over_the_window_old_messages_go(policy: ContextPolicy, left: list[int]) -> None:
    maker = TimelineMaker()
    for _ in range(5):
        maker.prompt(LONG)
        maker.answer(LONG)
    states = states_of(maker.made(), policy)

    assert [index for index, state in enumerate(states) if state == "whole"] == left


def test_the_first_strategy_keeps_the_oldest_messages_and_what_is_not_answered() -> None:
    maker = TimelineMaker()
    for _ in range(5):
        maker.prompt(LONG)
        maker.answer(LONG)
    states = states_of(maker.made(), LangChainTrim(max_tokens=1_800, strategy="first"))

    assert states == ["whole"] * 4 + ["out"] * 5 + ["whole"]


@pytest.mark.parametrize(
    ("policy", "kept", "tokens"),
    [
        (AnthropicCompact(trigger=10_000, summary=100), [], 3_943),
        (InspectSummary(window=11_000, summary=100), [0], 4_368),
        # The newest read of the file stays with its call.
        (ClaudeCodeAuto(window=43_000, summary=100), [37, 39], 4_373),
        # Beside the one that is not answered one more prompt, and 50 tokens of the one before.
        # That one is followed by a note of 24 characters, as truncate_text writes it.
        (CodexCompact(window=11_000, prompt_tokens=900, summary=100), [28, 35], 4_424),
        # A quarter of what can be used, 2,500 tokens at most: with the answer before they would be 2,559.
        (OpenCodeCompact(window=62_000, summary=100), [*range(35, 41)], 5_227),
        # It cuts in front of a prompt. The results of what stays have fewer than 40,000 characters.
        (
            GeminiCompress(window=20_000, whole_result_tokens=800, summary=100),
            [*range(35, 41)],
            5_227,
        ),
    ],
    ids=lambda preset: getattr(preset, "name", ""),
)
def test_what_a_compactor_keeps(policy: ContextPolicy, kept: list[int], tokens: int) -> None:
    timeline = turns(8, Call("read", LONG, (("path", "a.py"),)), Call("bash", LONG))
    replay = simulate(timeline, policy, Ruler())
    states = states_of(timeline, policy)

    assert len(replay.firing_requests) == 1
    assert [index for index, state in enumerate(states[:41]) if state != "summarised"] == kept
    assert set(states[41:]) == {"whole"}
    assert replay.sizes[-1].total == tokens


@pytest.mark.parametrize(
    ("policy", "fired", "kept"),
    [
        # Over 20 events, six a turn and the system prompt: at the second request of the fourth turn. Eight stay.
        (OpenHandsLlm(max_events=20, summary=100), [7, 11, 15], [0, *range(48, 56)]),
        (StrandsSummarise(window=8_000, messages=4, summary=100), [9, 12, 15], [*range(28, 56)]),
        (LettaSlidingWindow(window=8_000, summary=100), [9, 13], [*range(29, 56)]),
        # At the ends of the third, fifth and seventh turn: over 4,000 tokens, of which 2,000 stay.
        (AiderHistory(window=64_000, summary=100), [6, 10, 14], [*range(42, 56)]),
        # After three turns and after six; the newest of them waits for the next time.
        # The turns 1 to 3 and 4 to 6; the answer that ended the sixth is summarised with the next three.
        (GoogleAdkCompaction(summary=100), [6, 12], [*range(41, 56)]),
        # Prompts alone are left of what was answered.
        (CodexCompact(window=6_000, prompt_tokens=900, summary=100), [6, 11, 16], [35, 42, 49, 55]),
    ],
    ids=lambda preset: getattr(preset, "name", ""),
)
def test_when_a_compactor_acts_and_what_is_left_in_the_end(
    policy: ContextPolicy, fired: list[int], kept: list[int]
) -> None:
    timeline = turns(8, Call("read", LONG, (("path", "a.py"),)), Call("bash", LONG))
    replay = simulate(timeline, policy, Ruler())
    states = states_of(timeline, policy)

    assert [*replay.firing_requests] == fired
    assert [index for index, state in enumerate(states) if state != "summarised"] == kept
