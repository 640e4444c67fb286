"""A what-if: a session as it was beside what it would have been, shown as a comparison in every form."""

from dataclasses import dataclass

from palimpsest.render.reports.comparison import Comparison
from palimpsest.render.reports.table import ShownInCell
from palimpsest.review.counterfactual.comparison_text import policy_name, what_if_comparison
from palimpsest.review.counterfactual.steps import Replay
from palimpsest.review.replay.proof import NO_PROOF, Proof


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
        return [step.sha256 for step in self.recorded.steps] == [
            step.sha256 for step in self.other.steps
        ]

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
        return what_if_comparison(
            self.recorded,
            self.other,
            self.first_difference,
            self.summary_tokens,
            exact=self.exact,
            proof=self.proof,
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
