"""A history counts as valid only if no repair rule would change it, and most of our own are valid."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.context.history_strategies import FAMILIES, MEDIA, PROFILES, TEXTS, THOUGHTS, histories
from tests.sample_size import sample_size

from palimpsest.context.message_repair.rule_order import is_valid, repaired_by_default
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.provider_profile.recorded_agents import ProviderFamily

NAMES = ("read", "python", "web.search", " read", "n" * 64, "n" * 65)
ASKS = NeutralMessage(role="user", blocks=(TextBlock(text="How many?"),))
SAYS = NeutralMessage(role="assistant", blocks=(TextBlock(text="Two."),))


def step(*names: str, first: int = 0, tool: str = "read", wrong: str = "") -> NeutralMessages:
    """Return an assistant message with calls and their results, or with a fault in the last one."""
    calls = [CallBlock(call_id=name, tool=tool, input={}) for name in names]
    results = [ResultBlock(call_id=name, tool=tool, text="1") for name in names]
    if wrong == "order":
        results.reverse()
    elif wrong == "name":
        results[-1] = results[-1].model_copy(update={"tool": "other"})
    elif wrong == "half":
        calls[-1] = calls[-1].model_copy(update={"incomplete": True})
    elif wrong == "missing":
        results.pop()
    told: tuple[Block, ...] = (TextBlock(text="Look."),) * first
    answer = NeutralMessage(role="assistant", blocks=(*told, *calls))
    return (answer, NeutralMessage(role="tool", blocks=tuple(results)))


@st.composite
def nearly_valid(draw: st.DrawFn) -> NeutralMessages:
    """Draw a history like our own, in which some steps are faulty."""
    found: list[NeutralMessage] = []
    numbers = iter(range(1_000))
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["user", "says", "step", "step", "step"]))
        if kind == "user":
            said = draw(st.lists(st.sampled_from([*TEXTS, *MEDIA]), min_size=1, max_size=3))
            found.append(NeutralMessage(role="user", blocks=tuple(said)))
        elif kind == "says":
            said = draw(st.lists(st.sampled_from([*TEXTS, *THOUGHTS]), min_size=1, max_size=3))
            found.append(NeutralMessage(role="assistant", blocks=tuple(said)))
        else:
            same = draw(st.integers(0, 9)) == 0
            names = [
                "toolu_1" if same else f"toolu_{next(numbers)}"
                for _ in range(draw(st.integers(1, 3)))
            ]
            wrong = draw(st.sampled_from([""] * 12 + ["order", "name", "half", "missing"]))
            found += step(
                *names,
                first=draw(st.integers(0, 1)),
                tool=draw(st.sampled_from(NAMES)),
                wrong=wrong,
            )
    return tuple(found)


@settings(max_examples=sample_size(40, 6_000))
@given(messages=st.one_of(nearly_valid(), histories()), family=st.sampled_from(FAMILIES))
def test_no_rule_changes_what_is_called_valid(
    messages: NeutralMessages, family: ProviderFamily
) -> None:
    if is_valid(messages, PROFILES[family]):
        assert repaired_by_default(messages, PROFILES[family]) == messages


@pytest.mark.parametrize("family", FAMILIES)
def test_a_turn_with_tools_is_valid_everywhere(family: ProviderFamily) -> None:
    assert is_valid((ASKS, *step("a", "b", first=1), *step("c"), SAYS, ASKS), PROFILES[family])


@pytest.mark.parametrize(
    "messages",
    [
        (ASKS, *step("a"), *step("a")),
        (ASKS, *step("a", "b", wrong="order")),
        (ASKS, *step("a", wrong="name")),
        (ASKS, *step("a", wrong="half")),
        (ASKS, *step("a", "b", wrong="missing")),
        (ASKS, *step("a", tool="web.search")),
        (ASKS, step("a")[1]),
        (ASKS, step("a")[0]),
        (ASKS, NeutralMessage(role="user", blocks=())),
        (ASKS, NeutralMessage(role="system", blocks=(TextBlock(text="Be kind."),))),
    ],
)
def test_what_a_rule_would_change_is_not_valid_for_anybody(messages: NeutralMessages) -> None:
    assert not any(is_valid(messages, PROFILES[family]) for family in FAMILIES)


def test_what_a_provider_merges_is_valid_for_the_others_only() -> None:
    twice = (ASKS, ASKS, *step("a"))

    assert [family for family in FAMILIES if not is_valid(twice, PROFILES[family])] == ["google"]
    assert [
        family for family in FAMILIES if is_valid((ASKS, SAYS, SAYS, ASKS), PROFILES[family])
    ] == ["openai"]
