"""Load the inputs of a session's recorded requests from its journal and blobs, each once."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.request_assembly.projection import PROJECTION_VERSION, Projection
from palimpsest.context.request_kinds.request_inputs import project_inputs, recorded_inputs
from palimpsest.context.visible_messages import View
from palimpsest.context_policies.whatif.message_caches import ConvertedMessages, TokenCounts
from palimpsest.context_policies.whatif.simulated_session import StepInputs
from palimpsest.recordings.reconstruction.requests import RecordedBlobs
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.values import ToolSpec


class RequestRecordings(RecordedBlobs):
    """Loads the policy, model, system prompt and tools of each recorded request, and projects the request again."""

    def __init__(
        self, store: Store, session_id: str, policy: Policy | None, counter: Callable[[str], Count]
    ) -> None:
        """Load a session's requests; ``policy`` is that of the replay, None for each request's own."""
        super().__init__(store)
        self._session_id = session_id
        self._policy = policy
        self._counter = counter
        self._prompts_and_tools: dict[
            tuple[str, str], tuple[tuple[str, ...], tuple[ToolSpec, ...]]
        ] = {}
        """System prompts and tools by their hashes."""
        self._converted_messages = ConvertedMessages()

    def policy_for(self, request: StepRequest) -> Policy:
        """Return the policy under which a request is replayed."""
        return self._policy or self.policy(request)

    def inputs_of(self, request: StepRequest) -> StepInputs:
        """Return the inputs of a request, with the policy under which it is replayed."""
        key = (request.system.sha256, request.tools.sha256)
        if key not in self._prompts_and_tools:
            system: list[str] = json.loads(self.read(key[0]))
            tools = json.loads(self.read(key[1]))
            self._prompts_and_tools[key] = (
                tuple(system),
                tuple(ToolSpec.model_validate(spec) for spec in tools),
            )
        system_texts, tool_specs = self._prompts_and_tools[key]
        return StepInputs(
            model=request.model,
            system=system_texts,
            tools=tool_specs,
            policy=self.policy_for(request),
            time=request.facts.now,
            answer_left_out=request.message_id,
            # Another policy is simulated with today's projection; the recorded one with its recorded version.
            version=PROJECTION_VERSION if self._policy is not None else request.projection,
        )

    def projection(
        self, request: StepRequest, state: State, estimator: str, token_counts: TokenCounts
    ) -> Projection:
        """Return a request's projection, counted by an estimator; ``state`` is the session's state at the request's record."""
        view = View.of(state.messages(), state.decisions, self.read)
        request_inputs = recorded_inputs(
            request, view, self.read, self._counter, self._session_id, state.session
        )
        counted_inputs = replace(request_inputs, count=self._counter(estimator))
        return project_inputs(
            counted_inputs, flatten=self._converted_messages, count_tokens=token_counts.message
        )

    def hook_messages(self, request: StepRequest) -> list[dict[str, Any]]:
        """Return the messages of a request that a hook wrote."""
        assert request.opaque is not None
        messages: list[dict[str, Any]] = json.loads(self.read(request.opaque.sha256))
        return messages
