"""Presets beside cases that were worked out from the source of their originals, which are on no package index."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.context_policies.presets.test_presets import LONG, replacement_texts, states_of, turns

from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.presets.duplicates import (
    ClineLegacy,
    DcpDeduplicate,
    DcpPurgeErrors,
)
from palimpsest.context_policies.presets.gemini import GeminiCompress, GeminiMask, GeminiTruncate
from palimpsest.context_policies.presets.masking import (
    OpenHandsBrowserOutput,
    OpenHandsMask,
    SweAgentClosedWindow,
    SweAgentLastN,
)
from palimpsest.context_policies.presets.summarising import PiCompact
from palimpsest.context_policies.presets.summarising_all import GooseCompact, RooCondense
from palimpsest.context_policies.presets.summarising_messages import ClineCompact, OpenHandsLlmV1
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.transcript.timeline import Timeline, Transition

VIEW = "[File: {name} (90 lines total)]\n1: a\n2: b\n(88 more lines)"
CLOSED = "[File: /a.py (90 lines total)]\nOutdated window with 2 lines omitted...\n(88 more lines)"


def threshold(policy: ContextPolicy, timeline: Timeline) -> float:
    """Return what the first probe of a policy compares with."""
    return simulate(timeline, policy, Ruler()).probes[0].probe.threshold


def reverted(timeline: Timeline, items: Sequence[int], request: int) -> Timeline:
    """Return a session of which a person took back items before a request."""
    gone = [Transition(item, request, "reverted", tokens=0, rule="undo") for item in items]
    return replace(timeline, transitions=tuple(gone))


def viewed(*names: str, tool: str = "command") -> Timeline:
    """Return a session in which files are viewed: as a command that is written as text, or with a tool."""
    maker = TimelineMaker()
    maker.prompt("Look.")
    given = () if tool == "command" else (("path", "x"),)
    for name in names:
        maker.answer("I look.", [Call(tool, VIEW.format(name=name), given)])
    return maker.made()


@pytest.mark.parametrize(
    ("window", "reserve", "expected"),
    [
        (200_000, 8_192, 171_808),
        (200_000, 64_000, 116_000),
        (1_000_000, 8_192, 891_808),
        (8_000, 8_192, 0),
    ],
)
def test_roo_keeps_a_tenth_and_the_answer_free(window: int, reserve: int, expected: int) -> None:
    timeline = turns(1)

    for name in ("roo.truncate", "roo.condense"):
        policy = get(name, window=window, reserve=reserve)
        assert threshold(policy, timeline) == pytest.approx(expected)


def test_a_profile_of_roo_acts_at_its_share_where_that_is_less() -> None:
    policy = RooCondense(window=200_000, window_share=0.5)

    assert threshold(policy, turns(1)) == 100_000
    assert threshold(replace(policy, window_share=1.0), turns(1)) == pytest.approx(171_808)


def test_all_results_of_one_answer_are_one_message_of_roo() -> None:
    # prompt, answer, two results, answer, ...: four messages a turn, not five.
    timeline = turns(3, Call("bash", LONG), Call("bash", LONG))
    states = states_of(timeline, get("roo.truncate", window=13_102), "", request=-1)

    # Four messages: an answer with its text and two calls, their results, the next answer, and a prompt.
    assert states[:9] == ["whole", *["out"] * 7, "whole"]


@pytest.mark.parametrize(
    ("tool", "state"),
    [
        ("run_shell_command", "offloaded"),
        ("bash", "offloaded"),
        ("mcp__files__read", "offloaded"),
        ("mcp_files_read", "offloaded"),
        ("read_file", "whole"),
        ("web_fetch", "whole"),
        ("grep", "whole"),
    ],
)
def test_gemini_cuts_what_a_shell_and_a_server_return(tool: str, state: str) -> None:
    timeline = turns(1, Call(tool, "x" * 50_000), Call(tool, "x" * 40_000))

    assert states_of(timeline, GeminiTruncate(), "output") == [state, "whole"]


def test_gemini_shows_less_where_the_window_is_nearly_full() -> None:
    timeline = turns(1, Call("bash", "x" * 30_000))
    first = timeline.requests[0].items
    sent = sum(-(-item.chars // 4) for item in timeline.items[:first])

    def chars(window: int) -> int:
        transitions = simulate(
            timeline, GeminiTruncate(window=window), Ruler()
        ).timeline.transitions
        return transitions[0].chars if transitions else -1

    assert chars(sent + 5_000) == 20_000 + GeminiTruncate().note_chars
    assert chars(sent + 7_500) == -1
    assert chars(sent) == -1  # nothing is free: it cuts nothing


def test_gemini_masks_what_was_sent_before_whatever_turn_it_is_of() -> None:
    maker = TimelineMaker()
    maker.prompt("Go.")
    for tool in ("read", "ask_user", "read", "read", "read"):
        maker.answer("I look.", [Call(tool, "word\n" * 800)])
    timeline = maker.made()
    policy = GeminiMask(protect=1_500, minimum=1_000)

    # 1,000 tokens each; of those that were sent before, the newest is protected and the next crosses the border.
    assert states_of(timeline, policy, "output") == ["masked", "whole", "masked", "whole", "whole"]


def test_a_masked_result_of_a_shell_shows_ten_lines_of_its_ends() -> None:
    maker = TimelineMaker()
    maker.prompt("Go.")
    maker.answer("I look.", [Call("bash", "word\n" * 800), Call("read", "word\n" * 800)])
    maker.answer("I look.", [Call("read", "word\n" * 800)])
    timeline = maker.made()
    transitions = simulate(timeline, GeminiMask(protect=0, minimum=0), Ruler()).timeline.transitions
    shell, read = (item.chars for item in sorted(transitions, key=lambda item: item.item)[:2])

    assert read - shell == 500 - (10 * 5 + 9 * 5 + 1)


def test_gemini_compresses_in_front_of_a_prompt_only() -> None:
    one_turn = TimelineMaker()
    one_turn.prompt("Go.")
    for _ in range(8):
        one_turn.answer("I look.", [Call("bash", LONG)])
    policy = GeminiCompress(window=2_000, summary=50)

    # Within the first turn there is nothing before the newest prompt.
    assert set(states_of(one_turn.made(), policy)) == {"whole"}
    timeline = turns(4, Call("bash", LONG))
    within = states_of(timeline, policy, request=7)
    assert within.index("whole") == 15  # the prompt of the turn that still runs
    # Between turns nothing but the newest answer is left.
    assert states_of(timeline, policy).index("whole") == 19


def test_of_views_that_users_messages_show_the_newest_stays_open() -> None:
    timeline = viewed("/a.py", "/b.py", "/a.py")

    assert states_of(timeline, SweAgentClosedWindow(), "output") == ["masked", "whole", "whole"]
    assert replacement_texts(timeline, SweAgentClosedWindow()) == [CLOSED]


def test_what_a_tool_returned_is_no_users_message() -> None:
    timeline = viewed("/a.py", "/b.py", "/a.py", tool="open")

    assert states_of(timeline, SweAgentClosedWindow(), "output") == ["whole"] * 3
    policy = SweAgentClosedWindow(results=True)
    assert states_of(timeline, policy, "output") == ["masked", "whole", "whole"]


def test_a_view_opens_again_when_the_newer_one_is_reverted() -> None:
    timeline = viewed("/a.py", "/a.py", "/b.py", "/b.py")
    newer = [item.index for item in timeline.items if item.kind in ("call", "output")][3]
    policy = SweAgentClosedWindow()

    assert states_of(timeline, policy, "output", request=3) == ["masked", "whole", "whole"]
    back = reverted(timeline, [newer - 2, newer - 1, newer], 3)
    assert states_of(back, policy, "output", request=2) == ["masked", "whole"]
    assert states_of(back, policy, "output", request=3) == ["whole", "reverted", "whole"]


def test_a_prompt_with_numbered_lines_and_no_file_is_left_out_as_swe_agent_does() -> None:
    maker = TimelineMaker()
    maker.prompt("The issue:\n12: it breaks")
    maker.answer("I look.", [Call("command", "no such file")])
    maker.answer("Again.", [Call("command", "1: a line")])
    maker.answer("Well.", [Call("command", "done")])
    timeline = maker.made()

    assert states_of(timeline, SweAgentClosedWindow(), "user") == ["out"]
    assert states_of(timeline, SweAgentClosedWindow(), "output") == ["whole", "out", "whole"]


@pytest.mark.parametrize(
    ("n", "polling", "masked"),
    [(5, 1, [0, 0, 0, 0, 0, 1, 2, 3, 4]), (2, 4, [0, 0, 1, 1, 1, 1, 5, 5, 5])],
)
def test_the_first_prompt_counts_as_an_observation_of_swe_agent(
    n: int, polling: int, masked: list[int]
) -> None:
    maker = TimelineMaker()
    maker.prompt("Go.")
    for _ in range(9):
        maker.answer("I look.", [Call("bash", LONG)])
    timeline = maker.made()
    policy = SweAgentLastN(n=n, polling=polling)

    counts = [
        states_of(timeline, policy, "output", request=item.index).count("masked")
        for item in timeline.requests[1:]
    ]
    assert counts == masked


def test_observations_come_back_when_newer_ones_are_reverted() -> None:
    timeline = turns(4, Call("bash", LONG))
    outputs = [item.index for item in timeline.items if item.kind == "output"]
    last = timeline.requests[-1].index
    back = reverted(timeline, [outputs[-1] - 1, outputs[-1]], last)

    for policy in (SweAgentLastN(n=2), get("complexity_trap.mask", n=2)):
        assert states_of(timeline, policy, "output") == ["masked"] * 2 + ["whole"] * 2
        assert states_of(back, policy, "output") == ["masked", "whole", "whole", "reverted"]


def test_openhands_masks_before_its_newest_events() -> None:
    timeline = turns(3, Call("bash", LONG))

    # Events of a turn: prompt, call, result, answer. Of the newest five one is a result.
    assert states_of(timeline, OpenHandsMask(n=5), "output") == ["masked"] * 2 + ["whole"]
    assert states_of(timeline, OpenHandsMask(n=7), "output") == ["masked"] + ["whole"] * 2


def test_where_a_page_was_the_address_stays() -> None:
    calls = [Call("browser_navigate", LONG, (("url", "https://a.example"),))] * 2
    timeline = turns(1, *calls)

    assert replacement_texts(timeline, OpenHandsBrowserOutput()) == [
        "Visited URL https://a.example\nContent omitted"
    ]


def test_the_system_prompt_is_an_event_of_openhands() -> None:
    maker = TimelineMaker()
    maker.prompt(LONG)
    for _ in range(10):
        maker.answer("I look.", [Call("bash", LONG), Call("bash", LONG)])
    timeline = maker.made()
    replay = simulate(timeline, OpenHandsLlmV1(max_events=20, summary=100), Ruler())
    states = states_of(timeline, OpenHandsLlmV1(max_events=20, summary=100), request=5)

    # Before the sixth request: system prompt, prompt, and four events of each of five answers.
    assert replay.firing_requests[0] == 5
    # System prompt and prompt stay, and seven of the newest.
    assert states[0] == "whole"
    assert states[1] == "summarised"
    assert states.count("whole") == 1 + 7


def test_cline_keeps_more_free_in_two_windows_and_drops_more_of_what_is_twice_too_large() -> None:
    timeline = turns(1)

    for window, free in (
        (64_000, 27_000),
        (128_000, 30_000),
        (200_000, 40_000),
        (1_000_000, 40_000),
    ):
        assert threshold(ClineLegacy(window=window), timeline) == window - free


def test_cline_never_summarises_its_newest_turn() -> None:
    timeline = turns(4, Call("bash", LONG))
    states = states_of(timeline, ClineCompact(window=4_000, keep_tokens=100, summary=50))
    first = max(item.index for item in timeline.items if item.kind == "user")

    assert "summarised" in states
    assert set(states[first:]) == {"whole"}
    one_turn = TimelineMaker()
    one_turn.prompt("Go.")
    for _ in range(8):
        one_turn.answer("I look.", [Call("bash", LONG)])
    assert "summarised" in states_of(
        one_turn.made(), ClineCompact(window=3_000, keep_tokens=100, summary=50)
    )


def test_goose_keeps_the_newest_prompt() -> None:
    timeline = turns(4, Call("bash", LONG))
    replay = simulate(timeline, GooseCompact(window=5_000, summary=50), Ruler())
    request = replay.firing_requests[0]
    states = states_of(timeline, GooseCompact(window=5_000, summary=50), request=request)
    prompts = [item.index for item in timeline.items[: len(states)] if item.kind == "user"]

    assert [states[prompt] for prompt in prompts] == ["summarised"] * (len(prompts) - 1) + ["whole"]


def test_pi_looks_at_the_end_of_turns_and_within_one_at_what_is_refused() -> None:
    timeline = turns(6, Call("bash", LONG))
    policy = PiCompact(window=8_000, reserve=3_000, keep_tokens=500, summary=50)
    replay = simulate(timeline, policy, Ruler())

    for request in replay.firing_requests:
        assert timeline.requests[request].turn != timeline.requests[request - 1].turn
    one_turn = TimelineMaker()
    one_turn.prompt("Go.")
    for _ in range(20):
        one_turn.answer("I look.", [Call("bash", LONG)])
    long = simulate(one_turn.made(), policy, Ruler())
    assert long.firing_requests
    assert max(size.total for size in long.sizes) <= 8_000


def test_dcp_shows_edits_whole_and_removes_the_texts_of_failed_calls() -> None:
    same = (("filePath", "a.py"), ("oldString", LONG))
    timeline = turns(
        1,
        *[Call("bash", LONG, same)] * 2,
        *[Call("edit", LONG, same)] * 2,
        *[Call("grep", LONG, same, failed=True)] * 2,
        *[Call("task", LONG, same)] * 2,
    )

    assert states_of(timeline, DcpDeduplicate(), "output") == [
        *["cleared", "whole"],
        *["whole"] * 4,
        *["cleared", "whole"],
    ]
    assert states_of(timeline, DcpDeduplicate(), "call")[4:6] == ["cleared", "whole"]
    protected = DcpDeduplicate(protected=("task",))
    assert states_of(timeline, protected, "output")[6:] == ["whole", "whole"]


def test_dcp_leaves_what_is_no_text_in_the_input_of_a_failed_call() -> None:
    maker = TimelineMaker()
    maker.prompt("Go.")
    given = (("text", "x" * 400), ("limit", 12_345))
    maker.answer("I do.", [Call("edit", "No such text.", given, failed=True)])
    for _ in range(5):
        maker.answer("I do.", [Call("bash", LONG)])
    timeline = maker.made()
    transitions = simulate(timeline, DcpPurgeErrors(), Ruler()).timeline.transitions

    assert [(transition.item, transition.chars) for transition in transitions] == [
        (2, timeline.items[2].chars - 400 + 39)
    ]
