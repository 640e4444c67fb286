"""Prices that litellm's list lacks, with their source and its date: of models it dropped, and of long prompts.

Those of dropped models are for old recordings. The list has the prices of long prompts only in its entries of the same
models at Amazon Bedrock and Google Vertex AI.
"""

from collections.abc import Mapping

from palimpsest.transcript.values import Price, PriceTier, ServicePrice

RETIRED_SOURCE = (
    "Anthropic's price list (docs.anthropic.com/en/docs/about-claude/pricing) of September 2025"
)
"""The list prices a cache write for five minutes at 1.25 times the input, for an hour at 2 times, a cache read at a
tenth, batches at half, and Sonnet 4's prompts above 200,000 tokens at twice the input and 1.5 times the output."""


def _claude_price(
    input_price: float,
    output_price: float,
    *,
    write_price: float,
    read_price: float,
    has_long_tier: bool = False,
) -> Price:
    def scaled(input_factor: float, output_factor: float) -> Price:
        return Price(
            input=input_factor * input_price,
            output=output_factor * output_price,
            cache_read=input_factor * read_price,
            cache_write=input_factor * write_price,
            cache_write_hour=input_factor * 2 * input_price,
        )

    tiers = (PriceTier(above=200_000, price=scaled(2, 1.5)),) if has_long_tier else ()
    services = (ServicePrice(service_tier="batch", price=scaled(0.5, 0.5)),)
    return scaled(1, 1).model_copy(update={"tiers": tiers, "services": services})


_OPUS = _claude_price(15, 75, write_price=18.75, read_price=1.5)
_SONNET = _claude_price(3, 15, write_price=3.75, read_price=0.3)
_SONNET_LONG = _claude_price(3, 15, write_price=3.75, read_price=0.3, has_long_tier=True)
_HAIKU = _claude_price(0.8, 4, write_price=1, read_price=0.08)
_HAIKU_3 = _claude_price(0.25, 1.25, write_price=0.3, read_price=0.03)

RETIRED_PRICES = {
    "claude-opus-4-1": _OPUS,
    "claude-opus-4": _OPUS,
    "claude-sonnet-4": _SONNET_LONG,
    "claude-3-7-sonnet": _SONNET,
    "claude-3-5-sonnet": _SONNET,
    "claude-3-5-haiku": _HAIKU,
    "claude-3-opus": _OPUS,
    "claude-3-haiku": _HAIKU_3,
}
"""Prices by the model's name without its date."""


def retired_price(name: str) -> Price | None:
    """Return the price of a model by its name, with or without its date; None where it is not listed here."""
    return RETIRED_PRICES.get(dateless_name(name))


def dateless_name(name: str) -> str:
    """Return a model's name without its provider, its date and a suffix ``-latest`` or ``-0``."""
    dateless = name.rpartition("/")[2].removesuffix("-latest")
    head, _, date = dateless.rpartition("-")
    if len(date) == len("20250514") and date.isdecimal():
        dateless = head
    return dateless.removesuffix("-0")


LONG_PROMPT_SOURCE = (
    "Anthropic's price list (docs.anthropic.com/en/docs/about-claude/pricing) of October 2025"
)
_LONG_SONNET = {
    "input_cost_per_token_above_200k_tokens": 6e-06,
    "output_cost_per_token_above_200k_tokens": 2.25e-05,
    "cache_read_input_token_cost_above_200k_tokens": 6e-07,
    "cache_creation_input_token_cost_above_200k_tokens": 7.5e-06,
    "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.2e-05,
}
"""Claude Sonnet 4 and 4.5 read more than 200,000 tokens at twice the price, and write the answer at 1.5 times."""
_LONG_SONNET_KEYS = frozenset(
    {"claude-sonnet-4-5", "claude-sonnet-4-5-20250929"}
    | {"claude-sonnet-4-20250514", "claude-4-sonnet-20250514"}
)


def long_prompt_prices(key: str, provider: str) -> Mapping[str, float]:
    """Return the prices of a model's long prompts by the list's names; empty where the list has them or none are known."""
    return _LONG_SONNET if provider == "anthropic" and key in _LONG_SONNET_KEYS else {}
