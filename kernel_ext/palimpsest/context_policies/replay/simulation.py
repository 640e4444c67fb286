"""Replay a timeline under a policy: the items of every request, and its tokens read from and written to the cache.

No model is called: the actions are the recorded ones. Until the first request that differs from the recording the
result is a fact; from there on it is an estimate, since the model might have acted differently.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import accumulate
from typing import Any

from palimpsest.context_policies.interface.policy import (
    Change,
    ContextPolicy,
    Probe,
    SessionFacts,
)
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy, change_of
from palimpsest.context_policies.interface.window_to_fit import window_to_fit
from palimpsest.context_policies.own_policies.own_code_errors import decided_by, start_of
from palimpsest.context_policies.presets.cache_keeping import CacheKeeping
from palimpsest.context_policies.prompt_cache.cache_walk import (
    CacheWalk,
    RequestSize,
    UnmeasuredRequest,
)
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.first_difference import DifferingItems
from palimpsest.context_policies.replay.held_items import HeldItems
from palimpsest.context_policies.replay.item_places import ItemPlaces
from palimpsest.context_policies.replay.kept_prompts import with_cache_policy
from palimpsest.context_policies.replay.replay_view import ReplayView, TokenScale
from palimpsest.context_policies.replay.reported_tokens import ReportedTokens
from palimpsest.transcript.context_values.decisions import RESTORE, UNDO
from palimpsest.transcript.timeline import (
    Timeline,
    TimelineRequest,
    Transition,
)

ANOTHER = "another "
"""Prefix of the rules of transitions that replace a system prompt or a set of tools; no policy makes them."""

RAW = "raw"
"""The name of the replay without policy: every item is whole."""


@dataclass(frozen=True, slots=True)
class ProbeAt:
    """The probe of a rule at a request."""

    request: int
    probe: Probe


@dataclass(frozen=True)
class Simulation:
    """A session under a policy."""

    timeline: Timeline
    """The timeline with the policy's transitions."""
    policy: str
    ruler: Ruler
    sizes: tuple[RequestSize, ...]
    fired: tuple[int, ...]
    """The requests at which the policy's rule acted."""
    probes: tuple[ProbeAt, ...] = ()
    """The probes at which the rule came nearer to acting than before."""
    decision_count: int = 0
    """Number of times that the policy decided; 0 also if it decides at the end of turns and no request followed a turn."""

    idle: Mapping[str, int] = field(default_factory=dict)
    """Number of decisions that changed nothing, by the reason."""
    window: int = 0
    """Maximum tokens of every request; 0 where each request has the window of its model."""

    keeping: CacheKeeping | None = None
    """The policy, if it is a cache policy."""

    @property
    def facts_until(self) -> int | None:
        """The first request that differs from the recorded one; None where none does."""
        return self.timeline.facts_until


@dataclass(slots=True)
class _Trace:
    """The results collected while a session is replayed."""

    transitions: list[Transition] = field(default_factory=list)
    sizes: list[RequestSize] = field(default_factory=list)
    fired: list[int] = field(default_factory=list)
    probes: list[ProbeAt] = field(default_factory=list)
    nearest_probe: tuple[float, float] = (-1.0, 0.0)
    """``Probe.nearness`` of the newest probe."""
    decision_count: int = 0
    """Number of times that the policy decided."""
    idle: Counter[str] = field(default_factory=Counter)
    """Number of decisions that changed nothing, by the reason."""

    def copy(self) -> "_Trace":
        """Return a copy that continues independently."""
        return _Trace(*(copy(getattr(self, field.name)) for field in fields(self)))


def simulate(
    timeline: Timeline,
    policy: ContextPolicy | None,
    ruler: Ruler,
    window: int = 0,
    earlier: dict[str, Any] | None = None,
) -> Simulation:
    """Replay a session under a policy; None shows every item whole.

    ``earlier`` are the values derived from a replay of the session that may begin alike, which this replay's continue.
    """
    if not timeline.requests:
        name = RAW if policy is None else policy.name
        return Simulation(timeline, name, ruler, sizes=(), fired=())
    return TimelineReplay(timeline, policy, ruler, window).run(earlier)


