"""The figures of one policy over one session: size, cache, money, forgetting, and how often it acted."""

from collections.abc import Mapping
from itertools import pairwise

from palimpsest.render.content.phrases import some
from palimpsest.review.comparison.figures import PolicyFigures
from palimpsest.review.comparison.forgetting import forgotten
from palimpsest.review.comparison.listed_limits import listed_limits
from palimpsest.review.comparison.references import References
from palimpsest.review.policies.measured import MEASURES
from palimpsest.review.policies.policy import Probe
from palimpsest.review.policies.recorded_policy import RECORDED
from palimpsest.review.replay.cache_walk import RequestSize
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.review.replay.simulation import RAW, Simulation
from palimpsest.transcript.growing_lists import GrownColumns
from palimpsest.transcript.timeline import Timeline

MOST_DIGITS = 3
"""Digits behind the point that tell a value from its threshold."""


def policy_figures(
    simulation: Simulation, references: References, price: PriceProfile
) -> PolicyFigures:
    """Return the figures of a replay."""
    sizes = simulation.sizes
    costs = _costs(simulation, price)
    total = sum(costs["total"])
    peak = max(costs["total"], default=0.0)
    read = sum(costs["read"])
    broken = [one for one in sizes if one.first_changed is not None and one.read]
    over = requests_over(simulation)
    newest = simulation.probes[-1].probe if simulation.probes else None
    return PolicyFigures(
        name=simulation.policy,
        requests=len(sizes),
        input=total,
        peak=peak,
        over=over,
        cached=read / total if total else 0.0,
        breaks=len(broken),
        break_tokens=_rewritten(sizes),
        rewrite=(total - read) / peak if peak else 0.0,
        cost=sum(costs["cost"]),
        summaries=sum(costs["summaries"]),
        cost_uncached=sum(costs["cost_uncached"]),
        fired=len(simulation.fired),
        first_fired=simulation.fired[0] if simulation.fired else None,
        distance=newest.value / newest.threshold if newest and newest.threshold else None,
        verdict=f"{_too_large(over, simulation)}{verdict(simulation)}",
        facts_until=simulation.facts_until,
        **forgotten(simulation, references, price)._asdict(),
    )


def _costs(simulation: Simulation, price: PriceProfile) -> Mapping[str, tuple[float, ...]]:
    """Return what each request takes, in tokens and in money."""
    grown: GrownColumns = simulation.timeline.earlier.setdefault("costs", GrownColumns())
    return grown.of(
        simulation.sizes,
        {
            "total": lambda one: one.total if one.is_billed else 0.0,
            "read": lambda one: one.read if one.is_billed else 0.0,
            "cost": lambda one: one.cost(price),
            "summaries": lambda one: one.summaries_cost(price),
            "cost_uncached": lambda one: (
                price.cost(one.total, 0, 0, one.output, terms=one.terms) * one.is_billed
                + price.cost(one.summary_input, 0, 0, one.summary_output, terms=one.terms)
            ),
        },
        price,
    )


def requests_over(simulation: Simulation) -> int:
    """Return how many requests of a replay would not fit their window."""
    timeline = simulation.timeline
    listed = {} if simulation.window else listed_limits(timeline).by_model
    found = 0
    for request, size in zip(timeline.requests, simulation.sizes, strict=True):
        window = simulation.window or request.window or listed.get(request.model, 0)
        # Usage is known where the request is the recorded one.
        found += 0 < window < (request.reported or size.total)
    return found


def _too_large(over: int, simulation: Simulation) -> str:
    if not over:
        return ""
    window = f"its window of {simulation.window:,}" if simulation.window else "its model's window"
    return f"Does not fit: {over:,} of {some(len(simulation.sizes), 'request')} would be over {window}. "


def _rewritten(sizes: tuple[RequestSize, ...]) -> float:
    """Return the tokens that breaks wrote again: those that the request before held, too."""
    found = 0.0
    for before, one in pairwise(sizes):
        if one.first_changed is not None and one.read:
            found += max(0.0, min(before.total, one.total) - one.prefix)
    return found


def verdict(simulation: Simulation) -> str:
    """Return in a sentence with numbers how often the policy acted, and why it did not where it never did."""
    timeline = simulation.timeline
    if simulation.keeping is not None:
        return simulation.keeping.sentence
    if simulation.fired:
        first = simulation.fired[0]
        times = "once" if len(simulation.fired) == 1 else f"{len(simulation.fired)} times"
        where = f"request {first + 1}{_turn(timeline, first)}"
        return f"Acted {times}, first before {where} of {len(timeline.requests)}{_measured_by(simulation)}."
    if simulation.idle:
        return _without_effect(simulation.idle)
    if not simulation.probes:
        if simulation.policy == RECORDED:
            return "Nothing was cleared, cut or summarised."
        if simulation.policy != RAW and timeline.requests and not simulation.asked:
            return "Never asked: it decides when a turn has ended, and no request came after one."
        return "It has nothing to decide."
    last = simulation.probes[-1]
    words = _condition(last.probe)
    if last.probe.value or last.probe.after is not None:
        words += f", at request {last.request + 1}{_turn(timeline, last.request)}"
    return f"Never acted: {words}."


def _measured_by(simulation: Simulation) -> str:
    """Return by which count of the request a rule acted; empty where it is no rule of such a count."""
    signals = [one.probe.signal for one in simulation.probes]
    found = next((one for one in reversed(signals) if one in MEASURES), "")
    return f", by {found}" if found else ""


def _without_effect(idle: Mapping[str, int]) -> str:
    """Return that a policy decided and nothing changed, and why: what its decisions named, most often first."""
    total = sum(idle.values())
    times = "once" if total == 1 else f"{total:,} times"
    most = sorted(idle.items(), key=lambda one: (-one[1], one[0]))
    named = ", ".join(why if len(most) == 1 else f"{why} ({count:,})" for why, count in most)
    return f"It decided {times}, and nothing changed: what it named was {named}."


def _condition(probe: Probe) -> str:
    """Return how near to its threshold a signal came, after the conditions before it that were met."""
    before = "" if probe.after is None else f"{_condition(probe.after)}, but "
    value, threshold = _unlike(probe.value, probe.threshold)
    if not probe.threshold:
        some = "no" if not probe.value else value
        return f"{before}there were {some} {probe.signal}"
    unit = "" if probe.unit in probe.signal else f" {probe.unit}"
    told = f"{before}{probe.signal} reached {value} of {threshold}{unit}"
    if probe.passed:
        return told
    if probe.value == probe.threshold:
        return f"{told}, and it acts above that"
    return f"{told} ({_share(probe.value, probe.threshold)})"


def _unlike(value: float, threshold: float) -> tuple[str, str]:
    """Return two numbers with as few digits as tell them apart."""
    digits = 0
    while digits < MOST_DIGITS and value != threshold:
        if f"{value:.{digits}f}" != f"{threshold:.{digits}f}":
            break
        digits += 1
    return f"{value:,.{digits}f}", f"{threshold:,.{digits}f}"


def _share(value: float, threshold: float) -> str:
    """Return a share below one; it is never rounded up to all."""
    share = f"{100 * value / threshold:.0f} %"
    return "nearly 100 %" if share == "100 %" else share


def _turn(timeline: Timeline, request: int) -> str:
    turn = timeline.requests[request].turn
    return f" (turn {turn})" if turn else ""
