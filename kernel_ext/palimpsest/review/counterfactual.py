"""Walk along a log under another policy: what would have been sent at each step.

The same policy gives the recorded requests, to the byte. After the first difference it is an
estimate: with another request the model might have gone another way.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from palimpsest.context.basis import projected, recorded
from palimpsest.context.estimate import Count
from palimpsest.context.overflow import overflows
from palimpsest.context.oversized import RULE as OVERSIZED
from palimpsest.context.projection import PROJECTION_VERSION
from palimpsest.context.reminders import STEERED
from palimpsest.context.summary import RULE as COMPACT
from palimpsest.context.texts import load_texts
from palimpsest.context.view import View
from palimpsest.review.moved import Marked, compact, leave_out
from palimpsest.review.other import Asking, Other, Prepared, Tries
from palimpsest.review.past import Past, Recorded, read_ahead
from palimpsest.review.requests import policy_of
from palimpsest.review.shared import Flattened
from palimpsest.review.sides import Sides
from palimpsest.review.standins import SUMMARY_TOKENS
from palimpsest.review.steps import Compaction, Step
from palimpsest.review.written import Written
from palimpsest.store.state import State
from palimpsest.store.store import Store
from palimpsest.transcript.decisions import Decision, StepRequest
from palimpsest.transcript.events import (
    DecisionMade,
    MessageUpdated,
    PartUpdated,
    Record,
    SessionStatus,
    StepRequested,
)
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import CompactionPart, ToolCompleted, ToolPart
from palimpsest.transcript.piles import PRUNE_RULE
from palimpsest.transcript.policies import Policy
from palimpsest.transcript.values import ToolSpec, Usage

ASIDE = "compact/aside"
"""Rule of decisions that take out what a failed compaction brought."""
DECIDERS = frozenset({"truncate", OVERSIZED, STEERED})
"""Rules, beside those of prune, that are decided anew under another policy."""


@dataclass(slots=True)
class Since:
    """What was decided since the newest step."""

    decisions: list[Decision] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Sent:
    """The newest step, as it would have been sent."""

    step: Step
    record: StepRequest
    asking: Asking


class Walk:
    """Replays one session.

    Responsibilities: meet each record with what the loop would have done under the policy; make a
    step of each recorded request, and say beside it what was recorded.
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
        self.since = Since()
        self.recorded_since = Since()
        self._store = store
        self._session_id = session_id
        self._policy = policy
        self._counter = counter
        self._summary_tokens = summary_tokens
        self._state = State()
        self._past = Past()
        self._blobs: dict[str, bytes] = {}
        self._policies: dict[str, Policy] = {}
        self._given: dict[tuple[str, str], tuple[tuple[str, ...], tuple[ToolSpec, ...]]] = {}
        """System prompts and tools by their hashes."""
        self._other = Other(self._state, self._read, counter)
        self._sides = Sides(session_id)
        self._flattened = Flattened()
        """Of recorded requests that are counted anew."""
        self._sent: _Sent | None = None
        self._markers: set[str] = set()
        self._full = False
        """The tokens reported of the newest answer ask for a compaction."""
        self._in_log = False
        """That answer was the recorded one under the recorded rule, so what followed is in the log."""
        self._shortens = False
        """A compaction has failed, so results are cut instead."""
        self._aside = False
        """What is taken out after a recorded compaction that failed is taken out here, too."""
        self._turn_open = False

    def steps(self) -> Iterator[Step]:
        """Yield every step as it would have been."""
        self._past = read_ahead(self._store.read(self._session_id))
        for record in self._store.read(self._session_id):
            self._before(record)
            self._state.apply(record)
            found = self._after(record)
            if found is not None:
                yield found

    def left_over(self) -> tuple[Decision, ...]:
        """Return the decisions after the newest step."""
        return tuple(self._other.new)

    # Along the log

    def _before(self, record: Record) -> None:
        match record.event:
            case MessageUpdated(info=UserMessage() as info):
                new = self._state.message(info.id) is None
                if new and not _by_engine(info) and not info.joins:
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
        """Note a recorded decision; what a person decided holds under every policy."""
        if decision.rule in DECIDERS or decision.rule.startswith(PRUNE_RULE):
            self.recorded_since.decisions.append(decision)
        elif decision.rule != COMPACT and (decision.rule != ASIDE or self._aside):
            name = self._other.replaced.get(decision.message_id or "", decision.message_id)
            self._other.decisions.append(decision.model_copy(update={"message_id": name}))

    def _tool_ended(self, part: ToolPart) -> None:
        known = self._state.part(part.message_id, part.id)
        ended = isinstance(known, ToolPart) and isinstance(known.state, ToolCompleted)
        whole = isinstance(part.state, ToolCompleted) and not part.state.metadata.get("truncated")
        if whole and not ended and self._sent is not None:
            self._other.truncate(part, self._sent.asking)

    def _turn_ended(self) -> None:
        """Do what the loop does when a turn has ended."""
        if self._sent is not None and self._turn_open:
            self._turn_open = False
            self._settle(self._sent.asking)
            self._other.prune_after_turn(self._sent.asking)
        self._other.tries = Tries()

    def _settle(self, asking: Asking) -> None:
        """Do what is due before anything else happens."""
        if self._shortens and self._other.tries.may_truncate(asking.policy):
            self._other.shorten(asking)
        if self._full and not self._in_log:
            self._compact(asking, None)
        self._shortens = self._full = False

    # Compactions

    def _marked(self, marker_id: str) -> None:
        """Meet a recorded marker: the compaction would have been here, too, or not."""
        recorded = self._past.compactions.get(marker_id)
        if recorded is None or marker_id in self._markers:
            return
        self._markers.add(marker_id)
        asking = self._asking_at(recorded)
        if asking is None:
            return
        marked = self._recorded_compaction(recorded, asking)
        self.recorded_since.compactions.append(marked.compaction())
        wanted = not recorded.auto or self._wants(recorded, asking)
        self._full = False
        if wanted:
            self._compact(asking, marked)
        else:
            leave_out(self._other, recorded)
            self._aside = False

    def _wants(self, recorded: Recorded, asking: Asking) -> bool:
        """Tell whether the policy asks for a compaction at a recorded marker."""
        if not self._other.tries.may_compact(asking.policy):
            return False
        if recorded.overflow:
            return self._would_be_refused()
        if self._full:
            return True
        before = replace(asking, without=recorded.marker_id)
        return not self._other.prepare(before).route.fits

    def _would_be_refused(self) -> bool:
        """Tell whether the provider, which refused the newest request, would have refused this one."""
        if self._sent is None or not self.recorded:
            return False
        was, step = self.recorded[-1], self._sent.step
        return step.sha256 == was.sha256 or step.tokens >= was.tokens

    def _compact(self, asking: Asking, marked: Marked | None, *, overflow: bool = False) -> bool:
        """Compact now; false when that failed, so that something else must be tried."""
        if marked is None or marked.recorded.auto:
            self._other.tries.compactions += 1
        without = marked.message.id if marked is not None else asking.without
        held = replace(asking, without=without)
        done = compact(self._other, held, marked, self._summary_tokens, overflow=overflow)
        adopted = done is not None and not done.stand_in
        self._aside = adopted
        if done is not None:
            self.since.compactions.append(done)
        failed = done is None or not done.good
        stopped = marked is not None and adopted and marked.recorded.stopped
        by_hand = marked is not None and not marked.recorded.auto
        self._shortens = failed and not stopped and not by_hand
        return not failed

    def _recorded_compaction(self, recorded: Recorded, asking: Asking) -> Marked:
        messages = self._state.messages()
        at = next(i for i, one in enumerate(messages) if one.id == recorded.marker_id)
        seen = messages[: at + 1]
        decisions = self._state.decisions
        view = View(seen, decisions, load_texts(seen, self._read, decisions))
        request = recorded.request or (self._sent.record if self._sent else None)
        policy = self._recorded_policy(request) if request is not None else Policy()
        return Marked(recorded, messages[at], view, policy, asking.model, self._counter)

    def _asking_at(self, recorded: Recorded) -> Asking | None:
        """Return what a request at a marker is made of: what the step beside it was made of."""
        message = self._state.message(recorded.marker_id)
        info = message.info if message is not None else None
        request = self._past.following.get(recorded.marker_id)
        if self._sent is not None and (
            request is None or self._sent.record.model.ref == getattr(info, "model", None)
        ):
            request = self._sent.record
        if request is None or info is None:
            return None
        asked = recorded.request or request
        policy = self._policy or self._recorded_policy(asked)
        # What was known of a model may have changed since the step before.
        model = asked.model if asked.model.ref == request.model.ref else request.model
        asking = self._asking(request)
        return replace(asking, model=model, policy=policy, now=info.time.created, without=None)

    # Requests

    def _asked_aside(self, request: StepRequest) -> None:
        """Meet a request that is no step: one that would not have been made is passed over."""
        if request.purpose == "title":
            return
        message = self._state.message(request.message_id or "")
        if request.purpose == "compaction" and (message is None or not self._aside):
            return
        self._note(request)

    def _note(self, request: StepRequest) -> None:
        """Remember a request that would have been made: what was reported of it calibrates the next."""
        other = self._other
        other.newest, other.touched = request, request.facts.now
        estimator = (self._policy or self._recorded_policy(request)).estimator
        if estimator != request.facts.estimator:
            messages, decisions = self._state.messages(), self._state.decisions
            view = View(messages, decisions, load_texts(messages, self._read, decisions))
            basis = recorded(request, view, self._read, self._counter, self._session_id)
            held = replace(basis, count=self._counter(estimator))
            weigh = other.weighed(estimator).message
            other.weights[request.id] = projected(held, flatten=self._flattened, weigh=weigh).total

    def _step(self, seq: int, request: StepRequest) -> Step:
        """Make the step of a recorded request."""
        asking = self._asking(request)
        self._settle(asking)
        prepared, written, fits = self._fitting(request, asking)
        self._shortens = False
        since = self.recorded_since
        was = self._sides.was(seq, request, self._state.items, since.decisions, since.compactions)
        made, self._other.new = tuple(self._other.new), []
        step = self._sides.other(was, request, prepared, written)
        step = replace(step, fits=fits, decisions=made, compactions=tuple(self.since.compactions))
        self.recorded.append(was)
        self._sent = _Sent(step, request, asking)
        self._turn_open = True
        self._other.turn_over()
        self._note(request)
        self.since, self.recorded_since = Since(), Since()
        return step

    def _fitting(self, request: StepRequest, asking: Asking) -> tuple[Prepared, Written, bool]:
        """Make a request that fits, with as many compactions as that takes and the policy allows."""
        while True:
            prepared = self._other.prepare(asking)
            built = prepared.built
            count = self._counter(request.facts.estimator)
            weighed = self._other.weighed(request.facts.estimator)
            seen = built.view.messages
            written = self._sides.write(built.projection, asking, count, seen, weighed)
            refused = self._is_refused(request, written)
            fits = prepared.route.fits and not refused
            if fits or not self._may_compact(prepared):
                return prepared, written, fits
            held = replace(asking, policy=built.policy)
            if not self._compact(held, None, overflow=refused and prepared.route.fits):
                return prepared, written, fits

    def _is_refused(self, request: StepRequest, written: Written) -> bool:
        """Tell whether the provider would refuse a request, by what it reported of others.

        The recorded request was sent, whatever our estimate says.
        """
        if written.sha256 == request.sha256:
            return False
        return round(written.tokens * request.facts.calibration) > request.model.window

    def _may_compact(self, prepared: Prepared) -> bool:
        possible = any(
            isinstance(one.info, AssistantMessage) for one in prepared.built.view.messages
        )
        return possible and self._other.tries.may_compact(prepared.built.policy)

    def _answered(self, info: AssistantMessage) -> None:
        """Look whether the tokens of an answer ask for a compaction, under the rules that look at them."""
        sent = self._sent
        if sent is None or sent.record.message_id != info.id or info.time.completed is None:
            return
        policy = sent.asking.policy
        if info.error is not None or not policy.overflow.rule.startswith("opencode"):
            return
        was = self.recorded[-1]
        same = sent.step.sha256 == was.sha256
        self._in_log = same and self._recorded_policy(sent.record).overflow == policy.overflow
        usage = info.tokens if same else _scaled(info.tokens, sent.step.tokens, was.tokens)
        full = overflows(usage, sent.record.model, policy.overflow)
        self._full = full and self._other.tries.may_compact(policy)

    def _asking(self, request: StepRequest) -> Asking:
        key = (request.system.sha256, request.tools.sha256)
        if key not in self._given:
            system: list[str] = json.loads(self._read(key[0]))
            tools = json.loads(self._read(key[1]))
            self._given[key] = (
                tuple(system),
                tuple(ToolSpec.model_validate(spec) for spec in tools),
            )
        system_words, tool_specs = self._given[key]
        return Asking(
            model=request.model,
            system=system_words,
            tools=tool_specs,
            policy=self._policy or self._recorded_policy(request),
            now=request.facts.now,
            without=request.message_id,
            # Another policy is asked of the software of today; the own one gave what that version gave.
            version=PROJECTION_VERSION if self._policy is not None else request.projection,
        )

    def _recorded_policy(self, request: StepRequest) -> Policy:
        key = request.policy_blob.sha256 if request.policy_blob is not None else request.id
        if key not in self._policies:
            self._policies[key] = policy_of(self._store, request)
        return self._policies[key]

    def _read(self, sha256: str) -> bytes:
        if sha256 not in self._blobs:
            self._blobs[sha256] = self._store.get_blob(sha256)
        return self._blobs[sha256]


def _by_engine(info: UserMessage) -> bool:
    return info.origin is not None and info.origin.kind == "engine"


def _scaled(usage: Usage, tokens: int, recorded: int) -> Usage:
    """Return what would have been reported of a request of another size."""
    prompt = round(usage.prompt * tokens / recorded) if recorded else usage.prompt
    update = {"input": prompt, "cache_read": 0, "cache_write": 0, "total": None}
    return usage.model_copy(update=update)
