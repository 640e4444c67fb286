"""Compare a recorded session, step by step, with the requests that another policy would have sent.

*What-if* is counterfactual and marked as such: no model is called. Requests, decisions and token
counts are those that the policy would have made of the recorded conversation; a compaction that
would have come at another point has a stand-in summary of a stated size. Works on a journal on disk.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palimpsest.context.budget.request_tokens import Count
from palimpsest.model.tokenizer import counter as tokenizer
from palimpsest.render.reports.comparison import Comparison
from palimpsest.review.counterfactual.comparison_text import policy_name, what_if_comparison
from palimpsest.review.counterfactual.placeholder_summary import SUMMARY_TOKENS
from palimpsest.review.counterfactual.replay import CounterfactualReplay
from palimpsest.review.counterfactual.steps import Replay
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.policies import Policy


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A session as it was, and as it would have been."""

    recorded: Replay
    other: Replay
    summary_tokens: int
    """Size of a stand-in summary."""

    @property
    def same(self) -> bool:
        """Every request would have been the recorded one, to the byte."""
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
            self.recorded, self.other, self.first_difference, self.summary_tokens
        )

    @property
    def text(self) -> str:
        """Both sides as plain text."""
        return self.comparison.text

    @property
    def markdown(self) -> str:
        """The same as Markdown."""
        return self.comparison.markdown

    @property
    def html(self) -> str:
        """The same as an HTML fragment."""
        return self.comparison.html

    def _repr_html_(self) -> str:
        return self.html

    def _repr_markdown_(self) -> str:
        return self.markdown

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002, FBT001  IPython's signature
        printer.text(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        name = policy_name(self.other.policy)
        return (
            f"<WhatIf {name}: {self.recorded.tokens:,} tokens recorded, {self.other.tokens:,} "
            f"otherwise, {len(self.other.steps)} steps>"
        )


def replay(
    store: Store,
    session_id: str,
    policy: Policy | None = None,
    *,
    counter: Callable[[str], Count] = tokenizer,
    summary_tokens: int = SUMMARY_TOKENS,
) -> Replay:
    """Return the steps of a session under a policy; None takes each step's own, as recorded."""
    return whatif(store, session_id, policy, counter=counter, summary_tokens=summary_tokens).other


def whatif(
    store: Store,
    session_id: str,
    policy: Policy | None = None,
    *,
    counter: Callable[[str], Count] = tokenizer,
    summary_tokens: int = SUMMARY_TOKENS,
) -> WhatIf:
    """Compare a recorded session with what it would have been under a policy."""
    walk = CounterfactualReplay(store, session_id, policy, counter, summary_tokens)
    steps = tuple(walk.steps())
    was = Replay(
        session_id,
        None,
        counterfactual=False,
        steps=tuple(walk.recorded),
        after=tuple(walk.recorded_since.decisions),
        compactions_after=tuple(walk.recorded_since.compactions),
    )
    other = Replay(
        session_id,
        policy,
        counterfactual=True,
        steps=steps,
        after=walk.left_over(),
        compactions_after=tuple(walk.since.compactions),
    )
    return WhatIf(was, other, summary_tokens)
