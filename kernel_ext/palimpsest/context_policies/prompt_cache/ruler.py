"""The ruler of a replay: how tokens of items and of unseen parts are counted, cached and priced.

All policies of a table are measured by one ruler, also those that decide by another estimator.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from palimpsest.render.content.phrases import usd_text
from palimpsest.render.reports.table import ESTIMATED, Basis
from palimpsest.transcript.timeline import CHARS4, Terms, TimelineRequest
from palimpsest.transcript.values import Price

CacheUnit = Literal["message", "item"]

GIVEN_SOURCE = "given"
"""The source of a price that the user gave."""
MAX_LISTED_CONTRADICTIONS = 5
"""Maximum requests with a contradicting report that a sentence lists."""
MAX_FACTOR_RATIO = 2.0
"""Maximum ratio of a request's own factor to the ruler's, or of the ruler's to it; other tokens count as unseen."""
MIN_SCALED_TOKENS = 500
"""Minimum estimated tokens of a request whose items are scaled to its total."""


class Scale(NamedTuple):
    """How the tokens of one request add up: unseen + factor x the estimator's tokens of its items."""

    unseen_tokens: float
    factor: float

    def request_tokens(self, tokens: float) -> float:
        """Return the tokens of a request, given the estimator's tokens of its items."""
        return self.unseen_tokens + self.factor * tokens

    def fitted_to(self, request_tokens: float, tokens: float) -> "Scale":
        """Return the scale with which a request adds up to a total, within the limits of the factor.

        The front end does the same (``labextension/src/state/inspector/figures/requestScale.ts``).
        """
        factor = self.factor
        if tokens >= MIN_SCALED_TOKENS:
            factor = min(
                max((request_tokens - self.unseen_tokens) / tokens, factor / MAX_FACTOR_RATIO),
                factor * MAX_FACTOR_RATIO,
            )
        if request_tokens < factor * tokens:
            return Scale(0.0, request_tokens / tokens)
        return Scale(request_tokens - factor * tokens, factor)


class RequestRuler(NamedTuple):
    """How one request is counted and cached, according to the reports of all other requests."""

    unseen_tokens: float
    """Tokens of the request that belong to no item."""
    factor: float
    """Tokens for each estimated token of its items."""
    output_factor: float
    """Tokens for each estimated token of its answer's items."""
    output_added: float = 0
    """Further tokens of its answer: thinking that the recording does not show."""
    added_per_request: float = 0
    """Tokens by which requests grow without an item in the recording."""
    lifetime_seconds: float = 300
    min_cached: int = 0
    """Tokens below which nothing is cached."""
    read_step: int = 1
    """Reads are multiples of this number of tokens."""
    is_cached: bool = True
    """Whether prompts of its model are cached."""
    cached_beyond: int = 0
    """Tokens that are cached beyond the previous request's prompt: its answer; negative where the prompt's end was not
    cached."""
    unwritten_tokens: float | None = 0
    """Tokens of the prompt that are not written to the cache; None: all that are not read."""
    shared_beginning: int = 0
    """Tokens of the beginning that earlier sessions left in the cache."""
    starts_anew_by_thinking: bool = False
    """Whether switching thinking on or off loses the cache."""
    is_fitted: bool = False
    """Whether other requests of the session report their usage."""
    taken_read: int | None = None
    """Read tokens taken from the recording: of the first request, and of losses of unknown size."""
    taken_share: float = 1.0
    """Share of the prompt that was sent, taken from the recording where the cache was lost."""
    unchanged_beginning: float | None = None
    """Tokens of the unchanged beginning, where the agent's program changed the rest; else None."""
    recorded_estimate: float | None = None
    """The estimated tokens of the recorded request to which this ruler belongs; None where it applies to any request."""
    factor_limit: float | None = None
    """Estimated tokens up to which ``factor`` applies: those of the last reported request; None: no limit."""
    growth_factor: float = 1.0
    """Tokens for each estimated token beyond ``factor_limit``: the growth of the session's requests."""

    def request_tokens(self, tokens: float, session_scale: Scale) -> float:
        """Return the tokens of the request from its items' estimate; ``session_scale`` is the scale of all requests.

        Items that a replay shows beyond the recorded request, such as those that a recorded compaction had replaced, are
        counted by ``session_scale``, since the reports around the request do not include them.
        """
        counted_tokens = (
            tokens if self.recorded_estimate is None else min(tokens, self.recorded_estimate)
        )
        seen_tokens = (
            counted_tokens if self.factor_limit is None else min(counted_tokens, self.factor_limit)
        )
        counted_total = self.unseen_tokens + self.factor * seen_tokens
        counted_total += self.growth_factor * (counted_tokens - seen_tokens)
        if tokens <= counted_tokens:
            return counted_total
        counted_by_session = max(session_scale.request_tokens(counted_tokens), counted_total)
        return counted_total + max(session_scale.request_tokens(tokens) - counted_by_session, 0.0)


