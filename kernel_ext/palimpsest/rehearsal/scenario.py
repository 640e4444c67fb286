"""Play a scripted scenario instead of following rules, for lessons and tests.

A scenario is a list of answers, one for each model request of a session; ``model.script`` defines what an
answer may contain. The model ``rehearsal/<name>`` plays the scenario registered under that name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest.model.script import ModelAnswer, Say, ScriptedCall, says
from palimpsest.model.script_file import parse_answer
from palimpsest.rehearsal.parsing.conversation import SUMMARY_PROMPT, text_of
from palimpsest.transcript.errors import UserError

RULES_NAMES = ("", "rules", "rehearsal", "default")
"""Model names that select the rules instead of a scenario."""

_scenarios: dict[str, tuple[ModelAnswer, ...]] = {}


def register_scenario(name: str, steps: Sequence[Any]) -> None:
    """Make ``rehearsal/<name>`` play these steps.

    A step is a ``ModelAnswer``, or JSON: a list of small objects as in ``model.script_file``, or one
    object with several of ``delay``, ``thinks``, ``says``, ``calls`` and ``fails``, played in this
    order. ``calls`` may be a list of ``{"tool": ..., "input": {...}}``.
    """
    if name in RULES_NAMES:
        raise UserError(f"The name {name!r} is taken by the rules; give the scenario another one.")
    if isinstance(steps, str | Mapping):
        raise UserError("A scenario is a list of steps.")
    _scenarios[name] = tuple(_parsed_step(step) for step in steps)


def scenario_steps(name: str) -> tuple[ModelAnswer, ...] | None:
    """Return a scenario's steps; None for a name that selects the rules."""
    if name in RULES_NAMES:
        return None
    if name not in _scenarios:
        names = ", ".join(sorted(_scenarios)) or "none"
        raise UserError(
            f"There is no rehearsal scenario {name!r}. Registered: {names}. For the rules, use rehearsal/rules."
        )
    return _scenarios[name]


def _parsed_step(step: Any) -> ModelAnswer:
    if isinstance(step, ModelAnswer):
        return step
    if isinstance(step, Mapping) and (
        len(step) > 1 or "delay" in step or isinstance(step.get("calls"), list)
    ):
        return parse_answer(_split_step(step))
    return parse_answer([_with_pauses(part) for part in step] if isinstance(step, list) else step)


def _with_pauses(part: Any) -> Any:
    return {"pauses": part["delay"]} if isinstance(part, Mapping) and "delay" in part else part


