"""A policy that is checked by the laws at each request, whichever policy it is."""

import json
from collections.abc import Collection, Iterator
from typing import Any

from palimpsest.context_policies.interface.laws import JSON_STATE, SAME_TWICE, Breach, breaches
from palimpsest.context_policies.interface.policy import (
    ContextPolicy,
    PolicyResult,
    PolicyView,
    SessionFacts,
    When,
)


def check_json(state: Any, number: int) -> Iterator[Breach]:
    """Yield the breach of a state that JSON cannot hold."""
    try:
        json.dumps(state, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        yield Breach(JSON_STATE, number)


class CheckedPolicy:
    """A policy that raises PolicyBreach at the first decision which breaks a law."""

    def __init__(
        self,
        policy: ContextPolicy,
        *,
        placeholder: int = 0,
        pins: bool = True,
        except_laws: Collection[str] = (),
    ) -> None:
        self._policy = policy
        self._placeholder = placeholder
        self._pins = pins
        self._except = except_laws
        self.name = policy.name
        self.source = policy.source
        self.estimator = policy.estimator
        self.when: When = policy.when

    def start(self, facts: SessionFacts) -> Any:
        """Return the policy's state before the first request."""
        state = self._policy.start(facts)
        for breach in check_json(state, 0):
            raise breach.error(self.name)
        return state

    def step(self, state: Any, view: PolicyView) -> PolicyResult:
        """Return what the policy decides, once it is checked."""
        decided = self._policy.step(state, view)
        for breach in self._found(decided, state, view):
            if breach.law not in self._except:
                raise breach.error(self.name)
        return decided

    def _found(self, decided: PolicyResult, state: Any, view: PolicyView) -> Iterator[Breach]:
        again = self._policy.step(state, view)
        if (list(again.changes), again.state) != (list(decided.changes), decided.state):
            yield Breach(SAME_TWICE, view.request.index)
        yield from breaches(
            decided.changes,
            view,
            sticky=getattr(self._policy, "sticky", True),
            placeholder_chars=self._placeholder,
            pins_checked=self._pins,
        )
        yield from check_json(decided.state, view.request.index)
