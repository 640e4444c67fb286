"""Convert a session's values to OpenCode's JSON, and that JSON to our values.

Border: values in, values out; no file is touched. Names are translated, and fields that only one
side knows are passed through. Differences that the translation cannot represent (a field that our value must have
and OpenCode's lacks, a permission rule that must not apply here) are kept in the value as a list, so that an import
and export gives the same JSON again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from palimpsest.transcript.messages import AssistantMessage, MessageInfo, UserMessage
from palimpsest.transcript.parts import FormedPart, NotedPart, Part
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import Value

Json = dict[str, Any]
V = TypeVar("V", bound=Value)

DIFFERENCES = "opencode"
"""The extra field of a value with the differences that its translation could not represent."""
UNKNOWN = "unknown"

OURS_TO_THEIRS = {
    "session_id": "sessionID",
    "message_id": "messageID",
    "parent_id": "parentID",
    "project_id": "projectID",
    "call_id": "callID",
}
ERROR_NAMES = {
    "auth": "ProviderAuthError",
    "unknown": "UnknownError",
    "output-length": "MessageOutputLengthError",
    "aborted": "MessageAbortedError",
    "context-overflow": "ContextOverflowError",
    "api": "APIError",
    "content-filter": "ContentFilterError",
    "structured-output": "StructuredOutputError",
}
ERROR_TYPES = {name: kind for kind, name in ERROR_NAMES.items()}
ERROR_FIELDS = {
    "provider": "providerID",
    "status": "statusCode",
    "retryable": "isRetryable",
    "headers": "responseHeaders",
    "response_body": "responseBody",
}
REVERT_FIELDS = {"message_id": "messageID", "part_id": "partID"}
"""The fields of a revert that are translated; its snapshots and files are only usable by Palimpsest."""
NOT_EXPORTED = ("share", "permission")
"""Session fields that are not exported: share pages and permission rules apply in one place only."""
SHARED_FIELDS = frozenset(
    {
        *("id", "project_id", "directory", "parent_id", "title", "version", "time"),
        *("agent", "model", "cost", "tokens", "revert", "summary", "metadata"),
    }
)
"""Session fields that both formats have. An import does not set our other fields, such as the mode."""
DEFAULT_FALSE = ("synthetic", "ignored", "pinned", "overflow", "summary")

NO_CHANGES: Json = {"additions": 0, "deletions": 0, "files": 0}
"""Fields that OpenCode's summary of a session always has, and Palimpsest's may lack, with their default values."""

INFO: TypeAdapter[MessageInfo] = TypeAdapter(MessageInfo)
PART: TypeAdapter[Part] = TypeAdapter(Part)


PART_TYPES = frozenset(
    get_args(kind.model_fields["type"].annotation)[0]
    for kind in (*get_args(FormedPart), *get_args(NotedPart))
)

UNREAD_FIELD = "unread_parts"
"""Extra field of a message's info: unchanged parts of a type unknown to this version, with positions."""


class NotOpenCodeValue(ValueError):
    """A JSON value is not a valid session, message or part; the message names the wrong field."""


# To OpenCode's JSON


def session_json(session: SessionInfo) -> Json:
    """Return a session's info as OpenCode's JSON."""
    fields: Json = session.model_dump(mode="json", exclude_none=True)
    for name in (*NOT_EXPORTED, "tokens", "revert", "model", "metadata"):
        fields.pop(name, None)
    if session.model is not None:
        fields["model"] = _model_json(session.model.model_dump(exclude_none=True), "id")
    if session.tokens != type(session.tokens)():
        fields["tokens"] = _tokens_json(session.tokens.model_dump(exclude_none=True))
    if session.revert is not None:
        fields["revert"] = {
            REVERT_FIELDS[name]: value
            for name, value in session.revert.items()
            if name in REVERT_FIELDS
        }
    if session.summary is not None:
        fields["summary"] = NO_CHANGES | session.summary
    metadata = {k: v for k, v in (session.metadata or {}).items() if k != "imported"}
    if metadata:
        fields["metadata"] = metadata
    return _their_fields(fields)


def info_json(info: MessageInfo) -> Json:
    """Return a message's info as OpenCode's JSON."""
    fields: Json = info.model_dump(mode="json", exclude_none=True)
    if isinstance(info, UserMessage):
        fields["model"] = _model_json(info.model.model_dump(exclude_none=True), "modelID")
        if info.summary is not None:
            fields["summary"] = {**info.summary, "diffs": info.summary.get("diffs", [])}
    else:
        fields |= _answer_json(info)
        fields.pop("model")
        if not info.summary:
            fields.pop("summary", None)
    return _their_fields(fields)


