"""What each request of a replay reads from the provider's cache, and what it sends besides.

The one rule by which a recording is reproduced and every policy is replayed. A model's cache holds the last prompt
that was sent to it, up to what changed since; another model has a cache of its own.
"""

from dataclasses import dataclass, replace

from palimpsest.review.replay.break_causes import STARTS_ANEW
from palimpsest.review.replay.ruler import PriceProfile, RequestRuler, Scale, kept_for
from palimpsest.review.replay.setting_changes import changed_settings
from palimpsest.transcript.timeline import STANDARD, Terms, TimelineRequest


@dataclass(frozen=True, slots=True)
class RequestSize:
    """One request of a replay, in tokens by the ruler."""

    total: float
    prefix: float
    """What it has in common with the request before, from its beginning on."""
    read: float
    """What the provider's cache held of that; the rest was written, or sent beside the cache."""
    output: float
    summary_input: float = 0
    """Tokens that the calls for summaries before this request read; they share its prefix."""
    summary_output: float = 0
    """Tokens that those calls wrote."""
    first_changed: int | None = None
    """The first item that was sent before and is shown otherwise now; None where the request only grew."""
    terms: Terms = STANDARD
    """What its price depends on."""
    uncached: float = 0
    """Tokens that were neither read from the cache nor written to it."""
    is_taken: bool = False
    """It reads no more than the recorded request did, which lost the cache, and no cause says how much of it."""
    is_hourly: bool | None = None
    """What is written is kept for an hour; None: as recorded."""
    is_billed: bool = True
    """It counts in sums: not one that was stopped or refused in a session that reports usage, and that reported none."""

    @property
    def written(self) -> float:
        """Tokens that the cache did not hold, and that were written to it."""
        return self.total - self.read - self.uncached

    def cost(self, price: PriceProfile) -> float:
        """Return what it costs, without the calls for summaries before it."""
        if not self.is_billed:
            return 0.0
        its = price if self.is_hourly is None else kept_for(price, hourly=self.is_hourly)
        return its.cost(self.uncached, self.read, self.written, self.output, terms=self.terms)

    def summaries_cost(self, price: PriceProfile) -> float:
        """Return what the calls for summaries before it cost, which share its prefix."""
        if not self.summary_output:
            return 0.0
        return price.cost(0, self.summary_input, 0, self.summary_output, terms=self.terms)


@dataclass(frozen=True, slots=True)
class UnmeasuredRequest:
    """A request of a replay before it is measured: tokens by the estimator."""

    request: TimelineRequest
    tokens: float
    answer: float
    prefix: float | None = None
    """Tokens before the first change since the request before; None where it only grew."""
    first_changed: int | None = None
    summary_input: float = 0
    summary_output: float = 0
    kept: float | None = None
    """Tokens at its beginning that may be cached; None where all may."""
    is_hourly: bool | None = None
    """Writes are at the price of an hour; None: as recorded."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The last prompt that was sent to a model, as far as it still begins like the newest."""

    request: TimelineRequest
    tokens: float
    is_whole: bool = True
    """Nothing of it was changed since."""


class CacheWalk:
    """Measures the requests of a replay, one after the other."""

    def __init__(self, scale: Scale) -> None:
        self._scale = scale
        self._held: dict[str, _Held] = {}
        self._tokens: float | None = None
        """Of the request before, by the estimator."""
        self._total = 0.0
        """Of the request before, by the ruler."""

    def copied(self) -> "CacheWalk":
        """Return a walk that goes on from here alone."""
        made = CacheWalk(self._scale)
        made._held = {**self._held}
        made._tokens, made._total = self._tokens, self._total
        return made

    def size(self, one: UnmeasuredRequest, ruler: RequestRuler) -> RequestSize:
        """Return the next request as it is sent and cached."""
        request, before = one.request, self._tokens
        total = (ruler.of(one.tokens, self._scale) + ruler.added) * ruler.taken_share
        if one.prefix is not None:
            self._cut(one.prefix)
        if one.prefix is None:
            # It begins with the whole of the one before.
            prefix = self._total
        else:
            prefix = self._scale.at(total, one.tokens).of(one.prefix)
        self._total = total
        most = total if one.kept is None else min(ruler.of(one.kept, self._scale), total)
        read = min(self._read(request, ruler), most)
        if ruler.beginning is not None:
            read = min(read, ruler.beginning)
        if ruler.taken is not None and (before is None or ruler.taken < read):
            read, is_taken = min(float(ruler.taken), most), True
        else:
            is_taken = False
        rest = total - read
        uncached = rest if ruler.uncached is None else min(ruler.uncached, rest)
        uncached = max(uncached, total - most)
        tokens = one.tokens if one.kept is None else min(one.kept, one.tokens)
        if request.status == "ok" or request.usage is not None:
            # One that was stopped or refused left nothing that a later one was seen to read.
            self._held[request.model] = _Held(request, tokens, is_whole=one.kept is None)
        self._tokens = one.tokens
        return RequestSize(
            total=total,
            prefix=prefix,
            read=read,
            output=one.answer * ruler.output_factor + ruler.output_added,
            summary_input=one.summary_input,
            summary_output=one.summary_output,
            first_changed=one.first_changed,
            terms=request.terms,
            uncached=uncached,
            is_taken=is_taken,
            is_hourly=one.is_hourly,
            is_billed=not ruler.is_fitted or request.status == "ok" or request.usage is not None,
        )

    def _cut(self, prefix: float) -> None:
        """Keep of each prompt what stands before a change."""
        for model, held in self._held.items():
            if held.tokens > prefix:
                self._held[model] = replace(held, tokens=prefix, is_whole=False)

    def _read(self, request: TimelineRequest, ruler: RequestRuler) -> float:
        """Return the tokens that the model's cache holds of a request."""
        held = self._held.get(request.model)
        if not ruler.is_cached or self._tokens is None:
            return 0.0
        if held is None or _is_late(held.request, request, ruler):
            return float(ruler.shared)
        if _starts_anew(held, request, ruler):
            return 0.0
        beginning = ruler.of(held.tokens, self._scale)
        if held.is_whole:
            beginning += ruler.beyond
        if beginning < max(ruler.minimum, ruler.step):
            return 0.0
        return beginning if ruler.step == 1 else beginning // ruler.step * ruler.step


def _is_late(before: TimelineRequest, request: TimelineRequest, ruler: RequestRuler) -> bool:
    gap = request.seconds_since(before)
    return gap is not None and gap > ruler.lifetime_seconds


def _starts_anew(held: _Held, request: TimelineRequest, ruler: RequestRuler) -> bool:
    """Return whether a request differs from the one before in what stands in front of its items."""
    before = held.request
    if held.is_whole and (
        before.tools_hash != request.tools_hash or before.system_hash != request.system_hash
    ):
        return True
    if held.is_whole and request.cache_miss in STARTS_ANEW:
        return True
    return ruler.starts_anew_by_thinking and "thinking" in changed_settings(before, request)