def _split_step(step: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Split a step with several keys into objects with one action each, in the order in which they are played."""
    parts: list[dict[str, Any]] = []
    if "fails" in step:
        return [{key: value for key, value in step.items() if key != "delay"}]
    if "delay" in step:
        parts.append({"pauses": step["delay"]})
    parts += [{key: step[key]} for key in ("thinks", "says") if key in step]
    calls = step.get("calls", [])
    if isinstance(calls, str):
        call_keys = ("calls", "input", "raw", "id")
        parts.append({key: step[key] for key in call_keys if key in step})
    else:
        parts += [{"calls": call["tool"], **call} for call in calls]
    split_keys = {"delay", "thinks", "says", "calls", "input", "raw", "id"}
    return parts + [{key: value} for key, value in step.items() if key not in split_keys]


def _answers_after_compaction(
    messages: Sequence[Mapping[str, Any]],
) -> list[Mapping[str, Any]] | None:
    """Return the answers after the newest summary; None without a compaction."""
    compaction_indexes = [
        index
        for index, message in enumerate(messages)
        if message.get("role") == "user"
        and text_of(message.get("content")).lstrip().startswith(SUMMARY_PROMPT)
    ]
    if not compaction_indexes:
        return None
    answers = [
        message
        for message in messages[compaction_indexes[-1] + 1 :]
        if message.get("role") == "assistant"
    ]
    # The first answer is the summary itself.
    return answers[1:]


def _is_answer(message: Mapping[str, Any], step: ModelAnswer) -> bool:
    """Return whether a message has the text and the calls of a step."""
    text = "".join(action.text for action in step.actions if isinstance(action, Say)).strip()
    step_tools = [action.tool for action in step.actions if isinstance(action, ScriptedCall)]
    called_tools = [
        (call.get("function") or {}).get("name") for call in message.get("tool_calls") or ()
    ]
    return (
        bool(text or step_tools)
        and text_of(message.get("content")).strip() == text
        and called_tools == step_tools
    )


class ScenarioPlayer:
    """Finds the step of its scenario that each session plays next.

    The position is derived from the messages, so that a reverted prompt is played again and a new kernel
    continues where the previous one stopped; after a compaction, from the remaining answers. Steps that are
    not in the messages, as they failed or a compaction removed them, are remembered here.
    """

    def __init__(self) -> None:
        self._failed_ends: dict[tuple[str, str], int] = {}
        """By scenario and session, the index after the last failed step that was played."""
        self._played_counts: dict[tuple[str, str], int] = {}
        """By scenario and session, the index after the step that was played last."""

    def next(
        self,
        scenario_name: str,
        steps: Sequence[ModelAnswer],
        session_id: str | None,
        messages: Sequence[Mapping[str, Any]],
    ) -> ModelAnswer:
        """Return the step to play now."""
        key = (scenario_name, session_id or "")
        index = self._next_position(key, steps, messages)
        if index >= len(steps):
            return says(
                f"The scenario {scenario_name!r} is over: this session has {len(steps)} answers or more already. "
                f"`%%agent --new -m rehearsal/{scenario_name}` plays it from its beginning."
            )
        self._played_counts[key] = index + 1
        step = steps[index]
        if leaves_nothing(step):
            self._failed_ends[key] = max(self._failed_ends.get(key, 0), index + 1)
        return step

    def _next_position(
        self,
        key: tuple[str, str],
        steps: Sequence[ModelAnswer],
        messages: Sequence[Mapping[str, Any]],
    ) -> int:
        remaining_answers = _answers_after_compaction(messages)
        if remaining_answers is not None:
            return self._position_after_compaction(key, steps, remaining_answers)
        answer_count = sum(message.get("role") == "assistant" for message in messages)
        failed_end = self._failed_ends.get(key, 0)
        for index, step in enumerate(steps):
            if answer_count == 0 and not (index < failed_end and leaves_nothing(step)):
                return index
            answer_count -= not leaves_nothing(step)
        return len(steps)

    def _position_after_compaction(
        self,
        key: tuple[str, str],
        steps: Sequence[ModelAnswer],
        remaining_answers: list[Mapping[str, Any]],
    ) -> int:
        """Return the position by the answers that a compaction left, else by the steps that this player played."""
        played_count = self._played_counts.get(key)
        lasting_positions = [index for index, step in enumerate(steps) if not leaves_nothing(step)]
        lasting_steps = [steps[index] for index in lasting_positions]
        remaining_count = len(remaining_answers)
        # The positions before which the remaining answers stand in the scenario.
        positions = [
            lasting_positions[end - 1] + 1
            for end in range(remaining_count, len(lasting_steps) + 1)
            if remaining_count
            and all(map(_is_answer, remaining_answers, lasting_steps[end - remaining_count : end]))
        ]
        if not positions:
            return min(remaining_count, len(steps)) if played_count is None else played_count
        max_position = len(steps) if played_count is None else played_count
        position = max(
            (candidate for candidate in positions if candidate <= max_position),
            default=positions[0],
        )
        failed_end = min(len(steps), self._failed_ends.get(key, 0))
        while position < failed_end and leaves_nothing(steps[position]):
            position += 1
        return position


def leaves_nothing(step: ModelAnswer) -> bool:
    """Return whether a step fails, so that it leaves no answer in the messages."""
    breaking_actions = {"Disconnect", "EndEarly", "Malformed", "StreamError"}
    is_broken = any(type(action).__name__ in breaking_actions for action in step.actions)
    return step.failure is not None or is_broken
