"""How a replay counts: tokens of items and of what is not seen, and how the provider's cache and price work.

One ruler holds for all policies of a table, whatever estimator each of them decides by.
"""

from dataclasses import dataclass
from typing import Literal

from palimpsest.transcript.timeline import CHARS4

Prefix = Literal["message", "item"]


@dataclass(frozen=True, slots=True)
class Ruler:
    """Tokens = unseen + factor x the estimator's tokens of the items."""

    estimator: str = CHARS4
    unseen: float = 0
    """Tokens that every request holds besides the items: system prompt and tools, where not recorded."""
    factor: float = 1.0
    prefix: Prefix = "message"
    """What the cache is cut to: whole messages of the provider, or single items."""
    lifetime_seconds: float = 300
    """How long the provider keeps a prefix after it was used last."""
    minimum: int = 0
    """Tokens below which nothing is cached."""
    measured: bool = False
    """Fitted to reported usage of this session; else assumed."""
    low: float = 1.0
    high: float = 1.0
    """The band of the factor: reported tokens divided by what this ruler says, over all requests."""

    @property
    def words(self) -> str:
        """How it counts, in a sentence."""
        how = "fitted to the reported usage" if self.measured else "assumed"
        return f"Tokens are {self.factor:.3g} x {self.estimator} of the items + {self.unseen:,.0f} not seen ({how})."


@dataclass(frozen=True, slots=True)
class PriceProfile:
    """Prices per million tokens, in US dollars or in units of one uncached input token."""

    input: float
    output: float
    read: float
    write: float
    name: str = ""
    unit: Literal["USD", "units"] = "USD"

    def cost(self, uncached: float, read: float, write: float, output: float) -> float:
        """Return what a request costs."""
        return (
            uncached * self.input + read * self.read + write * self.write + output * self.output
        ) / 1_000_000


UNITS = PriceProfile(1e6, 5e6, 0.1e6, 1.25e6, name="units", unit="units")
"""Prices relative to an uncached input token, for sessions whose price is unknown: reads a tenth, writes 1.25,
output five, as Anthropic charges for its models in 2025 and 2026."""
