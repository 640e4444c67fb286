"""Prune clears old outputs in batches when it pays, and everything about it can be undone."""

from itertools import count as counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import Builder
from tests.golden.prune_settings import prune_settings

from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.reduction.cache_ttl_pruning import is_prunable
from palimpsest.context.reduction.pruning import prune
from palimpsest.context.reduction.superseded_reads import newer_calls
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy, PrunePolicy
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import ToolCompleted, ToolPart

OURS = preset_policy("palimpsest").model_copy(update={"prune": PrunePolicy()})
"""The default with the rule's own numbers; those of the default are in a test of their own."""
WINDOW, RESERVE = 12_800, 800
PROTECT, MINIMUM = 4_000, 2_000
"""A tenth of these numbers, since this window is a tenth of the usual one."""
BUDGET = WINDOW - RESERVE
BIG = 2_500
"""Tokens of one output, at one token a character."""


def outputs(view: View) -> dict[str, str]:
    return {
        part.id: part.state.output
        for message in apply_decisions(view.messages, view)
        for part in message.parts
        if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted)
    }


def used(view: View) -> int:
    return sum(map(len, outputs(view).values()))


def facts_of(view: View, *, age: float | None = None) -> Facts:
    return Facts(
        now=0,
        estimator="one per character",
        window=WINDOW,
        reserve=RESERVE,
        cache_age_seconds=age,
        used_tokens=used(view),
    )


def decide(
    view: View, chosen: Policy = OURS, *, age: float | None = None, facts: Facts | None = None
) -> tuple[Decision, ...]:
    numbers = counter(len(view.decisions))
    known = facts or facts_of(view, age=age)
    return prune(view, chosen, known, lambda: f"dec_{next(numbers)}", len)


def after(view: View, *decisions: Decision) -> View:
    return View(view.messages, view.decisions + decisions, view.texts)


def cleared(decisions: tuple[Decision, ...]) -> list[str | None]:
    return [decision.part_id for decision in decisions]


def turn(build: Builder, *sizes: int, tool: str = "bash", **given: Any) -> list[Message]:
    parts = [build.ran(tool, "x" * size, **given) for size in sizes]
    return [build.user("go"), *(build.assistant(part, finish="tool-calls") for part in parts)]


def session(*turns: list[Message]) -> Messages:
    return tuple(message for messages in turns for message in messages)


def part_ids(messages: Messages) -> list[str]:
    return [part.id for message in messages for part in message.parts if isinstance(part, ToolPart)]


def ruled(**update: Any) -> Policy:
    return OURS.model_copy(update={"prune": OURS.prune.model_copy(update=update)})


# ------------------------------------------------------------------ when it prunes, and which outputs


def test_leaves_a_small_context_alone() -> None:
    build = Builder()

    assert decide(View(session(turn(build, BIG), turn(build, BIG), turn(build, 10)))) == ()


def test_clears_the_oldest_outputs_first_and_no_more_than_helps() -> None:
    build = Builder()
    view = View(session(turn(build, *[1_500] * 6), turn(build, 100), turn(build, 100)))

    decisions = decide(view)

    assert cleared(decisions) == part_ids(view.messages)[:3]
    assert used(view) >= 0.7 * BUDGET
    assert used(after(view, *decisions)) <= 0.5 * BUDGET


def test_waits_for_a_batch_that_is_worth_it() -> None:
    build = Builder()
    view = View(session(turn(build, 1_900, 4_100), turn(build, 1_300), turn(build, 1_200)))

    assert used(view) > 0.7 * BUDGET
    assert decide(view) == ()


def test_clears_all_that_is_old_when_the_cache_is_cold() -> None:
    build = Builder()
    view = View(session(turn(build, BIG), turn(build, 4_000), turn(build, 10)))

    assert used(view) < 0.7 * BUDGET
    assert decide(view, age=200.0) == ()
    assert cleared(decide(view, age=301.0)) == part_ids(view.messages)[:1]


def test_clears_within_a_long_turn_that_alone_fills_the_window() -> None:
    build = Builder()
    view = View(session(turn(build, *[1_000] * 12)))

    decisions = decide(view)

    assert cleared(decisions) == part_ids(view.messages)[: len(decisions)]
    assert used(after(view, *decisions)) <= 0.5 * BUDGET
    newest = list(outputs(after(view, *decisions)).values())[-4:]
    assert newest == ["x" * 1_000] * 4


