"""A person's own policy: a function of the view that yields decisions, checked while it is replayed.

It is recorded by its name, source text and digest, and never run from a record.
"""

import hashlib
import inspect
import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, overload

from palimpsest.review.policies.decisions import CLEARED
from palimpsest.review.policies.laws import KNOWN, TWICE, Breach, PolicyBreach, breaches
from palimpsest.review.policies.past_view import PastView
from palimpsest.review.policies.pipeline import Pipeline
from palimpsest.review.policies.policy import (
    Change,
    ContextPolicy,
    Decided,
    Layer,
    PolicyView,
    Probe,
    SessionFacts,
    When,
    with_changes,
)
from palimpsest.review.policies.stage_view import StageView
from palimpsest.transcript.timeline import CHARS4, GONE_STATES

PolicyFunction = Callable[[PastView], Iterable[Change | Probe]]
DECISIONS_PER_ITEM = 4
"""More than so many for each item are taken for a function that does not end."""


@dataclass(frozen=True)
class CustomPolicy:
    """A policy that a person wrote as a function; see ``palimpsest.policy``."""

    function: PolicyFunction
    name: str
    sticky: bool = False
    """Its decisions hold until they are replaced; else they are the whole truth at each request."""
    when: When = "request"
    estimator: str = CHARS4
    text: str = field(default="", repr=False)
    """The function's source; empty where it is not known."""
    keeps_pins: bool = False
    """A decision about what a person pinned is left out, where it would otherwise break a law."""

    @property
    def source(self) -> str:
        """That it is a person's own, and the digest of its text."""
        return f"your function {self.name}, sha256 {self.digest[:12]}"

    @property
    def digest(self) -> str:
        """SHA-256 of its source and of the plain values outside of it that it uses."""
        code = self.text or self.function.__code__.co_code.hex()
        values = json.dumps(self.values, sort_keys=True)
        return hashlib.sha256(f"{code}\n{values}".encode()).hexdigest()

    @property
    def values(self) -> dict[str, Any]:
        """The numbers and texts outside of the function that it uses, by name."""
        used = inspect.getclosurevars(self.function)
        return {
            name: value
            for name, value in sorted({**used.globals, **used.nonlocals}.items())
            if isinstance(value, bool | int | float | str)
        }

    def record(self) -> dict[str, Any]:
        """Return what is recorded of it; nothing runs a record."""
        return {
            "name": self.name,
            "text": self.text,
            "sha256": self.digest,
            "values": self.values,
            "sticky": self.sticky,
            "when": self.when,
            "estimator": self.estimator,
        }

    def __call__(self, view: PastView) -> Iterable[Change | Probe]:
        """Return what the function says of a view."""
        return self.function(view)

    def __or__(self, other: ContextPolicy) -> Pipeline:
        """Return a pipeline in which another policy sees what this one leaves."""
        return Pipeline.of(self, other)

    def start(self, facts: SessionFacts) -> Layer:  # noqa: ARG002
        """Return that nothing is shown otherwise."""
        return {}

    def step(self, state: Layer, view: PolicyView) -> Decided:
        """Ask the function, check its decisions, and return what differs from the request before."""
        base = view if self.sticky else self._without_own(state, view)
        seen = PastView(base)
        found, probe = self._asked(seen)
        if (found, probe) != self._asked(seen):
            raise Breach(TWICE, view.request.index).error(self.name)
        reasons = [(one, self._why_idle(one, base)) for one in found]
        idle = Counter(why for _, why in reasons if why)
        found = [one._replace(numbers={}) for one, why in reasons if not why or why == WHOLE]
        # What was shown so before was checked then; only who is left without a partner may have changed.
        fresh = [one for one in found if one.state in GONE_STATES or state.get(one.item) != one]
        for breach in breaches(fresh, base, sticky=self.sticky):
            raise breach.error(self.name)
        told = with_changes(state if self.sticky else {}, found)
        changes = [one for item, one in told.items() if state.get(item) != one]
        changes += [Change(item, "whole") for item in state if item not in told]
        return Decided(told if changes else state, changes, probe, fired=bool(changes), idle=idle)

    def _why_idle(self, change: Change, view: PolicyView) -> str:
        """Return why a decision changes nothing, as what its item is; empty where it does change something."""
        item, shown = view.item(change.item), view.state(change.item)
        if self.keeps_pins and item.pinned:
            return "pinned"
        if shown in GONE_STATES:
            return "not shown any more"
        if not _is_due(change, view):
            return "as short as what would stand for it"
        return WHOLE if change.state == shown == "whole" else ""

    def _without_own(self, state: Layer, view: PolicyView) -> PolicyView:
        """Return the view with each item whole that only this policy shows otherwise."""
        own = {
            item: Change(item, "whole")
            for item, one in state.items()
            if view.state(item) == one.state
        }
        return StageView(view, own, self.estimator, self.estimator) if own else view

    def _asked(self, seen: PastView) -> tuple[list[Change], Probe | None]:
        most = DECISIONS_PER_ITEM * seen.count + DECISIONS_PER_ITEM
        where = f"at request {seen.request.index + 1}"
        try:
            told: list[Any] = list(islice(self.function(seen) or (), most + 1))
        except Exception as error:
            raise PolicyBreach(
                f"The policy {self.name!r} failed {where}: {type(error).__name__}: {error}"
            ) from error
        if len(told) > most:
            raise PolicyBreach(f"The policy {self.name!r} made over {most:,} decisions {where}.")
        wrong = next((one for one in told if not isinstance(one, Change | Probe)), None)
        if wrong is not None:
            raise PolicyBreach(
                f"The policy {self.name!r} gave {wrong!r:.80} {where}; it gives decisions such as policies.clear(i)."
            )
        changes: list[Any] = [one for one in told if isinstance(one, Change)]
        for one in changes:
            if type(one.item) is not int or not 0 <= one.item < seen.count:
                number = one.item if isinstance(one.item, int) else None
                raise Breach(KNOWN, seen.request.index, number).error(self.name)
        probes = [one for one in told if isinstance(one, Probe)]
        return list({one.item: one for one in changes}.values()), probes[-1] if probes else None


