"""Compare policies over one session: one row for each policy, all measured by the same ruler and prices."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Literal

from palimpsest.context_policies.calibration.proof import NO_PROOF, Proof, proof_of
from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, Ruler
from palimpsest.context_policies.replay.moved_summaries import SummaryChoice
from palimpsest.context_policies.replay.simulation import Simulation
from palimpsest.context_policies.replay.simulation_cache import SimulationCache
from palimpsest.model.tokenizer import rough_count_sentences
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import (
    Cell,
    Form,
    ReportTable,
    ShownAsTable,
    TableColumn,
    check_columns,
)
from palimpsest.review.comparison.policy_figures import policy_figures
from palimpsest.review.tables.cache_breaks import breaks_at_price
from palimpsest.review.tables.figures import PolicyFigures
from palimpsest.review.tables.links import link_to
from palimpsest.review.tables.recording_sentences import totals_sentence
from palimpsest.review.tables.references import References
from palimpsest.review.tables.request_totals import request_totals
from palimpsest.transcript.growing_lists import GrownColumns
from palimpsest.transcript.timeline import Terms, Timeline
from palimpsest.transcript.values import Usage

SCHEMA_VERSION = 1
REPORTED_NAME = "reported (facts)"
"""Name of the row with reported facts; all other rows are estimates of a replay."""
COUNTERFACTUAL_NOTE = (
    "Counterfactual: the actions are the recorded ones. Savings are an upper bound and what was forgotten "
    "is a lower bound, since an agent that saw less might have done more."
)
DOES_NOT_FIT_NOTE = (
    "A policy that does not fit could not have been used so: its costs are those of requests that a provider refuses, "
    "and it is never the cheapest."
)
TAKEN_NOTE = (
    "Every row includes {breaks} of the recording whose size nothing else explains, where its policy would have read more from the "
    "cache; its column of breaks counts only those that its own changes cause."
)
PLACEHOLDER_NOTE = "A summary that was never written is a placeholder of {tokens} tokens; its content is not judged."
_COLUMNS: tuple[tuple[str, str, Form | Literal["money"], str], ...] = (
    ("input", "input", "count", "Tokens of all requests together."),
    ("peak", "peak", "count", "Tokens of the largest request."),
    ("over", "over window", "count", "Requests that would not fit the window."),
    ("cached", "cached", "share", "Share of the input read from the cache."),
    ("breaks", "breaks", "count", "Requests whose beginning changed while the cache was warm."),
    ("break_tokens", "written anew", "count", "Tokens that the breaks had written anew."),
    ("rewrite", "written x", "decimal", "Tokens written to the cache as a multiple of the peak."),
    ("cost", "", "money", "With the cache, without calls for summaries."),
    ("summaries", "+ summaries", "money", "The calls for summaries."),
    ("refetching", "+ refetching", "money", "Fetching again each name that was needed and gone."),
    ("cost_uncached", "without cache", "money", "If nothing were cached."),
    (
        "repeated",
        "repeated",
        "count",
        "Calls repeated while their earlier result was no longer whole.",
    ),
    ("retention", "kept", "share", "Share of the names an answer used that were still shown."),
    ("fired", "acted", "count", "How often the rule acted."),
    (
        "distance",
        "of threshold",
        "share",
        "Highest value of its signal, as a share of the threshold.",
    ),
)
"""The figures in a row: key, title, form and description."""
PULL_REQUEST_COLUMNS = ("policy", "cost", "peak", "cached", "breaks", "retention")
"""Keys of the columns of the Markdown form where none are named: more do not fit beside each other in a pull request."""
_RULER_FIELDS = {
    "estimator": "estimator",
    "unseen": "unseen_tokens",
    "factor": "factor",
    "measured": "is_fitted",
    "low": "lowest_factor",
    "high": "highest_factor",
    "odd": "contradicting_requests",
    "lifetime_seconds": "lifetime_seconds",
}
"""The ruler's fields by their names in JSON."""
_PRICE_FIELDS = ("name", "unit", "input", "output", "read", "write", "source")
"""The fields of a price profile that a comparison's plain values contain."""
_WHOLE_NUMBERS = frozenset({"input", "peak", "break_tokens"})
"""Figures that are shown as whole numbers."""


