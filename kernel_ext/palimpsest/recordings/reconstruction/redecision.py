"""Make the decisions of a recorded session again, from the journal alone.

*Re-decide* means to apply the same policy to the recorded facts; the same code gives the same decisions, bit for bit.
Differences in another version are reported and are no failure. Functions and decision points are those of the live loop:
the end of a tool's run, the moment before a request, the end of a turn, a requested compaction. Decisions of the user
(pin, exclude, restore) are only applied, not made again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest import __version__
from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.summary_request import COMPACT_RULE as COMPACT
from palimpsest.context.engine_text.reminders import MODE_RULE, STEERED_RULE, decide_reminders
from palimpsest.context.reduction.message_outputs import MessageOutputs
from palimpsest.context.reduction.oversized_results import OVERSIZED_RULE as OVERSIZED
from palimpsest.context.reduction.oversized_results import cut_oversized
from palimpsest.context.reduction.picture_limits import keep_picture_limits
from palimpsest.context.reduction.pruning import prune, pruning_function
from palimpsest.context.reduction.truncation import is_shortened_by_tool, truncate
from palimpsest.context.request_kinds.request_inputs import project_inputs, recorded_inputs
from palimpsest.context.visible_messages import View
from palimpsest.model.tokenizer import counter as tokenizer
from palimpsest.recordings.reconstruction.compaction_plans import CompactionRedecision
from palimpsest.recordings.reconstruction.decision_points import Decider, DecisionPoint, Redecision
from palimpsest.recordings.reconstruction.recorded_pictures import recorded_pictures, refused_limits
from palimpsest.recordings.reconstruction.requests import RecordedBlobs, whole_result
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import (
    BESIDE_PURPOSES,
    PICTURES_RULE,
    PRUNE_RULE,
    Decision,
    Facts,
    StepRequest,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import AssistantMessage, MessageInfo
from palimpsest.transcript.parts import CompactionPart, Part, ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    MessageUpdated,
    PartUpdated,
    Record,
    SessionStatus,
    StepRequested,
)
from palimpsest.transcript.session_record.hook_values import HOOK_RULE_PREFIX as HOOK

TRUNCATE = "truncate"
NO_FACTS_REASON = "the facts were not recorded"
NO_POLICY_REASON = "no request tells which policy held"
NO_TEXT_REASON = "the whole output is not kept any more"
UNRECORDED_ID = "dec_0"
"""Id of a decision that was not recorded."""

CounterOf = Callable[[str], Count]


def redecide(store: Store, session_id: str, *, counter: CounterOf = tokenizer) -> Redecision:
    """Make all decisions of a session again; ``counter`` returns the token counter of an estimator."""
    replay = _LogReplay(store, counter)
    points = tuple(replay.decision_points(store.read(session_id)))
    session = replay.state.session
    recorded_version = session.version if session is not None else ""
    return Redecision(session_id, points, recorded_version, __version__)


def redecide_all(
    store: Store, records: Iterable[Record], *, counter: CounterOf = tokenizer
) -> Iterator[DecisionPoint]:
    """Make the decisions of a journal's records again; the records begin with the journal's first."""
    return _LogReplay(store, counter).decision_points(records)


@dataclass(slots=True)
class _DecisionBatch:
    """Decisions that a decider made in one run, with the view and facts that it used."""

    decider: Decider
    seq: int
    view: View
    facts: Facts | None
    decisions: list[Decision] = field(default_factory=list)


@dataclass(slots=True)
class _EndedCall:
    """A call that ended, whose output may have been truncated."""

    seq: int
    part: ToolPart
    decision: Decision | None = None


class _LogReplay:
    """Reads a journal record by record, and decides again where the loop did, under the recorded policy and facts."""

    def __init__(self, store: Store, counter: CounterOf) -> None:
        self.state = State()
        self._counter = counter
        blobs = RecordedBlobs(store)
        self._read_blob, self._policy_of = blobs.read, blobs.policy
        self._request_by_answer: dict[str, StepRequest] = {}
        """Requests, by the id of their answer's message."""
        self._newest_request: StepRequest | None = None
        self._ended_calls: dict[str, _EndedCall] = {}
        self._batches: list[_DecisionBatch] = []
        self._view_before_deciders: View | None = None
        """The view of deciders that run before the next request; None where none is known yet."""
        self._is_turn_open = False
        """Whether a request was sent since the deciders that run after turns last ran."""
        self._compactions = CompactionRedecision(counter, self._policy_of, self._read_blob)

    def decision_points(self, records: Iterable[Record]) -> Iterator[DecisionPoint]:
        """Yield the decision points of the records."""
        for record in records:
            yield from self._points_before_record(record)
            self.state.apply(record)
            if isinstance(record.event, StepRequested) and _runs_deciders(record.event.request):
                self._handle_request(record.event.request)
        yield from self._truncation_points()
        yield from self._points_before_request(None)
        yield from self._compactions.decide_unsent(self._newest_request)

    def _points_before_record(self, record: Record) -> Iterator[DecisionPoint]:
        match record.event:
            case DecisionMade(decision=decision) if decision.rule == COMPACT:
                yield from self._compaction_points(record.seq, decision, record.event.facts)
            case DecisionMade(decision=decision) if decision.rule.startswith(HOOK):
                # A hook decided; it is not called again.
                yield DecisionPoint("hook", record.seq, "", (decision,), (decision,))
            case DecisionMade(decision=decision):
                self._store_decision(record.seq, decision, record.event.facts)
            case PartUpdated(part=part):
                self._handle_part(record.seq, part)
            case MessageUpdated(info=info):
                if self.state.message(info.id) is None:
                    yield from self._points_before_message(record.seq, info)
            case SessionStatus(status=status) if status.type == "idle":
                yield from self._points_after_turn(record.seq)
            case StepRequested(request=request) if _runs_deciders(request):
                yield from self._truncation_points()
                yield from self._points_before_request(request, record.seq)
                yield from self._compactions.decide_pending(request, self._newest_request)
            case _:
                pass

    def _points_before_message(self, seq: int, info: MessageInfo) -> Iterator[DecisionPoint]:
        """Yield the decision points before a message appears, and store the view for the next request's deciders."""
        if isinstance(info, AssistantMessage):
            self._view_before_deciders = self._view_before_deciders or self._view()
            return
        self._view_before_deciders = None
        if not info.by_engine and not info.joins:
            yield from self._points_after_turn(seq)

    def _handle_part(self, seq: int, part: Part) -> None:
        """Handle a part that is about to change: a tool ends, or a marker receives its tail."""
        part_before = self.state.part(part.message_id, part.id)
        if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
            if not (
                isinstance(part_before, ToolPart) and isinstance(part_before.state, ToolCompleted)
            ):
                self._ended_calls[part.id] = _EndedCall(seq, part)
        elif isinstance(part, CompactionPart) and part_before is not None:
            self._compactions.add_marker(seq, part, self._view())

    def _handle_request(self, request: StepRequest) -> None:
        self._newest_request = request
        self._view_before_deciders = None
        self._is_turn_open = True
        if request.message_id is not None:
            self._request_by_answer[request.message_id] = request

    def _store_decision(self, seq: int, decision: Decision, facts: Facts | None) -> None:
        """Store a recorded decision; where it begins a batch, also store the view before it."""
        if decision.rule == TRUNCATE and decision.part_id in self._ended_calls:
            self._ended_calls[decision.part_id].decision = decision
            return
        rule = decision.rule
        decider = _DECIDER_OF_RULE.get(PRUNE_RULE if rule.startswith(PRUNE_RULE) else rule)
        if decider is None:
            return
        if facts is not None or not self._batches or self._batches[-1].decider != decider:
            view = self._view()
            self._view_before_deciders = self._view_before_deciders or view
            self._batches.append(_DecisionBatch(decider, seq, view, facts))
        self._batches[-1].decisions.append(decision)

    def _compaction_points(
        self, seq: int, decision: Decision, facts: Facts | None
    ) -> Iterator[DecisionPoint]:
        if "retention" in decision.numbers:
            request = self._request_by_answer.get(decision.message_id or "")
            yield self._compactions.check_summary(seq, decision, self._view(), request)
        elif "result_chars" in decision.numbers:
            self._compactions.add_content_decision(seq, decision, self._view(), facts)

    # Tools

    def _truncation_points(self) -> Iterator[DecisionPoint]:
        ended_calls, self._ended_calls = self._ended_calls, {}
        for ended_call in ended_calls.values():
            part, seq, recorded_decision = ended_call.part, ended_call.seq, ended_call.decision
            recorded_decisions = () if recorded_decision is None else (recorded_decision,)
            request = self._request_by_answer.get(part.message_id)
            if request is None:
                if recorded_decisions or not _result_metadata(part).get("truncated"):
                    yield DecisionPoint(
                        "truncate", seq, "", recorded_decisions, (), NO_POLICY_REASON
                    )
                continue
            policy = self._policy_of(request).truncate
            if is_shortened_by_tool(_result_metadata(part), policy):
                continue
            whole_output = whole_result(part, self._read_blob)
            if whole_output is None:
                yield DecisionPoint(
                    "truncate", seq, request.id, recorded_decisions, (), NO_TEXT_REASON
                )
                continue
            decision = truncate(
                UNRECORDED_ID if recorded_decision is None else recorded_decision.id,
                part.id,
                part.message_id,
                whole_output,
                policy,
                request.facts,
                self._counter(request.facts.estimator),
            )
            new_decisions = () if decision is None else (decision,)
            yield DecisionPoint("truncate", seq, request.id, recorded_decisions, new_decisions)

    # Requests and turns

    def _points_before_request(
        self, request: StepRequest | None, seq: int = 0
    ) -> Iterator[DecisionPoint]:
        """Make the decisions before a request again; ``request`` is None at the end of the journal."""
        batches, self._batches = self._batches, []
        for batch in batches:
            yield self._redecide(batch, request or self._newest_request)
        if request is None or request.purpose != "step" or self._view_before_deciders is None:
            return
        policy = self._policy_of(request)
        redecided = {batch.decider for batch in batches}
        if pruning_function(policy.prune.rule).when == "request" and "prune" not in redecided:
            yield self._redecide(
                _DecisionBatch("prune", seq, self._view_before_deciders, request.facts), request
            )
        if "remind" not in redecided:
            batch = _DecisionBatch("remind", seq, self._view_before_deciders, request.facts)
            point = self._redecide(batch, request)
            # Only a difference is reported: in nearly all turns no prompt was sent meanwhile.
            if not point.is_same:
                yield point

    def _points_after_turn(self, seq: int) -> Iterator[DecisionPoint]:
        """Make the decisions after a turn again."""
        request = self._newest_request
        if request is None or not self._is_turn_open:
            return
        self._is_turn_open = False
        if pruning_function(self._policy_of(request).prune.rule).when == "request":
            return
        batches = [batch for batch in self._batches if batch.decider == "prune"]
        self._batches = [batch for batch in self._batches if batch.decider != "prune"]
        for batch in batches or [_DecisionBatch("prune", seq, self._view(), request.facts)]:
            yield self._redecide(batch, request)

    def _redecide(self, batch: _DecisionBatch, request: StepRequest | None) -> DecisionPoint:
        """Decide a batch again under the policy of a request."""
        decider, seq, recorded_decisions = batch.decider, batch.seq, tuple(batch.decisions)
        if request is None:
            return DecisionPoint(decider, seq, "", recorded_decisions, (), NO_POLICY_REASON)
        if decider == "limit":
            return self._redecide_pictures(batch, request)
        if batch.facts is None:
            return DecisionPoint(decider, seq, request.id, recorded_decisions, (), NO_FACTS_REASON)
        new_decisions = self._new_decisions(batch, batch.facts, self._policy_of(request))
        return DecisionPoint(decider, seq, request.id, recorded_decisions, new_decisions)

    def _redecide_pictures(self, batch: _DecisionBatch, request: StepRequest) -> DecisionPoint:
        """Make the decisions about a request's pictures again; smaller versions of pictures are the stored ones."""
        recorded_decisions = tuple(batch.decisions)
        session = self.state.session
        try:
            inputs = recorded_inputs(
                request, batch.view, self._read_blob, self._counter, "", session
            )
            new_decisions = keep_picture_limits(
                batch.view,
                project_inputs(inputs).messages,
                request.model,
                _recorded_ids(batch),
                recorded_pictures(recorded_decisions, self._read_blob),
                refused_limits(recorded_decisions),
            )
        except NotFound:
            return DecisionPoint(
                "limit", batch.seq, request.id, recorded_decisions, (), NO_TEXT_REASON
            )
        return DecisionPoint("limit", batch.seq, request.id, recorded_decisions, new_decisions)

    def _new_decisions(
        self, batch: _DecisionBatch, facts: Facts, policy: Policy
    ) -> tuple[Decision, ...]:
        new_id, count = _recorded_ids(batch), self._counter(facts.estimator)
        if batch.decider == "shorten":
            outputs = MessageOutputs(batch.view, policy, count)
            cut_outputs = cut_oversized(outputs, policy.recovery, facts.window)
            return outputs.decisions(OVERSIZED, cut_outputs, new_id)
        if batch.decider == "remind":
            return decide_reminders(batch.view, policy.reminders, new_id, count)
        return prune(batch.view, policy, facts, new_id, count)

    def _view(self) -> View:
        messages, decisions = self.state.messages(), self.state.decisions
        return View.of(messages, decisions, self._read_blob)


def _recorded_ids(batch: _DecisionBatch) -> Callable[[], str]:
    """Return a function that returns the ids of the recorded decisions one after the other."""
    recorded_ids = iter([decision.id for decision in batch.decisions])
    return lambda: next(recorded_ids, UNRECORDED_ID)


def _result_metadata(part: ToolPart) -> Mapping[str, Any]:
    return part.state.metadata if isinstance(part.state, ToolCompleted) else {}


def _runs_deciders(request: StepRequest) -> bool:
    """Return whether deciders run for a request; False for requests for a title or a turn summary."""
    return request.purpose not in BESIDE_PURPOSES


_DECIDER_OF_RULE: dict[str, Decider] = {
    PRUNE_RULE: "prune",
    OVERSIZED: "shorten",
    STEERED_RULE: "remind",
    MODE_RULE: "remind",
    PICTURES_RULE: "limit",
}
