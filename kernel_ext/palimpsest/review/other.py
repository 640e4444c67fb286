"""A session as it would have become under another policy: its messages, its decisions, its facts.

People, tools and answers are the recorded ones. The deciders and the projection are those of the
live loop; only compactions, which need a model, are made up elsewhere (``review/moved.py``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from palimpsest.context.estimate import Count
from palimpsest.context.oversized import truncate_oversized
from palimpsest.context.policy import reserve
from palimpsest.context.precheck import Way
from palimpsest.context.projection import PROJECTION_VERSION, Projection, project
from palimpsest.context.prune import BEFORE_REQUESTS, prune
from palimpsest.context.reminders import remind
from palimpsest.context.route import Route, calibration
from palimpsest.context.texts import load_texts
from palimpsest.context.truncate import truncate
from palimpsest.context.undo import folded, suspended
from palimpsest.context.view import View, whole_output
from palimpsest.context.ways import routed
from palimpsest.review.shared import Flattened, Weighed
from palimpsest.store.state import State
from palimpsest.transcript.decisions import Decision, Facts, StepRequest
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.parts import StepFinishPart, StepStartPart, ToolCompleted, ToolPart
from palimpsest.transcript.policies import Policy
from palimpsest.transcript.values import ModelInfo, ToolSpec, Usage


@dataclass(frozen=True, slots=True)
class Asking:
    """What a request is made of besides the conversation, and the policy it is made under."""

    model: ModelInfo
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    policy: Policy
    now: int
    without: str | None = None
    """The message that the request fills: recorded already, and no part of it."""
    version: int = PROJECTION_VERSION


@dataclass(frozen=True, slots=True)
class Built:
    """A request as it would be now."""

    policy: Policy
    view: View
    projection: Projection


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request with all taken out of it that the policy takes out, and whether it fits."""

    built: Built
    facts: Facts
    route: Route


@dataclass(slots=True)
class Tries:
    """What was tried in one turn to make room."""

    compactions: int = 0
    truncations: int = 0
    shorten: bool = False
    """The way out asks for oversized results to be cut once the summary is there."""

    def may_compact(self, policy: Policy) -> bool:
        """Tell whether another compaction may be tried in this turn."""
        return policy.overflow.auto and self.compactions < policy.compact.max_attempts

    def may_truncate(self, policy: Policy) -> bool:
        """Tell whether oversized results may still be cut in this turn."""
        return self.truncations < policy.recovery.truncations


