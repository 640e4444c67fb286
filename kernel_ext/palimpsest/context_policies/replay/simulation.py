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
from operator import attrgetter
from typing import Any

from palimpsest.context_policies.interface.policy import Change, ContextPolicy, Probe, SessionFacts
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy, change_of
from palimpsest.context_policies.interface.settings import window_to_fit
from palimpsest.context_policies.items.engine_sizes import is_by_user
from palimpsest.context_policies.own_policies.own_code_errors import (
    initial_state_of,
    policy_result_of,
)
from palimpsest.context_policies.presets.cache_keeping import CacheKeeping
from palimpsest.context_policies.prompt_cache.cache_walk import (
    CacheWalk,
    RequestSize,
    UnmeasuredRequest,
)
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.first_difference import DifferingItems
from palimpsest.context_policies.replay.fixed_items import FixedItems
from palimpsest.context_policies.replay.item_places import ItemPlaces
from palimpsest.context_policies.replay.replay_view import ReplayView, TokenScale
from palimpsest.context_policies.replay.reported_tokens import ReportedTokens
from palimpsest.transcript.context_values.decisions import RESTORE, UNDO
from palimpsest.transcript.timeline import Timeline, TimelineRequest, Transition

REPLACING_RULE = "another "
"""Prefix of the rules of transitions that replace a system prompt or a set of tools; no policy makes them."""
RAW_NAME = "raw"
"""The name of the replay without policy: every item is whole."""


@dataclass(frozen=True, slots=True)
class ProbeAt:
    """The probe of a rule at a request, which is given by its index."""

    request: int
    probe: Probe


@dataclass(frozen=True)
class Simulation:
    """A session under a policy."""

    timeline: Timeline
    """The timeline with the policy's transitions."""
    policy_name: str
    ruler: Ruler
    sizes: tuple[RequestSize, ...]
    firing_requests: tuple[int, ...]
    """The requests at which the policy's rule acted."""
    probes: tuple[ProbeAt, ...] = ()
    """The probes at which the rule came nearer to acting than before."""
    decision_count: int = 0
    """Number of times that the policy decided; 0 also if it decides at the end of turns and no request followed a turn."""

    ineffective_counts: Mapping[str, int] = field(default_factory=dict)
    """Number of decisions that changed nothing, by the reason."""
    window: int = 0
    """Maximum tokens of every request; 0 where each request has the window of its model."""

    cache_policy: CacheKeeping | None = None
    """The policy, if it is a cache policy."""

    @property
    def facts_until(self) -> int | None:
        """The first request that differs from the recorded one; None where none does."""
        return self.timeline.facts_until


@dataclass(slots=True)
class _ReplayResults:
    """The results collected while a session is replayed."""

    transitions: list[Transition] = field(default_factory=list)
    sizes: list[RequestSize] = field(default_factory=list)
    firing_requests: list[int] = field(default_factory=list)
    probes: list[ProbeAt] = field(default_factory=list)
    nearest_probe: tuple[float, float] = (-1.0, 0.0)
    """``Probe.nearness`` of the newest probe."""
    decision_count: int = 0
    """Number of times that the policy decided."""
    ineffective_counts: Counter[str] = field(default_factory=Counter)
    """Number of decisions that changed nothing, by the reason."""

    def copy(self) -> "_ReplayResults":
        """Return a copy that continues independently."""
        return _ReplayResults(*(copy(getattr(self, field.name)) for field in fields(self)))


def simulate(
    timeline: Timeline,
    policy: ContextPolicy | None,
    ruler: Ruler,
    window: int = 0,
    earlier_values: dict[str, Any] | None = None,
) -> Simulation:
    """Replay a session under a policy; None shows every item whole.

    ``earlier_values`` are those derived from a replay of the session that may begin alike, which this replay's continue.
    """
    if not timeline.requests:
        name = RAW_NAME if policy is None else policy.name
        return Simulation(timeline, name, ruler, sizes=(), firing_requests=())
    return TimelineReplay(timeline, policy, ruler, window).run(earlier_values)


