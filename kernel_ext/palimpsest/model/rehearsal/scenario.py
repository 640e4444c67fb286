"""Play a scripted scenario instead of following rules, for lessons and tests.

A scenario is a list of answers, one for each model request of a session; ``model.script`` defines
what an answer may hold. ``rehearsal/<name>`` plays the scenario registered under that name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest.model.rehearsal.parsing.conversation import COMPACTED, text_of
from palimpsest.model.script import ModelAnswer, Say, ScriptedCall, says
from palimpsest.model.script_file import parse_answer
from palimpsest.transcript.errors import UserError

RULES = ("", "rules", "rehearsal", "default")
"""Model names that mean the rules, not a scenario."""

_scenarios: dict[str, tuple[ModelAnswer, ...]] = {}


def register_scenario(name: str, steps: Sequence[Any]) -> None:
    """Make ``rehearsal/<name>`` play these steps.

    A step is a ``ModelAnswer``, or JSON: a list of small objects as in ``model.script_file``, or one
    object with several of ``delay``, ``thinks``, ``says``, ``calls`` and ``fails``, played in this
    order. ``calls`` may be a list of ``{"tool": ..., "input": {...}}``.
    """
    if name in RULES:
        raise UserError(f"The name {name!r} is taken by the rules; give the scenario another one.")
    if isinstance(steps, str | Mapping):
        raise UserError("A scenario is a list of steps.")
    _scenarios[name] = tuple(_answer(step) for step in steps)


def scenario(name: str) -> tuple[ModelAnswer, ...] | None:
    """Return a scenario's steps, or None when the name means the rules."""
    if name in RULES:
        return None
    if name not in _scenarios:
        known = ", ".join(sorted(_scenarios)) or "none"
        raise UserError(
            f"There is no rehearsal scenario {name!r}. Registered: {known}. For the rules, use rehearsal/rules."
        )
    return _scenarios[name]


def _answer(step: Any) -> ModelAnswer:
    if isinstance(step, ModelAnswer):
        return step
    if isinstance(step, Mapping) and (
        len(step) > 1 or "delay" in step or isinstance(step.get("calls"), list)
    ):
        return parse_answer(_spread(step))
    return parse_answer([_renamed(part) for part in step] if isinstance(step, list) else step)


def _renamed(part: Any) -> Any:
    return {"pauses": part["delay"]} if isinstance(part, Mapping) and "delay" in part else part


def _spread(step: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Split one object with several keys into small objects, in the order in which they are played."""
    parts: list[dict[str, Any]] = []
    if "fails" in step:
        return [{key: value for key, value in step.items() if key != "delay"}]
    if "delay" in step:
        parts.append({"pauses": step["delay"]})
    parts += [{key: step[key]} for key in ("thinks", "says") if key in step]
    calls = step.get("calls", [])
    if isinstance(calls, str):
        given = ("calls", "input", "raw", "id")
        parts.append({key: step[key] for key in given if key in step})
    else:
        parts += [{"calls": call["tool"], **call} for call in calls]
    rest = {"delay", "thinks", "says", "calls", "input", "raw", "id"}
    return parts + [{key: value} for key, value in step.items() if key not in rest]


def _after_fold(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]] | None:
    """Return the answers after the newest summary; None where nothing was compacted."""
    marks = [
        at
        for at, message in enumerate(messages)
        if message.get("role") == "user"
        and text_of(message.get("content")).lstrip().startswith(COMPACTED)
    ]
    if not marks:
        return None
    answers = [one for one in messages[marks[-1] + 1 :] if one.get("role") == "assistant"]
    return answers[1:]


def _is_answer(message: Mapping[str, Any], step: ModelAnswer) -> bool:
    """Tell whether a message has the text and the calls of a step."""
    said = "".join(action.text for action in step.actions if isinstance(action, Say)).strip()
    called = [action.tool for action in step.actions if isinstance(action, ScriptedCall)]
    calls = [(call.get("function") or {}).get("name") for call in message.get("tool_calls") or ()]
    return (
        bool(said or called) and text_of(message.get("content")).strip() == said and calls == called
    )


class ScenarioPlayer:
    """Finds the step of its scenario that each session plays next.

    The position is derived from the messages, so that a reverted prompt is played again and a new kernel
    continues where the previous one stopped; after a compaction, from the answers that are still there.
    What leaves no message, a failure or what a compaction hid, is remembered here.
    """

    def __init__(self) -> None:
        self._failed: dict[tuple[str, str], int] = {}
        self._played: dict[tuple[str, str], int] = {}

    def next(
        self,
        name: str,
        steps: Sequence[ModelAnswer],
        session_id: str | None,
        messages: Sequence[Mapping[str, Any]],
    ) -> ModelAnswer:
        """Return the step to play now."""
        key = (name, session_id or "")
        at = self._place(key, steps, messages)
        if at >= len(steps):
            return says(
                f"The scenario {name!r} is over: this session has {len(steps)} answers or more already. "
                f"`%%agent --new -m rehearsal/{name}` plays it from its beginning."
            )
        self._played[key] = at + 1
        step = steps[at]
        if leaves_nothing(step):
            self._failed[key] = max(self._failed.get(key, 0), at + 1)
        return step

    def _place(
        self,
        key: tuple[str, str],
        steps: Sequence[ModelAnswer],
        messages: Sequence[Mapping[str, Any]],
    ) -> int:
        kept = _after_fold(messages)
        if kept is not None:
            return self._behind_fold(key, steps, kept)
        left = sum(message.get("role") == "assistant" for message in messages)
        failed = self._failed.get(key, 0)
        for at, step in enumerate(steps):
            if left == 0 and not (at < failed and leaves_nothing(step)):
                return at
            left -= not leaves_nothing(step)
        return len(steps)

    def _behind_fold(
        self, key: tuple[str, str], steps: Sequence[ModelAnswer], kept: list[Mapping[str, Any]]
    ) -> int:
        """Find the position by the answers that a compaction left, else by what this player played."""
        played = self._played.get(key)
        lasting = [at for at, step in enumerate(steps) if not leaves_nothing(step)]
        ends = [
            end
            for end in range(len(kept), len(lasting) + 1)
            if all(
                _is_answer(one, steps[at])
                for one, at in zip(kept, lasting[end - len(kept) : end], strict=True)
            )
        ]
        places = [lasting[end - 1] + 1 for end in ends] if kept else []
        if not places:
            return played if played is not None else min(len(kept), len(steps))
        place = max((one for one in places if played is None or one <= played), default=places[0])
        while place < min(len(steps), self._failed.get(key, 0)) and leaves_nothing(steps[place]):
            place += 1
        return place


def leaves_nothing(step: ModelAnswer) -> bool:
    """Tell whether a step fails, so that no answer of it is in the messages afterwards."""
    broken = {"Disconnect", "EndEarly", "Malformed", "StreamError"}
    return step.failure is not None or any(
        type(action).__name__ in broken for action in step.actions
    )
