"""Prices of models that litellm's list no longer has, for old recordings.

The source and its date are in ``RETIRED_SOURCE``.
"""

from palimpsest.transcript.values import Price, PriceTier, ServicePrice

RETIRED_SOURCE = (
    "Anthropic's price list (docs.anthropic.com/en/docs/about-claude/pricing) of September 2025"
)
"""The list prices a cache write for five minutes at 1.25 times the input, for an hour at 2 times, a cache read at a
tenth, batches at half, and Sonnet 4's prompts above 200,000 tokens at twice the input and 1.5 times the output."""


def _claude(
    input_: float, output: float, *, write: float, read_price: float, has_long_tier: bool = False
) -> Price:
    def scaled(reads: float, writes: float) -> Price:
        return Price(
            input=reads * input_,
            output=writes * output,
            cache_read=reads * read_price,
            cache_write=reads * write,
            cache_write_hour=reads * 2 * input_,
        )

    tiers = (PriceTier(above=200_000, price=scaled(2, 1.5)),) if has_long_tier else ()
    services = (ServicePrice(service_tier="batch", price=scaled(0.5, 0.5)),)
    return scaled(1, 1).model_copy(update={"tiers": tiers, "services": services})


_OPUS = _claude(15, 75, write=18.75, read_price=1.5)
_SONNET = _claude(3, 15, write=3.75, read_price=0.3)
_SONNET_LONG = _claude(3, 15, write=3.75, read_price=0.3, has_long_tier=True)
_HAIKU = _claude(0.8, 4, write=1, read_price=0.08)
_HAIKU_3 = _claude(0.25, 1.25, write=0.3, read_price=0.03)

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