def _answer_json(info: AssistantMessage) -> Json:
    answer: Json = {
        "providerID": info.model.provider,
        "modelID": info.model.name,
        "mode": info.agent,
        "cost": info.cost or 0,
        "tokens": _tokens_json(info.tokens.model_dump(exclude_none=True)),
    }
    if info.model.variant is not None:
        answer["variant"] = info.model.variant
    if info.error is not None:
        answer["error"] = _error_json(info.error.model_dump(mode="json", exclude_none=True))
    return answer


def part_json(part: Part) -> Json:
    """Return a part as OpenCode's JSON; long outputs and attachments must be loaded already."""
    fields: Json = part.model_dump(mode="json", exclude_none=True)
    for name in DEFAULT_FALSE:
        if fields.get(name) is False:
            del fields[name]
    convert_fields = _PART_WRITERS.get(part.type)
    if convert_fields is not None:
        convert_fields(fields)
    return _their_fields(fields)


SOURCE_FIELDS = {"client_name": "clientName"}
TOOL_FIELDS = {"provider_executed": "providerExecuted"}
RETRY_TIMES = {"start": "created"}


def _convert_file(fields: Json) -> None:
    _convert_field(fields, "source", lambda source: _rename_fields(source, SOURCE_FIELDS))


def _convert_tool(fields: Json) -> None:
    state = fields["state"]
    for attachment in state.get("attachments") or ():
        _convert_file(attachment)
    if not state.get("attachments"):
        state.pop("attachments", None)
    metadata = fields.get("metadata")
    if metadata and "provider_executed" in metadata:
        fields["metadata"] = _rename_fields(metadata, TOOL_FIELDS)


def _convert_finish(fields: Json) -> None:
    fields["tokens"] = _tokens_json(fields.get("tokens") or {})
    fields["cost"] = fields.get("cost") or 0


def _convert_retry(fields: Json) -> None:
    fields["error"] = _error_json(fields["error"])
    fields["time"] = _rename_fields(fields["time"], RETRY_TIMES)


_PART_WRITERS: Mapping[str, Callable[[Json], None]] = {
    "file": _convert_file,
    "tool": _convert_tool,
    "step-finish": _convert_finish,
    "retry": _convert_retry,
    "subtask": lambda fields: _convert_field(
        fields, "model", lambda model: _model_json(model, "modelID")
    ),
}


def _model_json(model: Json, name_field: str) -> Json:
    return {"providerID": model.pop("provider"), name_field: model.pop("name"), **model}


def _tokens_json(tokens: Json) -> Json:
    if not tokens.get("estimated"):
        tokens.pop("estimated", None)
    cache = {"read": tokens.pop("cache_read", 0), "write": tokens.pop("cache_write", 0)}
    counts = {name: tokens.pop(name, 0) for name in ("input", "output", "reasoning")}
    return counts | {"cache": cache} | tokens


def _error_json(error: Json) -> Json:
    error_type = error.pop("type")
    data = _rename_fields(error, ERROR_FIELDS)
    if data.get("compaction_failed") is False:
        del data["compaction_failed"]
    return {"name": ERROR_NAMES.get(error_type, "UnknownError"), "data": data}


# From OpenCode's JSON


def read_session(source: Json, project_id: str) -> SessionInfo:
    """Return the session info of OpenCode's JSON; raises NotOpenCodeValue."""
    fields = _rename_to_ours(source, OURS_TO_THEIRS)
    for name in SessionInfo.model_fields.keys() - SHARED_FIELDS:
        fields.pop(name, None)
    _convert_field(fields, "model", _read_model)
    _convert_field(fields, "tokens", _read_tokens)
    _convert_field(fields, "revert", _read_revert)
    fields["project_id"] = project_id
    fields.setdefault("directory", "")
    fields.setdefault("title", "A session without a title")
    fields.setdefault("version", "")
    return _read_lossless(SessionInfo.model_validate, fields, source, session_json)


