"""Say whether a request may be sent: it fits, or it does not and why."""

from dataclasses import dataclass

from palimpsest.transcript.decisions import Facts


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes from here."""

    fits: bool
    tokens: int
    """Estimated tokens, corrected by what the provider reported before."""
    budget: int
    """The window minus the reserve for the answer."""


def route(tokens: int, facts: Facts) -> Route:
    """Compare an estimate with the budget."""
    corrected = round(tokens * facts.calibration)
    budget = max(facts.window - facts.reserve, 0)
    return Route(fits=corrected < budget, tokens=corrected, budget=budget)
