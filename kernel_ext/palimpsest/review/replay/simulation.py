"""Replay a timeline under a policy: what every request would have shown, read from the cache and written to it.

No model is called: the actions are the recorded ones. Until the first request that differs from the record
this is what happened; from there on it is an estimate, since the model would have acted otherwise.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import accumulate
from typing import Any

from palimpsest.review.policies.cache_keeping import CacheKeeping
from palimpsest.review.policies.policy import (
    Change,
    ContextPolicy,
    Decided,
    Probe,
    SessionFacts,
)
from palimpsest.review.policies.recorded_policy import RecordedPolicy, change_of
from palimpsest.review.policies.window_to_fit import window_to_fit
from palimpsest.review.replay.cache_walk import (
    CacheWalk,
    RequestSize,
    UnmeasuredRequest,
)
from palimpsest.review.replay.first_difference import DifferingItems
from palimpsest.review.replay.held_items import HeldItems
from palimpsest.review.replay.item_places import ItemPlaces
from palimpsest.review.replay.kept_prompts import kept_otherwise
from palimpsest.review.replay.replay_view import ReplayView, TokenScale
from palimpsest.review.replay.reported_tokens import ReportedTokens
from palimpsest.review.replay.ruler import Ruler
from palimpsest.transcript.context_values.decisions import RESTORE, UNDO
from palimpsest.transcript.timeline import (
    Timeline,
    TimelineRequest,
    Transition,
)

ANOTHER = "another "
"""How the rule begins by which a system prompt or a set of tools is replaced; it is no policy's."""

RAW = "raw"
"""The name of no policy: every item is whole."""


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
    """One for each request at which the rule came nearer to acting than before."""
    asked: int = 0
    """How often the policy was asked; 0 also where it decides at the end of turns, and no request came after one."""

    idle: Mapping[str, int] = field(default_factory=dict)
    """How many decisions changed nothing, by what the items that they named were."""
    window: int = 0
    """Tokens that none of its requests may exceed; 0 where each has the window of its model."""

    keeping: CacheKeeping | None = None
    """How the cache keeps the requests, where a policy of the cache says so."""

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
    nearest: tuple[float, float] = (-1.0, 0.0)
    """``Probe.nearness`` of the newest of them."""
    asked: int = 0
    """How often the policy was asked."""
    idle: Counter[str] = field(default_factory=Counter)
    """How many decisions changed nothing, by what the items that they named were."""

    def copied(self) -> "_Trace":
        """Return a copy that may go on alone."""
        return _Trace(*(copy(getattr(self, one.name)) for one in fields(self)))


def simulate(
    timeline: Timeline, policy: ContextPolicy | None, ruler: Ruler, window: int = 0
) -> Simulation:
    """Return a session under a policy; None replays it with every item whole."""
    if not timeline.requests:
        name = RAW if policy is None else policy.name
        return Simulation(timeline, name, ruler, sizes=(), fired=())
    return TimelineReplay(timeline, policy, ruler, window).run()


