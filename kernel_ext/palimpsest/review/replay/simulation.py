"""Replay a timeline under a policy: what every request would have shown, read from the cache and written to it.

No model is called: the actions are the recorded ones. Until the first request that differs from the record
this is what happened; from there on it is an estimate, since the model would have acted otherwise.
"""

from dataclasses import dataclass, field, replace

from palimpsest.review.policies.policy import (
    Change,
    ContextPolicy,
    Decided,
    Probe,
    SessionFacts,
)
from palimpsest.review.replay.first_difference import first_difference
from palimpsest.review.replay.held_items import HeldItems
from palimpsest.review.replay.item_places import ItemPlaces
from palimpsest.review.replay.recorded_policy import RecordedPolicy, change_of
from palimpsest.review.replay.replay_view import ReplayView, TokenScale
from palimpsest.review.replay.ruler import Ruler
from palimpsest.transcript.timeline import (
    Timeline,
    TimelineRequest,
    Transition,
)

ANOTHER = "another "
"""How the rule begins by which a system prompt or a set of tools is replaced; it is no policy's."""


@dataclass(frozen=True, slots=True)
class RequestSize:
    """One request of a replay, in tokens by the ruler."""

    total: float
    prefix: float
    """What it has in common with the request before, from its beginning on."""
    read: float
    """What the provider's cache held of that; the rest was written."""
    output: float
    summary_input: float = 0
    """Tokens that the calls for summaries before this request read; they share its prefix."""
    summary_output: float = 0
    """Tokens that those calls wrote."""
    first_changed: int | None = None
    """The first item that was sent before and is shown otherwise now; None where the request only grew."""

    @property
    def written(self) -> float:
        """Tokens that the cache did not hold."""
        return self.total - self.read


@dataclass(frozen=True, slots=True)
class ProbeAt:
    """What a rule looked at, at a request."""

    request: int
    probe: Probe


@dataclass(frozen=True)
class Simulation:
    """A session under a policy."""

    timeline: Timeline
    """With the policy's transitions."""
    policy: str
    ruler: Ruler
    sizes: tuple[RequestSize, ...]
    fired: tuple[int, ...]
    """The requests at which the policy's rule acted."""
    probes: tuple[ProbeAt, ...] = ()
    """One for each request at which the signal rose to a new maximum."""

    @property
    def facts_until(self) -> int | None:
        """The first request that differs from the recorded one; None where none does."""
        return self.timeline.facts_until


@dataclass(slots=True)
class _Trace:
    """What is collected while a session is replayed."""

    transitions: list[Transition] = field(default_factory=list)
    sizes: list[RequestSize] = field(default_factory=list)
    fired: list[int] = field(default_factory=list)
    probes: list[ProbeAt] = field(default_factory=list)
    highest: float = float("-inf")


def simulate(
    timeline: Timeline, policy: ContextPolicy | None, ruler: Ruler, window: int = 0
) -> Simulation:
    """Return a session under a policy; None replays it with every item whole."""
    if not timeline.requests:
        name = "raw" if policy is None else policy.name
        return Simulation(timeline, name, ruler, sizes=(), fired=())
    return _Replay(timeline, policy, ruler, window).run()


