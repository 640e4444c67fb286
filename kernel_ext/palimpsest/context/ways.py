"""Say whether a request may be sent as it is, and else the cheapest way to make it fit.

Border: pure, and the same in the live loop and in review. Most rules know one way, a compaction;
``precheck`` also knows that cutting long tool results may be enough.
"""

from palimpsest.context.outputs import outputs
from palimpsest.context.precheck import Way, precheck, reducible
from palimpsest.context.projection import Projection
from palimpsest.context.route import Route, route
from palimpsest.context.view import View
from palimpsest.context.weigh import weigh
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.policies import Policy

UNMEASURED = 1.0
"""How far estimates are off where no provider reported anything."""


def routed(view: View, projection: Projection, policy: Policy, facts: Facts) -> tuple[Way, Route]:
    """Choose the cheapest way to make a request fit, as the policy weighs it."""
    if policy.overflow.rule != "precheck" or not facts.window:
        found = route(projection.total, facts)
        return ("fits" if found.fits else "compact_only"), found
    results = [len(one.shown) for one in outputs(view, view.folded(policy.compact))]
    measured = policy.overflow.measured and facts.calibration != UNMEASURED
    checked = precheck(
        round(projection.total * facts.calibration)
        if measured
        else weigh(projection.messages, policy.overflow),
        reducible(results, facts.window, policy.recovery),
        facts.window,
        policy.reserved,
        policy.overflow,
    )
    return checked.way, Route(checked.way == "fits", checked.tokens, checked.budget)
