"""Ask a person's own policy before each request of a live session, and keep it to its laws.

Where it breaks a law, fails, takes too long or wants what no live session can do, it is switched off for the
turn and one sentence says so; what it decided before stays in effect.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, cast

from palimpsest.loop.run_inputs.policy_stage import PolicyMoment, PolicyProposal, PolicyStage
from palimpsest.model.tokenizer import counter
from palimpsest.review.live_policies.bounded_call import call_bounded
from palimpsest.review.live_policies.item_changes import decisions_of
from palimpsest.review.live_policies.live_items import CounterOf, LiveItems, digest_of
from palimpsest.review.live_policies.live_view import LiveView, live_view
from palimpsest.review.policies.custom import OWN_POLICIES, CustomPolicy
from palimpsest.review.policies.laws import PLACEHOLDER_CHARS, breaches
from palimpsest.review.policies.pipeline import Pipeline
from palimpsest.review.policies.policy import (
    Change,
    ContextPolicy,
    Layer,
    SessionFacts,
    with_changes,
)
from palimpsest.review.policies.recorded_policy import RecordedPolicy
from palimpsest.review.policies.registry import get, presets
from palimpsest.transcript.context_values.decisions import OWN_POLICY, Decision
from palimpsest.transcript.context_values.policies import OwnPolicy
from palimpsest.transcript.errors import ConfigError, UserError

SECONDS = 2.0
"""How long a policy may take before one request; the presets take a hundredth of that for a long session."""
REPEATS = (
    "The policy {name!r} says what a provider's cache keeps of recorded requests and changes none, so it is none of a"
    " live session; compare it in a review."
)
SUMMARISES = (
    "The policy {name!r} replaces messages by a summary, which only a model can write: use %agent policy "
    "opencode-1.18, whose summaries are written, or %agent compact; session.compare still shows what it would do."
)
OFF = "Your policy {name} is switched off until the next prompt. {why}"
WOULD_BE_OFF = (
    "Your policy {name} would decide nothing, and be switched off until the next prompt. {why}"
)
NOT_ASKED = (
    "Your policy {name} is asked only when the request is let go, since a copy of its state could not be made ({why}): "
    "keep in it what copy.deepcopy can copy, such as lists, dictionaries and numbers, to see here what it decides."
)


@dataclass(frozen=True, slots=True)
class _StageAnswer:
    """What a policy answered at one request."""

    state: Any
    layer: Layer
    """All that it shows otherwise now, by item."""
    turn: int
    decisions: tuple[Decision, ...]


class LivePolicyStage:
    """A person's own policy in one live session; see ``PolicyStage``."""

    def __init__(self, policy: ContextPolicy, count: CounterOf, seconds: float = SECONDS) -> None:
        self._policy = _keeping_pins(policy)
        self._count = count
        self._items = LiveItems(count)
        self._seconds = seconds
        self._state: Any = None
        self._layer: Layer = {}
        self._begun = False
        self._turn = 0
        self._off = False
        self._told: list[str] = []
        self.record = record_of(policy)

    def turn_began(self) -> None:
        """Ask the policy again, if it was switched off."""
        self._off = False

    def told(self) -> tuple[str, ...]:
        """Return and clear the sentences for the user."""
        told, self._told = tuple(self._told), []
        return told

    async def decide(self, moment: PolicyMoment) -> Sequence[Decision]:
        """Return what is shown otherwise from this request on."""
        if self._off:
            return ()
        answer = await self._asked(moment, self._items, self._state)
        if isinstance(answer, str):
            self._off = True
            self._told.append(self._said(OFF, answer))
            return ()
        self._begun, self._state = True, answer.state
        self._layer, self._turn = answer.layer, answer.turn
        return answer.decisions

    async def propose(self, moment: PolicyMoment) -> PolicyProposal:
        """Return what ``decide`` would return now; changes nothing, and switches nothing off."""
        if self._off:
            return PolicyProposal(problem=self._said(OFF, ""))
        try:
            own = await call_bounded(lambda: deepcopy(self._state), self._seconds)
        except Exception as problem:  # noqa: BLE001  what a person's own class raises
            # The policy may change its state in place, so that it is asked only where it has one to itself.
            return PolicyProposal(problem=self._said(NOT_ASKED, type(problem).__name__))
        answer = await self._asked(moment, self._items.copied(), own)
        if isinstance(answer, str):
            return PolicyProposal(problem=self._said(WOULD_BE_OFF, answer))
        return PolicyProposal(answer.decisions)

    async def _asked(
        self, moment: PolicyMoment, items: LiveItems, state: Any
    ) -> _StageAnswer | str:
        """Return the policy's answer, or why there is none."""
        try:
            return await call_bounded(lambda: self._answer(moment, items, state), self._seconds)
        except TimeoutError:
            if items is self._items:
                # Its thread may still number items, so that those are numbered anew.
                self._items, self._begun = LiveItems(self._count), False
            return f"It took longer than {self._seconds:g} seconds."
        except UserError as problem:
            return str(problem)
        except Exception as problem:  # noqa: BLE001  a person's own code may raise anything
            return f"It failed: {type(problem).__name__}: {problem}"

    def _said(self, words: str, why: str) -> str:
        return words.format(name=self.record.name, why=" ".join(why.split())).strip()

    def _answer(self, moment: PolicyMoment, items: LiveItems, state: Any) -> _StageAnswer:
        """Ask the policy, on a thread of its own: only the list of items is changed."""
        is_same = items.update(moment)
        if not is_same and items is self._items:
            self._begun = False
        same, policy = is_same and self._begun, self._policy
        seen = live_view(items, moment, policy.estimator, own=same)
        layer = self._layer
        changes: Sequence[Change]
        if not same:
            state, layer = policy.start(SessionFacts(seen.timeline, moment.model.window, 0)), {}
        turn = seen.view.turn
        if policy.when != "request" and turn > max(self._turn, 1):
            ended = live_view(items, moment, policy.estimator, own=same, turn_end=True)
            state, changes = self._step(state, ended)
            layer = with_changes(layer, changes)
            seen.apply(changes)
        if policy.when != "turn end":
            state, changes = self._step(state, seen)
            layer = with_changes(layer, changes)
        rule = f"{OWN_POLICY}{self.record.name}"
        made = decisions_of(layer.values(), seen, moment, rule, self.record.sha256[:12])
        return _StageAnswer(state, layer, turn, made)

    def _step(self, state: Any, seen: LiveView) -> tuple[Any, Sequence[Change]]:
        """Let the policy decide once; raises PolicyBreach where it breaks a law."""
        decided = self._policy.step(state, seen.view)
        for breach in breaches(
            decided.changes, seen.view, sticky=False, placeholder=PLACEHOLDER_CHARS, pins=False
        ):
            raise breach.error(self._policy.name)
        return decided.state, decided.changes