class TimelineReplay:
    """Replays a session request by request under a policy."""

    def __init__(
        self,
        timeline: Timeline,
        policy: ContextPolicy | None,
        ruler: Ruler,
        window: int = 0,
        *,
        sized: bool = True,
    ) -> None:
        """Without ``sized`` the requests are not measured: for a recording of which only decisions are asked."""
        self._timeline = timeline
        self._sized = sized
        self.policy = policy
        self._ruler = ruler
        self.done_count = 0
        """Number of requests that were replayed."""
        estimator_name = ruler.estimator if policy is None else policy.estimator
        unseen = ruler.unseen / ruler.factor
        self._measure = TokenScale(timeline, ruler.estimator, unseen)
        is_same = estimator_name == ruler.estimator
        scale = self._measure if is_same else TokenScale(timeline, estimator_name, unseen)
        self._scales = (scale,) if is_same else (scale, self._measure)
        self._view = ReplayView(timeline, scale)
        self._usage = ReportedTokens(scale, self._measure, ruler)
        self._view.count_reported = self._usage.total
        self._differing = DifferingItems(timeline)
        self._facts_until: int | None = None
        """The first request whose items differ from the recorded ones, if there was one."""
        self._trace = _Trace()
        self._walk = CacheWalk(ruler.scale)
        self._keeping = policy if isinstance(policy, CacheKeeping) else None
        self._name = RAW if policy is None else policy.name
        recorded_window = timeline.requests[0].window if timeline.requests else 0
        facts = SessionFacts(timeline, window or recorded_window, round(unseen), window)
        self._window = window_to_fit(getattr(policy, "policy", policy), facts)
        self._state = None if policy is None else start_of(policy, facts)
        is_recorded = isinstance(policy, RecordedPolicy)
        self._fixed_items = HeldItems(replace(timeline, items=()) if is_recorded else timeline)
        self._user_decisions: dict[int, list[Transition]] = {}
        """The user's decisions, which apply under every policy."""
        self._summarised: dict[int, int] = {}
        """The items that the policy's summaries cover, each with the request before which they were written."""
        self._undone: dict[int, list[int]] = {}
        """For each request before which the user undid recorded summaries: the requests at which those were written."""
        self._summary_tokens = [0.0, 0.0]
        """Tokens read and written by calls for summaries since the request before."""
        if not is_recorded:
            self._hide_recorded_summaries()
            for transition in timeline.transitions:
                if transition.state == "reverted" or transition.rule.startswith(("user/", ANOTHER)):
                    self._user_decisions.setdefault(transition.request, []).append(transition)
                if transition.rule == UNDO and timeline.items[transition.item].kind == "summary":
                    entered = timeline.items[transition.item].entered
                    self._undone.setdefault(transition.request, []).append(entered)
        self._removed_summaries = self._trace.transitions[::-1]
        """Removals of recorded summaries that were not yet compared with the recording, the newest first."""
        self._compared = len(self._removed_summaries)
        """Number of the replay's transitions that were compared with the recording."""
        self._places = ItemPlaces(timeline, self._measure.shown)
        self._answers = timeline.derived_value(
            f"answers by {ruler.estimator}", partial(answer_tokens, estimator=ruler.estimator)
        )

    def _hide_recorded_summaries(self) -> None:
        """Hide the recorded summaries, which another policy would not have written."""
        items = self._timeline.items
        summaries = [item.index for item in items if item.kind == "summary" or item.continues]
        for scale in self._scales:
            scale.set_empty(summaries)
        for index in summaries:
            self._view.show(index, "out", 0)
            entered = self._timeline.items[index].entered
            self._trace.transitions.append(
                Transition(index, entered, "out", tokens=0, rule="recorded summary")
            )

    def recorded_on(self, timeline: Timeline) -> "TimelineReplay":
        """Return a replay of a longer timeline of the recording, continued from this one."""
        assert isinstance(self.policy, RecordedPolicy)
        continued = TimelineReplay(
            timeline,
            self.policy.continued_on(timeline, self.done_count),
            self._ruler,
            sized=self._sized,
        )
        continued.done_count = self.done_count
        continued._measure.copy_from(self._measure)
        continued._view.copy_from(self._view)
        continued._usage.copy_from(self._usage)
        sent = timeline.requests[self.done_count - 1].items if self.done_count else 0
        continued._places = ItemPlaces(timeline, continued._measure.shown, self._view.count, sent)
        continued._trace = self._trace.copy()
        continued._walk = self._walk.copy()
        continued._summarised, continued._summary_tokens = (
            {**self._summarised},
            [*self._summary_tokens],
        )
        return continued

    def is_beginning_of(self, timeline: Timeline) -> bool:
        """Return whether a timeline begins with the part that was replayed here."""
        earlier, done_count = self._timeline, self.done_count
        if not done_count or len(timeline.requests) < done_count:
            return False
        items = max(
            earlier.requests[done_count - 1].items, earlier.requests[done_count - 1].answer[1]
        )
        transitions = bisect_left(
            earlier.transitions, done_count, key=lambda transition: transition.request
        )
        transitions_now = bisect_left(
            timeline.transitions, done_count, key=lambda transition: transition.request
        )
        return (
            transitions == transitions_now
            and earlier.requests[:done_count] == timeline.requests[:done_count]
            and earlier.items[:items] == timeline.items[:items]
            and earlier.transitions[:transitions] == timeline.transitions[:transitions]
        )

    def run(self, earlier: dict[str, Any] | None = None) -> Simulation:
        """Replay every request, and return the result; its timeline stores ``earlier``."""
        self.advance(len(self._timeline.requests))
        return self._result(earlier)

    def advance(self, until: int) -> None:
        """Replay the requests with an index below ``until``."""
        view, places, sizes = self._view, self._places, self._trace.sizes
        decides_at_turn_end, decides_at_request = (
            self._is_decided_at("turn end"),
            self._is_decided_at("request"),
        )
        before = self._timeline.requests[self.done_count - 1] if self.done_count else None
        for request in self._timeline.requests[self.done_count : until]:
            places.begin()
            view.request = request
            view.gap_seconds = request.seconds_since(before)
            if decides_at_turn_end and before is not None and request.turn != before.turn:
                self._add(self._turn_start(request, view.count))
                view.turn = before.turn
                self._step(request)
            self._add(request.items)
            view.turn = request.turn
            if request.index in self._user_decisions or request.index in self._undone:
                self._apply_user_decisions(request)
            if decides_at_request:
                self._step(request)
            total = 0.0
            if self._sized:
                sizes.append(self._size(request))
                total = sizes[-1].total
            self._store_usage(request, total)
            places.note_sent(request.items)
            before = request
        self.done_count = max(self.done_count, until)

    def _store_usage(self, request: TimelineRequest, total: float) -> None:
        """Store the reported usage of a request, or an estimate where it differs from the recorded one."""
        if self._facts_until is None and not isinstance(self.policy, RecordedPolicy):
            transitions = self._trace.transitions
            new, self._compared = transitions[self._compared :], len(transitions)
            while self._removed_summaries and self._removed_summaries[-1].request <= request.index:
                new.insert(0, self._removed_summaries.pop())
            if self._differing.advance(request.index, new):
                self._facts_until = request.index
        self._usage.add_sent(request, total, recorded=self._facts_until is None)

    def _apply_user_decisions(self, request: TimelineRequest) -> None:
        """Apply the user's decisions since the request before, and show again the items of undone summaries."""
        undone: list[tuple[Change, str]] = []
        for entered in self._undone.get(request.index, ()):
            shown_again = [item for item, written in self._summarised.items() if written == entered]
            undone += [(Change(item, "whole"), UNDO) for item in shown_again]
            for item in shown_again:
                del self._summarised[item]
        decided = [
            (change_of(decision), decision.rule)
            for decision in self._user_decisions.get(request.index, ())
        ]
        for change, rule in (*undone, *decided):
            effective = change
            self._fixed_items.decide(change)
            if rule == RESTORE and self._is_covered_by_summary(change.item):
                self._summarised[change.item] = max(self._summarised.values())
                effective = Change(change.item, "summarised", tokens=0)
            if effective.state != self._view.state(effective.item):
                self._apply(effective, request, rule)

    def _is_covered_by_summary(self, item: int) -> bool:
        """Return whether a summary of this policy covers a later item, so that it must cover this item, too."""
        if self._timeline.items[item].pinned:
            return False
        view = self._view
        return any(later > item and view.state(later) == "summarised" for later in self._summarised)

    def _is_decided_at(self, when: str) -> bool:
        return self.policy is not None and self.policy.when in (when, "both")

    def _turn_start(self, request: TimelineRequest, sent: int) -> int:
        """Return the index at which the items of the new turn begin."""
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
        decided = decided_by(policy, self._state, self._view)
        self._trace.decision_count += 1
        self._trace.idle.update(decided.idle)
        self._state = decided.state
        if decided.changes:
            request_ruler = self._ruler.of(request.index)
            before = request_ruler.of(self._measure.total, self._ruler.scale)
            for change in self._fixed_items.permitted(decided.changes):
                if change.state == "summarised":
                    self._summarised.setdefault(change.item, request.index)
                    if change.tokens:
                        self._summary_tokens[0] += before
                        self._summary_tokens[1] += change.tokens
                self._apply(change, request, self._name)
        if decided.fired:
            self._trace.fired.append(request.index)
        probe = decided.probe if self._trace.fired else decided.held_by
        if probe is not None and probe.nearness > self._trace.nearest_probe:
            self._trace.nearest_probe = probe.nearness
            self._trace.probes.append(ProbeAt(request.index, probe))

    def _apply(self, change: Change, request: TimelineRequest, rule: str) -> None:
        item, state, length = change.item, change.state, change.length
        for scale in self._scales:
            scale.change(change)
        chars = self._timeline.items[item].chars if state == "whole" else length
        self._view.show(item, state, chars)
        self._places.note_change(item)
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
        summary_input, summary_output = self._summary_tokens
        if summary_output:
            self._summary_tokens = [0.0, 0.0]
        changed = self._places.lowest
        if changed is None:
            prefix = None
        else:
            prefix = self._places.tokens_before(
                changed, whole_messages=self._ruler.prefix == "message"
            )
        unmeasured = UnmeasuredRequest(
            request,
            self._measure.total,
            self._answers[request.index],
            prefix,
            changed,
            summary_input,
            summary_output,
        )
        request_ruler = self._ruler.of(request.index)
        if self._keeping is None:
            return self._walk.size(unmeasured, request_ruler)
        left_out = self._keeping.first_left_out(self._view)
        if left_out is not None:
            kept = self._places.tokens_before(
                left_out, whole_messages=self._ruler.prefix == "message"
            )
            unmeasured = replace(unmeasured, cacheable_tokens=kept)
        unmeasured = replace(unmeasured, is_hourly=self._keeping.is_hourly)
        return self._walk.size(unmeasured, with_cache_policy(self._keeping, request_ruler))

    def _result(self, earlier: dict[str, Any] | None) -> Simulation:
        trace = self._trace
        transitions: Sequence[Transition] = trace.transitions
        if not isinstance(self.policy, RecordedPolicy):
            transitions = sorted(transitions, key=lambda transition: transition.request)
        return Simulation(
            timeline=self._timeline.with_transitions(transitions, self._facts_until, earlier),
            policy=self._name,
            ruler=self._ruler,
            sizes=tuple(trace.sizes),
            fired=tuple(trace.fired),
            probes=tuple(trace.probes),
            decision_count=trace.decision_count,
            idle=trace.idle,
            window=self._window,
            keeping=self._keeping,
        )


def answer_tokens(timeline: Timeline, estimator: str) -> tuple[float, ...]:
    """Return the tokens of each request's answer by an estimator."""
    weights = timeline.weights(estimator)
    sums = [0, *accumulate(map(float, weights))]
    return tuple(sums[request.answer[1]] - sums[request.answer[0]] for request in timeline.requests)
