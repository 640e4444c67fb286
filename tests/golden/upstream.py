"""Convert recorded OpenCode messages to ours: fields are renamed, nothing is decided."""

from typing import Any, get_args

from tests.golden.data import only

from palimpsest.transcript.messages import AssistantMessage, Message, UserMessage
from palimpsest.transcript.parts import (
    AgentPart,
    CompactionPart,
    FilePart,
    PatchPart,
    ReasoningPart,
    RetryPart,
    SnapshotPart,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolPart,
)

ERRORS = {
    "ProviderAuthError": "auth",
    "UnknownError": "unknown",
    "MessageOutputLengthError": "output-length",
    "MessageAbortedError": "aborted",
    "ContextOverflowError": "context-overflow",
    "APIError": "api",
    "ContentFilterError": "content-filter",
}
NAMES = {
    "sessionID": "session_id",
    "messageID": "message_id",
    "parentID": "parent_id",
    "callID": "call_id",
    "statusCode": "status",
    "isRetryable": "retryable",
    "responseHeaders": "headers",
    "responseBody": "response_body",
}
PARTS = {
    get_args(kind.model_fields["type"].annotation)[0]: kind
    for kind in (
        AgentPart,
        CompactionPart,
        FilePart,
        PatchPart,
        ReasoningPart,
        RetryPart,
        SnapshotPart,
        StepFinishPart,
        StepStartPart,
        SubtaskPart,
        TextPart,
        ToolPart,
    )
}


def message(recorded: dict[str, Any]) -> Message:
    """Return a recorded message as our value."""
    return Message.model_validate(
        {"info": _info(recorded["info"]), "parts": [_part(part) for part in recorded["parts"]]}
    )


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {NAMES.get(name, name): value for name, value in fields.items()}


def _info(info: dict[str, Any]) -> dict[str, Any]:
    fields = _renamed(info)
    if fields["role"] == "user":
        only(fields, *UserMessage.model_fields)
        return fields | {"model": _model(info["model"])}
    only(fields, *AssistantMessage.model_fields, "providerID", "modelID", "mode")
    model = {"provider": fields.pop("providerID"), "name": fields.pop("modelID")}
    fields |= {
        "model": model,
        "agent": fields.get("agent") or fields.get("mode") or "build",
        "path": fields.get("path") or {"cwd": "", "root": ""},
        "tokens": _tokens(fields.get("tokens") or {}),
    }
    if fields.get("error"):
        fields["error"] = _error(fields["error"])
    return fields


def _model(model: dict[str, Any]) -> dict[str, Any]:
    return {
        "provider": model["providerID"],
        "name": model["modelID"],
        "variant": model.get("variant"),
    }


def _tokens(tokens: dict[str, Any]) -> dict[str, Any]:
    cache = tokens.get("cache") or {}
    plain = {name: tokens.get(name, 0) for name in ("input", "output", "reasoning")}
    return plain | {"cache_read": cache.get("read", 0), "cache_write": cache.get("write", 0)}


def _error(error: dict[str, Any]) -> dict[str, Any]:
    data = _renamed(error.get("data") or {})
    return {"type": ERRORS[error["name"]], "message": "", "provider": "", **data}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    fields = _renamed(part)
    only(fields, *PARTS[fields["type"]].model_fields)
    match fields["type"]:
        case "step-finish":
            fields["tokens"] = _tokens(fields.get("tokens") or {})
        case "retry":
            fields["error"] = _error(fields["error"])
            fields["time"] = {"start": fields["time"]["created"]}
        case "subtask" if fields.get("model"):
            fields["model"] = _model(fields["model"])
        case _:
            pass
    return fields
