"""Keep the newest replays of a session in memory, so that asking for the same policy again is immediate.

A replay depends on the timeline, the policy with its numbers, the ruler and the window, and on nothing else;
a policy whose behaviour is not all in these is replayed each time.
"""

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from inspect import isbuiltin, isclass, ismodule
from threading import Lock
from types import CodeType, FunctionType
from typing import Any, TypeVar

from palimpsest.review.policies.cache_keeping import CacheKeeping
from palimpsest.review.policies.custom import CustomPolicy
from palimpsest.review.policies.pipeline import Pipeline
from palimpsest.review.policies.policy import ContextPolicy
from palimpsest.review.policies.public_policies import PolicyNames
from palimpsest.review.policies.recorded_policy import RecordedPolicy
from palimpsest.review.policies.settings import Preset
from palimpsest.review.replay.ruler import Ruler
from palimpsest.review.replay.simulation import Simulation, simulate
from palimpsest.transcript.timeline import Timeline

T = TypeVar("T")

MOST_REPLAYS = 128
MOST_ROWS = 500_000
"""Transitions and requests of all replays together: about 100 MB."""
_PACKAGE = __name__.partition(".")[0]
_PLAIN = (bool, int, float, str, bytes, type(None))


class SimulationCache:
    """Replays of one timeline, and what was found of them; the ones not used for longest are forgotten.

    Safe to use from several threads.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._known: OrderedDict[Hashable, tuple[Simulation, dict[Hashable, Any]]] = OrderedDict()
        self._rows = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._known)

    def simulation(self, policy: ContextPolicy | None, ruler: Ruler, window: int) -> Simulation:
        """Return the session under a policy; None is every item whole."""
        key = _key_of(policy, ruler, window)
        if key is None:
            return simulate(self._timeline, policy, ruler, window)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key][0]
        made = simulate(self._timeline, policy, ruler, window)
        with self._lock:
            self._keep(key, made)
        return made

    def found(self, simulation: Simulation, about: Hashable, find: Callable[[], T]) -> T:
        """Return what was found of a replay before, or find it now; ``about`` says what it depends on besides."""
        with self._lock:
            kept = next((more for one, more in self._known.values() if one is simulation), None)
        if kept is None:
            return find()
        if about not in kept:
            kept[about] = find()
        answer: T = kept[about]
        return answer

    def _keep(self, key: Hashable, made: Simulation) -> None:
        self._rows += 0 if key in self._known else _rows(made)
        self._known.setdefault(key, (made, {}))
        while len(self._known) > 1 and (len(self._known) > MOST_REPLAYS or self._rows > MOST_ROWS):
            _, (oldest, _) = self._known.popitem(last=False)
            self._rows -= _rows(oldest)


def _rows(one: Simulation) -> int:
    return len(one.timeline.transitions) + len(one.sizes)


def _key_of(policy: ContextPolicy | None, ruler: Ruler, window: int) -> Hashable | None:
    """Return what a replay depends on; None where that is not all known."""
    own = policy_key(policy)
    key = None if own is None else (own, ruler, window)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def policy_key(policy: ContextPolicy | None) -> Hashable | None:
    """Return a value that is equal for policies that decide the same; None where that cannot be known.

    Of a person's function it holds the source and the plain values outside of it that it uses; a function that
    uses others, lists or objects is never known, since these can change without it.
    """
    match policy:
        case None:
            return "raw"
        case CacheKeeping():
            return type(policy), policy
        case RecordedPolicy():
            return "recorded"
        case Pipeline(stages=stages):
            keys = tuple(policy_key(one) for one in stages)
            return None if None in keys else keys
        case CustomPolicy():
            return _function_key(policy)
        case Preset():
            return type(policy), policy
        case _:
            return None


def _function_key(policy: CustomPolicy) -> Hashable | None:
    function = policy.function
    if not isinstance(function, FunctionType) or function.__closure__ or not policy.text:
        return None
    values = _outside(function.__code__, function.__globals__)
    if values is None:
        return None
    defaults = (function.__defaults__ or (), tuple((function.__kwdefaults__ or {}).items()))
    if not all(isinstance(one, _PLAIN) for one in defaults[0]) or defaults[1]:
        return None
    options = (policy.name, policy.sticky, policy.when, policy.estimator)
    return policy.text, function.__code__, values, defaults, options


def _outside(code: CodeType, names: Mapping[str, Any]) -> tuple[tuple[str, Any], ...] | None:
    """Return the plain values of the global names in a code and in those inside of it; None for others.

    Modules of Python, built-in functions, and what belongs to this package do not change.
    """
    found: list[tuple[str, Any]] = []
    for name in code.co_names:
        value = names.get(name)
        if isinstance(value, _PLAIN):
            found.append((name, value))
        elif not _is_fixed(value):
            return None
    for inner in (one for one in code.co_consts if isinstance(one, CodeType)):
        more = _outside(inner, names)
        if more is None:
            return None
        found += more
    return tuple(found)


def _is_fixed(value: Any) -> bool:
    if isbuiltin(value) or isinstance(value, PolicyNames):
        return True
    home = value.__name__ if ismodule(value) else str(getattr(value, "__module__", ""))
    root = home.partition(".")[0]
    if ismodule(value):
        return root == _PACKAGE or root in sys.stdlib_module_names
    return root == _PACKAGE and (isclass(value) or isinstance(value, FunctionType))
