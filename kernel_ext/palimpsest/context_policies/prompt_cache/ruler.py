"""The ruler of a replay: how tokens of items and of unseen parts are counted, cached and priced.

One ruler applies to all policies of a table, whatever estimator each of them decides by.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from palimpsest.render.content.phrases import usd_text
from palimpsest.render.reports.table import ESTIMATED, Basis
from palimpsest.transcript.timeline import CHARS4, Terms, TimelineRequest
from palimpsest.transcript.values import Price

Prefix = Literal["message", "item"]

GIVEN = "given"
"""The source of a price that the user gave."""
MOST_ODD_NAMED = 5
"""Most requests with a contradicting report that a sentence lists."""


WIDEST = 2.0
"""Limit for scaling a request's items up or down from the factor; the rest counts as not in the recording."""
LEAST_SCALED = 500
"""Estimated tokens of a request from which on its items are scaled by its total."""


class Scale(NamedTuple):
    """How the tokens of one request add up: unseen + factor x the estimator's tokens of its items."""

    unseen: float
    factor: float

    def of(self, tokens: float) -> float:
        """Return the tokens of a request, given the estimator's tokens of its items."""
        return self.unseen + self.factor * tokens

    def at(self, total: float, tokens: float) -> "Scale":
        """Return the scale by which a request adds up to its total, within the limits of the factor.

        The front end does the same (``labextension/src/state/inspector/figures/requestScale.ts``).
        """
        factor = self.factor
        if tokens >= LEAST_SCALED:
            factor = min(max((total - self.unseen) / tokens, factor / WIDEST), factor * WIDEST)
        if total < factor * tokens:
            return Scale(0.0, total / tokens)
        return Scale(total - factor * tokens, factor)


class RequestRuler(NamedTuple):
    """How one request is counted and cached, according to the reports of all other requests."""

    unseen: float
    """Tokens of the request that belong to no item."""
    factor: float
    """Tokens for each estimated token of its items."""
    output_factor: float
    """Tokens for each estimated token of its answer's items."""
    output_added: float = 0
    """Further tokens of its answer: thinking that the recording does not show."""
    added: float = 0
    """Tokens by which requests grow without any item for them in the recording."""
    lifetime_seconds: float = 300
    minimum: int = 0
    """Tokens below which nothing is cached."""
    step: int = 1
    """Reads are multiples of this number of tokens."""
    is_cached: bool = True
    """Whether prompts of its model are cached."""
    beyond: int = 0
    """Tokens that are cached after the prompt of the request before: its answer; negative where its end was not
    cached."""
    uncached: float | None = 0
    """Tokens of the prompt that are not written to the cache; None: all that are not read."""
    shared: int = 0
    """Tokens at the beginning that earlier sessions left in the cache."""
    starts_anew_by_thinking: bool = False
    """Whether switching thinking on or off loses the cache."""
    is_fitted: bool = False
    """Whether other requests of the session report their usage."""
    taken: int | None = None
    """Read tokens taken from the recording: of the first request, and of losses of unknown size."""
    taken_share: float = 1.0
    """Share of its prompt that was sent, taken from the recording at a loss."""
    beginning: float | None = None
    """Tokens at its beginning that stayed the same, where the agent's program changed the rest; else None."""
    counted: float | None = None
    """The estimated tokens of the recorded request for which this was made; None where it applies to any."""
    seen: float | None = None
    """The estimated tokens of the last reported request, up to which ``factor`` applies; None: to all."""
    growth: float = 1.0
    """Tokens for each estimated token beyond that: the growth of the session's requests."""

    def of(self, tokens: float, session: Scale) -> float:
        """Return the tokens of the request from its items' estimate; ``session`` counts all requests alike.

        Items that a replay shows beyond the recorded request, such as those that a recorded compaction had replaced, are
        counted by ``session``, since the reports around the request do not include them.
        """
        counted_tokens = tokens if self.counted is None else min(tokens, self.counted)
        seen_tokens = counted_tokens if self.seen is None else min(counted_tokens, self.seen)
        base = (
            self.unseen + self.factor * seen_tokens + self.growth * (counted_tokens - seen_tokens)
        )
        if tokens <= counted_tokens:
            return base
        return base + max(session.of(tokens) - max(session.of(counted_tokens), base), 0.0)


