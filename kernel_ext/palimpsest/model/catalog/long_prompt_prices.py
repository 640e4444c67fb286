"""Prices of long prompts that litellm's list lacks in a model's own entry, with their source and its date.

The list has the same prices in its entries of the same models at Amazon Bedrock and Google Vertex AI.
"""

from collections.abc import Mapping

LONG_PROMPT_SOURCE = (
    "Anthropic's price list (docs.anthropic.com/en/docs/about-claude/pricing) of October 2025"
)
_SONNET = {
    "input_cost_per_token_above_200k_tokens": 6e-06,
    "output_cost_per_token_above_200k_tokens": 2.25e-05,
    "cache_read_input_token_cost_above_200k_tokens": 6e-07,
    "cache_creation_input_token_cost_above_200k_tokens": 7.5e-06,
    "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.2e-05,
}
"""Claude Sonnet 4 and 4.5 read more than 200,000 tokens at twice the price, and write the answer at 1.5 times."""
_KEYS = frozenset(
    {"claude-sonnet-4-5", "claude-sonnet-4-5-20250929"}
    | {"claude-sonnet-4-20250514", "claude-4-sonnet-20250514"}
)


def long_prompt_prices(key: str, provider: str) -> Mapping[str, float]:
    """Return the prices of a model's long prompts by the list's names; empty where the list has them or none are known."""
    return _SONNET if provider == "anthropic" and key in _KEYS else {}