@dataclass(frozen=True, slots=True)
class Ruler:
    """How the tokens of a session are counted: unseen + factor x the estimator's tokens of the items."""

    estimator: str = CHARS4
    unseen_tokens: float = 0
    """Tokens that every request has besides its items: system prompt and tools, where these are no items."""
    factor: float = 1.0
    prefix: CacheUnit = "message"
    """The unit of the cache: whole messages of the provider, or single items."""
    lifetime_seconds: float = 300
    """Seconds for which the provider keeps a prefix after its last use."""
    lifetime_sentence: str = ""
    """A sentence on how the lifetime is known; empty where it was given."""
    min_cached: int = 0
    """Tokens below which nothing is cached."""
    is_fitted: bool = False
    """Whether the ruler was fitted to the session's reported usage; else it is assumed."""
    lowest_factor: float = 1.0
    highest_factor: float = 1.0
    """The range of the factor: the lowest and highest quotient of reported tokens and this ruler's, over all
    requests."""
    contradicting_requests: tuple[int, ...] = ()
    """Requests whose report contradicts those around it and was left out of the fit."""
    requests: tuple[RequestRuler, ...] = field(default=(), repr=False, hash=False)
    """How each request is counted; empty where all are counted alike."""

    def request_ruler(self, request: int) -> RequestRuler:
        """Return how a request is counted."""
        if request < len(self.requests):
            return self.requests[request]
        return RequestRuler(
            self.unseen_tokens,
            self.factor,
            self.factor,
            lifetime_seconds=self.lifetime_seconds,
            min_cached=self.min_cached,
        )

    def with_lifetime(self, seconds: float, sentence: str) -> "Ruler":
        """Return the ruler with another lifetime of the cache; ``sentence`` says how it is known."""
        requests = tuple(request._replace(lifetime_seconds=seconds) for request in self.requests)
        return replace(
            self, lifetime_seconds=seconds, lifetime_sentence=sentence, requests=requests
        )

    @property
    def scale(self) -> Scale:
        """How the tokens of any request add up."""
        return Scale(self.unseen_tokens, self.factor)

    @property
    def without_requests(self) -> "Ruler":
        """The ruler that counts all requests alike."""
        return replace(self, requests=())

    @property
    def estimator_only(self) -> "Ruler":
        """The ruler that counts by the estimator alone."""
        return Ruler(estimator=self.estimator, prefix=self.prefix)

    @property
    def sentence(self) -> str:
        """How the ruler counts, in a sentence."""
        items = f"Tokens are {self.factor:.3g} x {self.estimator} of the items"
        if self.is_fitted:
            return f"{items} + {self.unseen_tokens:,.0f} not seen (fitted to the reported usage).{self._contradiction_sentence}"
        beside = (
            f" + {self.unseen_tokens:,.0f} of system prompt and tools" if self.unseen_tokens else ""
        )
        return f"{items}{beside} (assumed)."

    @property
    def _contradiction_sentence(self) -> str:
        requests = self.contradicting_requests
        if not requests:
            return ""
        request_numbers = ", ".join(
            str(request + 1) for request in requests[:MAX_LISTED_CONTRADICTIONS]
        )
        if len(requests) > MAX_LISTED_CONTRADICTIONS:
            request_numbers += f" and {len(requests) - MAX_LISTED_CONTRADICTIONS:,} more"
        plural, them = ("s", "them") if len(requests) > 1 else ("", "it")
        return f" What request{plural} {request_numbers} reported contradicts the requests around {them} and is left out of that."


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
    matches_recorded: bool = False
    """Whether the session's recorded costs follow these prices; else every amount computed with them is an estimate."""
    of_session: bool = False
    """Whether each request has its own price, and recorded costs apply; else these prices apply to all requests."""
    is_given: bool = False
    """Whether the user gave this model's price, which takes precedence over a list."""
    all_unused: bool = False
    """Whether the user gave prices, none of which is for a model of the session."""
    model_price: Price | None = None
    """All prices of the model, where they depend on the length of a prompt, its service tier and its cache."""
    writes_hour: bool = False
    """Whether a replay's writes are kept for an hour, as most of the recorded requests to the model requested."""
    other_models: tuple["PriceProfile", ...] = ()
    """Prices of the session's other models, which apply to their requests."""
    unpriced_models: tuple[str, ...] = ()
    """Models of the session whose price is not known, so that these prices apply to their requests."""

    def rates_at(self, terms: Terms, prompt_tokens: float) -> Rates:
        """Return the prices of a request with ``prompt_tokens`` in its prompt."""
        profile = self.profile_of(terms.model)
        listed = profile.model_price
        if listed is not None:
            price = listed.at(prompt_tokens, terms.service_tier)
            if price is not listed or profile.writes_hour:
                rates = rates_of(price, writes_hour=profile.writes_hour)
                if rates is not None:
                    return rates
        return Rates(profile.input, profile.output, profile.read, profile.write)

    @property
    def basis(self) -> Basis:
        """Whether reported tokens at these prices are a fact or an estimate."""
        return "fact" if self.matches_recorded else "estimate"

    @property
    def sentence(self) -> str:
        """A sentence on the prices, and on whether amounts computed with them are estimates."""
        if self.unit != "USD":
            return "The price is not known: one unit is the price of an uncached input token."
        others = "".join(f"; of {other.name}: {other.rates_text}" for other in self.other_models)
        text = f"Prices of {self.name}: {self.rates_text} USD per million tokens in, read, written, out{others}"
        if self.all_unused:
            text += " (no request is by a model whose price was given)"
        if self.matches_recorded:
            return f"{text}; the recorded costs are at these."
        text += self.source_words
        if self.unpriced_models:
            text += f". The price of {', '.join(self.unpriced_models)} is not known and taken to be that of {self.name}"
        return f"{text}. What they give is an estimate, marked {ESTIMATED}."

    @property
    def source_words(self) -> str:
        """The source of the prices: `` as given``, ``, from`` a list, or both; empty where that is not known."""
        profiles = (self, *self.other_models)
        sources = dict.fromkeys(profile.source for profile in profiles if profile.source)
        lists = [source for source in sources if source != GIVEN_SOURCE]
        list_text = f", from {' and '.join(lists)}" if lists else ""
        given_names = [profile.name for profile in profiles if profile.source == GIVEN_SOURCE]
        if not given_names:
            return list_text
        return f"{list_text}, and as given for {', '.join(given_names)}" if lists else ", as given"

    @property
    def rates_text(self) -> str:
        """The four prices, and those for long prompts."""
        further_prices = []
        price = self.model_price
        if price is not None and self.writes_hour:
            further_prices.append("written for an hour")
        for tier in price.tiers if price is not None else ():
            rates = rates_of(tier.price, writes_hour=self.writes_hour)
            if rates is not None:
                further_prices.append(f"{_rates_text(rates)} above {tier.above:,} tokens")
        prices_text = _rates_text(Rates(self.input, self.output, self.read, self.write))
        return f"{prices_text} ({', '.join(further_prices)})" if further_prices else prices_text

    def profile_of(self, model: str) -> "PriceProfile":
        """Return the prices of one model's requests."""
        for other in self.other_models:
            if other.name == model:
                return other
        return self

    def cost(
        self,
        uncached_tokens: float,
        read_tokens: float,
        written_tokens: float,
        output_tokens: float,
        *,
        terms: Terms,
        prompt_tokens: float | None = None,
    ) -> float:
        """Return the cost of tokens of a request; ``prompt_tokens`` are those of the whole prompt, if they are a part of it."""
        if prompt_tokens is None:
            prompt_tokens = uncached_tokens + read_tokens + written_tokens
        prices = self.rates_at(terms, prompt_tokens)
        return (
            uncached_tokens * prices.input
            + read_tokens * prices.read
            + written_tokens * prices.write
            + output_tokens * prices.output
        ) / 1_000_000

    def cost_of(self, request: TimelineRequest) -> float:
        """Return the cost of a request's reported usage; 0 where none was reported."""
        usage = request.usage
        if usage is None:
            return 0.0
        price = self.profile_of(request.model).model_price
        cost = None if price is None else usage.cost(price)
        if cost is not None:
            return cost
        output = usage.output + usage.reasoning
        return self.cost(
            usage.input, usage.cache_read, usage.cache_write, output, terms=request.terms
        )

    def amount_text(self, value: float) -> str:
        """Return an amount at these prices in words, marked where it is an estimate."""
        return amount_with_unit(value, self.unit, self.basis)