@dataclass(frozen=True, slots=True)
class Ruler:
    """Tokens = unseen + factor x the estimator's tokens of the items."""

    estimator: str = CHARS4
    unseen: float = 0
    """Tokens that every request has besides its items: system prompt and tools, where these are no items."""
    factor: float = 1.0
    prefix: Prefix = "message"
    """The unit of the cache: whole messages of the provider, or single items."""
    lifetime_seconds: float = 300
    """Seconds for which the provider keeps a prefix after its last use."""
    lifetime_words: str = ""
    """How the lifetime is known, a sentence; empty where it was given."""
    minimum: int = 0
    """Tokens below which nothing is cached."""
    measured: bool = False
    """Whether it was fitted to the reported usage of this session; else it is assumed."""
    low: float = 1.0
    high: float = 1.0
    """The range of the factor: the lowest and highest quotient of reported tokens and this ruler's, over all
    requests."""
    odd: tuple[int, ...] = ()
    """Requests whose report contradicts those around it, so that nothing was fitted to it."""
    requests: tuple[RequestRuler, ...] = field(default=(), repr=False, hash=False)
    """How each request is counted; empty where all are counted alike."""

    def of(self, request: int) -> RequestRuler:
        """Return how a request is counted."""
        if request < len(self.requests):
            return self.requests[request]
        return RequestRuler(
            self.unseen,
            self.factor,
            self.factor,
            lifetime_seconds=self.lifetime_seconds,
            minimum=self.minimum,
        )

    def with_lifetime(self, seconds: float, words: str) -> "Ruler":
        """Return the ruler with another lifetime of the cache; ``words`` is a sentence on how that is known."""
        requests = tuple(request._replace(lifetime_seconds=seconds) for request in self.requests)
        return replace(self, lifetime_seconds=seconds, lifetime_words=words, requests=requests)

    @property
    def scale(self) -> Scale:
        """How the tokens of any request add up."""
        return Scale(self.unseen, self.factor)

    @property
    def alike(self) -> "Ruler":
        """The ruler that counts all requests alike."""
        return replace(self, requests=())

    @property
    def plain(self) -> "Ruler":
        """The ruler that counts by the estimator alone."""
        return Ruler(estimator=self.estimator, prefix=self.prefix)

    @property
    def without_taken(self) -> "Ruler":
        """The ruler with nothing taken from the recording."""
        plain = (request._replace(taken=None, taken_share=1.0) for request in self.requests)
        return replace(self, requests=tuple(plain))

    @property
    def words(self) -> str:
        """How it counts, in a sentence."""
        items = f"Tokens are {self.factor:.3g} x {self.estimator} of the items"
        if self.measured:
            return f"{items} + {self.unseen:,.0f} not seen (fitted to the reported usage).{self._odd_words}"
        beside = f" + {self.unseen:,.0f} of system prompt and tools" if self.unseen else ""
        return f"{items}{beside} (assumed)."

    @property
    def _odd_words(self) -> str:
        if not self.odd:
            return ""
        named = ", ".join(str(request + 1) for request in self.odd[:MOST_ODD_NAMED])
        if len(self.odd) > MOST_ODD_NAMED:
            named += f" and {len(self.odd) - MOST_ODD_NAMED:,} more"
        is_single = len(self.odd) == 1
        return (
            f" What request{'' if is_single else 's'} {named} reported contradicts the requests around {'it' if is_single else 'them'}"
            " and is left out of that."
        )


class Rates(NamedTuple):
    """Prices per million tokens."""

    input: float
    output: float
    read: float
    write: float


