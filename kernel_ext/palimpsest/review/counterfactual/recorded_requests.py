"""Load the inputs of a session's recorded requests from its journal and blobs, each once."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.request_assembly.projection import PROJECTION_VERSION, Projection
from palimpsest.context.request_kinds.request_inputs import project_inputs, recorded_inputs
from palimpsest.context.visible_messages import View
from palimpsest.review.counterfactual.message_caches import ConvertedMessages, TokenCounts
from palimpsest.review.counterfactual.simulated_session import StepInputs
from palimpsest.review.reconstruction.requests import RecordedBlobs
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.values import ToolSpec


class Recordings(RecordedBlobs):
    """Loads the recorded requests of one session.

    Responsibilities: the policy of each; its model, system prompt and tools; how it was projected.
    """

    def __init__(
        self, store: Store, session_id: str, policy: Policy | None, counter: Callable[[str], Count]
    ) -> None:
        """Set the session; ``policy`` is the one that it is replayed under, None for each request's own."""
        super().__init__(store)
        self._session_id = session_id
        self._policy = policy
        self._counter = counter
        self._given: dict[tuple[str, str], tuple[tuple[str, ...], tuple[ToolSpec, ...]]] = {}
        """System prompts and tools by their hashes."""
        self._flattened = ConvertedMessages()

    def replayed(self, request: StepRequest) -> Policy:
        """Return the policy that a request is replayed under."""
        return self._policy or self.policy(request)

    def asking(self, request: StepRequest) -> StepInputs:
        """Return what a request was made of, under the policy that it is replayed under."""
        key = (request.system.sha256, request.tools.sha256)
        if key not in self._given:
            system: list[str] = json.loads(self.read(key[0]))
            tools = json.loads(self.read(key[1]))
            self._given[key] = (
                tuple(system),
                tuple(ToolSpec.model_validate(spec) for spec in tools),
            )
        system_words, tool_specs = self._given[key]
        return StepInputs(
            model=request.model,
            system=system_words,
            tools=tool_specs,
            policy=self.replayed(request),
            now=request.facts.now,
            without=request.message_id,
            # Another policy is simulated with today's projection; the recorded one with its recorded version.
            version=PROJECTION_VERSION if self._policy is not None else request.projection,
        )

    def projection(
        self, request: StepRequest, state: State, estimator: str, weighed: TokenCounts
    ) -> Projection:
        """Return a request's projection, counted by any estimator; ``state`` is that at its record."""
        view = View.of(state.messages(), state.decisions, self.read)
        basis = recorded_inputs(
            request, view, self.read, self._counter, self._session_id, state.session
        )
        held = replace(basis, count=self._counter(estimator))
        return project_inputs(held, flatten=self._flattened, weigh=weighed.message)

    def hook_wrote(self, request: StepRequest) -> list[dict[str, Any]]:
        """Return the messages of a request that a hook wrote."""
        assert request.opaque is not None
        found: list[dict[str, Any]] = json.loads(self.read(request.opaque.sha256))
        return found
