"""What a session may spend, and what it has spent.

Border: numbers only; what happens when a limit is reached is decided by the callers.
"""

from typing import Literal

from palimpsest.transcript.values import Usage, Value

Measure = Literal["usd", "tokens", "price"]
"""What a limit is about; ``price`` when dollars are limited and a price is not known."""


class Spent(Value):
    """What was spent on requests."""

    cost: float | None = None
    """US dollars of the requests whose price is known; None when there was none."""
    tokens: Usage = Usage()
    unpriced: int = 0
    """Requests whose price is unknown; ``cost`` leaves them out."""

    def plus(self, other: "Spent") -> "Spent":
        """Add up two."""
        known = [one for one in (self.cost, other.cost) if one is not None]
        return Spent(
            cost=sum(known) if known else None,
            tokens=self.tokens.plus(other.tokens),
            unpriced=self.unpriced + other.unpriced,
        )

    @property
    def all_tokens(self) -> int:
        """All tokens that were read and written, cached or not."""
        return self.tokens.prompt + self.tokens.output + self.tokens.reasoning


class Budget(Value):
    """The spending limit of a session, and how far a person extended it."""

    usd: float | None = None
    tokens: int | None = None
    usd_until: float | None = None
    """The limit that holds now; more than ``usd`` when a person extended it."""
    tokens_until: int | None = None
    unpriced: tuple[str, ...] = ()
    """Models of unknown price that a person allowed all the same."""
    own: bool = False
    """Set for this session; else it is the configured one."""

    @property
    def is_set(self) -> bool:
        """Whether anything is limited."""
        return self.usd is not None or self.tokens is not None

    def reached(self, spent: Spent) -> Measure | None:
        """Return which limit is reached, if one is."""
        usd = self.usd_until if self.usd_until is not None else self.usd
        if usd is not None and spent.cost is not None and spent.cost >= usd:
            return "usd"
        tokens = self.tokens_until if self.tokens_until is not None else self.tokens
        if tokens is not None and spent.all_tokens >= tokens:
            return "tokens"
        return None

    def further(self, measure: Measure, spent: Spent) -> "Budget":
        """Return the budget that lets a session go on by the same amount again."""
        if measure == "usd" and self.usd is not None:
            steps = int((spent.cost or 0.0) / self.usd) + 1
            until = max(self.usd * steps, self.usd_until or self.usd)
            return self.model_copy(update={"usd_until": round(until, 6)})
        if measure == "tokens" and self.tokens is not None:
            steps = spent.all_tokens // self.tokens + 1
            more = max(self.tokens * steps, self.tokens_until or self.tokens)
            return self.model_copy(update={"tokens_until": more})
        return self