def test_keeps_the_newest_turns_while_the_older_ones_suffice() -> None:
    build = Builder()
    view = View(session(turn(build, BIG, BIG), turn(build, BIG), turn(build, 4_000)))

    assert cleared(decide(view)) == part_ids(view.messages)[:2]


def test_clears_reads_first_that_are_out_of_date() -> None:
    build = Builder()
    view = View(
        session(
            turn(build, BIG),
            turn(build, BIG, tool="read", path="a.py"),
            turn(build, 10, tool="edit", path="./a.py"),
            turn(build, 4_000),
            turn(build, 100),
        )
    )

    decisions = decide(view)

    _, read, edit, *_ = part_ids(view.messages)
    assert cleared(decisions) == [part_ids(view.messages)[0], read]
    assert [decision.numbers["reason"] for decision in decisions] == ["old", "changed"]
    assert decisions[1].numbers["by_part_id"] == edit
    assert "the file changed later" in outputs(after(view, *decisions))[read]

    little = decide(view, ruled(target_share=0.6))

    assert cleared(little) == [read]


def test_says_what_it_looked_at_and_its_report_adds_up() -> None:
    build = Builder()
    view = View(session(turn(build, *[BIG] * 3), turn(build, 4_000), turn(build, 10)))

    decisions = decide(view)

    saved = sum(decision.tokens_before - decision.tokens_after for decision in decisions)
    assert used(view) - saved == used(after(view, *decisions))
    assert {decision.numbers["batch_tokens"] for decision in decisions} == {saved}
    assert decisions[0].numbers["used_tokens"] == used(view)
    assert decisions[0].numbers["protect_tokens"] == PROTECT
    assert decisions[0].numbers["minimum_tokens"] == MINIMUM


def test_takes_the_full_numbers_for_a_large_window() -> None:
    build = Builder()
    view = View(session(turn(build, 30_000), turn(build, 15_000), turn(build, 30_000)))
    facts = facts_of(view, age=1_000.0).model_copy(update={"window": 200_000})

    assert cleared(decide(view, facts=facts)) == part_ids(view.messages)[:1]
    assert decide(view, ruled(minimum_tokens=30_000), facts=facts) == ()


@pytest.mark.parametrize(
    ("window", "protect", "minimum"),
    [
        (1_000_000, 10_000, 90_000),
        (128_000, 10_000, 90_000),
        (64_000, 5_000, 22_500),
        (32_000, 2_500, 5_625),
        (16_000, 1_250, 1_406),
        (8_000, 625, 351),
    ],
)
def test_the_default_asks_for_less_of_a_small_window(
    window: int, protect: int, minimum: int
) -> None:
    numbers = {"window": window, "reserve": 0, "used_tokens": window}
    build = Builder()
    chosen = preset_policy("palimpsest")

    def of(old: int, new: int) -> tuple[Decision, ...]:
        view = View(session(turn(build, old), turn(build, new), turn(build, 1)))
        return decide(view, chosen, facts=facts_of(view, age=400.0).model_copy(update=numbers))

    note = decide_note(of(2 * minimum, protect))
    enough, few = of(minimum + note, protect), of(minimum + note - 1, protect)

    assert [decision.numbers["protect_tokens"] for decision in enough] == [protect]
    assert [decision.numbers["minimum_tokens"] for decision in enough] == [minimum]
    assert few == ()
    assert of(2 * minimum, protect - 2) == ()


def decide_note(decisions: tuple[Decision, ...]) -> int:
    """Return the tokens of the placeholder of a decision."""
    return sum(decision.tokens_after for decision in decisions)


def test_a_policy_that_was_recorded_before_small_windows_asked_for_less_keeps_its_numbers() -> None:
    recorded = preset_policy("palimpsest").model_dump()
    recorded["prune"] = {"rule": "batch", "protect_tokens": 40_000, "minimum_tokens": 20_000}

    assert Policy.model_validate(recorded).prune == PrunePolicy()


def test_an_unknown_size_is_not_taken_for_a_large_one() -> None:
    build = Builder()
    view = View(session(turn(build, *[BIG] * 6)))

    assert decide(view, facts=facts_of(view).model_copy(update={"used_tokens": None})) == ()


# ------------------------------------------------------------------ pins, exclusions and restored outputs


