"""Make the decisions of a recorded session again, from the journal alone.

*Re-decide* means the same policy over the recorded facts; the same code gives the same decisions,
bit for bit. What another version decides differently is reported, and is no failure. The functions are
those of the live loop, and so are the occasions: a tool that ended, a request about to be made,
a turn that ended, a compaction that was requested. Decisions of the user (pin, exclude,
restore) are only applied, not made again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest import __version__
from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.summary_request import RULE as COMPACT
from palimpsest.context.engine_text.reminders import MODE, STEERED, remind
from palimpsest.context.reduction.message_outputs import MessageOutputs
from palimpsest.context.reduction.oversized_results import RULE as OVERSIZED
from palimpsest.context.reduction.oversized_results import cut_oversized
from palimpsest.context.reduction.picture_limits import keep_picture_limits
from palimpsest.context.reduction.pruning import prune, pruner
from palimpsest.context.reduction.truncation import left_to_tool, truncate
from palimpsest.context.request_kinds.request_inputs import project_inputs, recorded_inputs
from palimpsest.context.visible_messages import View
from palimpsest.model.tokenizer import counter as tokenizer
from palimpsest.review.reconstruction.compaction_plans import CompactionRedecision
from palimpsest.review.reconstruction.decision_points import Decider, DecisionPoint, Redecision
from palimpsest.review.reconstruction.recorded_pictures import recorded_pictures, refused_limits
from palimpsest.review.reconstruction.requests import RecordedBlobs, whole_result
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import (
    BESIDE,
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
from palimpsest.transcript.session_record.hook_values import RULE as HOOK

TRUNCATE = "truncate"
NO_FACTS = "the facts were not recorded"
NO_POLICY = "no request tells which policy held"
NO_TEXT = "the whole output is not kept any more"
NOT_ASKED = "dec_0"
"""Id of a decision that was not recorded."""

CounterOf = Callable[[str], Count]


def redecide(store: Store, session_id: str, *, counter: CounterOf = tokenizer) -> Redecision:
    """Decide everything in a session again; ``counter`` returns the token counter of an estimator."""
    walk = _LogReplay(store, counter)
    occasions = tuple(walk.occasions(store.read(session_id)))
    session = walk.state.session
    recorded = session.version if session is not None else ""
    return Redecision(session_id, occasions, recorded, __version__)


def redecide_all(
    store: Store, records: Iterable[Record], *, counter: CounterOf = tokenizer
) -> Iterator[DecisionPoint]:
    """Decide again for some records of a journal, from its first record on."""
    return _LogReplay(store, counter).occasions(records)


@dataclass(slots=True)
class _Batch:
    """Decisions that one decider made at once, with the view and facts that it used."""

    decider: Decider
    seq: int
    view: View
    facts: Facts | None
    decisions: list[Decision] = field(default_factory=list)


@dataclass(slots=True)
class _Ended:
    """A tool that ended: its output may have been truncated."""

    seq: int
    part: ToolPart
    decision: Decision | None = None


class _LogReplay:
    """Reads a journal record by record, and decides again whenever the live loop did.

    Responsibilities: hold the view before each decision, and the policy and facts in effect.
    """

    def __init__(self, store: Store, counter: CounterOf) -> None:
        self.state = State()
        self._counter = counter
        blobs = RecordedBlobs(store)
        self._read, self._policy = blobs.read, blobs.policy
        self._made_for: dict[str, StepRequest] = {}
        """Requests by the message of their answer."""
        self._newest: StepRequest | None = None
        self._ended: dict[str, _Ended] = {}
        self._batches: list[_Batch] = []
        self._before: View | None = None
        """The view of a decider that runs before the coming request."""
        self._turn_open = False
        """A request was made since the deciders that run after turns last ran."""
        self._plans = CompactionRedecision(counter, self._policy, self._read)

    def occasions(self, records: Iterable[Record]) -> Iterator[DecisionPoint]:
        """Decide again for each of the records."""
        for record in records:
            yield from self._before_record(record)
            self.state.apply(record)
            if isinstance(record.event, StepRequested) and _decides(record.event.request):
                self._requested(record.event.request)
        yield from self._tools_ended()
        yield from self._decided_before(None)
        yield from self._plans.left_over(self._newest)

    def _before_record(self, record: Record) -> Iterator[DecisionPoint]:
        match record.event:
            case DecisionMade(decision=decision) if decision.rule == COMPACT:
                yield from self._compaction(record.seq, decision, record.event.facts)
            case DecisionMade(decision=decision) if decision.rule.startswith(HOOK):
                # A hook decided; it is not called again.
                yield DecisionPoint("hook", record.seq, "", (decision,), (decision,))
            case DecisionMade(decision=decision):
                self._decided(record.seq, decision, record.event.facts)
            case PartUpdated(part=part):
                self._part(record.seq, part)
            case MessageUpdated(info=info):
                if self.state.message(info.id) is None:
                    yield from self._appeared(record.seq, info)
            case SessionStatus(status=status) if status.type == "idle":
                yield from self._turn_ended(record.seq)
            case StepRequested(request=request) if _decides(request):
                yield from self._tools_ended()
                yield from self._decided_before(request, record.seq)
                yield from self._plans.requested(request, self._newest)
            case _:
                pass

    def _appeared(self, seq: int, info: MessageInfo) -> Iterator[DecisionPoint]:
        """Handle a message that is about to appear."""
        if isinstance(info, AssistantMessage):
            self._before = self._before or self._view()
            return
        self._before = None
        if not info.by_engine and not info.joins:
            yield from self._turn_ended(seq)

    def _part(self, seq: int, part: Part) -> None:
        """Handle a part that is about to change: a tool ends, a marker names its tail."""
        known = self.state.part(part.message_id, part.id)
        if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
            self._completed(seq, part)
        elif isinstance(part, CompactionPart) and known is not None:
            self._plans.planned(seq, part, self._view())

    def _requested(self, request: StepRequest) -> None:
        self._newest = request
        self._before = None
        self._turn_open = True
        if request.message_id is not None:
            self._made_for[request.message_id] = request

    def _decided(self, seq: int, decision: Decision, facts: Facts | None) -> None:
        """Store a recorded decision, with the view before it where it begins a batch."""
        if decision.rule == TRUNCATE and decision.part_id in self._ended:
            self._ended[decision.part_id].decision = decision
            return
        rule = decision.rule
        decider = _DECIDERS.get(PRUNE_RULE if rule.startswith(PRUNE_RULE) else rule)
        if decider is None:
            return
        if facts is not None or not self._batches or self._batches[-1].decider != decider:
            view = self._view()
            self._before = self._before or view
            self._batches.append(_Batch(decider, seq, view, facts))
        self._batches[-1].decisions.append(decision)

    def _compaction(
        self, seq: int, decision: Decision, facts: Facts | None
    ) -> Iterator[DecisionPoint]:
        if "retention" in decision.numbers:
            request = self._made_for.get(decision.message_id or "")
            yield self._plans.judged(seq, decision, self._view(), request)
        elif "result_chars" in decision.numbers:
            self._plans.chose(seq, decision, self._view(), facts)

    # Tools

    def _completed(self, seq: int, part: ToolPart) -> None:
        known = self.state.part(part.message_id, part.id)
        if isinstance(known, ToolPart) and isinstance(known.state, ToolCompleted):
            return
        self._ended[part.id] = _Ended(seq, part)

    def _tools_ended(self) -> Iterator[DecisionPoint]:
        ended, self._ended = self._ended, {}
        for one in ended.values():
            recorded = (one.decision,) if one.decision is not None else ()
            request = self._made_for.get(one.part.message_id)
            if request is None and _metadata(one.part).get("truncated") and not recorded:
                continue
            if request is None:
                yield DecisionPoint("truncate", one.seq, "", recorded, (), NO_POLICY)
                continue
            policy = self._policy(request).truncate
            if left_to_tool(_metadata(one.part), policy):
                continue
            whole = whole_result(one.part, self._read)
            if whole is None:
                yield DecisionPoint("truncate", one.seq, request.id, recorded, (), NO_TEXT)
                continue
            made = truncate(
                one.decision.id if one.decision is not None else NOT_ASKED,
                one.part.id,
                one.part.message_id,
                whole,
                policy,
                request.facts,
                self._counter(request.facts.estimator),
            )
            again = (made,) if made is not None else ()
            yield DecisionPoint("truncate", one.seq, request.id, recorded, again)

    # Requests and turns

    def _decided_before(self, request: StepRequest | None, seq: int = 0) -> Iterator[DecisionPoint]:
        """Decide again what was decided before a request; ``request`` is None at the end of the journal."""
        batches, self._batches = self._batches, []
        for batch in batches:
            yield self._again(batch, request or self._newest)
        if request is None or request.purpose != "step":
            return
        if self._before is None:
            return
        policy = self._policy(request)
        looked = {batch.decider for batch in batches}
        if pruner(policy.prune.rule).when == "request" and "prune" not in looked:
            yield self._again(_Batch("prune", seq, self._before, request.facts), request)
        if "remind" not in looked:
            reminded = self._again(_Batch("remind", seq, self._before, request.facts), request)
            # Nearly always no prompt was sent during the turn, and then the occasion is not reported.
            yield from () if reminded.same else (reminded,)

    def _turn_ended(self, seq: int) -> Iterator[DecisionPoint]:
        """Decide again what was decided when a turn had ended."""
        request = self._newest
        if request is None or not self._turn_open:
            return
        self._turn_open = False
        if pruner(self._policy(request).prune.rule).when == "request":
            return
        batches = [one for one in self._batches if one.decider == "prune"]
        self._batches = [one for one in self._batches if one.decider != "prune"]
        for batch in batches or [_Batch("prune", seq, self._view(), request.facts)]:
            yield self._again(batch, request)

    def _again(self, batch: _Batch, request: StepRequest | None) -> DecisionPoint:
        """Decide a batch again under the policy of a request."""
        recorded = tuple(batch.decisions)
        if request is None:
            return DecisionPoint(batch.decider, batch.seq, "", recorded, (), NO_POLICY)
        if batch.decider == "limit":
            return self._limited(batch, request)
        if batch.facts is None:
            return DecisionPoint(batch.decider, batch.seq, request.id, recorded, (), NO_FACTS)
        policy = self._policy(request)
        made = self._decide(batch, batch.facts, policy)
        return DecisionPoint(batch.decider, batch.seq, request.id, recorded, made)

    def _limited(self, batch: _Batch, request: StepRequest) -> DecisionPoint:
        """Decide again what a request may hold of pictures; smaller versions are those that were stored."""
        recorded = tuple(batch.decisions)
        names = iter([decision.id for decision in recorded])
        session = self.state.session
        try:
            inputs = recorded_inputs(request, batch.view, self._read, self._counter, "", session)
            made = keep_picture_limits(
                batch.view,
                project_inputs(inputs).messages,
                request.model,
                lambda: next(names, NOT_ASKED),
                recorded_pictures(recorded, self._read),
                refused_limits(recorded),
            )
        except NotFound:
            return DecisionPoint("limit", batch.seq, request.id, recorded, (), NO_TEXT)
        return DecisionPoint("limit", batch.seq, request.id, recorded, made)

    def _decide(self, batch: _Batch, facts: Facts, policy: Policy) -> tuple[Decision, ...]:
        names = iter([decision.id for decision in batch.decisions])
        count = self._counter(facts.estimator)
        if batch.decider == "shorten":
            outputs = MessageOutputs(batch.view, policy, count)
            found = cut_oversized(outputs, policy.recovery, facts.window)
            return outputs.decisions(OVERSIZED, found, lambda: next(names, NOT_ASKED))
        if batch.decider == "remind":
            return remind(batch.view, policy.reminders, lambda: next(names, NOT_ASKED), count)
        return prune(batch.view, policy, facts, lambda: next(names, NOT_ASKED), count)

    def _view(self) -> View:
        messages, decisions = self.state.messages(), self.state.decisions
        return View.of(messages, decisions, self._read)


def _metadata(part: ToolPart) -> Mapping[str, Any]:
    return part.state.metadata if isinstance(part.state, ToolCompleted) else {}


def _decides(request: StepRequest) -> bool:
    """Return whether deciders run for a request; not for one for a title or a turn summary."""
    return request.purpose not in BESIDE


_DECIDERS: dict[str, Decider] = {
    PRUNE_RULE: "prune",
    OVERSIZED: "shorten",
    STEERED: "remind",
    MODE: "remind",
    PICTURES_RULE: "limit",
}
