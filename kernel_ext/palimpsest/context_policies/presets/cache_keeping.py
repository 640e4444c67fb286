"""Cache policies: the recorded requests, with a provider's cache that keeps other parts or for another time.

``cache.lifetime seconds=300`` keeps a prefix for another time, at the price of writes for that time; ``cache.all``,
``cache.system`` and ``cache.no_results`` choose how much of a prompt is kept; ``cache.anthropic`` and the other providers
keep it by that provider's rules.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from palimpsest.context_policies.interface.policy import PolicyView
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.prompt_cache.ruler import RequestRuler
from palimpsest.transcript.provider_profile.cache_rules import CacheRules, cache_rules

PROVIDER_CACHE = "the provider's cache"
CACHE_SOURCE = f"{PROVIDER_CACHE}, as arXiv 2601.06007 compares what it keeps"
HOUR_SECONDS = 3_600
"""Lifetime in seconds from which writes cost the price for an hour."""
_PROMPT_KINDS = frozenset({"system", "tools", "instructions"})
"""Kinds of items that come before a conversation."""


class CacheKeeping(Preset, RecordedPolicy):
    """The recorded requests under other rules of the provider's cache."""

    source = CACHE_SOURCE
    sliders: ClassVar[tuple[str, ...]] = ("seconds",)
    seconds: int = 0
    """Seconds for which a prefix is kept after its last use; 0: as recorded."""
    kept_part: ClassVar[str] = "The requests are the recorded ones"
    """The part of a prompt that is kept, as the beginning of a sentence."""
    keeps_as_recorded: ClassVar[bool] = False
    """Whether as much of each prompt is kept as the recording shows."""
    start = RecordedPolicy.start
    step = RecordedPolicy.step

    @property
    def lifetime_seconds(self) -> float | None:
        """Seconds for which a prefix is kept after its last use; None: as recorded or concluded."""
        return float(self.seconds) or None

    @property
    def is_hourly(self) -> bool | None:
        """Whether writes cost the price for an hour; None: as recorded."""
        return None if self.lifetime_seconds is None else self.lifetime_seconds >= HOUR_SECONDS

    @property
    def sentence(self) -> str:
        """The policy's effect in a sentence, with what the provider must support."""
        text = self.kept_part + self.reading_text
        if self.lifetime_seconds is not None:
            text += (
                f"; the cache keeps a prefix for {self.lifetime_seconds:,.0f} s after its last use"
            )
        if self.is_hourly is not None:
            text += f", written at the {'price of an hour' if self.is_hourly else 'usual price'}"
        return f"{text}."

    @property
    def reading_text(self) -> str:
        """Part of ``sentence``: how much of a kept prompt is read, where a provider limits that."""
        return ""

    def changed_ruler(self, ruler: RequestRuler) -> RequestRuler:
        """Return the ruler of a request, which says what the provider's cache holds, as it is under this policy."""
        if self.lifetime_seconds is not None:
            # A recording that wrote prompts and never read them may have had pauses longer than the lifetime.
            is_cached = ruler.is_cached or ruler.unwritten_tokens is not None
            ruler = ruler._replace(lifetime_seconds=self.lifetime_seconds, is_cached=is_cached)
        if self.keeps_as_recorded:
            return ruler
        return ruler._replace(is_cached=True, unwritten_tokens=ruler.unwritten_tokens or 0.0)

    def first_uncached_item(self, view: PolicyView) -> int | None:  # noqa: ARG002
        """Return the first shown item that is not kept; None where all are."""
        return None


class ChosenLifetime(CacheKeeping):
    """Keep each prefix in the provider's cache for another time, at the price of writes for that time."""

    preset = "cache.lifetime"
    keeps_as_recorded = True
    seconds: int = HOUR_SECONDS
    """Seconds for which a prefix is kept after its last use."""

    @property
    def name(self) -> str:
        """The policy's name with the seconds, even if they are the default."""
        base_name = super().name
        if self.seconds != HOUR_SECONDS:
            return base_name
        return base_name.replace(self.preset, f"{self.preset} seconds={HOUR_SECONDS}", 1)

    @property
    def lifetime_seconds(self) -> float:
        """The seconds, even if they are 0."""
        return float(self.seconds)


