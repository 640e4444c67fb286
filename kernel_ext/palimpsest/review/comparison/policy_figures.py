"""The figures of one policy over one session: size, cache, money, forgetting, and how often it acted."""

from collections.abc import Mapping
from itertools import pairwise

from palimpsest.context_policies.interface.policy import Probe
from palimpsest.context_policies.interface.recorded_policy import RECORDED
from palimpsest.context_policies.items.measured import SIZE_SIGNALS
from palimpsest.context_policies.prompt_cache.cache_walk import RequestSize
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile
from palimpsest.context_policies.replay.simulation import RAW_NAME, Simulation
from palimpsest.render.content.phrases import counted_noun
from palimpsest.review.comparison.forgetting import find_forgotten
from palimpsest.review.prices.offline_prices import listed_limits
from palimpsest.review.tables.figures import PolicyFigures
from palimpsest.review.tables.references import References
from palimpsest.transcript.growing_lists import GrownColumns
from palimpsest.transcript.timeline import Timeline

MAX_DECIMALS = 3
"""Maximum decimals that are used to distinguish a value from its threshold."""


def policy_figures(
    simulation: Simulation, references: References, price: PriceProfile
) -> PolicyFigures:
    """Return the figures of a replay."""
    sizes = simulation.sizes
    costs = request_costs(simulation, price)
    input_tokens = sum(costs["total"])
    peak_tokens = max(costs["total"], default=0.0)
    cache_read_tokens = sum(costs["read"])
    breaking_sizes = [size for size in sizes if size.first_changed is not None and size.read]
    over_count = requests_over(simulation)
    probe = simulation.probes[-1].probe if simulation.probes else None
    return PolicyFigures(
        name=simulation.policy_name,
        requests=len(sizes),
        input=input_tokens,
        peak=peak_tokens,
        over=over_count,
        cached=cache_read_tokens / input_tokens if input_tokens else 0.0,
        breaks=len(breaking_sizes),
        break_tokens=_tokens_written_anew(sizes),
        rewrite=(input_tokens - cache_read_tokens) / peak_tokens if peak_tokens else 0.0,
        cost=sum(costs["cost"]),
        summaries=sum(costs["summaries"]),
        cost_uncached=sum(costs["cost_uncached"]),
        fired=len(simulation.firing_requests),
        first_fired=simulation.firing_requests[0] if simulation.firing_requests else None,
        distance=probe.value / probe.threshold if probe and probe.threshold else None,
        verdict=f"{_too_large_sentence(over_count, simulation)}{verdict(simulation)}",
        facts_until=simulation.facts_until,
        **find_forgotten(simulation, references, price)._asdict(),
    )


def request_costs(simulation: Simulation, price: PriceProfile) -> Mapping[str, tuple[float, ...]]:
    """Return the billed tokens (``total``, ``read``) and the costs of each request, a column each."""
    columns: GrownColumns = simulation.timeline.earlier.setdefault("costs", GrownColumns())
    return columns.grown_columns(
        simulation.sizes,
        {
            "total": lambda size: size.total if size.is_billed else 0.0,
            "read": lambda size: size.read if size.is_billed else 0.0,
            "cost": lambda size: size.cost(price),
            "summaries": lambda size: size.summaries_cost(price),
            "cost_uncached": lambda size: _uncached_cost(size, price),
        },
        price,
    )


def _uncached_cost(size: RequestSize, price: PriceProfile) -> float:
    """Return the cost, without any cache, of a request and of the calls for summaries before it."""
    cost = price.cost(size.total, 0, 0, size.output, terms=size.terms) if size.is_billed else 0.0
    if size.summary_input or size.summary_output:
        cost += price.cost(size.summary_input, 0, 0, size.summary_output, terms=size.terms)
    return cost


def requests_over(simulation: Simulation) -> int:
    """Return how many requests of a replay would not fit their window."""
    timeline = simulation.timeline
    listed_windows = {} if simulation.window else listed_limits(timeline).by_model
    over_count = 0
    for request, size in zip(timeline.requests, simulation.sizes, strict=True):
        window = simulation.window or request.window or listed_windows.get(request.model, 0)
        # The request's own usage is known where it equals the recorded request.
        over_count += 0 < window < (request.reported or size.total)
    return over_count


def _too_large_sentence(over_count: int, simulation: Simulation) -> str:
    if not over_count:
        return ""
    window_text = (
        f"its window of {simulation.window:,}" if simulation.window else "its model's window"
    )
    return f"Does not fit: {over_count:,} of {counted_noun(len(simulation.sizes), 'request')} would be over {window_text}. "


