"""Validate the options of a prompt before it is stored.

Border: pure, except that files which the user's own code passes are read here. Options from a
cell or a page were parsed already; a script may pass anything.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypedDict

from pydantic import BaseModel

from palimpsest.session.interfaces.prompt_answer import Delivery, PromptOptions
from palimpsest.session.prompts.answers import format_of
from palimpsest.session.prompts.prompt_files import prompt_files
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import Reply

NO_PROMPT_SENTENCE = "There is no prompt. Give the words for the agent."
RECORDING_SENTENCE = "Session {id} is a recording of {agent} and is only read; fork it (%agent fork {id}) to go on from it."
TEXT_OPTIONS = ("model", "variant", "agent", "system", "prompt_id")
REPLY_WORDS = ("once", "always", "reject")


class PromptWords(TypedDict, total=False):
    """The options of a prompt, by name; as in ``PromptOptions``."""

    model: str | None
    variant: str | None
    agent: str | None
    system: str | None
    tools: Sequence[str] | Mapping[str, bool] | None
    files: Iterable[Any] | None
    """Paths, bytes, ``data:`` URLs, figures and pictures."""
    format: Mapping[str, Any] | type[BaseModel] | None
    """A JSON schema or a pydantic model: the format of a structured answer."""
    max_steps: int | None
    yes: bool
    delivery: Delivery
    origin: Origin
    prompt_id: str | None


def options_of(options: Mapping[str, Any]) -> PromptOptions:
    """Return options from named values; raises UserError for an unknown name or an invalid value."""
    option_names = [field.name for field in fields(PromptOptions)]
    for name in options:
        if name not in option_names:
            similar_names = difflib.get_close_matches(name, option_names, 1)
            hint = (
                f"Did you mean {similar_names[0]}?"
                if similar_names
                else f"There are {', '.join(option_names)}."
            )
            raise UserError(f"A prompt takes no option {name!r}. {hint}")
    tools = options.get("tools")
    if isinstance(tools, Mapping):
        options = {**options, "tools": dict(tools)}
    elif isinstance(tools, Iterable) and not isinstance(tools, str):
        options = {**options, "tools": tuple(tools)}
    if "files" in options:
        files = options["files"]
        options = {**options, "files": () if files is None else prompt_files(files)}
    if "format" in options:
        options = {**options, "format": format_of(options["format"])}
    return PromptOptions(**options)


def refuse_in_recording(session: SessionInfo | None) -> None:
    """Raise UserError for a session that is another agent's recording, in which no request is sent."""
    if session is not None and session.read_only:
        raise UserError(RECORDING_SENTENCE.format(id=session.id, agent=session.imported_from))


def check_prompt(text: Any, options: PromptOptions) -> None:
    """Raise UserError for an empty prompt or invalid options."""
    if not isinstance(text, str) or not text.strip():
        raise UserError(NO_PROMPT_SENTENCE)
    for name in TEXT_OPTIONS:
        value = getattr(options, name)
        if value is not None and not isinstance(value, str):
            raise UserError(f"{name} is a text, not {value!r:.60}.")
    _check_tools(options.tools)
    files: Any = options.files
    if not isinstance(files, tuple) or not all(isinstance(file, Attachment) for file in files):
        raise UserError(
            f"files are attachments, as prompt(files=[...]) makes them, not {files!r:.60}."
        )
    format_of(options.format)
    steps: Any = options.max_steps
    if steps is not None and (not isinstance(steps, int) or steps < 1):
        raise UserError(f"max_steps is a whole number of at least 1, not {steps!r:.60}.")
    if options.delivery not in ("steer", "queue"):
        raise UserError(f"delivery is 'steer' or 'queue', not {options.delivery!r:.60}.")


def _check_tools(tools: Any) -> None:
    """Raise UserError unless ``tools`` is None, a list of tool names or a mapping of name to bool."""
    if isinstance(tools, Mapping):
        is_valid = all(isinstance(on, bool) for on in tools.values())
    else:
        is_valid = tools is None or (isinstance(tools, Sequence) and not isinstance(tools, str))
    if not is_valid or any(not isinstance(name, str) for name in tools or ()):
        raise UserError(
            "tools is a list of the names to offer, such as ['read', 'grep'], or a mapping that switches "
            f"single tools, such as {{'bash': False}}, not {tools!r:.60}."
        )


def reply_of(reply: Reply | str, feedback: str | None = None) -> Reply:
    """Return the reply that a word stands for; raises UserError for an unknown word."""
    if isinstance(reply, Reply):
        return reply
    if reply not in REPLY_WORDS:
        raise UserError(f"The answer is 'once', 'always' or 'reject', not {reply!r:.60}.")
    return Reply.model_validate({"answer": reply, "feedback": feedback})


def answers_of(answers: Sequence[Any]) -> Sequence[Sequence[str]] | None:
    """Return a list of labels or texts for each question; None if no question has an answer."""
    valid_answers = []
    for answer in answers:
        labels = [answer] if isinstance(answer, str) else answer if answer is not None else []
        if not isinstance(labels, Sequence) or not all(isinstance(label, str) for label in labels):
            raise UserError(
                f"An answer is a label, own words or a list of them, not {answer!r:.60}."
            )
        valid_answers.append(list(labels))
    return valid_answers if any(valid_answers) else None