def live_policy(
    policy: object, count: CounterOf = counter, seconds: float = SECONDS
) -> PolicyStage | None:
    """Return the stage of a policy, or of the name of one; None for what is none.

    Raises ConfigError for a policy that summarises, and UnknownPolicy for wrong numbers.
    """
    found = _named(policy) if isinstance(policy, str) else policy
    if not (callable(getattr(found, "start", None)) and callable(getattr(found, "step", None))):
        return None
    chosen = cast("ContextPolicy", found)
    for stage in chosen.stages if isinstance(chosen, Pipeline) else (chosen,):
        if isinstance(stage, RecordedPolicy):
            raise ConfigError(REPEATS.format(name=stage.name))
        if hasattr(stage, "summary"):
            raise ConfigError(SUMMARISES.format(name=stage.name))
    return LivePolicyStage(chosen, count, seconds)


def _named(text: str) -> ContextPolicy | None:
    """Return the policy of a name: a function of the person's, or a policy of the field with its numbers."""
    own = OWN_POLICIES.get(text)
    if own is not None:
        return own
    name = text.split(" ")[0].partition("@")[0]
    known = "|" in text or name in {one.preset for one in presets()}
    return get(text) if known else None


def _keeping_pins(policy: ContextPolicy) -> ContextPolicy:
    """Return a policy in which a function's decision about what a person holds is left out, and breaks no law."""
    if isinstance(policy, CustomPolicy):
        return replace(policy, keeps_pins=True)
    if isinstance(policy, Pipeline):
        return Pipeline(tuple(_keeping_pins(one) for one in policy.stages))
    return policy


def record_of(policy: ContextPolicy) -> OwnPolicy:
    """Return what is recorded of a policy: its name, text and digest."""
    text, digest = policy.name, digest_of(policy.name)
    if isinstance(policy, CustomPolicy):
        text, digest = policy.text, policy.digest
    elif isinstance(policy, Pipeline):
        stages = [record_of(one) for one in policy.stages]
        text = "\n\n".join(one.text for one in stages)
        digest = digest_of("\n".join(one.sha256 for one in stages))
    return OwnPolicy(name=policy.name, source=policy.source, text=text, sha256=digest)
