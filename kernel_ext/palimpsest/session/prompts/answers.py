"""Journal a prompt's options, validate the format of a structured answer, and collect a turn's answer.

Border: reads messages, runs nothing; the runner decides when. A format is a JSON schema, or a pydantic
model; its schema is journaled with the prompt in OpenCode's form: ``type``, ``schema`` and ``retryCount``.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, PydanticUserError, ValidationError

from palimpsest.processor.tool_call_runner import no_more_threads
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.tools.calls.schema_validation import schema_problem
from palimpsest.tools.registration.registry import ALL_OTHERS
from palimpsest.transcript.errors import AbortedError, ErrorValue, UnknownError, UserError
from palimpsest.transcript.messages import (
    AssistantMessage,
    Messages,
    StoppedBy,
    UserMessage,
    is_summary,
    parts_of,
    stop_reason_of,
    stop_reason_of_error,
)
from palimpsest.transcript.parts import Attachment, StepFinishPart, TextPart
from palimpsest.transcript.values import Usage

JSON_SCHEMA = "json_schema"
DEFAULT_RETRIES = 1
"""Default number of times that a model that answered with text is asked again for a structured answer."""
MAX_RETRIES = 10
FORMAT_SENTENCE = (
    "format is the JSON schema of an object, such as {'type': 'object', 'properties': {'rows': {'type': "
    "'integer'}}, 'required': ['rows']}, or a pydantic model"
)


def format_of(format_option: Any) -> dict[str, Any] | None:
    """Return a format as it is journaled; raises UserError for an invalid one."""
    if format_option is None:
        return None
    retries: Any = DEFAULT_RETRIES
    schema: Any = format_option
    if isinstance(format_option, type) and issubclass(format_option, BaseModel):
        schema = _pydantic_schema(format_option)
    elif isinstance(format_option, Mapping) and format_option.get("type") == JSON_SCHEMA:
        schema = format_option.get("schema")
        retries = format_option.get("retryCount", DEFAULT_RETRIES)
    if not isinstance(schema, Mapping):
        raise UserError(f"{FORMAT_SENTENCE}, not {format_option!r:.60}.")
    if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= MAX_RETRIES:
        raise UserError(
            f"retryCount is a whole number from 0 to {MAX_RETRIES}, not {retries!r:.60}."
        )
    schema = _with_object_root(schema)
    _check_schema(schema)
    return {"type": JSON_SCHEMA, "schema": dict(schema), "retryCount": retries}


def _pydantic_schema(model: type[BaseModel]) -> dict[str, Any]:
    try:
        return model.model_json_schema()
    except (PydanticUserError, ValueError, TypeError) as problem:
        first_line = str(problem).split("\n", 1)[0]
        raise UserError(f"No JSON schema can be made of {model.__name__}: {first_line}") from None


def _with_object_root(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with its object at the root: pydantic's schema of a recursive model is a reference to itself."""
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str) or not isinstance(definitions, Mapping):
        return schema
    root_schema = definitions.get(reference.removeprefix("#/$defs/"))
    if not isinstance(root_schema, Mapping):
        return schema
    return {**root_schema, **{name: value for name, value in schema.items() if name != "$ref"}}


def _check_schema(schema: Mapping[str, Any]) -> None:
    is_object = schema.get("type", "object") == "object"
    if not is_object or not isinstance(schema.get("properties"), Mapping):
        raise UserError(f"{FORMAT_SENTENCE}; this one has no properties: {schema!r:.60}.")
    problem = schema_problem(schema)
    if problem:
        raise UserError(f"The format is no JSON schema: {problem}.")


