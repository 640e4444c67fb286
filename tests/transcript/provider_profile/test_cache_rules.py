"""What a provider's cache keeps is told by model, with its source."""

import pytest

from palimpsest.transcript.provider_profile.cache_rules import CacheRules, cache_rules


@pytest.mark.parametrize(
    ("model", "minimum", "step", "keeps_answers"),
    [
        ("openai/gpt-5.4", 1_024, 128, True),
        ("azure/gpt-4o", 1_024, 128, True),
        ("deepseek/deepseek-chat", 64, 64, False),
        ("openrouter/deepseek/deepseek-v3", 64, 64, False),
        ("anthropic/claude-opus-4-6", 4_096, 1, False),
        ("anthropic/claude-haiku-4-5-20251001", 4_096, 1, False),
        ("anthropic/claude-3-5-haiku-20241022", 2_048, 1, False),
        ("openrouter/anthropic/claude-sonnet-4.5", 1_024, 1, False),
        ("gemini/gemini-2.5-pro", 4_096, 1, False),
        ("gemini/gemini-2.5-flash", 1_024, 1, False),
    ],
)
def test_rules_are_by_model(model: str, minimum: int, step: int, keeps_answers: bool) -> None:  # noqa: FBT001
    rules = cache_rules(model)

    assert (rules.minimum, rules.step, rules.keeps_answers) == (minimum, step, keeps_answers)
    assert "11/2026" in rules.source


@pytest.mark.parametrize("model", ["", "custom", "mine/custom-1", "mockllm/model"])
def test_nothing_is_assumed_of_an_unknown_model(model: str) -> None:
    assert cache_rules(model) == CacheRules()
