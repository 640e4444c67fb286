"""A what-if: a session as it was beside what it would have been, shown as a comparison in every form.

The comparison has the totals of both sides, the steps, and notes on its assumptions.
"""

from collections import Counter
from dataclasses import dataclass

from palimpsest.context.policy_overrides import policy_differences
from palimpsest.render.content.phrases import count
from palimpsest.render.reports.comparison import Comparison, ComparisonRow, ComparisonTotal
from palimpsest.render.reports.table import ShownInCell
from palimpsest.review.counterfactual.steps import Replay, Step
from palimpsest.review.policies.policy import ContextPolicy
from palimpsest.review.replay.proof import NO_PROOF, Proof
from palimpsest.transcript.context_values.policies import Policy

MOST_LINES = 40
"""Steps that are listed, about what a user reads in a cell; ``WhatIf.other.steps`` has them all."""
NAMES = {
    "truncate": ("an output cut", "outputs cut"),
    "prune": ("an old output cleared", "old outputs cleared"),
    "recover": ("a long result shortened", "long results shortened"),
    "remind": ("a reminder", "reminders"),
    "drop": ("an item left out", "items left out"),
    "summary": ("a summary", "summaries"),
    "stand-in": ("a stand-in summary", "stand-in summaries"),
}
"""What deciders do, by the beginning of their rule: singular and plural."""
NOTHING = "Every request would have been the recorded one, to the byte."
NOTHING_ESTIMATED = "Every request would have shown what the recorded one showed."
ESTIMATED = (
    "Estimated: sizes are those of the session's items, and no request was written anew; `exact=True` does "
    "that for a session that was recorded here."
)
COUNTERFACTUAL = (
    "Counterfactual: no model was asked. What people and tools said is as recorded, and so are the model's "
    "answers; from step {number} on it was asked something else and might have gone another way."
)
STAND_IN = (
    "{summaries} would have come at another place; no model wrote {them}, so a text of about {tokens} "
    "tokens stands in."
)
TOO_SMALL = "No request would have been sent: {problem}"


