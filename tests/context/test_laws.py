"""Each law of a valid context finds its violations, and reports them in a sentence."""

from typing import Any

import pytest
from tests.context.laws import (
    CallsHaveResults,
    NoOrphans,
    NothingEmpty,
    OwnIds,
    SystemFirst,
    TurnOrder,
)

from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.provider_profile.recorded_agents import ProviderFamily

CALL = CallBlock(call_id="a", tool="read", input={})
RESULT = ResultBlock(call_id="a", tool="read", text="1")
ASKS = NeutralMessage(role="user", blocks=(TextBlock(text="hi"),))
ANSWERS = NeutralMessage(role="assistant", blocks=(TextBlock(text="hello"),))
CALLS = NeutralMessage(role="assistant", blocks=(CALL,))
RETURNS = NeutralMessage(role="tool", blocks=(RESULT,))
TELLS = NeutralMessage(role="system", blocks=(TextBlock(text="Be kind."),))

BROKEN: list[tuple[Any, tuple[NeutralMessage, ...], list[str]]] = [
    (CallsHaveResults(), (CALLS, ASKS), ["Message 0 calls ['a'] and is answered by []."]),
    (NoOrphans(), (ASKS, RETURNS), ["Result a in message 1 answers no call."]),
    (OwnIds(), (CALLS, RETURNS, CALLS, RETURNS), ["Id 'a' stands for 2 calls."]),
    (NothingEmpty(), (NeutralMessage(role="user", blocks=()),), ["Message 0 is empty."]),
    (SystemFirst(), (ASKS, TELLS), ["System message 1 stands after message 0."]),
    (TurnOrder("compatible"), (ANSWERS, ASKS), ["The assistant opens the conversation."]),
    (TurnOrder("anthropic"), (ASKS, ANSWERS), ["The assistant speaks last."]),
    (
        TurnOrder("mistral"),
        (ASKS, ANSWERS, ANSWERS, ASKS),
        ["Turn 2 is another one of the assistant's."],
    ),
    (TurnOrder("google"), (TELLS, ASKS, ASKS), ["Turn 1 is another one of the user's."]),
]


@pytest.mark.parametrize(("law", "messages", "found"), BROKEN)
def test_what_breaks_a_law_is_found(
    law: Any, messages: tuple[NeutralMessage, ...], found: list[str]
) -> None:
    assert law.broken(messages) == found


@pytest.mark.parametrize("family", ["openai", "anthropic", "google", "mistral", "compatible"])
def test_a_good_history_breaks_no_order(family: ProviderFamily) -> None:
    assert TurnOrder(family).broken((TELLS, ASKS, CALLS, RETURNS, ANSWERS, ASKS)) == []


def test_openai_takes_any_order() -> None:
    assert TurnOrder("openai").broken((ANSWERS, ANSWERS, ASKS, ASKS, ANSWERS)) == []
