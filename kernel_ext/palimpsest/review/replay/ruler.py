"""How a replay counts: tokens of items and of what is not seen, and how the provider's cache and price work.

One ruler holds for all policies of a table, whatever estimator each of them decides by.
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
"""The source of a price that a person gave."""
MOST_ODD_NAMED = 5
"""Requests with a contradicting report that a sentence names."""


WIDEST = 2.0
"""By how much the items of one request may count for more or less than the factor; the rest is not in the recording."""
LEAST_SCALED = 500
"""Estimated tokens of a request from which on they are scaled by its total."""


class Scale(NamedTuple):
    """How the tokens of one request add up: unseen + factor x the estimator's tokens of its items."""

    unseen: float
    factor: float

    def of(self, tokens: float) -> float:
        """Return the tokens of a request whose items the estimator counts so."""
        return self.unseen + self.factor * tokens

    def at(self, total: float, tokens: float) -> "Scale":
        """Return the scale by which a request adds up to its total; it is this one as far as that goes.

        The front end does the same (``labextension/src/state/inspector/requestScale.ts``).
        """
        factor = self.factor
        if tokens >= LEAST_SCALED:
            factor = min(max((total - self.unseen) / tokens, factor / WIDEST), factor * WIDEST)
        if total < factor * tokens:
            return Scale(0.0, total / tokens)
        return Scale(total - factor * tokens, factor)


class RequestRuler(NamedTuple):
    """How one request is counted and what the cache does with it, by what all other requests reported."""

    unseen: float
    """Tokens that it holds besides the items."""
    factor: float
    """Tokens for each one that the estimator counts of its items."""
    output_factor: float
    """The same for the items of its answer."""
    output_added: float = 0
    """Tokens of its answer besides: thinking that the recording does not show."""
    added: float = 0
    """Tokens that come with it and are in no item: what requests grow by that the recording does not show."""
    lifetime_seconds: float = 300
    minimum: int = 0
    """Tokens below which nothing is cached."""
    step: int = 1
    """What is read is a multiple of this."""
    is_cached: bool = True
    """Prompts of its model are cached."""
    beyond: int = 0
    """Tokens that are cached beside the prompt of the request before: its answer; less than 0 where its end was not."""
    uncached: float | None = 0
    """Tokens of it that are not written to the cache; None: all that are not read."""
    shared: int = 0
    """Tokens at the beginning that sessions before it left in the cache, and others keep there."""
    starts_anew_by_thinking: bool = False
    """Switching thinking on or off loses the cache."""
    is_fitted: bool = False
    """Others of the session report their usage."""
    taken: int | None = None
    """Tokens read as the recording says, since nothing else does: of the first request, and where the cache was lost."""
    taken_share: float = 1.0
    """Share of its prompt that was sent, as the recording says where the cache was lost: less though nothing was taken out."""
    beginning: float | None = None
    """Tokens at its beginning that were sent as before, where the agent's program sent the rest otherwise; else None."""
    counted: float | None = None
    """The estimator's tokens of the recorded request, for which this was made; None where it holds for any."""
    seen: float | None = None
    """The estimator's tokens of the last request that was reported, up to which ``factor`` holds; None: of all."""
    growth: float = 1.0
    """Tokens for each one that the estimator counts beyond that: the growth of the session's requests."""

    def of(self, tokens: float, session: Scale) -> float:
        """Return the tokens of the request if the estimator counts its items so; ``session`` counts all of them alike.

        What a replay shows beyond the recorded request, such as what a recorded compaction had replaced, is counted
        as everywhere in the session: the reports around the request say nothing of it.
        """
        own = tokens if self.counted is None else min(tokens, self.counted)
        known = own if self.seen is None else min(own, self.seen)
        held = self.unseen + self.factor * known + self.growth * (own - known)
        if tokens <= own:
            return held
        return held + max(session.of(tokens) - max(session.of(own), held), 0.0)


