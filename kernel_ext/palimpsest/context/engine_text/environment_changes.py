"""Add notes to the next prompt about what has changed since the system prompt was written.

Border: pure. The system prompt keeps the same bytes for a session's whole life, so a new day, another mode and changed
variables are noted after everything that was sent before, beside the user's prompt, and the notes stay there. The notes
already sent are those in the messages that the model still sees: after a compaction that hid a note, it is sent again.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from palimpsest.context.engine_text.reminders import (
    FROM_PLAN,
    IN_PLAN,
    NEWS,
    PLAN,
    agent_note,
    is_prompt,
)
from palimpsest.transcript.call_outcomes import RUNNING_AT_THE_END
from palimpsest.transcript.context_values.policies import ReminderPolicy
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    Messages,
    UserMessage,
    parts_of,
)
from palimpsest.transcript.parts import TextPart, ToolPart

MAX_NAMED_VARIABLES = 20
"""Maximum variables in one note: more would cost many tokens with every prompt; the variables tool lists them all."""
DATE_NOTE = "<note>It is {date} now.</note>"
VARIABLES_HEADING = "The user's kernel holds these variables:"
NEW_KERNEL_HEADING = (
    "The kernel was started anew since your last turn. It holds these variables now:"
)
NONE_LINE = "- none"
NEW_MARK = " (new)"
CHANGED_MARK = " (its contents changed)"
MAY_BE_CHANGED_MARK = (
    " (a cell changes it; its contents were not compared, so look before you rely on them)"
)
KERNEL_ENDED_NOTE = (
    "<note>The kernel ended, and every variable is gone. Something that your code had left running was still at work "
    "and may have ended it: {what}. Do not start it again before that is clear.</note>"
)
MAX_CODE_CHARS = 80
CHANGES_HEADING = "Since your last turn, outside of your own code:"
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class EnvironmentState:
    """Date, agent, mode and variables when a prompt is about to be answered."""

    first_date: str
    """The date in the system prompt."""
    date: str
    """Today."""
    agent: str
    plan: bool = False
    """Whether the session is in plan mode, whichever agent answers."""
    variables: Mapping[str, str] | None = None
    """A line without the value for each variable in the kernel; None where the variables are not known."""
    mentioned_lines: Mapping[str, str] = field(default_factory=dict)
    """A line with the value for each variable that the prompt mentions."""
    known_lines: Mapping[str, str] | None = None
    """The line that was last sent for each variable; None where no variables of this kernel were sent."""
    known_mentioned_lines: Mapping[str, str] = field(default_factory=dict)
    """The line with the value that was last sent for each variable that a prompt mentioned."""
    changed_variables: Mapping[str, bool] = field(default_factory=dict)
    """Variables whose contents changed since they were noted; False where the contents were not compared, and only
    a cell's source shows the change."""
    was_kernel_used: bool = False
    """Whether the kernel was used before in this session, or in the session from which it was forked."""


@dataclass(frozen=True, slots=True)
class EnvironmentChange:
    """A note for the model about one change."""

    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


def environment_changes(
    messages: Messages, state: EnvironmentState, policy: ReminderPolicy
) -> tuple[EnvironmentChange, ...]:
    """Return what has changed; ``messages`` are those the model sees, the new prompt last."""
    mode_note = agent_note(messages, state.agent, plan_apart=policy.mode == "newest")
    changes = [
        _date_change(messages, state) if policy.news else None,
        None if mode_note is None else EnvironmentChange(mode_note, {NEWS: "mode"}),
        _plan_change(messages, state),
        _kernel_end_change(messages) if policy.news else None,
        _variable_change(messages, state) if policy.news else None,
    ]
    return tuple(change for change in changes if change is not None)


def has_change_note(message: Message) -> bool:
    """Return whether a prompt already has a note about changes."""
    return any(_noted_subject(part) is not None for part in message.parts)


def _noted_subject(part: object) -> Any:
    return (part.metadata or {}).get(NEWS) if isinstance(part, TextPart) else None