@lru_cache(maxsize=64)
def with_writes_kept(price: PriceProfile, *, hourly: bool) -> PriceProfile:
    """Return prices at which writes are kept for an hour, or for the usual time.

    A model with a price for writes, but none for an hour, is charged twice the input for an hour, as by Anthropic.
    """
    changed_price = price
    if price.model_price is not None:
        rates = rates_of(price.model_price, writes_hour=hourly)
        if rates is not None:
            changed_price = replace(price, **rates._asdict(), writes_hour=hourly)
    elif hourly and price.write > price.input:
        changed_price = replace(price, write=2 * price.input, writes_hour=True)
    others = tuple(with_writes_kept(other, hourly=hourly) for other in price.other_models)
    return replace(changed_price, other_models=others)


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


def amount_with_unit(value: float, unit: str, basis: Basis = "fact") -> str:
    """Return an amount with its unit: ``0.41 USD``, ``~0.002 USD``, ``~1,130 units``; 0 only for a cost of 0."""
    amount = usd_text(value) if unit == "USD" else f"{value:,.0f}"
    return f"{ESTIMATED if basis == 'estimate' else ''}{amount} {unit}"


UNIT_PRICES = PriceProfile(1e6, 5e6, 0.1e6, 1.25e6, name="units", unit="units")
"""Prices relative to an uncached input token, for sessions whose price is unknown: reads a tenth, writes 1.25,
output five, as Anthropic charges for its models in 2025 and 2026."""
