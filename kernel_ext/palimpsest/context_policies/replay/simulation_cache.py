"""Keep the newest replays of a session in memory, so that the same policy is not replayed again.

A replay depends on the timeline, the policy with its numbers, the ruler and the window alone; a policy that depends
on anything else is replayed each time.
"""

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from inspect import isbuiltin, isclass, ismodule
from threading import Lock
from types import CodeType, FunctionType
from typing import Any, TypeVar

from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.own_policies.custom import CustomPolicy
from palimpsest.context_policies.presets.cache_keeping import CacheKeeping
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.public_policies import PolicyNames
from palimpsest.context_policies.replay.simulation import Simulation, simulate
from palimpsest.transcript.timeline import Timeline

Derived = TypeVar("Derived")

MAX_REPLAYS = 128
MAX_ROWS = 500_000
"""Maximum transitions and requests of all replays together: about 100 MB."""
_PACKAGE = __name__.partition(".")[0]
_PLAIN_TYPES = (bool, int, float, str, bytes, type(None))


class SimulationCache:
    """A thread-safe cache of one timeline's replays and of values derived from them; drops the least recently used."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._replays: OrderedDict[Hashable, tuple[Simulation, dict[Hashable, Any]]] = OrderedDict()
        self._row_count = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._replays)

    def simulation(self, policy: ContextPolicy | None, ruler: Ruler, window: int) -> Simulation:
        """Return the session under a policy; None shows every item whole."""
        key = _key_of(policy, ruler, window)
        if key is None:
            return simulate(self._timeline, policy, ruler, window)
        with self._lock:
            if key in self._replays:
                self._replays.move_to_end(key)
                return self._replays[key][0]
        replay = simulate(self._timeline, policy, ruler, window)
        with self._lock:
            self._store_replay(key, replay)
        return replay

    def derived_value(
        self, simulation: Simulation, key: Hashable, compute: Callable[[], Derived]
    ) -> Derived:
        """Return a value derived from a replay, stored or computed now; ``key`` contains its other inputs."""
        with self._lock:
            replays = self._replays.values()
            values = next((values for replay, values in replays if replay is simulation), None)
        if values is None:
            return compute()
        if key not in values:
            values[key] = compute()
        result: Derived = values[key]
        return result

    def _store_replay(self, key: Hashable, replay: Simulation) -> None:
        self._row_count += 0 if key in self._replays else _row_count(replay)
        self._replays.setdefault(key, (replay, {}))
        while len(self._replays) > 1 and (
            len(self._replays) > MAX_REPLAYS or self._row_count > MAX_ROWS
        ):
            _, (oldest_replay, _) = self._replays.popitem(last=False)
            self._row_count -= _row_count(oldest_replay)


def _row_count(simulation: Simulation) -> int:
    return len(simulation.timeline.transitions) + len(simulation.sizes)


def _key_of(policy: ContextPolicy | None, ruler: Ruler, window: int) -> Hashable | None:
    """Return the key of a replay: all its inputs; None where these are not known."""
    policy_part = policy_key(policy)
    key = None if policy_part is None else (policy_part, ruler, window)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def policy_key(policy: ContextPolicy | None) -> Hashable | None:
    """Return a value that is equal for policies that decide the same; None where that cannot be known.

    For a user's function it holds the source and the plain global values that it uses; a function that uses lists or
    other objects has no key, since these can change without it.
    """
    match policy:
        case None:
            return "raw"
        case CacheKeeping():
            return type(policy), policy
        case RecordedPolicy():
            return "recorded"
        case Pipeline(stages=stages):
            keys = tuple(policy_key(stage) for stage in stages)
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
    values = _plain_globals(function.__code__, function.__globals__)
    if values is None:
        return None
    defaults = (function.__defaults__ or (), tuple((function.__kwdefaults__ or {}).items()))
    default_values = (*defaults[0], *(value for _, value in defaults[1]))
    if not all(isinstance(value, _PLAIN_TYPES) for value in default_values):
        return None
    options = (policy.name, policy.sticky, policy.when, policy.estimator)
    return policy.text, function.__code__, values, defaults, options


def _plain_globals(
    code: CodeType, global_values: Mapping[str, Any]
) -> tuple[tuple[str, Any], ...] | None:
    """Return the plain global values that code uses, with those of its inner functions; None if it uses other values.

    Modules of Python, built-in functions and the objects of this package are ignored, since they do not change.
    """
    values: list[tuple[str, Any]] = []
    for name in code.co_names:
        value = global_values.get(name)
        if isinstance(value, _PLAIN_TYPES):
            values.append((name, value))
        elif not _is_unchanging(value):
            return None
    for inner in (constant for constant in code.co_consts if isinstance(constant, CodeType)):
        inner_values = _plain_globals(inner, global_values)
        if inner_values is None:
            return None
        values += inner_values
    return tuple(values)


def _is_unchanging(value: Any) -> bool:
    if isbuiltin(value) or isinstance(value, PolicyNames):
        return True
    module_name = value.__name__ if ismodule(value) else str(getattr(value, "__module__", ""))
    root = module_name.partition(".")[0]
    if ismodule(value):
        return root == _PACKAGE or root in sys.stdlib_module_names
    return root == _PACKAGE and (isclass(value) or isinstance(value, FunctionType))
