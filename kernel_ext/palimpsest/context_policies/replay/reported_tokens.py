"""The tokens of a request by the provider's count, as an agent can compute them before it sends the request.

An agent has the usage of its last answer and estimates the later items. In a replay that usage is the recorded one
until the first request that differs; from then on the ruler estimates it.
"""

from dataclasses import dataclass

from palimpsest.context_policies.interface.policy import LaterItems, PolicyView
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.replay_view import TokenScale
from palimpsest.direct_init import with_direct_init
from palimpsest.transcript.timeline import TimelineRequest

MAX_SCALE_FACTOR = 2.0
"""The largest factor by which an estimate of the newer items is scaled to the provider's count. Early in a session
the reported tokens are many times the estimate, since most of them are of the system prompt. Real sessions have 1.2
to 2.6."""


@with_direct_init
@dataclass(frozen=True, slots=True)
class _AnsweredRequest:
    """A request whose answer reported usage."""

    prompt_tokens: float
    """Tokens of its prompt, as reported or by the ruler."""
    output_tokens: float
    first_item: int
    """The first item of its answer."""
    end: int
    """The item after its answer."""
    item_tokens: float
    """Tokens of its items, by the ruler's estimator."""


class ReportedTokens:
    """Stores the usage of each answered request of a replay, and adds the items since the newest one."""

    def __init__(self, policy_scale: TokenScale, ruler_scale: TokenScale, ruler: Ruler) -> None:
        """``policy_scale`` counts by the policy's estimator, ``ruler_scale`` by the ruler's."""
        self._scale = policy_scale
        self._ruler_scale = ruler_scale
        self._ruler = ruler
        self.answered_requests: list[_AnsweredRequest] = []

    def copy_from(self, other: "ReportedTokens") -> None:
        """Copy the usage of a timeline that begins with the same requests."""
        self.answered_requests = [*other.answered_requests]

    def add_sent(
        self, request: TimelineRequest, request_tokens: float, *, is_recorded: bool
    ) -> None:
        """Store the usage of a sent request: reported, or ``request_tokens`` by the ruler where it differs from the recorded one."""
        if request.reported is not None:
            prompt_tokens = request.reported if is_recorded else request_tokens
            self._add(request, prompt_tokens, self._ruler_scale.item_tokens)

    def add_reported_usage(self, request: TimelineRequest) -> None:
        """Store the reported usage of a request whose items are all still shown in the same way."""
        if request.reported is not None:
            later_tokens = sum(
                self._ruler_scale.shown_tokens[request.items : self._ruler_scale.count]
            )
            self._add(request, request.reported, self._ruler_scale.item_tokens - later_tokens)

    def _add(self, request: TimelineRequest, prompt_tokens: float, item_tokens: float) -> None:
        usage = request.usage
        output_tokens = 0 if usage is None else usage.output + usage.reasoning
        self.answered_requests.append(
            _AnsweredRequest(
                prompt_tokens, output_tokens, request.items, request.answer[1], item_tokens
            )
        )

    def reported_total(
        self, view: PolicyView, *, answer: bool, later_items: LaterItems
    ) -> int | None:
        """Return the tokens of the next request; None while no usage was reported."""
        last_answered = next(
            (
                answered
                for answered in reversed(self.answered_requests)
                if not _is_reverted(view, answered)
            ),
            None,
        )
        if last_answered is None:
            return None
        ruler_scale = self._ruler_scale
        later_tokens = sum(ruler_scale.shown_tokens[last_answered.first_item : view.count])
        # Changes to its items after it was sent, which its usage does not include.
        changed_tokens = ruler_scale.item_tokens - later_tokens - last_answered.item_tokens
        prompt_tokens = max(last_answered.prompt_tokens + self._ruler.factor * changed_tokens, 0.0)
        tokens = prompt_tokens + (last_answered.output_tokens if answer else 0)
        if later_items == "nothing":
            return round(tokens)
        first_newer = last_answered.end if answer else last_answered.first_item
        # A summary that was written since replaces items that the usage counted.
        newer_tokens: float = sum(
            self._scale.shown_tokens[index]
            for index in range(first_newer, view.count)
            if not (view.item(index).kind == "summary" or view.item(index).continues)
        )
        if later_items == "counted":
            policy_scale = self._scale
            tokens_before = policy_scale.item_tokens - sum(
                policy_scale.shown_tokens[last_answered.first_item : view.count]
            )
            newer_tokens *= (
                min(max(prompt_tokens / tokens_before, 1.0), MAX_SCALE_FACTOR)
                if tokens_before > 0
                else 1.0
            )
        return round(tokens + newer_tokens)


def _is_reverted(view: PolicyView, answered: _AnsweredRequest) -> bool:
    """Return whether the answer of a request was reverted, so that the agent does not see its usage."""
    answer = range(answered.first_item, answered.end)
    return bool(answer) and all(view.state(index) == "reverted" for index in answer)
