"""What the presets have in common: a name with the numbers that were changed, and its source."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

from palimpsest.review.policies.permitted import permitted
from palimpsest.review.policies.pipeline import Joinable
from palimpsest.review.policies.policy import Decided, PolicyView, SessionFacts, When
from palimpsest.transcript.timeline import CHARS4

ActsAt = Literal["each request", "threshold", "pause", "turn end", "overflow", "result"]
"""When the project's rule acts: before each request, over a threshold, after a pause, at the end of a turn,
when a request does not fit, or when a result comes."""


@dataclass(frozen=True, kw_only=True)
class Preset(Joinable):
    """A policy of the field with its own numbers; they are its fields, and have its defaults.

    A subclass says in ``decide`` what its rule wants. What no rule may touch stays whatever it wants: what a
    person pinned or reverted, a call that waits for its result, and one half of a call and its result.
    """

    preset: ClassVar[str] = ""
    """Its name: ``project.rule``."""
    source: ClassVar[str] = ""
    """Project, version and what the numbers were read from."""
    version: ClassVar[str] = ""
    """The release, commit or date that the rule and its numbers were read at."""
    third_party: ClassVar[bool] = False
    """The rule is known from others' analyses, not from the vendor."""
    sticky: ClassVar[bool] = True
    """A decision holds until it is replaced; else the rule is made anew for each request."""
    when: ClassVar[When] = "request"
    acts_at: ClassVar[ActsAt] = "each request"
    changes_what: ClassVar[str] = "tool results"
    """What it shortens or removes, in two or three words."""
    estimator: str = CHARS4
    """How it counts tokens: ``chars/4``, or a tokenizer's name."""

    @property
    def name(self) -> str:
        """Its name, with the numbers that differ from the preset's."""
        changed = [
            f"{one.name}={getattr(self, one.name)}"
            for one in fields(self)
            if getattr(self, one.name) != one.default
        ]
        return " ".join([self.preset, *changed])

    def start(self, facts: SessionFacts) -> Any:  # noqa: ARG002
        """Return how far the rule has gone: not at all."""
        return 0

    def step(self, state: Any, view: PolicyView) -> Decided:
        """Return what the rule decides at a request, without what no rule may touch."""
        decided = self.decide(state, view)
        if not decided.changes:
            return decided
        changes = permitted(view, decided.changes)
        return replace(decided, changes=changes, fired=decided.fired and bool(changes))

    def decide(self, state: Any, view: PolicyView) -> Decided:
        """Return what the rule wants at a request."""
        raise NotImplementedError


def window_of(window: int, view: PolicyView) -> int:
    """Return the window that a rule assumes, or else that of the recorded model; 0 where none is known."""
    return window or view.request.window
