"""Choose or end a policy that the user wrote, and record it in the session.

Such a policy is the user's Python code, so it lives in this kernel only: the session's record holds its name and
text, and after a restart it has to be chosen again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.context.policy_overrides import policy_numbers
from palimpsest.context.presets import PRESETS
from palimpsest.loop.model_requests.own_policy import restoring_decisions
from palimpsest.loop.run_inputs.policy_stage import PolicyStage, PolicyStageFactory
from palimpsest.session.config.context_policy import DEFAULT
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.session_record.events import DecisionMade, SessionUpdated
from palimpsest.transcript.session_record.sessions import SessionInfo

NO_POLICY_SENTENCE = (
    "{given!r:.80} is no context policy: give a preset's name, name=value, default, or a function with "
    "@palimpsest.policy in front of it."
)
ONLY_ONE_POLICY_SENTENCE = (
    "A session takes one policy of your own; put one behind the other with a | b."
)


def split_policies(
    make_stage: PolicyStageFactory, arguments: Sequence[Any]
) -> tuple[PolicyStage | None, tuple[str | Policy, ...]]:
    """Return the user's own policy among the arguments, and the words about the engine's policy.

    Raises ConfigError with one sentence for an argument that is no policy or cannot be used in a live session.
    """
    stages: list[PolicyStage] = []
    engine_words: list[str | Policy] = []
    remaining_words = [*arguments]
    while remaining_words:
        argument = remaining_words.pop(0)
        is_text = isinstance(argument, str)
        if isinstance(argument, Policy) or (is_text and _is_engine_word(argument)):
            engine_words.append(argument)
            continue
        numbers = _numbers_of(remaining_words) if isinstance(argument, str) else []
        definition = " ".join([argument, *numbers]) if isinstance(argument, str) else argument
        stage = make_stage(definition)
        if stage is not None:
            stages.append(stage)
            del remaining_words[: len(numbers)]
        elif isinstance(argument, str):
            engine_words.append(argument)
        else:
            raise ConfigError(NO_POLICY_SENTENCE.format(given=argument))
    if len(stages) > 1:
        raise ConfigError(ONLY_ONE_POLICY_SENTENCE)
    return (stages[0] if stages else None), tuple(engine_words)


def ends_own_policy(arguments: Sequence[str | Policy]) -> bool:
    """Return whether words choose another policy, which ends the user's own; a changed number does not."""
    return any(isinstance(word, Policy) or "=" not in word for word in arguments)


def own_policy_events(
    stage: PolicyStage | None,
    session: SessionInfo,
    decisions: tuple[Decision, ...],
    new_id: Callable[[], str],
) -> tuple[SessionUpdated | DecisionMade, ...]:
    """Return the events to journal when a policy of the user's own begins or ends in a session."""
    record = stage.record if stage is not None else None
    new_decisions = restoring_decisions(decisions, new_id) if stage is None else ()
    changed_session = session.model_copy(update={"own_policy": record})
    return (
        *((SessionUpdated(session=changed_session),) if record != session.own_policy else ()),
        *(DecisionMade(decision=decision) for decision in new_decisions),
    )


def _is_engine_word(word: str) -> bool:
    """Return whether a word is about the engine's policy: a preset, a number, or ``default``."""
    return "=" in word.split(" ")[0] or word == DEFAULT or word in PRESETS or word in _NUMBERS


def _numbers_of(remaining_words: Sequence[Any]) -> list[str]:
    """Return the leading words that are numbers of a published policy, not of the engine's."""
    numbers: list[str] = []
    for word in remaining_words:
        if not isinstance(word, str) or "=" not in word or word.partition("=")[0] in _NUMBERS:
            break
        numbers.append(word)
    return numbers


_NUMBERS = policy_numbers(Policy())
"""The numbers of the engine's policy, by name."""
