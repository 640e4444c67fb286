"""Choose or end the person's own policy of a session, and record which it is.

A policy is Python of the person's, so it lives in this kernel only: the session's record names it, with its
text, and after a restart it has to be chosen again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.context.policy_overrides import policy_numbers
from palimpsest.context.presets import PRESETS
from palimpsest.loop.model_requests.own_policy import lifted_decisions
from palimpsest.loop.run_inputs.policy_stage import PolicyStage, PolicyStageFactory
from palimpsest.session.config.context_policy import DEFAULT
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.session_record.events import DecisionMade, SessionUpdated
from palimpsest.transcript.session_record.sessions import SessionInfo

NO_POLICY = (
    "{given!r:.80} is no context policy: give a preset's name, name=value, default, or a function with "
    "@palimpsest.policy in front of it."
)
ONE = "A session takes one policy of your own; put one behind the other with a | b."


def split_policies(
    make: PolicyStageFactory, given: Sequence[Any]
) -> tuple[PolicyStage | None, tuple[str | Policy, ...]]:
    """Return the policy of a person's own among what was given, and the words that are left.

    Raises ConfigError with one sentence for what is no policy or cannot be used in a live session.
    """
    found: list[PolicyStage] = []
    left: list[str | Policy] = []
    waiting = [*given]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, Policy) or (isinstance(one, str) and _is_of_engine(one)):
            left.append(one)
            continue
        numbers = _numbers_of(waiting) if isinstance(one, str) else []
        stage = make(" ".join([one, *numbers]) if isinstance(one, str) else one)
        if stage is not None:
            found.append(stage)
            del waiting[: len(numbers)]
        elif isinstance(one, str):
            left.append(one)
        else:
            raise ConfigError(NO_POLICY.format(given=one))
    if len(found) > 1:
        raise ConfigError(ONE)
    return (found[0] if found else None), tuple(left)


def ends_own_policy(words: Sequence[str | Policy]) -> bool:
    """Return whether words choose another policy as a whole; a number of it does not."""
    return any(isinstance(one, Policy) or "=" not in one for one in words)


def own_policy_events(
    stage: PolicyStage | None,
    session: SessionInfo,
    decisions: tuple[Decision, ...],
    new_id: Callable[[], str],
) -> tuple[SessionUpdated | DecisionMade, ...]:
    """Return what is journaled where a session takes a policy of a person's own, or ends it."""
    record = stage.record if stage is not None else None
    lifted = lifted_decisions(decisions, new_id) if stage is None else ()
    updated = session.model_copy(update={"own_policy": record})
    return (
        *((SessionUpdated(session=updated),) if record != session.own_policy else ()),
        *(DecisionMade(decision=one) for one in lifted),
    )


def _is_of_engine(word: str) -> bool:
    """Return whether a word is about the engine's policy: a preset, a number, or the word for the settings'."""
    return "=" in word.split(" ")[0] or word == DEFAULT or word in PRESETS or word in _NUMBERS


def _numbers_of(waiting: Sequence[Any]) -> list[str]:
    """Return the words that follow and are numbers of a policy of the field, not of the engine's."""
    found: list[str] = []
    for one in waiting:
        if not isinstance(one, str) or "=" not in one or one.partition("=")[0] in _NUMBERS:
            break
        found.append(one)
    return found


_NUMBERS = policy_numbers(Policy())