class TimelineReplay:
    """A session on its way through its requests, under a policy."""

    def __init__(
        self,
        timeline: Timeline,
        policy: ContextPolicy | None,
        ruler: Ruler,
        window: int = 0,
    ) -> None:
        self._timeline = timeline
        self.policy = policy
        self._ruler = ruler
        self.done = 0
        """How many requests were replayed."""
        own = ruler.estimator if policy is None else policy.estimator
        unseen = ruler.unseen / ruler.factor
        self._measure = TokenScale(timeline, ruler.estimator, unseen)
        same = own == ruler.estimator
        scale = self._measure if same else TokenScale(timeline, own, unseen)
        self._scales = (scale,) if same else (scale, self._measure)
        self._view = ReplayView(timeline, scale)
        self._usage = ReportedTokens(scale, self._measure, ruler)
        self._view.count_reported = self._usage.total
        self._differing = DifferingItems(timeline)
        self._facts_until: int | None = None
        """The first request that shows something otherwise than it was recorded, if there was one."""
        self._trace = _Trace()
        self._walk = CacheWalk(ruler.scale)
        self._keeping = policy if isinstance(policy, CacheKeeping) else None
        self._name = RAW if policy is None else policy.name
        recorded_window = timeline.requests[0].window if timeline.requests else 0
        facts = SessionFacts(timeline, window or recorded_window, round(unseen), window)
        self._window = window_to_fit(getattr(policy, "policy", policy), facts)
        self._state = None if policy is None else policy.start(facts)
        recorded = isinstance(policy, RecordedPolicy)
        self._held = HeldItems(replace(timeline, items=()) if recorded else timeline)
        self._by_hand: dict[int, list[Transition]] = {}
        """What a person decided, which holds under every policy."""
        self._summarised: dict[int, int] = {}
        """The items that the policy's summaries cover, and the requests before which they were written."""
        self._undone: dict[int, list[int]] = {}
        """By request: where the recorded summaries were written that a person undid before it."""
        self._asked = [0.0, 0.0]
        """Tokens read and written by calls for summaries since the request before."""
        if not recorded:
            self._leave_summaries_out()
            for one in timeline.transitions:
                if one.state == "reverted" or one.rule.startswith(("user/", ANOTHER)):
                    self._by_hand.setdefault(one.request, []).append(one)
                if one.rule == UNDO and timeline.items[one.item].kind == "summary":
                    entered = timeline.items[one.item].entered
                    self._undone.setdefault(one.request, []).append(entered)
        self._left_out = self._trace.transitions[::-1]
        """Recorded summaries that were not compared yet with the recording, the newest first."""
        self._compared = len(self._left_out)
        """How many transitions were."""
        self._places = ItemPlaces(timeline, self._measure.shown)
        self._answers = timeline.derived(
            f"answers by {ruler.estimator}", partial(answer_tokens, estimator=ruler.estimator)
        )

    def _leave_summaries_out(self) -> None:
        """Let the recorded summaries never exist: another policy would not have had them."""
        items = self._timeline.items
        found = [item.index for item in items if item.kind == "summary" or item.continues]
        for scale in self._scales:
            scale.leave_out(found)
        for index in found:
            self._view.show(index, "out", 0)
            entered = self._timeline.items[index].entered
            self._trace.transitions.append(
                Transition(index, entered, "out", tokens=0, rule="recorded summary")
            )

    def recorded_on(self, timeline: Timeline) -> "TimelineReplay":
        """Return a replay of a recording that goes on from this one; the timeline begins with what was replayed."""
        assert isinstance(self.policy, RecordedPolicy)
        made = TimelineReplay(timeline, self.policy.going_on(timeline, self.done), self._ruler)
        made.done = self.done
        made._measure.go_on_from(self._measure)
        made._view.go_on_from(self._view)
        made._usage.go_on_from(self._usage)
        sent = timeline.requests[self.done - 1].items if self.done else 0
        made._places = ItemPlaces(timeline, made._measure.shown, self._view.count, sent)
        made._trace = self._trace.copied()
        made._walk = self._walk.copied()
        made._summarised, made._asked = {**self._summarised}, [*self._asked]
        return made

    def is_beginning_of(self, timeline: Timeline) -> bool:
        """Return whether a timeline begins with what was replayed of this one's."""
        own, done = self._timeline, self.done
        if not done or len(timeline.requests) < done:
            return False
        items = max(own.requests[done - 1].items, own.requests[done - 1].answer[1])
        moves = bisect_left(own.transitions, done, key=lambda one: one.request)
        there = bisect_left(timeline.transitions, done, key=lambda one: one.request)
        return (
            moves == there
            and own.requests[:done] == timeline.requests[:done]
            and own.items[:items] == timeline.items[:items]
            and own.transitions[:moves] == timeline.transitions[:moves]
        )

    def run(self, earlier: dict[str, Any] | None = None) -> Simulation:
        """Replay every request, and return what came of it; ``earlier`` goes to its timeline."""
        self.advance(len(self._timeline.requests))
        return self._result(earlier)

    def advance(self, until: int) -> None:
        """Replay the requests before this one."""
        view, places, sizes = self._view, self._places, self._trace.sizes
        turns, requests = self._decides("turn end"), self._decides("request")
        before = self._timeline.requests[self.done - 1] if self.done else None
        for request in self._timeline.requests[self.done : until]:
            places.begin()
            view.request = request
            view.gap_seconds = request.seconds_since(before)
            if turns and before is not None and request.turn != before.turn:
                self._add(self._turn_end(request, view.count))
                view.turn = before.turn
                self._step(request)
            self._add(request.items)
            view.turn = request.turn
            self._take_by_hand(request)
            if requests:
                self._step(request)
            sizes.append(self._size(request))
            self._note_sent(request, sizes[-1])
            places.sent(request.items)
            before = request
        self.done = max(self.done, until)

    def _note_sent(self, request: TimelineRequest, size: RequestSize) -> None:
        """Note what the provider reported of a request, or would have where it differs from the recorded one."""
        if self._facts_until is None and not isinstance(self.policy, RecordedPolicy):
            moves = self._trace.transitions
            new, self._compared = moves[self._compared :], len(moves)
            while self._left_out and self._left_out[-1].request <= request.index:
                new.insert(0, self._left_out.pop())
            if self._differing.differ(request.index, new):
                self._facts_until = request.index
        self._usage.sent(request, size.total, recorded=self._facts_until is None)

    def _take_by_hand(self, request: TimelineRequest) -> None:
        """Show items as a person decided since the request before, and bring back what an undone summary replaced."""
        undone: list[tuple[Change, str]] = []
        for entered in self._undone.get(request.index, ()):
            those = [one for one, at in self._summarised.items() if at == entered]
            undone += [(Change(one, "whole"), UNDO) for one in those]
            for one in those:
                del self._summarised[one]
        decided = [(change_of(one), one.rule) for one in self._by_hand.get(request.index, ())]
        for change, rule in (*undone, *decided):
            shown = change
            self._held.decide(change)
            if rule == RESTORE and self._is_behind_summary(change.item):
                self._summarised[change.item] = max(self._summarised.values())
                shown = Change(change.item, "summarised", tokens=0)
            if shown.state != self._view.state(shown.item):
                self._apply(shown, request, rule)

    def _is_behind_summary(self, item: int) -> bool:
        """Return whether a summary of this policy stands for what comes after an item, so that it covers it, too."""
        if self._timeline.items[item].pinned:
            return False
        view = self._view
        return any(one > item and view.state(one) == "summarised" for one in self._summarised)

    def _decides(self, when: str) -> bool:
        return self.policy is not None and self.policy.when in (when, "both")

    def _turn_end(self, request: TimelineRequest, sent: int) -> int:
        """Return where the items of the new turn begin."""
        items = self._timeline.items
        until = sent
        while until < request.items and items[until].turn < request.turn:
            until += 1
        return until

    def _add(self, until: int) -> None:
        for scale in self._scales:
            scale.add(until)
        self._places.add(until)
        self._view.add(until)

    def _step(self, request: TimelineRequest) -> None:
        policy = self.policy
        if policy is None:
            return
        decided: Decided = policy.step(self._state, self._view)
        self._trace.asked += 1
        self._trace.idle.update(decided.idle)
        self._state = decided.state
        if decided.changes:
            its = self._ruler.of(request.index)
            before = its.of(self._measure.total, self._ruler.scale)
            for change in self._held.permitted(decided.changes):
                if change.state == "summarised":
                    self._summarised.setdefault(change.item, request.index)
                    if change.tokens:
                        self._asked[0] += before
                        self._asked[1] += change.tokens
                self._apply(change, request, self._name)
        if decided.fired:
            self._trace.fired.append(request.index)
        probe = decided.probe if self._trace.fired else decided.held_by
        if probe is not None and probe.nearness > self._trace.nearest:
            self._trace.nearest = probe.nearness
            self._trace.probes.append(ProbeAt(request.index, probe))

    def _apply(self, change: Change, request: TimelineRequest, rule: str) -> None:
        item, state, length = change.item, change.state, change.length
        for scale in self._scales:
            scale.change(change)
        chars = self._timeline.items[item].chars if state == "whole" else length
        self._view.show(item, state, chars)
        self._places.changed(item)
        self._trace.transitions.append(
            Transition(
                item,
                request.index,
                state,
                self._measure.shown[item],
                length,
                rule,
                change.numbers,
                change.shown or None,
            )
        )

    def _size(self, request: TimelineRequest) -> RequestSize:
        asked, written = self._asked
        if written:
            self._asked = [0.0, 0.0]
        changed = self._places.lowest
        if changed is None:
            held = None
        else:
            held = self._places.before(changed, whole_messages=self._ruler.prefix == "message")
        one = UnmeasuredRequest(
            request,
            self._measure.total,
            self._answers[request.index],
            held,
            changed,
            asked,
            written,
        )
        its = self._ruler.of(request.index)
        if self._keeping is None:
            return self._walk.size(one, its)
        left_out = self._keeping.first_left_out(self._view)
        if left_out is not None:
            kept = self._places.before(left_out, whole_messages=self._ruler.prefix == "message")
            one = replace(one, kept=kept)
        one = replace(one, is_hourly=self._keeping.is_hourly)
        return self._walk.size(one, kept_otherwise(self._keeping, its))

    def _result(self, earlier: dict[str, Any] | None) -> Simulation:
        trace = self._trace
        recorded = isinstance(self.policy, RecordedPolicy)
        transitions: Sequence[Transition] = trace.transitions
        if not recorded:
            transitions = sorted(transitions, key=lambda one: one.request)
        return Simulation(
            timeline=self._timeline.with_transitions(transitions, self._facts_until, earlier),
            policy=self._name,
            ruler=self._ruler,
            sizes=tuple(trace.sizes),
            fired=tuple(trace.fired),
            probes=tuple(trace.probes),
            asked=trace.asked,
            idle=trace.idle,
            window=self._window,
            keeping=self._keeping,
        )


def answer_tokens(timeline: Timeline, estimator: str) -> tuple[float, ...]:
    """Return the tokens of each request's answer by an estimator."""
    weights = timeline.weights(estimator)
    sums = [0, *accumulate(map(float, weights))]
    return tuple(sums[one.answer[1]] - sums[one.answer[0]] for one in timeline.requests)
