"""The engine's presets of other agents act from the very token, character and second on from which their originals do.

What the originals answered is recorded and compared in ``tests/golden``; these cases, worked out from their source, stand one
unit apart on both sides of each threshold, and ask the replay of a session of any agent.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.context_policies.made_timeline import Call, TimelineMaker

from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Usage

OPENCLAW = ("openclaw-2026.2", "openclaw-2026.9")


def acted(timeline: Timeline, policy: str, state: str) -> list[int]:
    """Return the items that a policy showed otherwise, in this state."""
    moves = simulate(timeline, get(policy), Ruler()).timeline.transitions
    return sorted({transition.item for transition in moves if transition.state == state})


def tokens(count: int) -> str:
    """Return a text of so many tokens at four characters each."""
    return "abcd" * count


# ------------------------------------------------------------------ OpenCode 1.1, session/compaction.ts: prune


def old_results(sizes: Sequence[int], tool: str = "bash") -> Timeline:
    """Return a session whose first turn has results of so many tokens, oldest first, and two short turns after it."""
    maker = TimelineMaker()
    maker.prompt("Go.")
    for size in sizes:
        maker.answer("I look.", [Call(tool, tokens(size))])
    for _ in range(3):
        maker.prompt("And?")
        maker.answer("Well.")
    return maker.made()


@pytest.mark.parametrize(
    ("sizes", "cleared"),
    [
        ([10_000, 10_000, *[10_000] * 4], 0),  # 20,000 may go, which are not more than 20,000
        ([10_000, 10_001, *[10_000] * 4], 2),
        ([10_000, 10_000, 1, *[10_000] * 4], 3),
        ([10_000, 10_000, 1, *[10_000] * 3, 9_999], 0),  # the one token stays: 40,000 are not more
        ([1, 10_000, *[10_000] * 3, 10_001], 3),  # the result that crosses 40,000 goes, too
        ([10_000, *[10_000] * 3, 10_001], 0),
    ],
)
def test_opencode_clears_more_than_20_000_tokens_behind_more_than_40_000(
    sizes: list[int], cleared: int
) -> None:
    timeline = old_results(sizes)
    outputs = [item.index for item in timeline.items if item.kind == "output"]

    requests = acted(timeline, "opencode-1.1", "cleared")

    assert requests == outputs[: len(requests)]
    assert len(requests) == cleared


def test_opencode_never_clears_a_skill() -> None:
    assert acted(old_results([10_000] * 7, tool="skill"), "opencode-1.1", "cleared") == []


# ------------------------------------------------------------------ OpenCode, session/overflow.ts: isOverflow


def reporting(usage: Usage, *, window: int = 200_000, answer: int = 32_000) -> Timeline:
    """Return a session whose third answer reports this usage, and whose other requests are small."""
    maker = TimelineMaker()
    for _ in range(4):
        maker.prompt("Go.")
        maker.answer("I look.", [Call("bash", tokens(300))])
        maker.answer("Well.")
    timeline = maker.made()
    small = Usage(input=1_000, output=10)
    requests = [
        replace(
            request,
            usage=usage if request.index == 3 else small,
            window=window,
            output_limit=answer,
        )
        for request in timeline.requests
    ]
    return replace(timeline, requests=tuple(requests))


@pytest.mark.parametrize(
    ("policy", "usage", "acts"),
    [
        ("opencode-1.1", Usage(input=168_000), False),
        ("opencode-1.1", Usage(input=168_001), True),
        ("opencode-1.1", Usage(input=100_000, cache_read=67_999, output=1), False),
        ("opencode-1.1", Usage(input=100_000, cache_read=67_999, output=2), True),
        ("opencode-1.1", Usage(input=168_000, cache_write=1), False),  # writes were not counted
        ("opencode-1.1", Usage(input=167_999, output=1, total=190_000), False),  # nor the total
        ("opencode-1.18", Usage(input=167_999), False),
        ("opencode-1.18", Usage(input=168_000), True),
        ("opencode-1.18", Usage(input=100_000, cache_read=67_998, output=1), False),
        ("opencode-1.18", Usage(input=100_000, cache_read=67_998, output=2), True),
        ("opencode-1.18", Usage(input=100_000, cache_write=68_000), True),
        ("opencode-1.18", Usage(input=100_000, total=168_000), True),
        ("opencode-1.18", Usage(input=100_000, cache_write=68_000, total=167_999), False),
    ],
)
def test_opencode_summarises_where_the_last_answer_reported_a_full_window(
    policy: str, usage: Usage, *, acts: bool
) -> None:
    assert bool(acted(reporting(usage), policy, "summarised")) == acts


@pytest.mark.parametrize(
    ("answer", "reported", "acts"),
    [
        (8_192, 191_807, False),
        (8_192, 191_808, True),
        (64_000, 167_999, False),
        (64_000, 168_000, True),
    ],
)
def test_opencode_keeps_the_longest_answer_free_but_no_more_than_32_000(
    answer: int, reported: int, *, acts: bool
) -> None:
    timeline = reporting(Usage(input=reported), answer=answer)

    assert bool(acted(timeline, "opencode-1.18", "summarised")) == acts


# ------------------------------------------------------------------ OpenClaw, context-pruning: extension.ts and pruner.ts


def paused(seconds: float, results: Sequence[int], more: int = 0) -> Timeline:
    """Return a session with old results of so many characters, whose last prompt comes after a pause.

    The request then shows 80 characters beside those of the results and the ones that are ``more``; each call has two.
    """
    maker = TimelineMaker()
    maker.prompt("x" * (more + 10))
    for size in results:
        maker.answer("", [Call("bash", "z" * size)])
    for _ in range(3):
        maker.answer("y" * 10)
        maker.prompt("x" * 10)
    maker.answer("y" * 10, pause=seconds)
    timeline = maker.made()
    requests = tuple(replace(request, caching=True) for request in timeline.requests)
    return replace(timeline, requests=requests)


SHOWN = 10 + 3 * 20 + 2
"""Characters of a request of ``paused`` beside one result and what is more."""


@pytest.mark.parametrize("policy", OPENCLAW)
@pytest.mark.parametrize(("seconds", "acts"), [(298.999, False), (299, True)])
def test_openclaw_trims_from_300_seconds_of_rest_on(
    policy: str, seconds: float, *, acts: bool
) -> None:
    # The answer before took the second that is missing: the cache was used when its request was sent.
    timeline = paused(seconds, [8_000], more=20_000)

    assert bool(acted(timeline, f"{policy} window=20000", "truncated")) == acts


@pytest.mark.parametrize("policy", OPENCLAW)
@pytest.mark.parametrize(("chars", "acts"), [(4_000, False), (4_001, True)])
def test_openclaw_trims_results_over_4_000_characters(
    policy: str, chars: int, *, acts: bool
) -> None:
    timeline = paused(400, [chars], more=30_000)

    assert bool(acted(timeline, f"{policy} window=20000", "truncated")) == acts


@pytest.mark.parametrize("policy", OPENCLAW)
@pytest.mark.parametrize(("chars", "acts"), [(23_999, False), (24_000, True)])
def test_openclaw_trims_from_three_tenths_of_the_window_on(
    policy: str, chars: int, *, acts: bool
) -> None:
    timeline = paused(400, [8_000], more=chars - 8_000 - SHOWN)

    assert bool(acted(timeline, f"{policy} window=20000", "truncated")) == acts


@pytest.mark.parametrize("policy", OPENCLAW)
@pytest.mark.parametrize(("last", "cleared"), [(1_999, 0), (2_000, 1)])
def test_openclaw_clears_where_50_000_characters_can_go_until_half_of_the_window_is_left(
    policy: str, last: int, cleared: int
) -> None:
    timeline = paused(400, [*[4_000] * 12, last])

    assert (
        len(
            acted(
                timeline,
                f"{policy} window=25000 overflow.auto=false recovery.truncations=0",
                "cleared",
            )
        )
        == cleared
    )


@pytest.mark.parametrize(("more", "acts"), [(0, False), (1, True)])
def test_openclaw_summarises_where_its_weighted_estimate_is_over_the_budget(
    more: int, *, acts: bool
) -> None:
    maker = TimelineMaker()
    maker.prompt(tokens(30_000))
    maker.answer(tokens(1_000))
    # Twelve tokens a message, a fifth more for safety: 66,666 of them are 80,000, the window less 20,000.
    maker.prompt(tokens(66_666 - 30_000 - 1_000 - 3 * 12 + more))

    requests = acted(maker.made(), "openclaw-2026.9 window=100000", "summarised")

    assert bool(requests) == acts