def journaled_format(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the format of a journaled prompt; None for an invalid one."""
    try:
        return format_of(options.get("format"))
    except UserError:
        return None


NO_REASON_GIVEN = "The provider ended the answer without saying why. Ask it to go on."


def journaled_options(options: PromptOptions) -> dict[str, Any]:
    """Return the options of a prompt, as they are journaled."""
    stored_options = {
        "model": options.model,
        "variant": options.variant,
        "agent": options.agent,
        "system": options.system,
        "tools": _tool_choice(options.tools),
        "files": [file.model_dump(mode="json") for file in options.files] or None,
        "format": format_of(options.format),
        "max_steps": options.max_steps,
    }
    return {key: value for key, value in stored_options.items() if value is not None}


def _tool_choice(tools: Sequence[str] | Mapping[str, bool] | None) -> Any:
    """Return the choice of tools as JSON."""
    if tools is None:
        return None
    return dict(tools) if isinstance(tools, Mapping) else list(tools)


def files_of(options: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """Return the files of a journaled prompt, without those that are invalid or stored elsewhere."""
    entries = options.get("files")
    if not isinstance(entries, list | tuple):
        return ()
    files = []
    for entry in entries:
        with suppress(ValidationError):
            file = Attachment.model_validate(entry)
            if file.url.startswith(("data:", "blob:")):
                files.append(file)
    return tuple(files)


def tool_switches(tools: Sequence[str] | Mapping[str, bool] | None) -> dict[str, bool] | None:
    """Return which tools a choice switches on and off; a list of names switches off all others."""
    if tools is None:
        return None
    if isinstance(tools, Mapping):
        return dict(tools)
    return {ALL_OTHERS: False} | dict.fromkeys(tools, True)


def collect_answer(
    session_id: str, messages: Messages, message_id: str, error: ErrorValue | None
) -> Answer:
    """Return the answer to a user message, from the assistant messages after it."""
    answers = answers_after(messages, message_id)
    answer_infos = [m.info for m in answers if isinstance(m.info, AssistantMessage)]
    structured_answers = [
        info.structured for info in answer_infos if isinstance(info.structured, dict)
    ]
    costs = [part.cost for part in parts_of(answers) if isinstance(part, StepFinishPart)]
    known_costs = [cost for cost in costs if cost is not None]
    usage = Usage()
    for info in answer_infos:
        usage = usage.plus(info.tokens)
    if error is None:
        error = (
            answer_infos[-1].error
            if answer_infos
            else UnknownError(message="Nothing was answered.")
        )
    stopped_by = (stop_reason_of(answer_infos[-1]) if answer_infos else None) or (
        stop_reason_of_error(error) if error else "error"
    )
    if error is None:
        error = _error_of_stop(stopped_by)
    return Answer(
        session_id=session_id,
        turn_id=message_id,
        messages=answers,
        text=text_of(answers),
        usage=usage,
        cost=sum(known_costs) if known_costs and len(known_costs) == len(costs) else None,
        steps=len(answer_infos),
        error=error,
        stopped_by=stopped_by,
        structured=structured_answers[-1] if structured_answers else None,
    )


def _error_of_stop(stopped_by: StoppedBy) -> ErrorValue | None:
    """Return an error for a turn that failed without an error in any message."""
    match stopped_by:
        case "error":
            return UnknownError(message=NO_REASON_GIVEN, explained=True)
        case "cancelled" | "interrupted":
            return AbortedError()
        case _:
            return None


def answers_after(messages: Messages, message_id: str) -> Messages:
    """Return the assistant messages after a message."""
    # From the end: a session may be long, and callers mostly ask for the newest turn.
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].info.id == message_id:
            later_messages = messages[index + 1 :]
            return tuple(m for m in later_messages if isinstance(m.info, AssistantMessage))
    return ()


def text_of(messages: Messages) -> str:
    """Return the text of the last message; that of a summary only if it succeeded and there is no other message."""
    successful_messages = [
        message for message in messages if getattr(message.info, "error", None) is None
    ]
    candidates = [message for message in messages if not is_summary(message)] or successful_messages
    if not candidates:
        return ""
    return "\n\n".join(
        part.text
        for part in candidates[-1].parts
        if isinstance(part, TextPart)
        and part.text
        and not part.ignored
        and not (part.metadata or {}).get("failed_attempt")
    )


def newest_turn_id(messages: Messages) -> str:
    """Return the id of the user message that began the newest turn; empty where there is none."""
    newest_id = ""
    for message in reversed(messages):
        info = message.info
        if not isinstance(info, UserMessage):
            continue
        newest_id = newest_id or info.id
        if not info.by_engine and not info.joins:
            return info.id
    return newest_id


def is_shutdown_error(exception: Exception) -> bool:
    """Return whether an exception was raised because the interpreter shuts down and can start no threads."""
    return no_more_threads(exception) or not threading.main_thread().is_alive()


def defect_error(exception: Exception) -> ErrorValue:
    """Return an error value for an exception of Palimpsest's own code, or that the kernel ends."""
    if is_shutdown_error(exception):
        return AbortedError(message="The kernel ends.")
    return UnknownError(
        message=f"Palimpsest itself failed: {type(exception).__name__}: {exception}. "
        "What was said is kept; please report this."
    )