def _note_metadata(messages: Messages, subject: str) -> Iterator[Mapping[str, Any]]:
    """Yield the metadata of the notes about one kind of change."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, TextPart) and _noted_subject(part) == subject:
                yield part.metadata or {}


def _date_change(messages: Messages, state: EnvironmentState) -> EnvironmentChange | None:
    noted_dates = [metadata.get("date") for metadata in _note_metadata(messages, "date")]
    if (noted_dates[-1] if noted_dates else state.first_date) == state.date:
        return None
    return EnvironmentChange(DATE_NOTE.format(date=state.date), {NEWS: "date", "date": state.date})


def _plan_change(messages: Messages, state: EnvironmentState) -> EnvironmentChange | None:
    """Return a note that the session has entered or left plan mode; None where it has not."""
    plan_notes = [bool(metadata.get("plan")) for metadata in _note_metadata(messages, "plan")]
    if state.agent == PLAN or (plan_notes[-1] if plan_notes else False) == state.plan:
        return None
    text = IN_PLAN if state.plan else FROM_PLAN
    return EnvironmentChange(text, {NEWS: "plan", "plan": state.plan})


def _kernel_end_change(messages: Messages) -> EnvironmentChange | None:
    """Return a note that the kernel ended while a call's work was running; None where a note was sent already."""
    noted_calls = {
        call_id
        for metadata in _note_metadata(messages, "ended")
        for call_id in metadata.get("calls", ())
    }
    ended_calls = {
        part.call_id: f"{', '.join(map(str, running_work))}, started by {_first_line(part)!r}"
        for part in parts_of(messages)
        if isinstance(part, ToolPart)
        and (running_work := (getattr(part.state, "metadata", None) or {}).get(RUNNING_AT_THE_END))
        and part.call_id not in noted_calls
    }
    if not ended_calls:
        return None
    text = KERNEL_ENDED_NOTE.format(what="; ".join(ended_calls.values()))
    return EnvironmentChange(text, {NEWS: "ended", "calls": list(ended_calls)})


def _first_line(part: ToolPart) -> str:
    lines = [line.strip() for line in str(part.state.input.get("code", "")).splitlines()]
    return next(filter(None, lines), "")[:MAX_CODE_CHARS]


def _variable_change(messages: Messages, state: EnvironmentState) -> EnvironmentChange | None:
    if state.variables is None:
        return None
    if state.known_lines is None:
        # Variables that the prompt names come first, since a long list is cut.
        variables = sorted(
            state.variables.items(), key=lambda item: item[0] not in state.mentioned_lines
        )
        lines = [
            _variable_line(name, state.mentioned_lines.get(name, text)) for name, text in variables
        ]
        has_answers = any(isinstance(message.info, AssistantMessage) for message in messages)
        if has_answers and not state.was_kernel_used:
            return _list_change(NEW_KERNEL_HEADING, lines or [NONE_LINE])
        return _list_change(VARIABLES_HEADING, lines)
    words_in_own_code = _words_in_code(messages)
    new_lines = {
        name: _variable_line(name, text)
        for name, text in state.mentioned_lines.items()
        if state.known_mentioned_lines.get(name, state.known_lines.get(name)) != text
    }
    lines = [*new_lines.values()]
    lines += [
        _variable_line(name, text) + ("" if name in state.known_lines else NEW_MARK)
        for name, text in state.variables.items()
        if state.known_lines.get(name) != text
        and name not in words_in_own_code
        and name not in state.mentioned_lines
    ]
    lines += [
        _variable_line(name, state.mentioned_lines.get(name, state.variables[name]))
        + (CHANGED_MARK if is_compared else MAY_BE_CHANGED_MARK)
        for name, is_compared in state.changed_variables.items()
        if name in state.variables
        and state.known_lines.get(name) == state.variables[name]
        and name not in words_in_own_code
        and name not in new_lines
    ]
    lines += [
        f"- {name} is gone"
        for name in state.known_lines
        if name not in state.variables and name not in words_in_own_code
    ]
    return _list_change(CHANGES_HEADING, lines)


def _variable_line(name: str, text: str) -> str:
    return f"- {name}: {text}" if text else f"- {name}"


def _list_change(heading: str, lines: list[str]) -> EnvironmentChange | None:
    if not lines:
        return None
    omitted_count = len(lines) - MAX_NAMED_VARIABLES
    if omitted_count > 0:
        more = f"- and {omitted_count} more, which the variables tool lists"
        lines = [*lines[:MAX_NAMED_VARIABLES], more]
    text = "\n".join(["<variables>", heading, *lines, "</variables>"])
    return EnvironmentChange(text, {NEWS: "variables"})


def mentioned_words(messages: Sequence[Message]) -> frozenset[str]:
    """Return the words in users' prompts and in code that ran; a variable with such a name counts as mentioned."""
    texts = [
        part.text
        for message in messages
        for part in message.parts
        if isinstance(message.info, UserMessage)
        and isinstance(part, TextPart)
        and not part.synthetic
    ]
    return frozenset(_WORD.findall("\n".join([*texts, *_first_inputs(messages, "code", "name")])))


def _words_in_code(messages: Messages) -> frozenset[str]:
    """Return all words in the code that the model ran since the prompt before the newest."""
    prompt_indexes = [index for index, message in enumerate(messages) if is_prompt(message)]
    start_index = prompt_indexes[-2] if len(prompt_indexes) > 1 else 0
    return frozenset(_WORD.findall("\n".join(_first_inputs(messages[start_index:], "code"))))


def _first_inputs(messages: Sequence[Message], *names: str) -> Iterator[str]:
    """Yield for each call the first of its inputs with one of these names."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolPart):
                inputs = part.state.input
                yield str(next((inputs[name] for name in names if name in inputs), ""))