def read_info(
    source: Json, session_id: str, agent_and_model: tuple[str, Json] | None = None
) -> MessageInfo:
    """Return the message info of OpenCode's JSON; raises NotOpenCodeValue.

    ``agent_and_model`` are those that answered a prompt, used for prompts that name none.
    """
    fields = _rename_to_ours(source, OURS_TO_THEIRS) | {"session_id": session_id}
    if source.get("role") == "assistant":
        fields["model"] = _read_model(fields)
        for name in ("providerID", "modelID", "variant"):
            fields.pop(name, None)
        mode = fields.pop("mode", None)
        fields["agent"] = fields.get("agent") or mode or "build"
        fields.setdefault("path", {"cwd": "", "root": ""})
        fields.setdefault("parent_id", "")
        _convert_field(fields, "tokens", _read_tokens)
        _convert_field(fields, "error", _read_error)
    else:
        agent, model = agent_and_model or ("build", {})
        fields["agent"] = fields.get("agent") or agent
        fields["model"] = _read_model(source.get("model") or model)
        if source.get("variant") and not fields["model"].get("variant"):
            fields["model"]["variant"] = fields.pop("variant")
    return _read_lossless(INFO.validate_python, fields, source, info_json, own_names=("sessionID",))


def is_unread(source: Json) -> bool:
    """Return whether a part has an id and a type that this version does not know."""
    part_type, part_id = source.get("type"), source.get("id")
    return isinstance(part_type, str) and isinstance(part_id, str) and part_type not in PART_TYPES


def with_unread(info: Json, parts: list[Json]) -> list[Json]:
    """Return a message's parts with those of unknown types inserted, which are removed from ``info``."""
    for entry in info.pop(UNREAD_FIELD, ()):
        parts.insert(entry["at"], entry["part"])
    return parts


def read_part(source: Json, session_id: str, message_id: str) -> Part:
    """Return the part of OpenCode's JSON; raises NotOpenCodeValue."""
    fields = _rename_to_ours(source, OURS_TO_THEIRS)
    fields |= {"session_id": session_id, "message_id": message_id}
    convert_fields = _PART_READERS.get(str(source.get("type")))
    if convert_fields is not None:
        convert_fields(fields)
    own_names = ("sessionID", "messageID")
    return _read_lossless(PART.validate_python, fields, source, part_json, own_names=own_names)


def _read_retry(fields: Json) -> None:
    _convert_field(fields, "error", _read_error)
    _convert_field(fields, "time", lambda time: _rename_to_ours(time, RETRY_TIMES))


_PART_READERS: Mapping[str, Callable[[Json], None]] = {
    "file": lambda fields: _convert_field(
        fields, "source", lambda source: _rename_to_ours(source, SOURCE_FIELDS)
    ),
    "tool": lambda fields: _convert_field(
        fields, "metadata", lambda metadata: _rename_to_ours(metadata, TOOL_FIELDS)
    ),
    "step-finish": lambda fields: _convert_field(fields, "tokens", _read_tokens),
    "retry": _read_retry,
    "subtask": lambda fields: _convert_field(fields, "model", _read_model),
}


def _read_model(model: Json) -> Json:
    fields = {
        "provider": model.get("providerID") or UNKNOWN,
        "name": model.get("modelID") or (model.get("id") if "role" not in model else "") or UNKNOWN,
    }
    return fields | ({"variant": model["variant"]} if model.get("variant") else {})


def _read_tokens(tokens: Json) -> Json:
    rest = {name: value for name, value in tokens.items() if name != "cache"}
    cache = tokens.get("cache") or {}
    return rest | {"cache_read": cache.get("read", 0), "cache_write": cache.get("write", 0)}


def _read_error(error: Json) -> Json:
    data = _rename_to_ours(error.get("data") or {}, ERROR_FIELDS)
    error_type = ERROR_TYPES.get(str(error.get("name")), "unknown")
    required_fields = (
        {"message": str(error.get("name") or "")} if error_type != "output-length" else {}
    )
    if error_type == "auth":
        required_fields["provider"] = ""
    return {**required_fields, **data, "type": error_type}


def _read_revert(revert: Json) -> Json:
    part_fields = {"part_id": revert["partID"]} if revert.get("partID") else {}
    return {"message_id": revert["messageID"], **part_fields}


# Round trip without loss


def invalid_field_reason(error: ErrorDetails) -> str:
    """Return the path of the field that a validation refused, and why, as a clause."""
    return f"{'.'.join(str(step) for step in error['loc']) or 'it'}: {error['msg'].lower()}"