def test_a_restored_output_is_shown_again_and_stays() -> None:
    build = Builder()
    view = View(session(turn(build, *[BIG] * 3), turn(build, 4_000), turn(build, 10)))
    pruned = after(view, *decide(view))
    first = part_ids(view.messages)[0]

    restored = after(pruned, Decision(id="r", action="restore", rule="person", part_id=first))

    assert outputs(restored)[first] == "x" * BIG
    assert first not in cleared(decide(restored, age=1_000.0))


def test_restoring_a_cleared_output_gives_it_back_as_it_was_cut() -> None:
    build = Builder()
    view = View(session(turn(build, *[BIG] * 3), turn(build, 4_000), turn(build, 10)))
    first = part_ids(view.messages)[0]
    numbers = {"head_chars": 2_400, "tail_chars": 0, "omitted": 100, "unit": "bytes"}
    cut = Decision(id="c", action="truncate", rule="truncate", part_id=first, numbers=numbers)
    before = after(view, cut)
    restore = Decision(id="r", action="restore", rule="person", part_id=first)

    pruned = after(before, *decide(before))

    assert outputs(pruned)[first].startswith(OURS.prune.placeholder[:-1])
    assert outputs(after(pruned, restore)) == outputs(before) | {
        other: text for other, text in outputs(pruned).items() if other != first
    }


@pytest.mark.parametrize("whole_message", [False, True])
def test_a_pin_keeps_an_output_and_shows_a_cleared_one_again(*, whole_message: bool) -> None:
    build = Builder()
    view = View(session(turn(build, *[BIG] * 3), turn(build, 4_000), turn(build, 10)))
    first = part_ids(view.messages)[0]
    named = {"message_id": view.messages[1].id} if whole_message else {"part_id": first}
    pin = Decision(id="p", action="pin", rule="person", **named)

    assert first not in cleared(decide(after(view, pin)))
    pinned = after(view, *decide(view), pin)
    assert outputs(pinned)[first] == "x" * BIG
    unpinned = after(pinned, Decision(id="u", action="restore", rule="person", **named))
    assert outputs(unpinned)[first].startswith(OURS.prune.placeholder[:-1])


def test_protected_tools_keep_their_outputs() -> None:
    build = Builder()
    view = View(session(turn(build, *[BIG] * 4, tool="skill"), turn(build, 10), turn(build, 10)))

    assert decide(view, age=1_000.0) == ()


# ------------------------------------------------------------------ generated sessions

CALLS = st.tuples(
    st.sampled_from(["bash", "read", "edit", "skill"]),
    st.integers(0, 3_000),
    st.sampled_from(["a.py", "b.py"]),
)
TURNS = st.lists(st.lists(CALLS, max_size=6), min_size=1, max_size=5)
AGES = st.sampled_from([None, 10.0, 1_000.0])


def generated(turns: list[list[tuple[str, int, str]]], pinned: list[int]) -> View:
    build = Builder()
    messages: list[Message] = []
    for calls in turns:
        messages.append(build.user("go"))
        messages += [
            build.assistant(build.ran(tool, "x" * size, path=path)) for tool, size, path in calls
        ]
    ids = part_ids(tuple(messages))
    pins = tuple(
        Decision(id=f"pin_{at}", action="pin", rule="person", part_id=ids[at % len(ids)])
        for at in pinned
        if ids
    )
    return View(tuple(messages), pins)


@given(turns=TURNS, pinned=st.lists(st.integers(0, 20), max_size=3), age=AGES)
def test_deciding_again_decides_nothing_new(turns: Any, pinned: list[int], age: Any) -> None:
    view = generated(turns, pinned)

    decisions = decide(view, age=age)

    assert decide(after(view, *decisions), age=age) == ()
    assert decide(view, facts=facts_of(view, age=age)) == decisions


@given(turns=TURNS, pinned=st.lists(st.integers(0, 20), max_size=3), age=AGES)
def test_what_is_kept_by_hand_protected_or_new_is_never_cleared(
    turns: Any, pinned: list[int], age: Any
) -> None:
    view = generated(turns, pinned)
    parts = {
        part.id: part
        for message in view.messages
        for part in message.parts
        if isinstance(part, ToolPart)
    }

    decisions = decide(view, age=age)

    gone = set(cleared(decisions))
    assert not gone & {decision.part_id for decision in view.decisions}
    assert not any(parts[str(part)].tool == "skill" for part in gone)
    sizes = [(part, len(text)) for part, text in outputs(view).items()]
    for at, (part, _) in enumerate(sizes):
        assert part not in gone or sum(size for _, size in sizes[at + 1 :]) >= PROTECT
    saved = sum(decision.tokens_before - decision.tokens_after for decision in decisions)
    assert not decisions or saved >= MINIMUM
    assert used(after(view, *decisions)) == used(view) - saved


