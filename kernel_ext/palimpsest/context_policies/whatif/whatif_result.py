"""A what-if: a recorded session beside its simulation, shown as a comparison in every form.

The comparison has the totals of both sides, the steps, and notes on its assumptions.
"""

from collections import Counter
from dataclasses import dataclass

from palimpsest.context.policy_overrides import policy_differences
from palimpsest.context_policies.calibration.proof import NO_PROOF, Proof
from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.whatif.steps import Replay, Step
from palimpsest.model.tokenizer import rough_count_sentences
from palimpsest.render.content.phrases import count
from palimpsest.render.reports.comparison import Comparison, ComparisonRow, ComparisonTotal
from palimpsest.render.reports.table import ShownInCell
from palimpsest.transcript.context_values.policies import Policy

MAX_LISTED_STEPS = 40
"""Maximum steps that are listed in a cell; ``WhatIf.other.steps`` has them all."""
ACTION_NAMES = {
    "truncate": ("an output cut", "outputs cut"),
    "prune": ("an old output cleared", "old outputs cleared"),
    "recover": ("a long result shortened", "long results shortened"),
    "remind": ("a reminder", "reminders"),
    "drop": ("an item left out", "items left out"),
    "summary": ("a summary", "summaries"),
    "stand-in": ("a stand-in summary", "stand-in summaries"),
}
"""Names of deciders' actions, by the prefix of their rule: singular and plural."""
NO_DIFFERENCE = "Every request would have been the recorded one, to the byte."
NOTHING_ESTIMATED = "Every request would have shown what the recorded one showed."
ESTIMATE_NOTE = (
    "Estimated: sizes are those of the session's items, and no request was written anew; `exact=True` does "
    "that for a session that was recorded here."
)
COUNTERFACTUAL_NOTE = (
    "Counterfactual: no model was asked. What people and tools said is as recorded, and so are the model's "
    "answers; from step {number} on it was asked something else and might have gone another way."
)
STAND_IN_NOTE = (
    "{summaries} would have come at another place; no model wrote {them}, so a text of about {tokens} "
    "tokens stands in."
)
TOO_SMALL_NOTE = "No request would have been sent: {problem}"


@dataclass(frozen=True, slots=True)
class WhatIf(ShownInCell):
    """A session as recorded, and as simulated under another policy."""

    recorded: Replay
    other: Replay
    summary_tokens: int
    """Size of a stand-in summary, in tokens."""
    exact: bool = False
    """Whether each request was written again and compared to the byte; else sizes are estimates."""

    proof: Proof = NO_PROOF
    """How well a replay reproduces the recording; exact requests do not show the reads from the cache."""

    @property
    def is_unchanged(self) -> bool:
        """Whether every request equals the recorded one: to the byte, or in how it shows each item."""
        return self.first_difference is None

    @property
    def first_difference(self) -> int | None:
        """The number of the first step whose request would have been different; None where none would."""
        for recorded, other in zip(self.recorded.steps, self.other.steps, strict=True):
            if recorded.sha256 != other.sha256:
                return recorded.number
        return None

    @property
    def comparison(self) -> Comparison:
        """Both sides as title, rows and notes, for every renderer."""
        recorded, other, exact, proof = self.recorded, self.other, self.exact, self.proof
        step_indexes, remaining_count = _steps_to_show(recorded, other)
        rows = _rows(recorded, other)
        return Comparison(
            title=f"{len(recorded.steps):,} steps as recorded, and under {policy_name(other.policy)}",
            recorded_title="recorded",
            other_title="what if",
            totals=_totals(recorded, other),
            lines=tuple(rows[index] for index in step_indexes),
            more=remaining_count,
            notes=(
                *_notes(other, self.first_difference, self.summary_tokens, exact=exact),
                *rough_count_sentences([getattr(other.policy, "estimator", "")]),
            ),
            lead=() if not proof.rows else (proof.sentence,) if exact else proof.sentences,
            # An exact what-if does not use the replay of the cache.
            is_doubtful=proof.is_doubtful and not exact,
        )

    @property
    def _shown_as(self) -> Comparison:
        return self.comparison

    def __repr__(self) -> str:
        name = policy_name(self.other.policy)
        return (
            f"<WhatIf {name}: {self.recorded.tokens:,} tokens recorded, {self.other.tokens:,} "
            f"otherwise, {len(self.other.steps)} steps>"
        )


