"""Call the user's own policy before each request of a live session, and enforce the laws of policies.

If the policy breaks a law, fails, takes too long or makes a decision that a live session cannot carry out, it is switched
off for the turn, with a sentence for the user; its earlier decisions stay in effect.
"""

import asyncio
import ctypes
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from palimpsest.context_policies.interface.laws import MAX_PLACEHOLDER_CHARS, breaches
from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import (
    Change,
    ContextPolicy,
    Layer,
    SessionFacts,
    with_changes,
)
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy
from palimpsest.context_policies.own_policies.custom import OWN_POLICIES, CustomPolicy
from palimpsest.context_policies.own_policies.own_code_errors import (
    initial_state_of,
    policy_result_of,
)
from palimpsest.context_policies.registry import get, presets
from palimpsest.live_policies.item_changes import decisions_of
from palimpsest.live_policies.live_items import LiveItems, sha256_of
from palimpsest.live_policies.live_view import LiveView, live_view
from palimpsest.loop.run_inputs.policy_stage import PolicyMoment, PolicyProposal, PolicyStage
from palimpsest.model.tokenizer import counter
from palimpsest.transcript.context_values.decisions import OWN_POLICY, Decision
from palimpsest.transcript.context_values.policies import OwnPolicy
from palimpsest.transcript.errors import ConfigError, UserError

T = TypeVar("T")

POLICY_HASH_DIGITS = 12
"""Hex digits of a policy's SHA-256 in its decisions."""
MAX_POLICY_SECONDS = 2.0
"""Maximum seconds for a policy before one request; presets need a hundredth of that in a long session."""
NOT_LIVE_SENTENCE = (
    "The policy {name!r} only computes what a provider's cache would keep of recorded requests and changes no request,"
    " so a live session has no use for it; compare it in a review."
)
SUMMARY_SENTENCE = (
    "The policy {name!r} replaces messages by a summary, which only a model can write: use %agent policy "
    "opencode-1.18, which has a model write its summaries, or %agent compact; session.compare still shows what it would do."
)
OFF_SENTENCE = "Your policy {name} is switched off until the next prompt. {why}"
WOULD_BE_OFF_SENTENCE = (
    "Your policy {name} would decide nothing, and be switched off until the next prompt. {why}"
)
NO_COPY_SENTENCE = (
    "Your policy {name} is asked only when the request is let go, since a copy of its state could not be made ({why}): "
    "keep in it what copy.deepcopy can copy, such as lists, dictionaries and numbers, to see here what it decides."
)


@dataclass(frozen=True, slots=True)
class _StageAnswer:
    """A policy's answer at one request."""

    state: Any
    layer: Layer
    """All changes of the policy that are in effect, by item."""
    turn: int
    decisions: tuple[Decision, ...]


class LivePolicyStage:
    """The user's own policy in one live session; see ``PolicyStage``."""

    def __init__(self, policy: ContextPolicy, max_seconds: float) -> None:
        self._policy = _with_pins_kept(policy)
        self._items = LiveItems(counter)
        self._max_seconds = max_seconds
        self._state: Any = None
        self._layer: Layer = {}
        self._is_started = False
        self._newest_turn = 0
        self._is_off = False
        self._notices: list[str] = []
        self.record = own_policy_record(policy)

    def begin_turn(self) -> None:
        """Switch the policy on again, if it was switched off."""
        self._is_off = False

    def take_notices(self) -> tuple[str, ...]:
        """Return and clear the sentences for the user."""
        notices, self._notices = tuple(self._notices), []
        return notices

    async def decide(self, moment: PolicyMoment) -> Sequence[Decision]:
        """Return the decisions that take effect with this request."""
        if self._is_off:
            return ()
        answer = await self._ask_bounded(moment, self._items, self._state)
        if isinstance(answer, str):
            self._is_off = True
            self._notices.append(self._problem_sentence(OFF_SENTENCE, answer))
            return ()
        self._is_started, self._state = True, answer.state
        self._layer, self._newest_turn = answer.layer, answer.turn
        return answer.decisions

    async def propose(self, moment: PolicyMoment) -> PolicyProposal:
        """Return the decisions that ``decide`` would make now, without changing anything."""
        if self._is_off:
            return PolicyProposal(problem=self._problem_sentence(OFF_SENTENCE, ""))
        try:
            state_copy = await _call_bounded(lambda: deepcopy(self._state), self._max_seconds)
        except Exception as problem:  # noqa: BLE001  what a person's own class raises
            # Without a copy the policy is not asked: it may change its state in place.
            return PolicyProposal(
                problem=self._problem_sentence(NO_COPY_SENTENCE, type(problem).__name__)
            )
        answer = await self._ask_bounded(moment, self._items.copy(), state_copy)
        if isinstance(answer, str):
            return PolicyProposal(problem=self._problem_sentence(WOULD_BE_OFF_SENTENCE, answer))
        return PolicyProposal(answer.decisions)

    async def _ask_bounded(
        self, moment: PolicyMoment, items: LiveItems, state: Any
    ) -> _StageAnswer | str:
        """Return the policy's answer, or a sentence on why there is none."""
        try:
            return await _call_bounded(
                lambda: self._policy_answer(moment, items, state), self._max_seconds
            )
        except TimeoutError:
            if items is self._items:
                # Its thread may still be numbering items, so they are numbered again in a new list.
                self._items, self._is_started = LiveItems(counter), False
            return f"It took longer than {self._max_seconds:g} seconds."
        except UserError as problem:
            return str(problem)
        except Exception as problem:  # noqa: BLE001  a person's own code may raise anything
            return f"It failed: {type(problem).__name__}: {problem}"

    def _problem_sentence(self, sentence: str, reason: str) -> str:
        return sentence.format(name=self.record.name, why=" ".join(reason.split())).strip()

    def _policy_answer(self, moment: PolicyMoment, items: LiveItems, state: Any) -> _StageAnswer:
        """Return the policy's answer; runs on a separate thread and changes only the list of items."""
        is_same_session = items.update(moment)
        if not is_same_session and items is self._items:
            self._is_started = False
        continues_session, policy = is_same_session and self._is_started, self._policy
        request_view = live_view(items, moment, policy.estimator, includes_own=continues_session)
        layer = self._layer
        changes: Sequence[Change]
        if not continues_session:
            state = initial_state_of(
                policy, SessionFacts(request_view.timeline, moment.model.window, 0)
            )
            layer = {}
        turn = request_view.view.turn
        if policy.when != "request" and turn > max(self._newest_turn, 1):
            turn_end_view = live_view(
                items, moment, policy.estimator, includes_own=continues_session, is_turn_end=True
            )
            state, changes = self._checked_step(state, turn_end_view)
            layer = with_changes(layer, changes)
            request_view.apply(changes)
        if policy.when != "turn end":
            state, changes = self._checked_step(state, request_view)
            layer = with_changes(layer, changes)
        rule_name, sha256 = f"{OWN_POLICY}{self.record.name}", self.record.sha256
        decisions = decisions_of(
            layer.values(), request_view, moment, rule_name, sha256[:POLICY_HASH_DIGITS]
        )
        return _StageAnswer(state, layer, turn, decisions)

    def _checked_step(self, state: Any, request_view: LiveView) -> tuple[Any, Sequence[Change]]:
        """Return the policy's new state and changes; raises PolicyBreach where it breaks a law."""
        outcome = policy_result_of(self._policy, state, request_view.view)
        for breach in breaches(
            outcome.changes,
            request_view.view,
            sticky=False,
            placeholder_chars=MAX_PLACEHOLDER_CHARS,
            pins_checked=False,
        ):
            raise breach.error(self._policy.name)
        return outcome.state, outcome.changes