# ------------------------------------------------------------------ when the cache is cold


def cold_view() -> View:
    build = Builder()
    return View(session(*(turn(build, 9_000) for _ in range(8))))


def test_a_request_for_a_cold_cache_is_taken_back_by_the_next() -> None:
    chosen = preset_policy("openclaw-2026.2")
    view = cold_view()

    pruned = after(view, *decide(view, chosen, age=400.0))
    assert decide(pruned, chosen, age=500.0) == ()
    warm = after(pruned, *decide(pruned, chosen, age=5.0))

    assert outputs(pruned) != outputs(view)
    assert outputs(warm) == outputs(view)
    assert decide(warm, chosen, age=6.0) == ()


def test_a_sticky_policy_holds_on_to_what_it_trimmed() -> None:
    chosen = preset_policy("openclaw-2026.9")
    view = cold_view()

    pruned = after(view, *decide(view, chosen, age=400.0))

    assert outputs(pruned) != outputs(view)
    assert decide(pruned, chosen, age=5.0) == ()
    assert decide(pruned, chosen, age=400.0) == ()


def test_nothing_is_trimmed_while_the_age_of_the_cache_is_unknown() -> None:
    assert decide(cold_view(), preset_policy("openclaw-2026.9")) == ()


@pytest.mark.parametrize(
    ("allow", "deny", "expected"),
    [
        ((), (), True),
        (("web*",), (), False),
        (("EX*",), (), True),
        (("*",), ("e?ec",), True),
        ((), (" Exec ",), False),
        (("exec",), ("e*c",), False),
    ],
)
def test_tools_are_named_by_pattern_and_a_denial_wins(
    allow: tuple[str, ...], deny: tuple[str, ...], *, expected: bool
) -> None:
    assert is_prunable("exec", PrunePolicy(allow_tools=allow, deny_tools=deny)) is expected


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [("90s", 90), ("1h", 3_600), ("500ms", 0.5), ("2", 120), (" 5M ", 300), ("-1", 300), (7, 300)],
)
def test_a_time_is_read_with_its_unit(ttl: object, seconds: float) -> None:
    assert prune_settings({"mode": "cache-ttl", "ttl": ttl}, PrunePolicy()).ttl_seconds == seconds


# ------------------------------------------------------------------ out-of-date reads


def newer(*calls: tuple[str, dict[str, Any]], hidden: tuple[int, ...] = ()) -> dict[int, str]:
    build = Builder()
    message = build.assistant(*(build.ran(tool, "text", **given) for tool, given in calls))
    ids = part_ids((message,))
    shown = [part for at, part in enumerate(ids) if at not in hidden]
    found = newer_calls((message,), shown)
    return {ids.index(part): newer.reason for part, newer in found.items()}


def test_a_read_is_out_of_date_once_the_file_is_read_again_or_changed() -> None:
    read, edit = ("read", {"path": "a"}), ("edit", {"path": "a"})

    assert newer(read, read) == {0: "read-again"}
    assert newer(read, edit) == {0: "changed"}
    assert newer(edit, read) == {}
    assert newer(read, ("read", {"path": "b"})) == {}
    assert newer(("read", {"file_path": "./a"}), read) == {0: "read-again"}


def test_a_read_of_other_lines_replaces_nothing() -> None:
    first, second = (
        {"path": "a", "offset": 1, "limit": 50},
        {"path": "a", "offset": 51, "limit": 50},
    )

    assert newer(("read", first), ("read", second)) == {}
    assert newer(("read", first), ("read", {"path": "a"})) == {0: "read-again"}
    assert newer(("read", {"path": "a", "offset": 5_000}), ("read", {"path": "a"})) == {}


def test_a_read_that_was_cleared_replaces_nothing() -> None:
    assert newer(("read", {"path": "a"}), ("read", {"path": "a"}), hidden=(1,)) == {}