def _read_lossless(
    read_value: Callable[[Json], V],
    fields: Json,
    source: Json,
    write_json: Callable[[V], Json],
    own_names: Sequence[str] = (),
) -> V:
    """Read fields to a value, with ``DIFFERENCES``: the fields that writing the value would not reproduce.

    A field with an invalid value is added to them too, unless it is required. ``own_names`` are the fields with ids
    of session and message, which are not compared. Raises NotOpenCodeValue.
    """
    fields = {name: value for name, value in fields.items() if name != DIFFERENCES}
    if any(not isinstance(name, str) for name in fields):
        raise NotOpenCodeValue("a name in it is no text")
    for _ in range(len(fields)):
        try:
            value = read_value(fields)
            break
        except ValidationError as error:
            first_error = error.errors()[0]
            path_names = [str(step) for step in first_error["loc"]]
            removable_field = next((name for name in path_names if name in fields), None)
            if removable_field is None or first_error["type"] == "missing":
                raise NotOpenCodeValue(invalid_field_reason(first_error)) from None
            del fields[removable_field]
    else:
        raise NotOpenCodeValue("it is empty")
    rewritten = write_json(
        type(value).model_validate_json(value.model_dump_json(exclude_none=True))
    )
    source_fields = {name: item for name, item in source.items() if name not in own_names}
    rewritten = {name: item for name, item in rewritten.items() if name not in own_names}
    differences = json_differences(rewritten, source_fields)
    return value.model_copy(update={DIFFERENCES: differences}) if differences else value


def json_differences(our_json: Json, their_json: Json, path: tuple[str, ...] = ()) -> list[Json]:
    """Return the differences of two objects: each a path, and the value of each side if it has one."""
    differences: list[Json] = []
    for name in dict.fromkeys([*our_json, *their_json]):
        inner_path = (*path, name)
        is_in_both = name in our_json and name in their_json
        if is_in_both and _is_same_json(our_json[name], their_json[name]):
            continue
        if isinstance(our_json.get(name), dict) and isinstance(their_json.get(name), dict):
            differences += json_differences(our_json[name], their_json[name], inner_path)
            continue
        entry: Json = {"path": list(inner_path)}
        if name in our_json:
            entry["ours"] = our_json[name]
        if name in their_json:
            entry["theirs"] = their_json[name]
        differences.append(entry)
    return differences


def _is_same_json(first: Any, other: Any) -> bool:
    """Return whether two values are the same JSON; a boolean does not equal a number."""
    match first, other:
        case dict(), dict():
            return first.keys() == other.keys() and all(
                _is_same_json(first[name], other[name]) for name in first
            )
        case list(), list():
            return len(first) == len(other) and all(map(_is_same_json, first, other))
        case _:
            return isinstance(first, bool) is isinstance(other, bool) and bool(first == other)


def with_kept_differences(fields: Json, differences: Any) -> Json:
    """Apply the kept differences to ``fields``, except where our value has changed since; returns them."""
    for entry in differences if isinstance(differences, list) else ():
        _restore_fields(fields, entry)
    return fields


def _restore_fields(fields: Json, entry: Json) -> None:
    *parents, name = entry["path"]
    for step in parents:
        inner = fields.get(step)
        if not isinstance(inner, dict):
            return
        fields = inner
    if ("ours" in entry) is not (name in fields):
        return
    if name in fields and not _is_same_json(fields[name], entry["ours"]):
        return
    if "theirs" in entry:
        fields[name] = entry["theirs"]
    else:
        fields.pop(name, None)


def _their_fields(fields: Json) -> Json:
    """Return our fields with OpenCode's names, and with the kept differences applied."""
    differences = fields.pop(DIFFERENCES, [])
    return with_kept_differences(_rename_fields(fields, OURS_TO_THEIRS), differences)


def _rename_fields(fields: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    return {names.get(name, name): value for name, value in fields.items()}


def _rename_to_ours(fields: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    return _rename_fields(fields, {theirs: ours for ours, theirs in names.items()})


def _convert_field(fields: Json, name: str, change: Callable[[Json], Json]) -> None:
    """Change a field that is an object, and drop a field that is None; the validation judges other values."""
    value = fields.get(name)
    if isinstance(value, dict):
        try:
            fields[name] = change(value)
        except (KeyError, TypeError, AttributeError):
            fields.pop(name)
    elif value is None:
        fields.pop(name, None)