@dataclass(slots=True)
class Other:
    """The session that would have been, beside the recorded one.

    Responsibilities: hide what would not have been, add what would; decide as the policy does.
    """

    state: State
    """Of the recorded session, at this record."""
    read: Callable[[str], bytes]
    """Blobs by their hash."""
    counter: Callable[[str], Count]
    decisions: list[Decision] = field(default_factory=list)
    new: list[Decision] = field(default_factory=list)
    """Those that nobody asked for yet."""
    tries: Tries = field(default_factory=Tries)
    newest: StepRequest | None = None
    """The newest recorded request that would have been made, too."""
    weights: dict[str, int] = field(default_factory=dict)
    """Tokens of recorded requests by another counter than the recorded one."""
    replaced: dict[str, str] = field(default_factory=dict)
    """Stand-in summaries by the recorded ones whose place they take."""
    touched: int | None = None
    """When the provider's cache was last touched."""
    _flattened: Flattened = field(default_factory=Flattened)
    _weighed: dict[str, Weighed] = field(default_factory=dict)
    """By estimator."""
    _hidden: set[str] = field(default_factory=set)
    _added: dict[str, Messages] = field(default_factory=dict)
    _made: int = 0

    def messages(self, without: str | None = None) -> Messages:
        """Return the messages that would have been."""
        found: list[Message] = []
        for message in self.state.messages():
            if message.id not in self._hidden and message.id != without:
                found.append(message)
            found += self._added.get(message.id, ())
        return tuple(found)

    def hide(self, names: Sequence[str]) -> None:
        """Take recorded messages out that would not have been."""
        self._hidden.update(names)

    def add(self, after: str, messages: Messages) -> None:
        """Put messages behind a recorded one, hidden or not."""
        self._added[after] = (*self._added.get(after, ()), *messages)

    def newest_id(self) -> str:
        """Return the newest recorded message."""
        messages = self.state.messages()
        return messages[-1].id if messages else ""

    def view(self, messages: Messages) -> View:
        """Return messages as deciders look at them."""
        decisions = tuple(self.decisions)
        return View(messages, decisions, load_texts(messages, self.read, decisions))

    def decide(self, found: Sequence[Decision]) -> bool:
        """Take decisions in; false when there are none."""
        self.decisions += found
        self.new += found
        return bool(found)

    def new_id(self) -> str:
        """Return the id of a decision that was not recorded."""
        self._made += 1
        return f"dec_{self._made}"

    def facts(self, asking: Asking, used_tokens: int) -> Facts:
        """Return what deciders would have been told."""
        policy, model = asking.policy, asking.model
        age = None
        if model.caching and self.touched is not None and self._same_model(model):
            age = max(asking.now - self.touched, 0) / 1000
        return Facts(
            now=asking.now,
            estimator=policy.estimator,
            calibration=self._calibration(policy, model),
            window=model.window,
            reserve=reserve(policy, model),
            cache_age_seconds=age,
            used_tokens=used_tokens,
        )

    def prepare(self, asking: Asking) -> Prepared:
        """Return the next request, with less in it where the policy says so; it may still not fit."""
        built = self._built(asking)
        policy = built.policy
        if self.decide(remind(built.view, policy.reminders, self.new_id, self._count(policy))):
            built = self._built(asking)
        facts = self.facts(asking, built.projection.total)
        if policy.prune.rule in BEFORE_REQUESTS:
            count = self._count(policy)
            if self.decide(prune(built.view, policy, facts, self.new_id, count)):
                built = self._built(asking)
        way, route = routed(built.view, built.projection, policy, facts)
        if self._cuts_now(way, policy) and self.shorten(asking, facts):
            built = self._built(asking)
            way, route = routed(built.view, built.projection, policy, facts)
        self.tries.shorten = way == "compact_then_truncate"
        return Prepared(built, facts, route)

    def truncate(self, part: ToolPart, asking: Asking) -> None:
        """Shorten an output when its tool ends."""
        policy = asking.policy
        found = truncate(
            self.new_id(),
            part.id,
            part.message_id,
            self._whole(part),
            policy.truncate,
            self.facts(asking, 0),
            self._count(policy),
        )
        if found is not None:
            self.decide([found])

    def prune_after_turn(self, asking: Asking) -> None:
        """Prune where the policy does that when a turn has ended."""
        policy = asking.policy
        if policy.prune.rule not in BEFORE_REQUESTS:
            view, facts = self.view(self.messages()), self.facts(asking, 0)
            self.decide(prune(view, policy, facts, self.new_id, self._count(policy)))

    def shorten(self, asking: Asking, facts: Facts | None = None) -> bool:
        """Cut results that are too long for the window; false when there are none."""
        self.tries.truncations += 1
        policy = asking.policy
        view = self.view(self.messages(asking.without))
        seen = folded(view, policy.compact)
        facts = facts or self.facts(asking, 0)
        count = self._count(policy)
        return self.decide(
            truncate_oversized(view, seen, policy.recovery, facts, self.new_id, count)
        )

    def size(self, messages: Messages, asking: Asking) -> int:
        """Return the tokens of messages in a request, without system prompt and tools."""
        return project(
            self.view(messages),
            system=(),
            tools=(),
            model=asking.model,
            policy=asking.policy,
            count=self._count(asking.policy),
            flatten=self._flattened,
            weigh=self.weighed(asking.policy.estimator).message,
        ).total

    def weighed(self, estimator: str) -> Weighed:
        """Return what counts with an estimator, and remembers."""
        if estimator not in self._weighed:
            self._weighed[estimator] = Weighed(self.counter(estimator))
        return self._weighed[estimator]

    def turn_over(self) -> None:
        """Forget what messages weigh that are in no request any more."""
        for one in self._weighed.values():
            one.turn_over()

    def _built(self, asking: Asking) -> Built:
        messages = self.messages(asking.without)
        policy = suspended(messages, tuple(self.decisions), asking.policy)
        view = self.view(messages)
        projection = project(
            view,
            system=asking.system,
            tools=asking.tools,
            model=asking.model,
            policy=policy,
            count=self._count(policy),
            version=asking.version,
            flatten=self._flattened,
            weigh=self.weighed(policy.estimator).message,
        )
        return Built(policy, view, projection)

    def _cuts_now(self, way: Way, policy: Policy) -> bool:
        """Tell whether oversized results are to be cut before anything else, or at last."""
        if way == "fits" or not self.tries.may_truncate(policy):
            return False
        first = way == "truncate_tool_results_only" or self.tries.shorten
        return first or not self.tries.may_compact(policy)

    def _count(self, policy: Policy) -> Count:
        return self.counter(policy.estimator)

    def _same_model(self, model: ModelInfo) -> bool:
        return self.newest is not None and self.newest.model.ref == model.ref

    def _calibration(self, policy: Policy, model: ModelInfo) -> float:
        """Return real over estimated tokens, from what was reported of the newest request."""
        newest = self.newest
        if newest is None or newest.model.ref != model.ref or newest.message_id is None:
            return 1.0
        message = self.state.message(newest.message_id)
        if message is None or not isinstance(message.info, AssistantMessage):
            return 1.0
        tokens = newest.tokens
        if policy.estimator != newest.facts.estimator:
            tokens = self.weights.get(newest.id, tokens)
        return calibration(_reported(message, message.info, newest.id), tokens)

    def _whole(self, part: ToolPart) -> str:
        state = part.state
        assert isinstance(state, ToolCompleted)
        if state.blob is None:
            return state.output
        try:
            content = self.read(state.blob.sha256)
        except NotFound:
            return state.output
        return whole_output(part, {state.blob.sha256: content.decode("utf-8", "surrogatepass")})


def _reported(message: Message, info: AssistantMessage, request_id: str) -> Usage:
    """Return what was reported of one request: the message of a summary may hold several."""
    ours = False
    for part in message.parts:
        if isinstance(part, StepStartPart):
            ours = part.request_id == request_id
        elif ours and isinstance(part, StepFinishPart):
            return part.tokens
    return Usage() if info.summary else info.tokens
