"""Prices that the user gave, in words: ``MODEL=in/out/read/write[/write1h]``, another model, or units.

One grammar for the command line, for Python, for an inspector's questions, and for the entries of a price file.
Amounts are US dollars per million tokens. Pure: ``price_file`` reads files.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from palimpsest.model.catalog.unlisted_prices import dateless_name
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import SERVICE_TIERS, Price, PriceTier, ServicePrice

UNIT_WORD = "units"
LIFETIME_WORD = "lifetime"
"""The word before ``=`` that sets the lifetime of the cache, among words about models."""
PRICE_FORM = (
    "MODEL=in/out/read/write or MODEL=in/out/read/write/write1h, US dollars per million tokens"
)
PRICE_EXAMPLE = "claude-opus-4-8=5/25/0.5/6.25/10"
RATE_NAMES = ("input", "output", "cache_read", "cache_write", "cache_write_hour")
"""Meaning of the numbers between the slashes, in order; the last three are optional."""
MAX_USD = 1_000_000.0
"""Maximum US dollars per million tokens; a larger number is refused as a mistake."""
MAX_QUOTED_CHARS = 40
"""Maximum characters of a wrong value that a sentence quotes."""
MAX_TOKENS_DIGITS = 12
"""Maximum digits that are read of a number of tokens."""
MAX_LIFETIME_SECONDS = 30 * 86_400.0
SECONDS_BY_UNIT = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


class PriceKey(NamedTuple):
    """The scope of a price: a model, in a service tier, for prompts above a number of tokens."""

    model: str
    service_tier: str = ""
    above_tokens: int = 0


@dataclass(frozen=True, slots=True)
class GivenPrices:
    """The prices that the user gave; none by default."""

    of_models: tuple[tuple[str, Price], ...] = ()
    """Prices by the model's name, with or without provider and date."""
    for_all: str = ""
    """The model whose price applies to all requests, or ``units``; empty where each request has its own price."""
    lifetime: float | None = None
    """Seconds for which the cache keeps a prefix."""

    def price_of(self, model: str) -> Price | None:
        """Return the given price of a model; None where none was given."""
        for normalise in (str, lambda name: name.rpartition("/")[2], dateless_name):
            for name, price in reversed(self.of_models):
                if normalise(name) == normalise(model):
                    return price
        return None


def given_prices(text: str) -> GivenPrices:
    """Return the prices in words separated by blanks; of words about one model the last is used. Raises UserError."""
    prices: dict[PriceKey, Price] = {}
    for_all, lifetime = "", None
    for word in text.split():
        price_name, equals_sign, value_text = word.partition("=")
        if not equals_sign:
            for_all = word
        elif price_name == LIFETIME_WORD:
            lifetime = lifetime_seconds(value_text)
        else:
            prices[_price_key(price_name, word)] = _price_of_rates(value_text, word)
    return GivenPrices(tuple(_model_prices(prices)), for_all, lifetime)


def price_word(key: str, value: object) -> str:
    """Return an entry of a price file as a word; ``value`` is the numbers between slashes, or a table of ``RATE_NAMES``.

    Raises UserError with one sentence.
    """
    rates_text = value
    if isinstance(value, Mapping):
        unknown_names = sorted(str(name) for name in value if name not in RATE_NAMES)
        if unknown_names:
            raise UserError(
                f"The price of {key!r:.80} has {unknown_names[0]!r:.40}; known are {', '.join(RATE_NAMES)}."
            )
        rates_text = "/".join(_number_text(value.get(rate), key) for rate in RATE_NAMES).rstrip("/")
    elif isinstance(value, int | float):
        rates_text = _number_text(value, key)
    is_valid_key = key != "" and not any(char.isspace() or char == "=" for char in key)
    if not isinstance(rates_text, str) or not is_valid_key:
        raise UserError(
            f"{key!r:.80} has no price: write {PRICE_EXAMPLE.partition('=')[2]!r}, or a table of {', '.join(RATE_NAMES)}."
        )
    return f"{key}={''.join(rates_text.split())}"