def _tokens_written_anew(sizes: tuple[RequestSize, ...]) -> float:
    """Return the tokens that breaks had written anew although the previous request contained them."""
    rewritten_tokens = (
        max(0.0, min(before.total, size.total) - size.prefix)
        for before, size in pairwise(sizes)
        if size.first_changed is not None and size.read
    )
    return sum(rewritten_tokens, 0.0)


def verdict(simulation: Simulation) -> str:
    """Return a sentence with numbers on how often the policy acted, or why it never did."""
    timeline = simulation.timeline
    if simulation.cache_policy is not None:
        return simulation.cache_policy.sentence
    if simulation.firing_requests:
        first_request = simulation.firing_requests[0]
        acting_count = len(simulation.firing_requests)
        times_text = "once" if acting_count == 1 else f"{acting_count} times"
        request_text = f"request {first_request + 1}{_turn_text(timeline, first_request)}"
        return f"Acted {times_text}, first before {request_text} of {len(timeline.requests)}{_measured_by_text(simulation)}."
    if simulation.ineffective_counts:
        return _ineffective_sentence(simulation.ineffective_counts)
    if not simulation.probes:
        if simulation.policy_name == RECORDED:
            return "Nothing was cleared, cut or summarised."
        can_decide = simulation.policy_name != RAW_NAME and timeline.requests
        if can_decide and not simulation.decision_count:
            return "Never asked: it decides when a turn has ended, and no request came after one."
        return "It has nothing to decide."
    last_probe = simulation.probes[-1]
    condition_text = _condition_text(last_probe.probe)
    if last_probe.probe.value or last_probe.probe.passed_before is not None:
        condition_text += (
            f", at request {last_probe.request + 1}{_turn_text(timeline, last_probe.request)}"
        )
    return f"Never acted: {condition_text}."


def _measured_by_text(simulation: Simulation) -> str:
    """Return the name of the token count that the rule's threshold uses; empty where the rule has none."""
    signals = [probe.probe.signal for probe in simulation.probes]
    signal_used = next((signal for signal in reversed(signals) if signal in SIZE_SIGNALS), "")
    return f", by {signal_used}" if signal_used else ""


def _ineffective_sentence(ineffective_counts: Mapping[str, int]) -> str:
    """Return a sentence on decisions that changed nothing, with the reasons, the most frequent first."""
    decision_count = sum(ineffective_counts.values())
    times_text = "once" if decision_count == 1 else f"{decision_count:,} times"
    sorted_reasons = sorted(ineffective_counts.items(), key=lambda entry: (-entry[1], entry[0]))
    reasons = ", ".join(
        reason if len(sorted_reasons) == 1 else f"{reason} ({count:,})"
        for reason, count in sorted_reasons
    )
    return f"It decided {times_text}, and nothing changed: what it named was {reasons}."


def _condition_text(probe: Probe) -> str:
    """Return a phrase on how near a probe came to its threshold, after the earlier conditions that were met."""
    earlier_probe = probe.passed_before
    earlier_text = "" if earlier_probe is None else f"{_condition_text(earlier_probe)}, but "
    value, threshold = _distinct_numbers(probe.value, probe.threshold)
    if not probe.threshold:
        shown_value = "no" if not probe.value else value
        return f"{earlier_text}there were {shown_value} {probe.signal}"
    unit_text = "" if probe.unit in probe.signal else f" {probe.unit}"
    text = f"{earlier_text}{probe.signal} reached {value} of {threshold}{unit_text}"
    if probe.is_passed:
        return text
    if probe.value == probe.threshold:
        return f"{text}, and it acts above that"
    return f"{text} ({_share_text(probe.value, probe.threshold)})"


def _distinct_numbers(value: float, threshold: float) -> tuple[str, str]:
    """Return two numbers as text, with the fewest decimals that distinguish them."""
    decimals = 0
    while decimals < MAX_DECIMALS and value != threshold:
        if f"{value:.{decimals}f}" != f"{threshold:.{decimals}f}":
            break
        decimals += 1
    return f"{value:,.{decimals}f}", f"{threshold:,.{decimals}f}"


def _share_text(value: float, threshold: float) -> str:
    """Return a share below one in per cent, never rounded up to 100 %."""
    share_text = f"{100 * value / threshold:.0f} %"
    return "nearly 100 %" if share_text == "100 %" else share_text


def _turn_text(timeline: Timeline, request: int) -> str:
    turn = timeline.requests[request].turn
    return f" (turn {turn})" if turn else ""