@dataclass(frozen=True, slots=True)
class Ruler:
    """Tokens = unseen + factor x the estimator's tokens of the items."""

    estimator: str = CHARS4
    unseen: float = 0
    """Tokens that every request holds besides the items: system prompt and tools, where these are no items."""
    factor: float = 1.0
    prefix: Prefix = "message"
    """What the cache is cut to: whole messages of the provider, or single items."""
    lifetime_seconds: float = 300
    """How long the provider keeps a prefix after it was used last."""
    lifetime_words: str = ""
    """How that is known, a sentence; empty where it was given."""
    minimum: int = 0
    """Tokens below which nothing is cached."""
    measured: bool = False
    """Fitted to reported usage of this session; else assumed."""
    low: float = 1.0
    high: float = 1.0
    """The band of the factor: reported tokens divided by what this ruler says, over all requests."""
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

    def kept_so_long(self, seconds: float, words: str) -> "Ruler":
        """Return the same with a cache that keeps each prefix for these seconds; the words say how that is known."""
        requests = tuple(one._replace(lifetime_seconds=seconds) for one in self.requests)
        return replace(self, lifetime_seconds=seconds, lifetime_words=words, requests=requests)

    @property
    def scale(self) -> Scale:
        """How the tokens of any request add up."""
        return Scale(self.unseen, self.factor)

    @property
    def alike(self) -> "Ruler":
        """The same, with all requests counted alike."""
        return replace(self, requests=())

    @property
    def plain(self) -> "Ruler":
        """The estimator itself."""
        return Ruler(estimator=self.estimator, prefix=self.prefix)

    @property
    def without_taken(self) -> "Ruler":
        """The same, with nothing taken from the recording."""
        plain = (one._replace(taken=None, taken_share=1.0) for one in self.requests)
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
        named = ", ".join(str(one + 1) for one in self.odd[:MOST_ODD_NAMED])
        if len(self.odd) > MOST_ODD_NAMED:
            named += f" and {len(self.odd) - MOST_ODD_NAMED:,} more"
        one = len(self.odd) == 1
        return (
            f" What request{'' if one else 's'} {named} reported contradicts the requests around {'it' if one else 'them'}"
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
    """The costs that the session recorded are at these prices; else every amount at them is an estimate."""
    of_session: bool = False
    """Each request is at its own price, so that a cost that was recorded stands; else all are at these prices."""
    given: bool = False
    """A person gave this model's price: it goes before what a list says."""
    unused: bool = False
    """A person gave prices, and none of them is that of a model of the session."""
    model_price: Price | None = None
    """All prices of the model, where they depend on the length of a prompt, its service tier and its cache."""
    writes_hour: bool = False
    """The cache of a replay keeps for an hour, as the recorded requests to the model asked for mostly."""
    others: tuple["PriceProfile", ...] = ()
    """Prices of the session's other models; a request is at the prices of its own."""
    unknown: tuple[str, ...] = ()
    """Models of the session whose price is not known: their requests are at these prices."""

    def at(self, terms: Terms, prompt: float) -> "PriceProfile":
        """Return the prices of a request with so many tokens in its prompt."""
        found = self.of(terms.model)
        if found.model_price is None:
            return found
        price = found.model_price.at(prompt, terms.service_tier)
        if price is found.model_price and not found.writes_hour:
            return found
        rates = rates_of(price, writes_hour=found.writes_hour)
        return found if rates is None else replace(found, **rates._asdict(), model_price=price)

    @property
    def basis(self) -> Basis:
        """Whether reported tokens at these prices are a fact or an estimate."""
        return "fact" if self.recorded else "estimate"

    @property
    def sentence(self) -> str:
        """Which prices these are, and what that makes of the amounts; empty where the recording holds them."""
        if self.unit != "USD":
            return "The price is not known: one unit is the price of an uncached input token."
        others = "".join(f"; of {one.name}: {one.rates}" for one in self.others)
        told = f"Prices of {self.name}: {self.rates} USD per million tokens in, read, written, out{others}"
        if self.unused:
            told += " (no request is by a model whose price was given)"
        if self.recorded:
            return f"{told}; the recorded costs are at these."
        told += self.source_words
        if self.unknown:
            told += f". The price of {', '.join(self.unknown)} is not known and taken to be that of {self.name}"
        return f"{told}. What they give is an estimate, marked {ESTIMATED}."

    @property
    def source_words(self) -> str:
        """From where the prices are: `` as given``, ``, from`` a list, or both; empty where that is not known."""
        sources = dict.fromkeys(one.source for one in (self, *self.others) if one.source)
        lists = [one for one in sources if one != GIVEN]
        listed = f", from {' and '.join(lists)}" if lists else ""
        named = [one.name for one in (self, *self.others) if one.source == GIVEN]
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
                more.append(f"{_told(rates)} above {tier.above:,} tokens")
        told = _told(Rates(self.input, self.output, self.read, self.write))
        return f"{told} ({', '.join(more)})" if more else told

    def of(self, model: str) -> "PriceProfile":
        """Return the prices of one model's requests."""
        return next((one for one in self.others if one.name == model), self)

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
        """Return what tokens of a request cost; ``prompt`` is the length of its whole prompt, if they are a part of it."""
        its = self.at(terms, uncached + read + write if prompt is None else prompt)
        return (
            uncached * its.input + read * its.read + write * its.write + output * its.output
        ) / 1_000_000

    def cost_of(self, request: TimelineRequest) -> float:
        """Return what the reported usage of a request costs; 0 where none was reported."""
        usage = request.usage
        if usage is None:
            return 0.0
        price = self.of(request.model).model_price
        known = None if price is None else usage.cost(price)
        if known is not None:
            return known
        output = usage.output + usage.reasoning
        return self.cost(
            usage.input, usage.cache_read, usage.cache_write, output, terms=request.terms
        )

    def words(self, value: float) -> str:
        """Return what reported tokens cost at these prices in words, marked where that is an estimate."""
        return money_words(value, self.unit, self.basis)


@lru_cache(maxsize=64)
def kept_for(price: PriceProfile, *, hourly: bool) -> PriceProfile:
    """Return prices at which writes are kept for an hour, or for the usual time.

    Where a model's price for an hour is not known, but one for writes is, it is twice the input, as Anthropic charges.
    """
    found = price
    if price.model_price is not None:
        rates = rates_of(price.model_price, writes_hour=hourly)
        if rates is not None:
            found = replace(price, **rates._asdict(), writes_hour=hourly)
    elif hourly and price.write > price.input:
        found = replace(price, write=2 * price.input, writes_hour=True)
    return replace(found, others=tuple(kept_for(one, hourly=hourly) for one in price.others))


def rates_of(price: Price, *, writes_hour: bool = False) -> Rates | None:
    """Return the four prices of a model; None where they are not known."""
    if price.input is None or price.output is None:
        return None
    write = price.input if price.cache_write is None else price.cache_write
    if writes_hour and price.cache_write_hour is not None:
        write = price.cache_write_hour
    read = price.input if price.cache_read is None else price.cache_read
    return Rates(price.input, price.output, read, write)


def _told(rates: Rates) -> str:
    return " / ".join(f"{one:g}" for one in (rates.input, rates.read, rates.write, rates.output))


def money_words(value: float, unit: str, basis: Basis = "fact") -> str:
    """Return an amount with its unit: ``0.41 USD``, ``~0.002 USD``, ``~1,130 units``; never 0 for what cost something."""
    amount = usd_text(value) if unit == "USD" else f"{value:,.0f}"
    return f"{ESTIMATED if basis == 'estimate' else ''}{amount} {unit}"


UNITS = PriceProfile(1e6, 5e6, 0.1e6, 1.25e6, name="units", unit="units")
"""Prices relative to an uncached input token, for sessions whose price is unknown: reads a tenth, writes 1.25,
output five, as Anthropic charges for its models in 2025 and 2026."""