@dataclass(frozen=True, slots=True)
class PriceProfile:
    """Prices per million tokens, in US dollars or in units of one uncached input token."""

    input: float
    output: float
    read: float
    write: float
    name: str = ""
    unit: Literal["USD", "units"] = "USD"
    source: str = ""
    """The list that the prices are from, with its date; empty where they were given."""
    recorded: bool = False
    """Whether the session's recorded costs are at these prices; else every amount at them is an estimate."""
    of_session: bool = False
    """Whether each request is at its own price, and recorded costs apply; else all are at these prices."""
    given: bool = False
    """Whether the user gave this model's price, which takes precedence over a list."""
    unused: bool = False
    """Whether the user gave prices, none of which is for a model of the session."""
    model_price: Price | None = None
    """All prices of the model, where they depend on the length of a prompt, its service tier and its cache."""
    writes_hour: bool = False
    """Whether a replay's writes are kept for an hour, as most of the recorded requests to the model requested."""
    others: tuple["PriceProfile", ...] = ()
    """Prices of the session's other models; a request is at the prices of its own."""
    unknown: tuple[str, ...] = ()
    """Models of the session whose price is not known: their requests are at these prices."""

    def at(self, terms: Terms, prompt: float) -> "PriceProfile":
        """Return the prices of a request with so many tokens in its prompt."""
        profile = self.of(terms.model)
        if profile.model_price is None:
            return profile
        price = profile.model_price.at(prompt, terms.service_tier)
        if price is profile.model_price and not profile.writes_hour:
            return profile
        rates = rates_of(price, writes_hour=profile.writes_hour)
        return profile if rates is None else replace(profile, **rates._asdict(), model_price=price)

    @property
    def basis(self) -> Basis:
        """Whether reported tokens at these prices are a fact or an estimate."""
        return "fact" if self.recorded else "estimate"

    @property
    def sentence(self) -> str:
        """A sentence on the prices, and whether amounts at them are estimates."""
        if self.unit != "USD":
            return "The price is not known: one unit is the price of an uncached input token."
        others = "".join(f"; of {other.name}: {other.rates}" for other in self.others)
        text = f"Prices of {self.name}: {self.rates} USD per million tokens in, read, written, out{others}"
        if self.unused:
            text += " (no request is by a model whose price was given)"
        if self.recorded:
            return f"{text}; the recorded costs are at these."
        text += self.source_words
        if self.unknown:
            text += f". The price of {', '.join(self.unknown)} is not known and taken to be that of {self.name}"
        return f"{text}. What they give is an estimate, marked {ESTIMATED}."

    @property
    def source_words(self) -> str:
        """The source of the prices: `` as given``, ``, from`` a list, or both; empty where that is not known."""
        sources = dict.fromkeys(price.source for price in (self, *self.others) if price.source)
        lists = [source for source in sources if source != GIVEN]
        listed = f", from {' and '.join(lists)}" if lists else ""
        named = [profile.name for profile in (self, *self.others) if profile.source == GIVEN]
        if not named:
            return listed
        return f"{listed}, and as given for {', '.join(named)}" if lists else ", as given"

    @property
    def rates(self) -> str:
        """The four prices, and those for long prompts."""
        more = []
        price = self.model_price
        if price is not None and self.writes_hour:
            more.append("written for an hour")
        for tier in price.tiers if price is not None else ():
            rates = rates_of(tier.price, writes_hour=self.writes_hour)
            if rates is not None:
                more.append(f"{_rates_text(rates)} above {tier.above:,} tokens")
        prices_text = _rates_text(Rates(self.input, self.output, self.read, self.write))
        return f"{prices_text} ({', '.join(more)})" if more else prices_text

    def of(self, model: str) -> "PriceProfile":
        """Return the prices of one model's requests."""
        return next((other for other in self.others if other.name == model), self)

    def cost(
        self,
        uncached: float,
        read: float,
        write: float,
        output: float,
        *,
        terms: Terms,
        prompt: float | None = None,
    ) -> float:
        """Return the cost of tokens of a request; ``prompt`` is the whole length of a prompt that they are part of."""
        prices_at = self.at(terms, uncached + read + write if prompt is None else prompt)
        return (
            uncached * prices_at.input
            + read * prices_at.read
            + write * prices_at.write
            + output * prices_at.output
        ) / 1_000_000

    def cost_of(self, request: TimelineRequest) -> float:
        """Return the cost of a request's reported usage; 0 where none was reported."""
        usage = request.usage
        if usage is None:
            return 0.0
        price = self.of(request.model).model_price
        cost = None if price is None else usage.cost(price)
        if cost is not None:
            return cost
        output = usage.output + usage.reasoning
        return self.cost(
            usage.input, usage.cache_read, usage.cache_write, output, terms=request.terms
        )

    def words(self, value: float) -> str:
        """Return an amount at these prices in words, marked where it is an estimate."""
        return money_words(value, self.unit, self.basis)


@lru_cache(maxsize=64)
def kept_for(price: PriceProfile, *, hourly: bool) -> PriceProfile:
    """Return prices at which writes are kept for an hour, or for the usual time.

    A model with a price for writes, but none for an hour, is charged twice the input for an hour, as by Anthropic.
    """
    kept = price
    if price.model_price is not None:
        rates = rates_of(price.model_price, writes_hour=hourly)
        if rates is not None:
            kept = replace(price, **rates._asdict(), writes_hour=hourly)
    elif hourly and price.write > price.input:
        kept = replace(price, write=2 * price.input, writes_hour=True)
    return replace(kept, others=tuple(kept_for(other, hourly=hourly) for other in price.others))


def rates_of(price: Price, *, writes_hour: bool = False) -> Rates | None:
    """Return the four prices of a model; None where they are not known."""
    if price.input is None or price.output is None:
        return None
    write = price.input if price.cache_write is None else price.cache_write
    if writes_hour and price.cache_write_hour is not None:
        write = price.cache_write_hour
    read = price.input if price.cache_read is None else price.cache_read
    return Rates(price.input, price.output, read, write)


def _rates_text(rates: Rates) -> str:
    return " / ".join(f"{rate:g}" for rate in (rates.input, rates.read, rates.write, rates.output))


def money_words(value: float, unit: str, basis: Basis = "fact") -> str:
    """Return an amount with its unit: ``0.41 USD``, ``~0.002 USD``, ``~1,130 units``; 0 only for a cost of 0."""
    amount = usd_text(value) if unit == "USD" else f"{value:,.0f}"
    return f"{ESTIMATED if basis == 'estimate' else ''}{amount} {unit}"


UNITS = PriceProfile(1e6, 5e6, 0.1e6, 1.25e6, name="units", unit="units")
"""Prices relative to an uncached input token, for sessions whose price is unknown: reads a tenth, writes 1.25,
output five, as Anthropic charges for its models in 2025 and 2026."""
