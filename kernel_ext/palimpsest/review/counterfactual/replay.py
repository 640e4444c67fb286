"""Replay a journal under another policy: compute the request that would have been sent at each step.

The same policy gives the recorded requests, to the byte. After the first difference the result is an
estimate: with another request the model might have answered something else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.summary_request import RULE as COMPACT
from palimpsest.context.engine_text.reminders import MODE, STEERED
from palimpsest.context.reduction.oversized_results import RULE as OVERSIZED
from palimpsest.context.request_assembly.fit import (
    FittedRequest,
    ResultsShortened,
    SummaryNeeded,
    reported_full,
    stored_full,
)
from palimpsest.context.request_assembly.fittable_request import Cause
from palimpsest.context.visible_messages import View
from palimpsest.model.wire.provider_messages import convert, message_hash, request_hash
from palimpsest.review.counterfactual.moved_compaction import (
    RecordedMarker,
    compact,
    hide_compaction,
)
from palimpsest.review.counterfactual.placeholder_summary import SUMMARY_TOKENS
from palimpsest.review.counterfactual.recorded_compactions import (
    RecordedCompaction,
    RecordedCompactions,
    read_compactions,
)
from palimpsest.review.counterfactual.recorded_requests import Recordings
from palimpsest.review.counterfactual.request_fit import Fitted, ReplayedFit
from palimpsest.review.counterfactual.request_writer import ReplayedRequest
from palimpsest.review.counterfactual.simulated_session import SimulatedSession, StepInputs
from palimpsest.review.counterfactual.step_builder import StepBuilder
from palimpsest.review.counterfactual.steps import Compaction, Step
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import BESIDE, PRUNE_RULE, Decision, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import CompactionPart, ToolCompleted, ToolPart
from palimpsest.transcript.provider_profile.older_profiles import profile_at
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    MessageUpdated,
    PartUpdated,
    Record,
    SessionStatus,
    StepRequested,
)
from palimpsest.transcript.values import Usage

ASIDE = "compact/aside"
"""Rule of decisions that drop the messages of a failed compaction."""
DECIDERS = frozenset({"truncate", OVERSIZED, STEERED, MODE})
"""Rules, besides those of pruning, that are decided anew under another policy."""


@dataclass(slots=True)
class DecidedSinceStep:
    """Decisions and compactions since the newest step."""

    decisions: list[Decision] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Sent:
    """The newest step, as it would have been sent."""

    step: Step
    record: StepRequest
    asking: StepInputs


class CounterfactualReplay:
    """Replays one session.

    Responsibilities: do at each record what the loop would have done under the policy; make a
    step of each recorded request, and a second one from what was recorded.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        policy: Policy | None,
        counter: Callable[[str], Count],
        summary_tokens: int = SUMMARY_TOKENS,
    ) -> None:
        self.recorded: list[Step] = []
        self.since = DecidedSinceStep()
        self.recorded_since = DecidedSinceStep()
        self._store = store
        self._session_id = session_id
        self._policy = policy
        self._counter = counter
        self._summary_tokens = summary_tokens
        self._state = State()
        self._past = RecordedCompactions()
        self._recordings = Recordings(store, session_id, policy, counter)
        self._other = SimulatedSession(self._state, self._recordings.read, counter)
        self._sides = StepBuilder(session_id)
        self._sent: _Sent | None = None
        self._markers: set[str] = set()
        self._room = ReplayedFit(self._other)
        self._cause: Cause = "size"
        """Why the context must shrink besides its size: the newest answer reported it full, or failed."""
        self._in_log = False
        """That answer was the recorded one under the recorded rule, so what followed is in the journal."""
        self._answer = ""
        """The newest answer that has ended."""
        self._usage: dict[str, Usage] = {}
        """The usage that would have been reported for answers to requests of another size."""
        self._aside = False
        """The decisions that drop a failed compaction's messages hold in this simulation, too."""
        self._turn: StepInputs | None = None
        """What the newest request of the turn was made of; None where none was sent in it."""
        self._marked_asking: StepInputs | None = None

    def steps(self) -> Iterator[Step]:
        """Yield every step as it would have been."""
        self._past = read_compactions(self._store.read(self._session_id))
        for record in self._store.read(self._session_id):
            if record.seq > self._past.seq:
                # Written since the first pass, by a kernel that has the session open.
                return
            self._before(record)
            self._state.apply(record)
            found = self._after(record)
            if found is not None:
                yield found

    def left_over(self) -> tuple[Decision, ...]:
        """Return the decisions after the newest step."""
        return tuple(self._other.new)

    # Records of the journal

    def _before(self, record: Record) -> None:
        match record.event:
            case MessageUpdated(info=AssistantMessage() as info) if info.id in self._past.unsent:
                if self._state.message(info.id) is None:
                    self._not_sent(info)
            case MessageUpdated(info=UserMessage() as info):
                new = self._state.message(info.id) is None
                if new and not info.by_engine and not info.joins:
                    self._turn_ended()
            case SessionStatus(status=status) if status.type == "idle":
                self._turn_ended()
            case PartUpdated(part=ToolPart(state=ToolCompleted()) as part):
                self._tool_ended(part)
            case _:
                pass

    def _after(self, record: Record) -> Step | None:
        match record.event:
            case DecisionMade(decision=decision):
                self._decided(decision)
            case PartUpdated(part=CompactionPart() as part):
                self._marked(part.message_id)
            case MessageUpdated(info=AssistantMessage() as info):
                self._answered(info)
            case StepRequested(request=request) if request.purpose == "step":
                return self._step(record.seq, request)
            case StepRequested(request=request):
                self._asked_aside(request)
            case _:
                pass
        return None

    def _decided(self, decision: Decision) -> None:
        """Record a recorded decision; what the user decided holds under every policy."""
        if decision.rule in DECIDERS or decision.rule.startswith(PRUNE_RULE):
            self.recorded_since.decisions.append(decision)
        elif decision.rule != COMPACT and (decision.rule != ASIDE or self._aside):
            name = self._other.replaced.get(decision.message_id or "", decision.message_id)
            self._other.decisions.append(decision.model_copy(update={"message_id": name}))

    def _tool_ended(self, part: ToolPart) -> None:
        known = self._state.part(part.message_id, part.id)
        ended = isinstance(known, ToolPart) and isinstance(known.state, ToolCompleted)
        whole = isinstance(part.state, ToolCompleted)
        # A subtask of a prompt runs before the first request of its turn.
        request = self._past.following.get(part.message_id)
        if whole and not ended and request is not None:
            self._other.truncate(part, self._recordings.asking(request))

    def _turn_ended(self) -> None:
        """Do what the loop does when a turn has ended."""
        if self._turn is not None:
            self._settle(replace(self._turn, without=None))
        turn, self._turn, self._cause = self._turn, None, "size"
        self._room.turn_ended(turn and replace(turn, without=None))

    def _settle(self, asking: StepInputs) -> None:
        """Do what was due when the turn ended: cut results after a failed summary, or reduce the context."""
        if self._room.waits and not self._room.failed:
            return
        if not self._room.waits:
            asks = self._room.may_summarise(asking, self._cause)
            if (
                self._cause == "size"
                or (asks and self._in_log)
                or (self._cause == "full" and not asks)
            ):
                return
        found = self._room.make(asking, self._cause)
        while isinstance(found, SummaryNeeded):
            self._compact(asking, None, overflow=found.overflow)
            found = self._room.make(asking) if self._room.failed else None

    # Compactions

    def _marked(self, marker_id: str) -> None:
        """Handle a recorded marker: compact here too, if the policy would have, else hide the compaction."""
        recorded = self._past.compactions.get(marker_id)
        if recorded is None or marker_id in self._markers:
            return
        self._markers.add(marker_id)
        asking = self._asking_at(recorded)
        if asking is None:
            return
        self._marked_asking = asking
        marked = self._recorded_compaction(recorded, asking)
        self.recorded_since.compactions.append(marked.compaction())
        wanted = not recorded.auto or self._wants(recorded, asking)
        if wanted:
            self._compact(asking, marked)
        else:
            hide_compaction(self._other, recorded)
            self._aside = False

    def _wants(self, recorded: RecordedCompaction, asking: StepInputs) -> bool:
        """Return whether the policy requests a compaction at a recorded marker."""
        first = self._sent is None
        if first and recorded.request is None:
            # It was imported with a conversation, so no loop of ours requested it.
            return True
        if recorded.overflow and not first and not self._would_be_refused():
            return False
        before = replace(asking, without=recorded.marker_id)
        cause, self._cause = self._due(before, refused=recorded.overflow), "size"
        made = self._room.make(before, cause)
        return isinstance(made, SummaryNeeded) or self._rests_on_the_record(recorded, asking)

    def _rests_on_the_record(self, recorded: RecordedCompaction, asking: StepInputs) -> bool:
        """Return whether only the journal shows why a compaction came, and the policy is the recorded one.

        The window under which it was requested may differ from that of the step before. It is recorded
        with the request for the summary; a kernel that ended before sending that has recorded it nowhere.
        """
        if self._sent is None:
            return self._policy is None
        known = self._sent.record
        return recorded.request is None and self._recordings.policy(known) == asking.policy

    def _due(self, asking: StepInputs, *, refused: bool = False) -> Cause:
        """Return why the context must shrink before the next request."""
        if refused or self._cause in ("refused", "failed"):
            return "refused" if refused else self._cause
        held = self._other.held(asking)
        usage = self._usage
        full = stored_full(
            self._other.messages(asking.without),
            asking.model,
            held.policy,
            lambda info: usage.get(info.id, info.tokens),
        )
        return "full" if full else "size"

    def _would_be_refused(self) -> bool:
        """Return whether the provider, which refused the newest request, would have refused this one."""
        if self._sent is None or not self.recorded:
            return False
        was, step = self.recorded[-1], self._sent.step
        return step.sha256 == was.sha256 or step.tokens >= was.tokens

    def _compact(
        self, asking: StepInputs, marked: RecordedMarker | None, *, overflow: bool = False
    ) -> None:
        """Compact now, and pass the outcome on to ``ReplayedFit``."""
        without = marked.message.id if marked is not None else asking.without
        held = self._other.held(replace(asking, without=without))
        done = compact(self._other, held, marked, self._summary_tokens, overflow=overflow)
        adopted = done is not None and not done.stand_in
        self._aside = adopted
        if done is not None:
            self.since.compactions.append(done)
        stopped = marked is not None and adopted and marked.recorded.stopped
        # After a summary that a person asked for, the loop cuts nothing: the turn goes on, or ends.
        is_ours = marked is None or marked.recorded.auto
        failed = is_ours and (done is None or not done.good)
        self._room.summarised(failed=failed, stopped=stopped)

    def _recorded_compaction(
        self, recorded: RecordedCompaction, asking: StepInputs
    ) -> RecordedMarker:
        messages = self._state.messages()
        at = next(i for i, one in enumerate(messages) if one.id == recorded.marker_id)
        seen = messages[: at + 1]
        decisions = self._state.decisions
        view = View.of(seen, decisions, self._recordings.read)
        request = recorded.request or (self._sent.record if self._sent else None)
        policy = self._recordings.policy(request) if request is not None else Policy()
        return RecordedMarker(recorded, messages[at], view, policy, asking.model, self._counter)

    def _asking_at(self, recorded: RecordedCompaction) -> StepInputs | None:
        """Return the inputs of a request at a marker: those of the neighbouring step."""
        message = self._state.message(recorded.marker_id)
        info = message.info if message is not None else None
        request = self._past.following.get(recorded.marker_id)
        if self._sent is not None and (
            request is None
            or (
                self._turn is not None
                and self._sent.record.model.ref == getattr(info, "model", None)
            )
        ):
            request = self._sent.record
        if request is None or info is None:
            return None
        asked = recorded.request or request
        policy = self._recordings.replayed(asked)
        # The known facts about a model may have changed since the step before.
        model = asked.model if asked.model.ref == request.model.ref else request.model
        asking = self._recordings.asking(request)
        return replace(asking, model=model, policy=policy, now=info.time.created, without=None)

    # Requests

    def _asked_aside(self, request: StepRequest) -> None:
        """Handle a request that is no step; ignore one that would not have been made."""
        if request.purpose in BESIDE:
            return
        message = self._state.message(request.message_id or "")
        if request.purpose == "compaction" and (message is None or not self._aside):
            return
        if request.purpose == "compaction" and self._marked_asking is not None:
            self._turn = self._marked_asking
        self._note(request)

    def _not_sent(self, info: AssistantMessage) -> None:
        """Reduce the context for a request that was never sent, since it could not be made to fit."""
        known = (self._sent.record if self._sent else None, self._past.following.get(info.id))
        request = next((one for one in known if one and one.model.ref == info.model), None)
        if request is None:
            # The window of this model is unknown.
            return
        asking = replace(self._recordings.asking(request), now=info.time.created, without=None)
        cause, self._cause = self._due(asking), "size"
        found = self._room.make(asking, cause)
        while isinstance(found, SummaryNeeded | ResultsShortened):
            if isinstance(found, SummaryNeeded):
                self._compact(asking, None, overflow=found.overflow)
            found = self._room.make(asking)

    def _note(self, request: StepRequest) -> None:
        """Store a request that would have been made: its reported usage calibrates the next."""
        other = self._other
        other.newest, other.touched, other.used = request, request.facts.now, request.tokens
        estimator = self._recordings.replayed(request).estimator
        if estimator != request.facts.estimator:
            other.weights[request.id] = self._recordings.projection(
                request, self._state, estimator, other.weighed(estimator)
            ).total

    def _step(self, seq: int, request: StepRequest) -> Step:
        """Make the step of a recorded request."""
        asking = self._recordings.asking(request)
        fitted, written, fits = self._fitting(request, asking)
        since = self.recorded_since
        was = self._sides.was(seq, request, self._state.items, since.decisions, since.compactions)
        made, self._other.new = tuple(self._other.new), []
        step = self._sides.other(was, request, fitted, written)
        step = replace(step, fits=fits, decisions=made, compactions=tuple(self.since.compactions))
        self.recorded.append(was)
        self._sent = _Sent(step, request, asking)
        self._turn = asking
        self._other.turn_over()
        self._note(request)
        self._other.used = fitted.request.total
        self.since, self.recorded_since = DecidedSinceStep(), DecidedSinceStep()
        return step

    def _fitting(
        self, request: StepRequest, asking: StepInputs
    ) -> tuple[Fitted, ReplayedRequest, bool]:
        """Make a request that fits, with as many compactions as that takes and the policy allows."""
        cause, self._cause = self._due(asking), "size"
        made: tuple[Fitted, ReplayedRequest] | None = None
        while True:
            found = self._room.make(asking, cause)
            match found:
                case FittedRequest():
                    made = found, self._write(request, asking, found)
                    refused = self._is_refused(request, made[1])
                    if not refused:
                        return *made, found.route.fits
                    cause = "refused"
                case SummaryNeeded():
                    self._compact(asking, None, overflow=found.overflow)
                case ResultsShortened():
                    pass
                case None if made is not None:
                    return *made, False
                case None:
                    # The turn would have ended here; the recorded one, or a later one, continues.
                    cause = "size"

    def _write(self, request: StepRequest, asking: StepInputs, fitted: Fitted) -> ReplayedRequest:
        """Write a request in its provider's format, or as the recorded hook wrote the same request."""
        estimator = request.facts.estimator
        weighed = self._other.weighed(estimator)
        held = self._other.held(asking)
        count, seen = self._counter(estimator), fitted.request.view.messages
        written = self._sides.writer.write(fitted.request.projection, held, count, seen, weighed)
        if request.opaque is None:
            return written
        made = self._recordings.projection(request, self._state, estimator, weighed)
        target = profile_at(request.model.ref, request.projection)
        asked = convert(made.messages, request.model, target)
        if request_hash(tuple(message_hash(one.body) for one in asked)) != written.sha256:
            return written
        sent = self._recordings.hook_wrote(request)
        return self._sides.hooked(written, request, self._state.items, sent)

    def _is_refused(self, request: StepRequest, written: ReplayedRequest) -> bool:
        """Return whether the provider would refuse a request, by the usage it reported for others.

        The recorded request was accepted, whatever our estimate is.
        """
        if written.sha256 == request.sha256:
            return False
        return round(written.tokens * request.facts.calibration) > request.model.capacity

    def _answered(self, info: AssistantMessage) -> None:
        """Check whether the context must shrink after an answer, by its usage or because it was refused."""
        sent = self._sent
        if sent is None or sent.record.message_id != info.id or info.time.completed is None:
            return
        if self._answer == info.id:
            # Only the reason why its turn ended was added later.
            return
        self._answer = info.id
        policy = sent.asking.policy
        was = self.recorded[-1]
        same = sent.step.sha256 == was.sha256
        self._in_log = same and self._recordings.policy(sent.record).overflow == policy.overflow
        usage = info.tokens
        if not same:
            usage = self._usage[info.id] = _scaled(info.tokens, sent.step.tokens, was.tokens)
        if isinstance(info.error, ContextOverflowError) and self._would_be_refused():
            self._cause = "failed" if info.error.compaction_failed else "refused"
        elif info.error is None and reported_full(usage, sent.record.model, policy):
            self._cause = "full"


def _scaled(usage: Usage, tokens: int, recorded: int) -> Usage:
    """Return the usage that would have been reported for a request of another size."""
    prompt = round(usage.prompt * tokens / recorded) if recorded else usage.prompt
    update = {"input": prompt, "cache_read": 0, "cache_write": 0, "total": None}
    return usage.model_copy(update=update)
