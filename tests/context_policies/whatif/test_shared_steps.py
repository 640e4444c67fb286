"""Work that the steps of a replay have in common gives the same result as separate work."""

from typing import Any

import pytest
from tests.builders import MODEL, Builder

from palimpsest.context.budget.conservative_estimate import conservative_tokens
from palimpsest.context.budget.request_tokens import message_tokens, quarter_chars
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.presets import OPENCODE_1_1, OPENCODE_1_18
from palimpsest.context_policies.whatif.message_caches import (
    ConvertedMessages,
    MessageHashes,
    TokenCounts,
)
from palimpsest.model.wire.provider_messages import ProviderMessage, message_hash
from palimpsest.transcript.context_values.neutral_messages import NeutralMessage, TextBlock
from palimpsest.transcript.values import ModelRef


def test_messages_are_flattened_once_while_they_and_the_terms_are_the_same() -> None:
    build, flatten = Builder(), ConvertedMessages()
    asks = build.user("Read it.")
    answer = build.assistant(build.thought("Hm."), build.ran("read", "x,y"), to=asks)
    other = ModelRef(provider="other", name="model")
    longer = answer.model_copy(update={"parts": (*answer.parts, build.text("Well."))})

    first = flatten((asks, answer), MODEL, OPENCODE_1_18.convert)
    again = flatten((asks, longer), MODEL, OPENCODE_1_18.convert)

    assert first == neutral_messages((asks, answer), MODEL, OPENCODE_1_18.convert)
    assert again == neutral_messages((asks, longer), MODEL, OPENCODE_1_18.convert)
    assert again[0] is first[0]
    for model, policy in ((other, OPENCODE_1_18.convert), (MODEL, OPENCODE_1_1.convert)):
        assert flatten((asks, longer), model, policy) == neutral_messages(
            (asks, longer), model, policy
        )


def test_a_message_is_weighed_once_while_it_is_asked_for() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    weighed = TokenCounts(count)
    message = NeutralMessage(role="user", blocks=(TextBlock(text="Hello."), TextBlock(text="Two.")))
    for _ in range(3):
        assert weighed.message(message) == message_tokens(message, len)
        weighed.drop_unused()
    assert counted == ["Hello.", "Two."]
    weighed.drop_unused()
    weighed.drop_unused()
    weighed.message(message)
    assert len(counted) == 4


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"role": "user", "content": "One"}, {"role": "user", "content": "Two"}),
        ({"role": "user", "n": 1}, {"role": "user", "n": True}),
        ({"role": "user", "n": 1}, {"role": "user", "n": 1.0}),
        ({"role": "user", "n": [{"a": 0}]}, {"role": "user", "n": [{"a": False}]}),
        ({"role": "user"}, {"role": "user", "n": None}),
    ],
)
def test_a_hash_is_taken_over_only_from_the_very_same_words(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    hashed = MessageHashes()

    for body in (before, after, after, before):
        assert hashed([ProviderMessage(body, None, ())]) == (message_hash(body),)


@pytest.mark.parametrize(
    "text", ["", "abc", "Müller", "数据", "🐧🐧 penguins", "a\ud800b", "\ud83d🐧"]
)
def test_characters_are_counted_as_utf_16_has_them(text: str) -> None:
    units = len(text) + sum(char > "\uffff" for char in text)
    message = NeutralMessage(role="user", blocks=(TextBlock(text=text),))

    assert quarter_chars(text) == (units + 2) // 4
    plain = OPENCODE_1_18.overflow.model_copy(update={"safety_margin": 1.0})
    assert conservative_tokens((message,), plain) == 12 + -(-units // 4)