@dataclass(frozen=True, slots=True)
class WhatIf(ShownInCell):
    """A session as it was, and as it would have been."""

    # IPython prefers a class's own __repr__ to what it inherits.
    _repr_pretty_ = ShownInCell._repr_pretty_

    recorded: Replay
    other: Replay
    summary_tokens: int
    """Size of a stand-in summary."""
    exact: bool = False
    """Each request was written anew and compared to the byte; else sizes are estimates."""

    proof: Proof = NO_PROOF
    """How well the recording itself is reproduced: what its cache read, which no request that is written anew tells."""

    @property
    def same(self) -> bool:
        """Every request would have been the recorded one: to the byte, or in what it shows of each item."""
        return self.first_difference is None

    @property
    def first_difference(self) -> int | None:
        """The number of the first step whose request would have been different; None where none would."""
        for was, other in zip(self.recorded.steps, self.other.steps, strict=True):
            if was.sha256 != other.sha256:
                return was.number
        return None

    @property
    def comparison(self) -> Comparison:
        """Both sides as titles, rows and notes, for any renderer."""
        was, other, exact, proof = self.recorded, self.other, self.exact, self.proof
        shown, more = _shown(was, other)
        lines = _lines(was, other)
        return Comparison(
            title=f"{len(was.steps):,} steps as recorded, and under {policy_name(other.policy)}",
            was="recorded",
            other="what if",
            totals=_totals(was, other),
            lines=tuple(lines[number] for number in shown),
            more=more,
            notes=_notes(other, self.first_difference, self.summary_tokens, exact=exact),
            lead=() if not proof.rows else (proof.sentence,) if exact else proof.sentences,
            # Requests that are written anew rest on no replay of the cache.
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


def _shown(was: Replay, other: Replay) -> tuple[list[int], str]:
    """Return which steps are shown, preferring those that differ, and a sentence about the others."""
    pairs = list(zip(was.steps, other.steps, strict=True))
    differ = [at for at, (one, two) in enumerate(pairs) if one.sha256 != two.sha256]
    chosen = set(differ[:MOST_LINES])
    around = [at - 1 for at in differ if at > 0] if differ else []
    for at in [*around, *range(len(pairs))]:
        if len(chosen) < MOST_LINES:
            chosen.add(at)
    more = len(differ) - len(chosen.intersection(differ))
    same = len(pairs) - len(chosen) - more
    told = [f"{same:,} that are the same on both sides"] if same else []
    told += [f"{more:,} more that differ"] if more else []
    return sorted(chosen), f"Steps that are not shown: {', '.join(told)}." if told else ""


def policy_name(policy: Policy | ContextPolicy | str | None) -> str:
    """Name a policy with what differs from its preset."""
    if policy is None:
        return "the policy of each step"
    if not isinstance(policy, Policy):
        return policy if isinstance(policy, str) else policy.name
    found = [f"{key}={now}" for key, (_, now) in policy_differences(policy).items()]
    return f"{policy.name} with {', '.join(found)}" if found else policy.name


def _totals(was: Replay, other: Replay) -> tuple[ComparisonTotal, ...]:
    return (
        ComparisonTotal("input tokens of all steps", was.tokens, other.tokens),
        ComparisonTotal("input tokens of requests for summaries", was.requested, other.requested),
        ComparisonTotal("of the steps in common with the step before", was.cached, other.cached),
        ComparisonTotal("new to a cache, summaries too", _new(was), _new(other)),
        ComparisonTotal("largest request", was.peak, other.peak),
        ComparisonTotal("outputs cut or cleared", len(was.decisions), len(other.decisions)),
        ComparisonTotal("summaries", len(was.compactions), len(other.compactions)),
        ComparisonTotal("requests that do not fit", was.overflows, other.overflows),
    )


def _new(side: Replay) -> int:
    """Return the input tokens that no cache holds; a request for a summary shares no prefix with a step."""
    return side.tokens - side.cached + side.requested


def _lines(was: Replay, other: Replay) -> tuple[ComparisonRow, ...]:
    return tuple(
        ComparisonRow(
            number=one.number,
            was=one.tokens,
            other=two.tokens,
            was_cached=one.cached,
            other_cached=two.cached,
            words=_otherwise(one, two),
        )
        for one, two in zip(was.steps, other.steps, strict=True)
    )


def _otherwise(was: Step, other: Step) -> str:
    """Describe what would have been done before a step but was not, and the other way round."""
    done, would = _done(was), _done(other)
    words = [f"without {_times(name, number)}" for name, number in sorted((done - would).items())]
    words += [f"with {_times(name, number)}" for name, number in sorted((would - done).items())]
    if not other.fits or other.refused:
        words.append("would not fit")
    return "; ".join(words)


def _times(name: str, number: int) -> str:
    one, many = NAMES.get(name, (name, name))
    return one if number == 1 else f"{number} {many}"


def _done(step: Step) -> Counter[str]:
    found: Counter[str] = Counter(one.rule.partition("/")[0] for one in step.decisions)
    for one in step.compactions:
        found["stand-in" if one.stand_in else "summary"] += 1
    return found


def _notes(
    other: Replay, first: int | None, summary_tokens: int, *, exact: bool
) -> tuple[str, ...]:
    if first is None:
        return (NOTHING,) if exact else (NOTHING_ESTIMATED, ESTIMATED)
    notes = [COUNTERFACTUAL.format(number=first), *(() if exact else (ESTIMATED,))]
    moved = sum(one.stand_in for one in other.compactions)
    if moved:
        summaries = "1 summary" if moved == 1 else f"{moved} summaries"
        them = "it" if moved == 1 else "them"
        size = count(summary_tokens)
        notes.append(STAND_IN.format(summaries=summaries, them=them, tokens=size))
    refused = next((step.refused for step in other.steps if step.refused), "")
    if refused:
        notes.append(TOO_SMALL.format(problem=refused))
    return tuple(notes)
