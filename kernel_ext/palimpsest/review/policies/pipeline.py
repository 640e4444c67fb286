"""Policies in a row: each sees the result of those before it, by its own estimator.

Every stage has a layer of its own decisions. A request shows of an item what the last stage decided that decided
anything, so that an earlier stage never brings back what a later one removed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.review.policies.policy import (
    Change,
    ContextPolicy,
    Decided,
    PolicyView,
    SessionFacts,
    When,
)
from palimpsest.transcript.timeline import ItemState, Timeline, TimelineItem, TimelineRequest

Layer = Mapping[str, tuple[ItemState, str, int | None, int | None]]
"""A stage's decisions that hold, by item: state, text, characters, tokens; plain values, as every state."""


class Joinable:
    """Is joined with another policy by ``|``."""

    def __or__(self, other: Any) -> "Pipeline":
        """Return a pipeline in which the other policy sees the result of this one."""
        if not hasattr(other, "step"):
            return NotImplemented
        return Pipeline((*_stages(self), *_stages(other)))


@dataclass(frozen=True)
class Pipeline(Joinable):
    """Lets several policies decide one after another."""

    stages: tuple[ContextPolicy, ...]

    @property
    def name(self) -> str:
        """The names of its policies, in order."""
        return " | ".join(one.name for one in self.stages)

    @property
    def source(self) -> str:
        """The sources of its policies, in order."""
        return " | ".join(one.source for one in self.stages)

    @property
    def estimator(self) -> str:
        """That of its first policy; the others count by their own."""
        return self.stages[0].estimator

    @property
    def when(self) -> When:
        """At the end of a turn where all of them decide then, else before each request."""
        return "turn end" if all(one.when == "turn end" for one in self.stages) else "request"

    def start(self, facts: SessionFacts) -> dict[str, Any]:
        """Return the states of all, with empty layers."""
        return {
            "states": [one.start(facts) for one in self.stages],
            "layers": [{} for _ in self.stages],
            "unseen": facts.unseen,
            "turn": None,
        }

    def step(self, state: dict[str, Any], view: PolicyView) -> Decided:
        """Let each decide over what those before it left, and return what differs from before."""
        old: list[Layer] = state["layers"]
        layers, states = list(old), list(state["states"])
        touched: set[int] = set()
        first, fired = None, False
        for place, stage in enumerate(self.stages):
            until, turn = view.count, view.turn
            if stage.when == "turn end" and self.when == "request":
                if state["turn"] in (None, view.request.turn):
                    continue
                until, turn = _turn_end(view), state["turn"]
            seen = StageView(
                view, layers[: place + 1], stage.estimator, state["unseen"], until, turn
            )
            decided = stage.step(states[place], seen)
            states[place] = decided.state
            first = decided.probe if place == 0 else first
            fired = fired or decided.fired
            if decided.changes:
                layers[place] = _with(layers[place], decided.changes)
                touched.update(one.item for one in decided.changes)
        changes = [
            _change(item, layers)
            for item in sorted(touched)
            if _top(item, layers) != _top(item, old)
        ]
        left = state | {"states": states, "layers": layers, "turn": view.request.turn}
        return Decided(left, changes, first, fired=fired and bool(changes))


class StageView:
    """What a policy of a pipeline sees; see ``PolicyView``."""

    def __init__(
        self,
        base: PolicyView,
        layers: Sequence[Layer],
        estimator: str,
        unseen: int,
        count: int,
        turn: int,
    ) -> None:
        self._base = base
        self._layers = layers
        self._weights = base.timeline.weights(estimator)
        self._unseen = unseen
        self.count = count
        self.turn = turn
        self.outputs = [one for one in base.outputs if one < count]

    @property
    def timeline(self) -> Timeline:
        """The session."""
        return self._base.timeline

    @property
    def request(self) -> TimelineRequest:
        """The request that is about to be sent."""
        return self._base.request

    @property
    def gap_seconds(self) -> float | None:
        """Seconds since the request before."""
        return self._base.gap_seconds

    def item(self, index: int) -> TimelineItem:
        """Return an item."""
        return self._base.item(index)

    def weight(self, index: int) -> int:
        """Return an item's tokens, whole, by the stage's estimator."""
        return self._weights[index]

    def state(self, index: int) -> ItemState:
        """Return what the stages so far show of an item."""
        found = self._base.state(index)
        if found == "reverted":
            return found
        top = _top(index, self._layers)
        return "whole" if top is None else top[0]

    def chars(self, index: int) -> int:
        """Return the characters of what the stages so far show of an item."""
        top = _top(index, self._layers)
        return self.item(index).chars if top is None else _change(index, self._layers).length

    def tokens(self, index: int) -> int:
        """Return the tokens of what the stages so far show of an item."""
        if self._base.state(index) == "reverted" or self._is_left_out(index):
            return 0
        top = _top(index, self._layers)
        if top is None:
            return self._weights[index]
        state, _, _, tokens = top
        if tokens is not None:
            return tokens
        return 0 if state == "out" else -(-_change(index, self._layers).length // 4)

    @property
    def total(self) -> int:
        """Tokens of the request as the stages so far leave it."""
        return self._unseen + sum(self.tokens(one) for one in range(self.count))

    @property
    def raw_total(self) -> int:
        """The same, with every item whole."""
        return self._unseen + self.raw_after(0)

    def raw_after(self, index: int) -> int:
        """Return the tokens of the items from this one on, whole."""
        return sum(
            self._weights[one] for one in range(index, self.count) if not self._is_left_out(one)
        )

    def read(self, index: int) -> str:
        """Return the whole text of an item."""
        if index >= self.count:
            raise IndexError("A policy sees no item of the future.")
        return self._base.read(index)

    def _is_left_out(self, index: int) -> bool:
        """Return whether an item is a recorded summary, which a replay leaves out."""
        return self.item(index).kind == "summary"


def _stages(policy: Any) -> tuple[ContextPolicy, ...]:
    return policy.stages if isinstance(policy, Pipeline) else (policy,)


def _with(layer: Layer, changes: Sequence[Change]) -> Layer:
    found = dict(layer)
    for one in changes:
        if one.state == "whole":
            found.pop(str(one.item), None)
        else:
            found[str(one.item)] = (one.state, one.shown, one.chars, one.tokens)
    return found


def _top(
    item: int, layers: Sequence[Layer]
) -> tuple[ItemState, str, int | None, int | None] | None:
    """Return the last stage's decision on an item; None where it is whole."""
    key = str(item)
    return next((layer[key] for layer in reversed(layers) if key in layer), None)


def _change(item: int, layers: Sequence[Layer]) -> Change:
    top = _top(item, layers)
    if top is None:
        return Change(item, "whole")
    state, shown, chars, tokens = top
    return Change(item, state, shown, chars, tokens)


def _turn_end(view: PolicyView) -> int:
    """Return where the items of the request's turn begin."""
    until = view.count
    while until and view.item(until - 1).turn >= view.request.turn:
        until -= 1
    return until