class _Replay:
    def __init__(
        self, timeline: Timeline, policy: ContextPolicy | None, ruler: Ruler, window: int
    ) -> None:
        self._timeline = timeline
        self._policy = policy
        self._ruler = ruler
        self._measure = TokenScale(timeline, ruler.estimator, 0)
        own = ruler.estimator if policy is None else policy.estimator
        unseen = ruler.unseen / ruler.factor
        self._scale = TokenScale(timeline, own, unseen)
        self._view = ReplayView(timeline, self._scale)
        self._trace = _Trace()
        self._name = "raw" if policy is None else policy.name
        self._state = (
            None if policy is None else policy.start(SessionFacts(timeline, window, round(unseen)))
        )
        self._places = ItemPlaces(timeline, self._measure.shown)
        recorded = isinstance(policy, RecordedPolicy)
        self._held = HeldItems(replace(timeline, items=()) if recorded else timeline)
        self._by_hand: dict[int, list[Transition]] = {}
        """What a person decided, which holds under every policy."""
        self._asked = [0.0, 0.0]
        """Tokens read and written by calls for summaries since the request before."""
        if not recorded:
            self._leave_summaries_out()
            for one in timeline.transitions:
                if one.state == "reverted" or one.rule.startswith(("user/", ANOTHER)):
                    self._by_hand.setdefault(one.request, []).append(one)

    def _leave_summaries_out(self) -> None:
        """Let the recorded summaries never exist: another policy would not have had them."""
        items = self._timeline.items
        found = [item.index for item in items if item.kind == "summary" or item.continues]
        self._measure.leave_out(found)
        self._scale.leave_out(found)
        for index in found:
            self._view.show(index, "out", 0)
            entered = self._timeline.items[index].entered
            self._trace.transitions.append(
                Transition(index, entered, "out", tokens=0, rule="recorded summary")
            )

    def run(self) -> Simulation:
        """Replay every request."""
        before: TimelineRequest | None = None
        for request in self._timeline.requests:
            sent = self._view.count
            self._places.begin()
            self._asked = [0.0, 0.0]
            self._view.request = request
            self._view.gap_seconds = _gap(before, request)
            if before is not None and request.turn != before.turn and self._decides("turn end"):
                self._add(self._turn_end(request, sent))
                self._view.turn = before.turn
                self._step(request)
            self._add(request.items)
            self._view.turn = request.turn
            for one in self._by_hand.get(request.index, ()):
                change = change_of(one)
                self._held.decide(change)
                if change.state != self._view.state(change.item):
                    self._apply(change, request, one.rule)
            if self._decides("request"):
                self._step(request)
            self._trace.sizes.append(self._size(before, request))
            self._places.sent(request.items)
            before = request
        return self._result()

    def _decides(self, when: str) -> bool:
        return self._policy is not None and self._policy.when in (when, "both")

    def _turn_end(self, request: TimelineRequest, sent: int) -> int:
        """Return where the items of the new turn begin."""
        items = self._timeline.items
        until = sent
        while until < request.items and items[until].turn < request.turn:
            until += 1
        return until

    def _add(self, until: int) -> None:
        self._measure.add(until)
        self._scale.add(until)
        self._places.add(self._view.count, until)
        self._view.add(until)

    def _step(self, request: TimelineRequest) -> None:
        policy = self._policy
        if policy is None:
            return
        decided: Decided = policy.step(self._state, self._view)
        self._state = decided.state
        before = self._ruler.unseen + self._ruler.factor * self._measure.total
        for change in self._held.permitted(decided.changes):
            if change.state == "summarised" and change.tokens:
                self._asked[0] += before
                self._asked[1] += change.tokens
            self._apply(change, request, self._name)
        if decided.fired:
            self._trace.fired.append(request.index)
        probe = decided.probe
        if probe is not None and probe.value > self._trace.highest:
            self._trace.highest = probe.value
            self._trace.probes.append(ProbeAt(request.index, probe))

    def _apply(self, change: Change, request: TimelineRequest, rule: str) -> None:
        item = change.item
        self._measure.change(change)
        self._scale.change(change)
        whole = change.state == "whole"
        chars = self._timeline.items[item].chars if whole else change.length
        self._view.show(item, change.state, chars)
        self._places.changed(item)
        self._trace.transitions.append(
            Transition(
                item=item,
                request=request.index,
                state=change.state,
                tokens=self._measure.shown[item],
                chars=change.length,
                rule=rule,
                numbers=change.numbers,
                shown=change.shown or None,
            )
        )

    def _size(self, before: TimelineRequest | None, request: TimelineRequest) -> RequestSize:
        ruler, measure = self._ruler, self._measure
        total = ruler.unseen + ruler.factor * measure.total
        first, end = request.answer
        output = float(sum(measure.weights[first:end])) * ruler.factor
        asked, written = self._asked
        if before is None:
            return RequestSize(total, 0, 0, output, asked, written)
        changed = self._places.lowest
        if changed is None:
            prefix = self._trace.sizes[-1].total
        else:
            held = self._places.before(changed, whole_messages=ruler.prefix == "message")
            prefix = ruler.unseen + ruler.factor * held
        gap = self._view.gap_seconds
        warm = (
            (gap is None or gap <= ruler.lifetime_seconds)
            and request.model == before.model
            and prefix >= ruler.minimum
        )
        return RequestSize(total, prefix, prefix if warm else 0, output, asked, written, changed)

    def _result(self) -> Simulation:
        trace = self._trace
        recorded = isinstance(self._policy, RecordedPolicy)
        transitions = sorted(trace.transitions, key=lambda one: one.request)
        first = None if recorded else first_difference(self._timeline, transitions)
        return Simulation(
            timeline=self._timeline.with_transitions(transitions, first),
            policy=self._name,
            ruler=self._ruler,
            sizes=tuple(trace.sizes),
            fired=tuple(trace.fired),
            probes=tuple(trace.probes),
        )


def _gap(before: TimelineRequest | None, request: TimelineRequest) -> float | None:
    if before is None:
        return None
    start, end = request.started, before.ended or before.started
    return None if start is None or end is None else (start - end) / 1000