class TimelineReplay:
    """Replays a session request by request under a policy."""

    def __init__(
        self,
        timeline: Timeline,
        policy: ContextPolicy | None,
        ruler: Ruler,
        window: int = 0,
        *,
        measures_sizes: bool = True,
    ) -> None:
        """Without ``measures_sizes`` the requests are not measured: for a recording of which only decisions are asked."""
        self._timeline = timeline
        self._measures_sizes = measures_sizes
        self.policy = policy
        self._ruler = ruler
        self.done_count = 0
        """Number of requests that were replayed."""
        estimator_name = ruler.estimator if policy is None else policy.estimator
        unseen_tokens = ruler.unseen_tokens / ruler.factor
        self._ruler_scale = TokenScale(timeline, ruler.estimator, unseen_tokens)
        scale = self._ruler_scale
        if estimator_name != ruler.estimator:
            scale = TokenScale(timeline, estimator_name, unseen_tokens)
        self._scales = tuple(dict.fromkeys((scale, self._ruler_scale)))
        self._view = ReplayView(timeline, scale)
        self._reported_tokens = ReportedTokens(scale, self._ruler_scale, ruler)
        self._view.count_reported = self._reported_tokens.reported_total
        self._differing_items = DifferingItems(timeline)
        self._facts_until: int | None = None
        """The first request whose items differ from the recorded ones, if there was one."""
        self._results = _ReplayResults()
        self._cache_walk = CacheWalk(ruler.scale)
        self._cache_policy = policy if isinstance(policy, CacheKeeping) else None
        self._name = RAW_NAME if policy is None else policy.name
        recorded_window = timeline.requests[0].window if timeline.requests else 0
        facts = SessionFacts(timeline, window or recorded_window, round(unseen_tokens), window)
        self._window = window_to_fit(getattr(policy, "policy", policy), facts)
        self._state = None if policy is None else initial_state_of(policy, facts)
        is_recorded = isinstance(policy, RecordedPolicy)
        self._fixed_items = FixedItems(replace(timeline, items=()) if is_recorded else timeline)
        self._user_decisions: dict[int, list[Transition]] = {}
        """The user's decisions, which apply under every policy."""
        self._summary_request_by_item: dict[int, int] = {}
        """The items that the policy's summaries cover, each with the request before which they were written."""
        self._undone_summaries: dict[int, list[int]] = {}
        """For each request before which the user undid recorded summaries: the requests at which those were written."""
        self._summary_call_tokens = [0.0, 0.0]
        """Tokens read and written by calls for summaries since the request before."""
        if not is_recorded:
            self._hide_recorded_summaries()
            for transition in timeline.transitions:
                if is_by_user(transition) or transition.rule.startswith(REPLACING_RULE):
                    self._user_decisions.setdefault(transition.request, []).append(transition)
                if transition.rule == UNDO and timeline.items[transition.item].kind == "summary":
                    request_of_summary = timeline.items[transition.item].entered
                    self._undone_summaries.setdefault(transition.request, []).append(
                        request_of_summary
                    )
        self._removed_summaries = self._results.transitions[::-1]
        """Removals of recorded summaries that were not yet compared with the recording, the newest first."""
        self._compared_count = len(self._removed_summaries)
        """Number of the replay's transitions that were compared with the recording."""
        self._places = ItemPlaces(timeline, self._ruler_scale.shown_tokens)
        self._answer_tokens = timeline.derived_value(
            f"answers by {ruler.estimator}", partial(answer_tokens, estimator=ruler.estimator)
        )

    def _hide_recorded_summaries(self) -> None:
        """Hide the recorded summaries, which another policy would not have written."""
        items = self._timeline.items
        summary_items = [item.index for item in items if item.kind == "summary" or item.continues]
        for scale in self._scales:
            scale.set_empty(summary_items)
        for index in summary_items:
            self._view.show(index, "out", 0)
            request_of_summary = self._timeline.items[index].entered
            self._results.transitions.append(
                Transition(index, request_of_summary, "out", tokens=0, rule="recorded summary")
            )

    def continued_on(self, timeline: Timeline) -> "TimelineReplay":
        """Return a replay of a longer timeline of the recording, continued from this one."""
        assert isinstance(self.policy, RecordedPolicy)
        continued_replay = TimelineReplay(
            timeline,
            self.policy.continued_on(timeline, self.done_count),
            self._ruler,
            measures_sizes=self._measures_sizes,
        )
        continued_replay.done_count = self.done_count
        continued_replay._ruler_scale.copy_from(self._ruler_scale)
        continued_replay._view.copy_from(self._view)
        continued_replay._reported_tokens.copy_from(self._reported_tokens)
        sent_count = timeline.requests[self.done_count - 1].items if self.done_count else 0
        continued_replay._places = ItemPlaces(
            timeline, continued_replay._ruler_scale.shown_tokens, self._view.count, sent_count
        )
        continued_replay._results = self._results.copy()
        continued_replay._cache_walk = self._cache_walk.copy()
        continued_replay._summary_request_by_item = {**self._summary_request_by_item}
        continued_replay._summary_call_tokens = [*self._summary_call_tokens]
        return continued_replay

    def is_beginning_of(self, timeline: Timeline) -> bool:
        """Return whether a timeline begins with the part that was replayed here."""
        replayed_timeline, done_count = self._timeline, self.done_count
        if not done_count or len(timeline.requests) < done_count:
            return False
        last_request, by_request = replayed_timeline.requests[done_count - 1], attrgetter("request")
        item_count = max(last_request.items, last_request.answer[1])
        transition_count = bisect_left(replayed_timeline.transitions, done_count, key=by_request)
        return (
            transition_count == bisect_left(timeline.transitions, done_count, key=by_request)
            and replayed_timeline.requests[:done_count] == timeline.requests[:done_count]
            and replayed_timeline.items[:item_count] == timeline.items[:item_count]
            and replayed_timeline.transitions[:transition_count]
            == timeline.transitions[:transition_count]
        )

    def run(self, earlier_values: dict[str, Any] | None = None) -> Simulation:
        """Replay every request, and return the result; its timeline stores ``earlier_values``."""
        self.advance(len(self._timeline.requests))
        return self._result(earlier_values)

    def advance(self, end: int) -> None:
        """Replay the requests with an index below ``end``."""
        view, places, sizes = self._view, self._places, self._results.sizes
        policy_when = None if self.policy is None else self.policy.when
        decides_at_turn_end = policy_when in ("turn end", "both")
        decides_at_request = policy_when in ("request", "both")
        previous = self._timeline.requests[self.done_count - 1] if self.done_count else None
        for request in self._timeline.requests[self.done_count : end]:
            places.begin_request()
            view.request = request
            view.gap_seconds = request.seconds_since(previous)
            if decides_at_turn_end and previous is not None and request.turn != previous.turn:
                self._add_items(self._turn_start(request, view.count))
                view.turn = previous.turn
                self._decide(request)
            self._add_items(request.items)
            view.turn = request.turn
            if request.index in self._user_decisions or request.index in self._undone_summaries:
                self._apply_user_decisions(request)
            if decides_at_request:
                self._decide(request)
            request_tokens = 0.0
            if self._measures_sizes:
                sizes.append(self._measured_size(request))
                request_tokens = sizes[-1].total
            self._store_usage(request, request_tokens)
            places.note_sent(request.items)
            previous = request
        self.done_count = max(self.done_count, end)

    def _store_usage(self, request: TimelineRequest, request_tokens: float) -> None:
        """Store the reported usage of a request, or an estimate where it differs from the recorded one."""
        if self._facts_until is None and not isinstance(self.policy, RecordedPolicy):
            transitions = self._results.transitions
            new_transitions = transitions[self._compared_count :]
            self._compared_count = len(transitions)
            while self._removed_summaries and self._removed_summaries[-1].request <= request.index:
                new_transitions.insert(0, self._removed_summaries.pop())
            if self._differing_items.advance(request.index, new_transitions):
                self._facts_until = request.index
        self._reported_tokens.add_sent(
            request, request_tokens, is_recorded=self._facts_until is None
        )

    def _apply_user_decisions(self, request: TimelineRequest) -> None:
        """Apply the user's decisions since the request before, and show again the items of undone summaries."""
        changes: list[tuple[Change, str]] = []
        for request_of_summary in self._undone_summaries.get(request.index, ()):
            items_shown_again = [
                item
                for item, request_index in self._summary_request_by_item.items()
                if request_index == request_of_summary
            ]
            changes += [(Change(item, "whole"), UNDO) for item in items_shown_again]
            for item in items_shown_again:
                del self._summary_request_by_item[item]
        decisions = self._user_decisions.get(request.index, ())
        changes += [(change_of(decision), decision.rule) for decision in decisions]
        for change, rule in changes:
            effective_change = change
            self._fixed_items.add_decision(change)
            if rule == RESTORE and self._is_covered_by_summary(change.item):
                self._summary_request_by_item[change.item] = max(
                    self._summary_request_by_item.values()
                )
                effective_change = Change(change.item, "summarised", tokens=0)
            if effective_change.state != self._view.state(effective_change.item):
                self._apply(effective_change, request, rule)

    def _is_covered_by_summary(self, item: int) -> bool:
        """Return whether a summary of this policy covers a later item, so that it must cover the item, too."""
        if self._timeline.items[item].pinned:
            return False
        view = self._view
        return any(
            covered_item > item and view.state(covered_item) == "summarised"
            for covered_item in self._summary_request_by_item
        )

    def _turn_start(self, request: TimelineRequest, sent_count: int) -> int:
        """Return the index at which the items of the new turn begin."""
        items = self._timeline.items
        end = sent_count
        while end < request.items and items[end].turn < request.turn:
            end += 1
        return end

    def _add_items(self, end: int) -> None:
        for scale in self._scales:
            scale.add(end)
        self._places.add(end)
        self._view.add(end)

    def _decide(self, request: TimelineRequest) -> None:
        policy = self.policy
        if policy is None:
            return
        policy_result = policy_result_of(policy, self._state, self._view)
        self._results.decision_count += 1
        if policy_result.ineffective_counts:
            self._results.ineffective_counts.update(policy_result.ineffective_counts)
        self._state = policy_result.state
        if policy_result.changes:
            request_ruler = self._ruler.request_ruler(request.index)
            prompt_tokens = request_ruler.request_tokens(
                self._ruler_scale.item_tokens, self._ruler.scale
            )
            for change in self._fixed_items.permitted_changes(policy_result.changes):
                if change.state == "summarised":
                    self._summary_request_by_item.setdefault(change.item, request.index)
                    if change.tokens:
                        self._summary_call_tokens[0] += prompt_tokens
                        self._summary_call_tokens[1] += change.tokens
                self._apply(change, request, self._name)
        if policy_result.fired:
            self._results.firing_requests.append(request.index)
        probe = (
            policy_result.probe if self._results.firing_requests else policy_result.reported_probe
        )
        if probe is not None and probe.nearness > self._results.nearest_probe:
            self._results.nearest_probe = probe.nearness
            self._results.probes.append(ProbeAt(request.index, probe))

    def _apply(self, change: Change, request: TimelineRequest, rule: str) -> None:
        index, state, length = change.item, change.state, change.length
        for scale in self._scales:
            scale.change(change)
        chars = self._timeline.items[index].chars if state == "whole" else length
        self._view.show(index, state, chars)
        self._places.note_change(index)
        self._results.transitions.append(
            Transition(
                index,
                request.index,
                state,
                self._ruler_scale.shown_tokens[index],
                length,
                rule,
                change.numbers,
                change.replacement or None,
            )
        )

    def _measured_size(self, request: TimelineRequest) -> RequestSize:
        summary_input, summary_output = self._summary_call_tokens
        if summary_output:
            self._summary_call_tokens = [0.0, 0.0]
        whole_messages = self._ruler.prefix == "message"
        unchanged_tokens, first_changed = None, self._places.first_changed_item
        if first_changed is not None:
            unchanged_tokens = self._places.tokens_before(
                first_changed, whole_messages=whole_messages
            )
        unmeasured = UnmeasuredRequest(
            request,
            self._ruler_scale.item_tokens,
            self._answer_tokens[request.index],
            unchanged_tokens,
            first_changed,
            summary_input,
            summary_output,
        )
        request_ruler = self._ruler.request_ruler(request.index)
        if self._cache_policy is not None:
            uncached_item = self._cache_policy.first_uncached_item(self._view)
            if uncached_item is not None:
                cacheable = self._places.tokens_before(uncached_item, whole_messages=whole_messages)
                unmeasured = replace(unmeasured, cacheable_tokens=cacheable)
            unmeasured = replace(unmeasured, is_hourly=self._cache_policy.is_hourly)
            request_ruler = self._cache_policy.changed_ruler(request_ruler)
        return self._cache_walk.measured_size(unmeasured, request_ruler)

    def _result(self, earlier_values: dict[str, Any] | None) -> Simulation:
        results = self._results
        transitions: Sequence[Transition] = results.transitions
        if not isinstance(self.policy, RecordedPolicy):
            transitions = sorted(transitions, key=lambda transition: transition.request)
        return Simulation(
            timeline=self._timeline.with_transitions(
                transitions, self._facts_until, earlier_values
            ),
            policy_name=self._name,
            ruler=self._ruler,
            sizes=tuple(results.sizes),
            firing_requests=tuple(results.firing_requests),
            probes=tuple(results.probes),
            decision_count=results.decision_count,
            ineffective_counts=results.ineffective_counts,
            window=self._window,
            cache_policy=self._cache_policy,
        )


def answer_tokens(timeline: Timeline, estimator: str) -> tuple[float, ...]:
    """Return the tokens of each request's answer by an estimator."""
    weights = timeline.weights(estimator)
    sums = [0, *accumulate(map(float, weights))]
    return tuple(sums[request.answer[1]] - sums[request.answer[0]] for request in timeline.requests)