def columns(unit: str) -> tuple[TableColumn, ...]:
    """Return the columns of a comparison; money in US dollars or in units."""
    money_title = "USD" if unit == "USD" else "units"
    money_form: Form = "usd" if unit == "USD" else "count"
    figures = (
        TableColumn(
            key, title or money_title, money_form if form == "money" else form, "estimate", about
        )
        for key, title, form, about in _COLUMNS
    )
    return (
        TableColumn("policy", "policy"),
        *figures,
        TableColumn("verdict", "how often, or why not"),
    )


def check_policy_columns(keys: Sequence[str]) -> None:
    """Raise UserError with one sentence for a key that is no column of a comparison."""
    check_columns(keys, [column.key for column in columns("USD")])


@dataclass(frozen=True)
class PolicyComparison(ShownAsTable):
    """A table of policies over one session."""

    timeline: Timeline
    ruler: Ruler
    price: PriceProfile
    simulations: tuple[Simulation, ...]
    figures: tuple[PolicyFigures, ...]
    summaries: SummaryChoice | None = None
    """The choice of texts for a policy's summaries; None: a placeholder of the policy's size."""
    windows: tuple[str, ...] = ()
    """A sentence for each policy on its usable window, where the model's longest answer is not known."""
    estimates: tuple[str, ...] = ()
    """A sentence on each policy's estimator that counts only roughly here."""
    proof: Proof = NO_PROOF
    """How well the replay, on which all rows are based, reproduces the recording itself."""

    @cached_property
    def table(self) -> ReportTable:
        """The comparison as a table; its first row has the reported facts, where there are some."""
        facts = reported_figures(self.timeline, self.ruler, self.price)
        reported_rows = () if facts is None else (facts,)
        rows = *reported_rows, *self.figures
        doubtful_rows = range(len(reported_rows), len(rows)) if self.proof.is_doubtful else ()
        return ReportTable(
            title=f"{len(self.figures)} policies over {self.timeline.title or self.timeline.session}",
            columns=columns(self.price.unit),
            rows=tuple(map(_table_row, rows)),
            notes=self._note_sentences(),
            links=(
                *(link_to(self.timeline.session) for _ in reported_rows),
                *(link_to(self.timeline.session, figures.facts_until) for figures in self.figures),
            ),
            lead=self.proof.sentences,
            doubtful=frozenset(doubtful_rows),
        )

    def __getitem__(self, name: str | int) -> Simulation:
        """Return a policy's replay by its name or index; raises KeyError or IndexError."""
        if isinstance(name, int):
            return self.simulations[name]
        for simulation in self.simulations:
            if simulation.policy_name == name:
                return simulation
        raise KeyError(name)

    @property
    def cheapest(self) -> str | None:
        """The policy with the lowest cost including refetching and summaries, of those whose requests all fit; or None."""
        fitting = [figures for figures in self.figures if figures.fits]
        cheapest_figures = min(
            fitting, key=lambda figures: figures.cost_with_refetching, default=None
        )
        return None if cheapest_figures is None else cheapest_figures.name

    def json(self) -> dict[str, Any]:
        """Return the table as plain values, with its ruler and prices."""
        return {
            "schema": SCHEMA_VERSION,
            "session": self.timeline.session,
            "proof": self.proof.json(),
            "ruler": {key: getattr(self.ruler, field) for key, field in _RULER_FIELDS.items()}
            | {"odd": [*self.ruler.contradicting_requests]},
            "price": {key: getattr(self.price, key) for key in _PRICE_FIELDS},
            "cheapest": self.cheapest,
            "summaries": None if self.summaries is None else self.summaries.sentence,
            **self.table.json(),
            "retention_by_kind": {row.name: dict(row.retention_by_kind) for row in self.figures},
        }

    def _note_sentences(self) -> tuple[str, ...]:
        ruler, price = self.ruler, self.price
        notes = [ruler.sentence]
        if ruler.is_fitted:
            low, high = ruler.factor * ruler.lowest_factor, ruler.factor * ruler.highest_factor
            notes[0] += f" The factor varies from {low:.2f} to {high:.2f} within the session."
        if ruler.lifetime_sentence:
            notes.append(ruler.lifetime_sentence)
        notes.extend(filter(None, (price.sentence, totals_sentence(self.timeline.recorded_totals))))
        if self.proof.taken_losses:
            notes.append(TAKEN_NOTE.format(breaks=counted_noun(self.proof.taken_losses, "break")))
        notes.append(COUNTERFACTUAL_NOTE)
        notes += (*self.windows, *self.estimates)
        if any(not figure.fits for figure in self.figures):
            notes.append(DOES_NOT_FIT_NOTE)
        placeholder_tokens = [
            transition.tokens
            for simulation in self.simulations
            for transition in simulation.timeline.transitions
            if transition.state == "summarised"
            and transition.tokens
            and simulation.policy_name != "recorded"
        ]
        if placeholder_tokens and self.summaries is not None:
            notes.append(self.summaries.sentence)
        elif placeholder_tokens:
            notes.append(PLACEHOLDER_NOTE.format(tokens=f"{max(placeholder_tokens):,}"))
        return tuple(notes)