class CacheAll(CacheKeeping):
    """Keep all of each prompt in the provider's cache."""

    preset = "cache.all"
    kept_part = "The requests are the recorded ones; all of each is kept in the cache"


class CacheSystem(CacheKeeping):
    """Keep only the part of each prompt before the conversation in the provider's cache."""

    preset = "cache.system"
    kept_part = "The requests are the recorded ones; only what stands before the conversation is kept in the cache"

    def first_uncached_item(self, view: PolicyView) -> int | None:
        """Return the first item of the conversation."""
        items = view.timeline.items
        return next(
            (index for index in view.shown_items if items[index].kind not in _PROMPT_KINDS), None
        )


class CacheNoResults(CacheKeeping):
    """Keep only the part of each prompt before the first tool result in the provider's cache."""

    preset = "cache.no_results"
    kept_part = (
        "The requests are the recorded ones; what stands before the first tool result is kept in the cache,"
        " and no result is"
    )

    def first_uncached_item(self, view: PolicyView) -> int | None:
        """Return the first tool result that is shown."""
        return next((index for index in view.outputs if view.shows(index)), None)


class ProviderCache(CacheKeeping):
    """Keep each prompt by the rules of a provider's cache.

    A prefix of fewer tokens than ``minimum`` is not kept, and of a longer one a multiple of ``block`` is read. The prices
    are those of the comparison.
    """

    sliders = ("seconds", "minimum", "block")
    smallest_values: ClassVar[Mapping[str, float]] = MappingProxyType({"block": 1})
    rules: ClassVar[CacheRules] = CacheRules()
    """The provider's documented rules."""
    minimum: int = 0
    """Tokens below which nothing is kept."""
    block: int = 1
    """Reads are multiples of this number of tokens."""

    @property
    def is_hourly(self) -> bool | None:
        """Whether writes cost the price for an hour, where the provider has one; None: as recorded."""
        return super().is_hourly if self.rules.marks_end else None

    @property
    def reading_text(self) -> str:
        blocks = f" in blocks of {self.block:,}" if self.block > 1 else ""
        return f"; of each prompt from {self.minimum:,} tokens on what stands again is read{blocks}"

    def changed_ruler(self, ruler: RequestRuler) -> RequestRuler:
        ruler, cached_beyond = super().changed_ruler(ruler), ruler.cached_beyond
        return ruler._replace(
            min_cached=self.minimum,
            read_step=self.block,
            # An answer that the recorded cache did not hold is not added: its thinking may keep it out of this cache, too.
            cached_beyond=cached_beyond if self.rules.keeps_answers else min(cached_beyond, 0),
            starts_anew_by_thinking=self.rules.starts_anew_by_thinking,
        )


class AnthropicCache(ProviderCache):
    """Keep each prompt by Anthropic's rules: for five minutes, or an hour at the price of such writes."""

    preset = "cache.anthropic"
    rules = cache_rules("anthropic/claude-sonnet-4-5")
    source = f"{PROVIDER_CACHE}, {rules.source}"
    seconds: int = rules.lifetime_seconds
    minimum: int = rules.minimum
    block: int = rules.step


class OpenAICache(ProviderCache):
    """Keep each prompt by OpenAI's rules: in blocks of 128 tokens, for five minutes or longer."""

    preset = "cache.openai"
    rules = cache_rules("openai/gpt-5")
    source = f"{PROVIDER_CACHE}, {rules.source}"
    seconds: int = rules.lifetime_seconds
    minimum: int = rules.minimum
    block: int = rules.step


class DeepSeekCache(ProviderCache):
    """Keep each prompt by DeepSeek's rules: in blocks of 64 tokens, for a few hours, of which two are taken."""

    preset = "cache.deepseek"
    rules = cache_rules("deepseek/deepseek-chat")
    source = f"{PROVIDER_CACHE}, {rules.source}"
    seconds: int = rules.lifetime_seconds
    minimum: int = rules.minimum
    block: int = rules.step


class GeminiCache(ProviderCache):
    """Keep each prompt by Gemini's implicit cache, whose lifetime is not documented: a few minutes are taken."""

    preset = "cache.gemini"
    rules = cache_rules("gemini/gemini-2.5-flash")
    source = f"{PROVIDER_CACHE}, {rules.source}"
    seconds: int = rules.lifetime_seconds
    minimum: int = rules.minimum
    block: int = rules.step