def _steps_to_show(recorded: Replay, other: Replay) -> tuple[list[int], str]:
    """Return the indexes of the shown steps, in order and preferably of those that differ, and a sentence about the others."""
    pairs = list(zip(recorded.steps, other.steps, strict=True))
    differing_indexes = [
        index
        for index, (step, simulated_step) in enumerate(pairs)
        if step.sha256 != simulated_step.sha256
    ]
    shown_indexes = set(differing_indexes[:MAX_LISTED_STEPS])
    indexes_before = [index - 1 for index in differing_indexes if index > 0]
    for index in [*indexes_before, *range(len(pairs))]:
        if len(shown_indexes) < MAX_LISTED_STEPS:
            shown_indexes.add(index)
    hidden_differing_count = len(differing_indexes) - len(
        shown_indexes.intersection(differing_indexes)
    )
    same_count = len(pairs) - len(shown_indexes) - hidden_differing_count
    hidden_phrases = [f"{same_count:,} that are the same on both sides"] if same_count else []
    hidden_phrases += (
        [f"{hidden_differing_count:,} more that differ"] if hidden_differing_count else []
    )
    sentence = f"Steps that are not shown: {', '.join(hidden_phrases)}." if hidden_phrases else ""
    return sorted(shown_indexes), sentence


def policy_name(policy: Policy | ContextPolicy | str | None) -> str:
    """Return a policy's name, with the numbers that differ from its preset."""
    if policy is None:
        return "the policy of each step"
    if not isinstance(policy, Policy):
        return policy if isinstance(policy, str) else policy.name
    changed_numbers = [f"{key}={value}" for key, (_, value) in policy_differences(policy).items()]
    return f"{policy.name} with {', '.join(changed_numbers)}" if changed_numbers else policy.name


def _totals(recorded: Replay, other: Replay) -> tuple[ComparisonTotal, ...]:
    return (
        ComparisonTotal("input tokens of all steps", recorded.tokens, other.tokens),
        ComparisonTotal(
            "input tokens of requests for summaries", recorded.requested, other.requested
        ),
        ComparisonTotal(
            "of the steps in common with the step before", recorded.cached, other.cached
        ),
        ComparisonTotal(
            "new to a cache, summaries too", _uncached_tokens(recorded), _uncached_tokens(other)
        ),
        ComparisonTotal("largest request", recorded.peak, other.peak),
        ComparisonTotal("outputs cut or cleared", len(recorded.decisions), len(other.decisions)),
        ComparisonTotal("summaries", len(recorded.compactions), len(other.compactions)),
        ComparisonTotal("requests that do not fit", recorded.overflows, other.overflows),
    )


def _uncached_tokens(side: Replay) -> int:
    """Return the input tokens that no cache holds; a request for a summary shares no prefix with a step."""
    return side.tokens - side.cached + side.requested


def _rows(recorded: Replay, other: Replay) -> tuple[ComparisonRow, ...]:
    return tuple(
        ComparisonRow(
            number=step.number,
            recorded_tokens=step.tokens,
            other_tokens=simulated_step.tokens,
            recorded_cached_tokens=step.cached,
            other_cached_tokens=simulated_step.cached,
            difference_text=_action_differences(step, simulated_step),
        )
        for step, simulated_step in zip(recorded.steps, other.steps, strict=True)
    )


def _action_differences(recorded: Step, other: Step) -> str:
    """Return the actions before a step that only one of both sides has, in words."""
    recorded_actions, simulated_actions = _counted_actions(recorded), _counted_actions(other)
    phrases = [
        f"without {_counted_name(name, number)}"
        for name, number in sorted((recorded_actions - simulated_actions).items())
    ]
    phrases += [
        f"with {_counted_name(name, number)}"
        for name, number in sorted((simulated_actions - recorded_actions).items())
    ]
    if not other.fits or other.refused:
        phrases.append("would not fit")
    return "; ".join(phrases)


def _counted_name(name: str, number: int) -> str:
    single, many = ACTION_NAMES.get(name, (name, name))
    return single if number == 1 else f"{number} {many}"


def _counted_actions(step: Step) -> Counter[str]:
    counts: Counter[str] = Counter(decision.rule.partition("/")[0] for decision in step.decisions)
    for compaction in step.compactions:
        counts["stand-in" if compaction.stand_in else "summary"] += 1
    return counts


def _notes(
    other: Replay, first_difference: int | None, summary_tokens: int, *, exact: bool
) -> tuple[str, ...]:
    if first_difference is None:
        return (NO_DIFFERENCE,) if exact else (NOTHING_ESTIMATED, ESTIMATE_NOTE)
    notes = [
        COUNTERFACTUAL_NOTE.format(number=first_difference),
        *(() if exact else (ESTIMATE_NOTE,)),
    ]
    placeholder_count = sum(compaction.stand_in for compaction in other.compactions)
    if placeholder_count:
        summaries = "1 summary" if placeholder_count == 1 else f"{placeholder_count} summaries"
        them = "it" if placeholder_count == 1 else "them"
        size = count(summary_tokens)
        notes.append(STAND_IN_NOTE.format(summaries=summaries, them=them, tokens=size))
    refused = next((step.refused for step in other.steps if step.refused), "")
    if refused:
        notes.append(TOO_SMALL_NOTE.format(problem=refused))
    return tuple(notes)
