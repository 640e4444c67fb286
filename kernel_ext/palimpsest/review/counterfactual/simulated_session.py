"""Simulate a session under another policy: its messages, decisions and facts as they would have been.

Prompts, tool outputs and answers are the recorded ones. The deciders and the projection are those of the
live loop; only compactions, which need a model, are simulated elsewhere
(``review/counterfactual/moved_compaction.py``).
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.context.budget.request_tokens import Count, reserve, usage_ratio
from palimpsest.context.reduction.truncation import left_to_tool, truncate
from palimpsest.context.request_assembly.fit import MessageRequest
from palimpsest.context.request_assembly.projection import PROJECTION_VERSION, Projection, project
from palimpsest.context.visible_messages import View, policy_after_undo
from palimpsest.review.counterfactual.message_caches import ConvertedMessages, TokenCounts
from palimpsest.review.reconstruction.requests import whole_result
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision, Facts, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, reported_usage
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.values import ModelInfo, ToolSpec


@dataclass(frozen=True, slots=True)
class StepInputs:
    """What a request is made of besides the messages, and the policy it is made under."""

    model: ModelInfo
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    policy: Policy
    now: int
    without: str | None = None
    """The message of the request's answer: recorded already, but not part of the request."""
    version: int = PROJECTION_VERSION


@dataclass(slots=True)
class SimulatedSession:
    """The session as it would have been under the policy, beside the recorded one.

    Responsibilities: hide messages that would not exist, add those that would; decide as the policy does.
    """

    state: State
    """The recorded session's state at the current record."""
    read: Callable[[str], bytes]
    """Blobs by their hash."""
    counter: Callable[[str], Count]
    decisions: list[Decision] = field(default_factory=list)
    new: list[Decision] = field(default_factory=list)
    """Decisions that are not yet assigned to a step."""
    newest: StepRequest | None = None
    """The newest recorded request that would have been made under the policy, too."""
    weights: dict[str, int] = field(default_factory=dict)
    """Tokens of recorded requests by another counter than the recorded one."""
    replaced: dict[str, str] = field(default_factory=dict)
    """Stand-in summaries by the recorded ones that they replace."""
    used: int = 0
    """Tokens of the newest request as it would have been sent."""
    touched: int | None = None
    """When the provider's cache was last touched."""
    _flattened: ConvertedMessages = field(default_factory=ConvertedMessages)
    _weighed: dict[str, TokenCounts] = field(default_factory=dict)
    """By estimator."""
    _hidden: set[str] = field(default_factory=set)
    _added: dict[str, Messages] = field(default_factory=dict)
    _made: int = 0

    def messages(self, without: str | None = None) -> Messages:
        """Return the messages as they would have been."""
        found: list[Message] = []
        for message in self.state.messages():
            if message.id not in self._hidden and message.id != without:
                found.append(message)
            found += self._added.get(message.id, ())
        return tuple(found)

    def hide(self, names: Sequence[str]) -> None:
        """Hide recorded messages that would not exist."""
        self._hidden.update(names)

    def add(self, after: str, messages: Messages) -> None:
        """Insert messages after a recorded one, hidden or not."""
        self._added[after] = (*self._added.get(after, ()), *messages)

    def view(self, messages: Messages) -> View:
        """Return messages as a view for deciders."""
        return View.of(messages, tuple(self.decisions), self.read)

    def decide(self, found: Sequence[Decision]) -> None:
        """Add decisions."""
        self.decisions += found
        self.new += found

    def new_id(self) -> str:
        """Return the id of a decision that was not recorded."""
        self._made += 1
        return f"dec_{self._made}"

    def facts(self, asking: StepInputs, used_tokens: int) -> Facts:
        """Return the facts that deciders would have used."""
        policy, model = asking.policy, asking.model
        age = None
        is_same = self.newest is not None and self.newest.model.ref == model.ref
        if model.caching and self.touched is not None and is_same:
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

    def held(self, asking: StepInputs) -> StepInputs:
        """Return the inputs with the effective policy: after an undo there is no automatic compaction."""
        messages = self.messages(asking.without)
        policy = policy_after_undo(messages, tuple(self.decisions), asking.policy)
        return replace(asking, policy=policy)

    def request(self, asking: StepInputs) -> MessageRequest:
        """Return the request for ``fit``, as the live loop would have it now."""
        held = self.held(asking)
        return MessageRequest(
            view=self.view(self.messages(asking.without)),
            policy=held.policy,
            facts=self.facts(held, self.used),
            count=self._count(held.policy),
            project=functools.partial(self._projected, held),
            new_id=self.new_id,
        )

    def truncate(self, part: ToolPart, asking: StepInputs) -> None:
        """Truncate an output when its tool ends."""
        policy, state = asking.policy, part.state
        assert isinstance(state, ToolCompleted)
        if left_to_tool(state.metadata, policy.truncate):
            return
        whole = whole_result(part, self.read)
        found = truncate(
            self.new_id(),
            part.id,
            part.message_id,
            state.output if whole is None else whole,
            policy.truncate,
            self.facts(asking, 0),
            self._count(policy),
        )
        if found is not None:
            self.decide([found])

    def size(self, messages: Messages, asking: StepInputs) -> int:
        """Return the tokens of messages in a request, without system prompt and tools."""
        bare = replace(asking, system=(), tools=(), version=PROJECTION_VERSION)
        return self._projected(bare, self.view(messages)).total

    def weighed(self, estimator: str) -> TokenCounts:
        """Return the cached token counts of an estimator."""
        if estimator not in self._weighed:
            self._weighed[estimator] = TokenCounts(self.counter(estimator))
        return self._weighed[estimator]

    def turn_over(self) -> None:
        """Drop the counts of messages that are in no request any more."""
        for one in self._weighed.values():
            one.turn_over()

    def _projected(self, asking: StepInputs, view: View) -> Projection:
        return project(
            view,
            system=asking.system,
            tools=asking.tools,
            model=asking.model,
            policy=asking.policy,
            count=self._count(asking.policy),
            version=asking.version,
            flatten=self._flattened,
            weigh=self.weighed(asking.policy.estimator).message,
        )

    def _count(self, policy: Policy) -> Count:
        return self.counter(policy.estimator)

    def _calibration(self, policy: Policy, model: ModelInfo) -> float:
        """Return the ratio of reported to estimated tokens of the newest request."""
        newest = self.newest
        if newest is None or newest.model.ref != model.ref or newest.message_id is None:
            return 1.0
        message = self.state.message(newest.message_id)
        if message is None or not isinstance(message.info, AssistantMessage):
            return 1.0
        tokens = newest.tokens
        if policy.estimator != newest.facts.estimator:
            tokens = self.weights.get(newest.id, tokens)
        return usage_ratio(reported_usage(message, message.info, newest.id), tokens)