def live_policy(policy: object, max_seconds: float = MAX_POLICY_SECONDS) -> PolicyStage | None:
    """Return the stage that runs a policy, given itself or by name; None for anything else.

    Raises ConfigError for a policy that no stage can run.
    """
    candidate = _policy_of_name(policy) if isinstance(policy, str) else policy
    if not all(callable(getattr(candidate, name, None)) for name in ("start", "step")):
        return None
    live_candidate = cast("ContextPolicy", candidate)
    stages = live_candidate.stages if isinstance(live_candidate, Pipeline) else (live_candidate,)
    for stage in stages:
        if isinstance(stage, RecordedPolicy):
            raise ConfigError(NOT_LIVE_SENTENCE.format(name=stage.name))
        if hasattr(stage, "summary"):
            raise ConfigError(SUMMARY_SENTENCE.format(name=stage.name))
    return LivePolicyStage(live_candidate, max_seconds)


def _policy_of_name(text: str) -> ContextPolicy | None:
    """Return the policy for a name: the user's function, or a preset, with its numbers; None for another name."""
    name_without_version = text.split(" ")[0].partition("@")[0]
    names = {*OWN_POLICIES, *(preset.preset for preset in presets())}
    return get(text) if "|" in text or text in names or name_without_version in names else None


def _with_pins_kept(policy: ContextPolicy) -> ContextPolicy:
    """Return a policy in which a function's decisions about pinned items are ignored instead of breaking a law."""
    if isinstance(policy, CustomPolicy):
        return replace(policy, keeps_pins=True)
    if isinstance(policy, Pipeline):
        return Pipeline(tuple(_with_pins_kept(stage) for stage in policy.stages))
    return policy


def own_policy_record(policy: ContextPolicy) -> OwnPolicy:
    """Return the record of a policy: its name, text and digest."""
    text, sha256 = policy.name, sha256_of(policy.name)
    if isinstance(policy, CustomPolicy):
        text, sha256 = policy.text, policy.digest
    elif isinstance(policy, Pipeline):
        stages = [own_policy_record(stage) for stage in policy.stages]
        text = "\n\n".join(stage.text for stage in stages)
        sha256 = sha256_of("\n".join(stage.sha256 for stage in stages))
    return OwnPolicy(name=policy.name, source=policy.source, text=text, sha256=sha256)


class _TimeIsUp(BaseException):
    """Ends a policy's function that takes too long; an ``except Exception`` in the function does not catch it."""


async def _call_bounded(function: Callable[[], T], max_seconds: float) -> T:
    """Return a function's result from a thread of its own; raises its exception, or TimeoutError after ``max_seconds``.

    A thread cannot be ended from outside; if it takes too long, an exception is raised at its next line of Python, and
    its answer is never used.
    """
    future: Future[T] = Future()
    # A running future cannot be cancelled, so its thread may settle it at any time.
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = function()
        except _TimeIsUp:
            return
        except BaseException as error:  # noqa: BLE001  passed to the caller that awaits it
            failure = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
            future.set_exception(failure)
        else:
            future.set_result(result)

    thread = threading.Thread(target=run, name="palimpsest-policy", daemon=True)
    thread.start()
    try:
        async with asyncio.timeout(max_seconds):
            return await asyncio.wrap_future(future)
    finally:
        if not future.done() and thread.ident is not None and thread.is_alive():
            thread_id, exception_type = ctypes.c_ulong(thread.ident), ctypes.py_object(_TimeIsUp)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread_id, exception_type)