def lifetime_seconds(lifetime: str | float) -> float:
    """Return a cache's lifetime in seconds, from a number or words such as ``5m`` and ``1h``; raises UserError."""
    text = str(lifetime).strip().lower()
    unit_seconds = SECONDS_BY_UNIT.get(text[-1:])
    number = _parsed_number(text if unit_seconds is None else text[:-1])
    seconds = math.nan if number is None else number * (unit_seconds or 1.0)
    if not 0 < seconds <= MAX_LIFETIME_SECONDS:
        raise UserError(
            f"{str(lifetime)!r:.40} is no lifetime of the cache: give seconds, or 5m, 1h, 1d; at most 30 days."
        )
    return seconds


def _price_key(name: str, word: str) -> PriceKey:
    """Return the model, tier and prompt length of a word: ``MODEL``, ``MODEL+batch``, ``MODEL+200000`` or both."""
    model, *additions = name.split("+")
    tier, above_tokens = "", 0
    for addition in additions:
        if addition in SERVICE_TIERS:
            tier = addition
        elif addition.isascii() and addition.isdecimal() and int(addition[:MAX_TOKENS_DIGITS]) > 0:
            above_tokens = int(addition[:MAX_TOKENS_DIGITS])
        else:
            raise UserError(
                f"{word!r:.80} is no price: behind + stands {', '.join(SERVICE_TIERS)}, or the tokens "
                f"above which it holds, as in claude-sonnet-4-5+200000=6/22.5/0.6/7.5."
            )
    if not model:
        raise UserError(_no_price_sentence(word))
    return PriceKey(model, tier, above_tokens)


def _price_of_rates(rates_text: str, word: str) -> Price:
    rate_texts = rates_text.split("/")
    rates = [None if rate_text == "" else _parsed_number(rate_text) for rate_text in rate_texts]
    has_wrong_rate = any(
        rate_text and (rate is None or not 0 <= rate <= MAX_USD)
        for rate_text, rate in zip(rate_texts, rates, strict=True)
    )
    if has_wrong_rate or not 2 <= len(rates) <= len(RATE_NAMES) or None in rates[:2]:
        raise UserError(_no_price_sentence(word))
    return Price(**dict(zip(RATE_NAMES, rates, strict=False)))


def _no_price_sentence(word: str) -> str:
    return f"{word!r:.80} is no price: write {PRICE_FORM}, as in {PRICE_EXAMPLE}."


def _parsed_number(text: str) -> float | None:
    """Return a number written in ASCII digits; None for any other text."""
    if not text.isascii() or not text or "_" in text:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _number_text(value: object, key: str) -> str:
    if value is None:
        return ""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:.12g}"
    except OverflowError:
        pass
    raise UserError(
        f"The price of {key!r:.80} has {str(value)[:MAX_QUOTED_CHARS]!r}, which is no such number."
    )


def _model_prices(prices: Mapping[PriceKey, Price]) -> Iterable[tuple[str, Price]]:
    """Yield each model's price with those of its service tiers and long prompts."""
    for model in dict.fromkeys(key.model for key in prices):
        prices_by_key = {key: price for key, price in prices.items() if key.model == model}
        if PriceKey(model) not in prices_by_key:
            model_name = "+".join(str(field) for field in next(iter(prices_by_key)) if field)
            raise UserError(
                f"{model_name!r:.80} has a price, and {model!r:.80} has none; give that of the model as well."
            )
        services = tuple(
            ServicePrice(service_tier=tier, price=_with_tiers(prices_by_key, PriceKey(model, tier)))
            for tier in SERVICE_TIERS
            if PriceKey(model, tier) in prices_by_key
        )
        model_price = _with_tiers(prices_by_key, PriceKey(model))
        yield model, model_price.model_copy(update={"services": services})


def _with_tiers(prices_by_key: Mapping[PriceKey, Price], key: PriceKey) -> Price:
    tiers = [
        PriceTier(above=other_key.above_tokens, price=price)
        for other_key, price in prices_by_key.items()
        if other_key.above_tokens and other_key.service_tier == key.service_tier
    ]
    return prices_by_key[key].model_copy(
        update={"tiers": tuple(sorted(tiers, key=lambda tier: tier.above))}
    )
