"""Simulate a session under another policy: its messages, decisions and facts.

Prompts, tool outputs and answers are the recorded ones. The deciders and the projection are those of the
live loop; only compactions, which need a model, are simulated elsewhere
(``context_policies/whatif/moved_compaction.py``).
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.context.budget.request_tokens import Count, reserved_tokens, usage_ratio
from palimpsest.context.reduction.truncation import is_shortened_by_tool, truncate
from palimpsest.context.request_assembly.fit import MessageRequest
from palimpsest.context.request_assembly.projection import PROJECTION_VERSION, Projection, project
from palimpsest.context.visible_messages import View, policy_after_undo
from palimpsest.context_policies.whatif.message_caches import ConvertedMessages, TokenCounts
from palimpsest.recordings.reconstruction.requests import whole_result
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision, Facts, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, reported_usage
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.values import ModelInfo, ToolSpec


@dataclass(frozen=True, slots=True)
class StepInputs:
    """The inputs of a request besides its messages, with the policy that applies."""

    model: ModelInfo
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    policy: Policy
    time: int
    """Milliseconds since 1970."""
    answer_left_out: str | None = None
    """Id of the request's answer, which is recorded already but not part of the request."""
    version: int = PROJECTION_VERSION
    """Version of the projection."""


@dataclass(slots=True)
class SimulatedSession:
    """The session as simulated under the policy, with its messages and decisions, alongside the recorded one."""

    state: State
    """The recorded session's state at the current record."""
    read_blob: Callable[[str], bytes]
    """Returns a blob by its hash."""
    counter: Callable[[str], Count]
    decisions: list[Decision] = field(default_factory=list)
    new_decisions: list[Decision] = field(default_factory=list)
    """Decisions that are not yet assigned to a step."""
    newest_request: StepRequest | None = None
    """The newest recorded request that would also have been made under the policy."""
    weights: dict[str, int] = field(default_factory=dict)
    """Tokens of recorded requests, by the requests' ids, where the policy's estimator is not the recorded one."""
    replaced_summaries: dict[str, str] = field(default_factory=dict)
    """Ids of placeholder summaries, by the ids of the recorded ones that they replace."""
    request_tokens: int = 0
    """Tokens of the newest simulated request."""
    cache_used_at: int | None = None
    """Time in milliseconds at which the provider's cache was last used."""
    _converted_messages: ConvertedMessages = field(default_factory=ConvertedMessages)
    _token_counts: dict[str, TokenCounts] = field(default_factory=dict)
    """The token counts, by estimator."""
    _hidden_ids: set[str] = field(default_factory=set)
    _added_messages: dict[str, Messages] = field(default_factory=dict)
    _id_count: int = 0

    def messages(self, left_out_id: str | None = None) -> Messages:
        """Return the simulated messages."""
        shown_messages: list[Message] = []
        for message in self.state.messages():
            if message.id not in self._hidden_ids and message.id != left_out_id:
                shown_messages.append(message)
            shown_messages += self._added_messages.get(message.id, ())
        return tuple(shown_messages)

    def hide(self, message_ids: Sequence[str]) -> None:
        """Hide recorded messages that would not exist."""
        self._hidden_ids.update(message_ids)

    def add(self, after_id: str, messages: Messages) -> None:
        """Insert messages after a recorded one, hidden or not."""
        self._added_messages[after_id] = (*self._added_messages.get(after_id, ()), *messages)

    def view(self, messages: Messages) -> View:
        """Return messages as a view for deciders."""
        return View.of(messages, tuple(self.decisions), self.read_blob)

    def add_decisions(self, new_decisions: Sequence[Decision]) -> None:
        """Add decisions."""
        self.decisions += new_decisions
        self.new_decisions += new_decisions

    def new_id(self) -> str:
        """Return the id of a decision that was not recorded."""
        self._id_count += 1
        return f"dec_{self._id_count}"

    def facts(self, inputs: StepInputs, used_tokens: int) -> Facts:
        """Return the facts for the deciders."""
        policy, model = inputs.policy, inputs.model
        cache_age_seconds = None
        is_same = self.newest_request is not None and self.newest_request.model.ref == model.ref
        if model.caching and self.cache_used_at is not None and is_same:
            cache_age_seconds = max(inputs.time - self.cache_used_at, 0) / 1000
        return Facts(
            now=inputs.time,
            estimator=policy.estimator,
            calibration=self._calibration(policy, model),
            window=model.window,
            reserve=reserved_tokens(policy, model),
            cache_age_seconds=cache_age_seconds,
            used_tokens=used_tokens,
        )

    def with_undo(self, inputs: StepInputs) -> StepInputs:
        """Return the inputs with the effective policy: after an undo there is no automatic compaction."""
        messages = self.messages(inputs.answer_left_out)
        policy = policy_after_undo(messages, tuple(self.decisions), inputs.policy)
        return replace(inputs, policy=policy)

    def request(self, inputs: StepInputs) -> MessageRequest:
        """Return the request that is to fit the window, as the live loop would build it now."""
        effective_inputs = self.with_undo(inputs)
        return MessageRequest(
            view=self.view(self.messages(inputs.answer_left_out)),
            policy=effective_inputs.policy,
            facts=self.facts(effective_inputs, self.request_tokens),
            count=self.counter(effective_inputs.policy.estimator),
            project=functools.partial(self._project, effective_inputs),
            new_id=self.new_id,
        )

    def truncate(self, part: ToolPart, inputs: StepInputs) -> None:
        """Truncate an output when its tool ends."""
        policy, state = inputs.policy, part.state
        assert isinstance(state, ToolCompleted)
        if is_shortened_by_tool(state.metadata, policy.truncate):
            return
        whole_output = whole_result(part, self.read_blob)
        decision = truncate(
            self.new_id(),
            part.id,
            part.message_id,
            state.output if whole_output is None else whole_output,
            policy.truncate,
            self.facts(inputs, 0),
            self.counter(policy.estimator),
        )
        if decision is not None:
            self.add_decisions([decision])

    def size(self, messages: Messages, inputs: StepInputs) -> int:
        """Return the tokens of messages in a request, without system prompt and tools."""
        only_messages = replace(inputs, system=(), tools=(), version=PROJECTION_VERSION)
        return self._project(only_messages, self.view(messages)).total

    def token_counts(self, estimator: str) -> TokenCounts:
        """Return the cached token counts of an estimator."""
        if estimator not in self._token_counts:
            self._token_counts[estimator] = TokenCounts(self.counter(estimator))
        return self._token_counts[estimator]

    def drop_unused(self) -> None:
        """Drop the counts of messages that no request contains any more."""
        for counts in self._token_counts.values():
            counts.drop_unused()

    def _project(self, inputs: StepInputs, view: View) -> Projection:
        return project(
            view,
            system=inputs.system,
            tools=inputs.tools,
            model=inputs.model,
            policy=inputs.policy,
            count=self.counter(inputs.policy.estimator),
            version=inputs.version,
            flatten=self._converted_messages,
            count_tokens=self.token_counts(inputs.policy.estimator).message,
        )

    def _calibration(self, policy: Policy, model: ModelInfo) -> float:
        """Return the ratio of reported to estimated tokens of the newest request."""
        newest_request = self.newest_request
        if newest_request is None or newest_request.model.ref != model.ref:
            return 1.0
        message = self.state.message(newest_request.message_id or "")
        if message is None or not isinstance(message.info, AssistantMessage):
            return 1.0
        estimated_tokens = newest_request.tokens
        if policy.estimator != newest_request.facts.estimator:
            estimated_tokens = self.weights.get(newest_request.id, estimated_tokens)
        return usage_ratio(
            reported_usage(message, message.info, newest_request.id), estimated_tokens
        )