def compare_policies(
    timeline: Timeline,
    policies: Sequence[ContextPolicy | None],
    ruler: Ruler,
    price: PriceProfile,
    *,
    window: int = 0,
    references: References | None = None,
    summaries: SummaryChoice | None = None,
    cache: SimulationCache | None = None,
    own_rule: str = "",
) -> PolicyComparison:
    """Compare policies over a session; None is ``raw``, and the policy ``recorded`` repeats the recording.

    Policies in ``cache`` are not replayed again. ``own_rule`` is the proof's sentence about the agent's own rule.
    """
    known_references = References.of(timeline) if references is None else references
    replays = SimulationCache(timeline) if cache is None else cache
    simulations = tuple(replays.simulation(policy, ruler, window) for policy in policies)
    # The engine's policies import much that a picture of a recording does without.
    from palimpsest.context_policies.engine_presets.engine_policies import usable_window_sentences

    return PolicyComparison(
        timeline,
        ruler,
        price,
        simulations,
        tuple(
            replays.derived_value(
                simulation, price, partial(policy_figures, simulation, known_references, price)
            )
            for simulation in simulations
        ),
        summaries,
        usable_window_sentences(policies, timeline, window),
        rough_count_sentences(policy.estimator for policy in policies if policy is not None),
        proof_of(timeline, ruler, price, own_rule),
    )


def reported_figures(timeline: Timeline, ruler: Ruler, price: PriceProfile) -> PolicyFigures | None:
    """Return the figures that the session reported; None where it reported no usage."""

    def uncached_cost(usage: Usage, terms: Terms) -> float:
        return price.cost(usage.prompt, 0, 0, usage.output + usage.reasoning, terms=terms)

    column_cache: GrownColumns = timeline.earlier.setdefault("usage", GrownColumns())
    reported_requests = [request for request in timeline.requests if request.usage is not None]
    usage = column_cache.grown_columns(
        reported_requests,
        {
            "prompt": attrgetter("usage.prompt"),
            "read": attrgetter("usage.cache_read"),
            "written": attrgetter("usage.cache_write"),
            "uncached": lambda request: uncached_cost(request.usage, request.terms),
        },
        price,
    )
    prompt_tokens = sum(usage["prompt"])
    if not prompt_tokens:
        return None
    peak_tokens = max(usage["prompt"])
    cache_read_tokens = sum(usage["read"])
    breaks = breaks_at_price(timeline, price)
    totals = request_totals(timeline, ruler, price)
    ending = "." if totals.cost_is_fact else "; the cost is an estimate."
    return PolicyFigures(
        name=REPORTED_NAME,
        requests=len(reported_requests),
        input=prompt_tokens,
        peak=peak_tokens,
        cached=cache_read_tokens / prompt_tokens,
        breaks=len(breaks),
        break_tokens=sum(cache_break.loss for cache_break in breaks),
        # Where the provider reports no writes, all tokens that were not read may have been written.
        rewrite=(sum(usage["written"]) or prompt_tokens - cache_read_tokens) / peak_tokens,
        cost=totals.cost,
        cost_is_fact=totals.cost_is_fact,
        cost_uncached=sum(usage["uncached"]),
        verdict=f"Facts of {counted_noun(len(reported_requests), 'request')} with reported usage{ending}",
    )


def _table_row(figures: PolicyFigures) -> tuple[Cell, ...]:
    cells = {key: getattr(figures, key) for key, *_ in _COLUMNS}
    cells |= {key: round(cells[key]) for key in _WHOLE_NUMBERS}
    return (figures.name, *cells.values(), figures.verdict)