OWN_POLICIES: dict[str, CustomPolicy] = {}
"""The policies that ``policy`` made in this process, the newest of each name: ``%agent policy`` finds them."""


@overload
def policy(function: PolicyFunction, /) -> CustomPolicy: ...


@overload
def policy(
    *, sticky: bool = False, when: When = "request", estimator: str = CHARS4, name: str = ""
) -> Callable[[PolicyFunction], CustomPolicy]: ...


def policy(
    function: PolicyFunction | None = None,
    /,
    *,
    sticky: bool = False,
    when: When = "request",
    estimator: str = CHARS4,
    name: str = "",
) -> CustomPolicy | Callable[[PolicyFunction], CustomPolicy]:
    """Make a function of one's own a context policy: it yields decisions about the items in a view.

    It is asked before each request and says what is to be shown otherwise there; an item of which it says
    nothing is whole again, unless the policy is ``sticky``. It must be pure: the same view, the same decisions.

    >>> import palimpsest
    >>> from palimpsest import policies
    >>> @palimpsest.policy
    ... def newest_five(view):
    ...     for index in view.outputs[:-5]:
    ...         yield policies.clear(index)
    >>> newest_five.name
    'newest_five'
    """

    def decorated(one: PolicyFunction) -> CustomPolicy:
        made = CustomPolicy(
            function=one,
            name=name or getattr(one, "__name__", "policy"),
            sticky=sticky,
            when=when,
            estimator=estimator,
            text=_text_of(one),
        )
        OWN_POLICIES[made.name] = made
        return made

    return decorated if function is None else decorated(function)


def _text_of(function: PolicyFunction) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


WHOLE = "whole already"


def _is_due(change: Change, view: PolicyView) -> bool:
    """Return whether a decision would make an item shorter."""
    chars = view.item(change.item).chars
    if change.state == "truncated":
        return change.length < chars
    return not (change.state == "cleared" and change.shown == CLEARED and chars <= len(CLEARED))
