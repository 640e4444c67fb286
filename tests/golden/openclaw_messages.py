"""Convert recorded OpenClaw messages to neutral messages and back: fields are renamed, nothing is decided.

What a neutral message cannot express (unknown roles and blocks, other spellings of a field) is kept in
``source``, an extra field that every copy keeps, and is restored on the way back.
"""

from typing import Any

from tests.golden.data import only
from tests.golden.openclaw import UNDEFINED

from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    MediaBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)

CALLS = {"toolCall", "toolUse", "functionCall"}
THINKING = {"thinking", "redacted_thinking"}
RESULT_IDS = ("toolCallId", "toolUseId", "tool_use_id", "tool_call_id", "callId", "call_id")
INPUTS = ("input", "arguments")
STOPS = {"toolUse": "calls"}
METADATA = {"usage": "usage", "errorMessage": "error", "timestamp": "timestamp"}
NOW = 1_700_000_000_000
"""The clock of the recordings, with which the recorded agent stamps the results it adds."""


def flat(recorded: list[Any]) -> NeutralMessages:
    """Return recorded messages as neutral ones."""
    return tuple(_message(one) for one in recorded)


def written(messages: NeutralMessages, *, both_ids: bool = False) -> list[Any]:
    """Return neutral messages in the recorded format; with ``both_ids`` new ids under both names."""
    return [_back(message, both_ids=both_ids) for message in messages]


MESSAGE_FIELDS = (
    *(
        "role",
        "content",
        "timestamp",
        "stopReason",
        "usage",
        "model",
        "api",
        "provider",
        "errorMessage",
    ),
    *(
        *RESULT_IDS,
        "toolName",
        "isError",
        "details",
        "summary",
        "tokensBefore",
        "customType",
        "display",
    ),
    *("command", "output", "exitCode", "cancelled", "truncated", "excludeFromContext"),
)
BLOCK_FIELDS = (
    *("type", "id", "name", *INPUTS, "partialJson", "text", "thinking", "thinkingSignature"),
    *("data", "mimeType", "content", *RESULT_IDS, "toolName", "isError", "textSignature"),
)


def _message(one: Any) -> NeutralMessage:
    if isinstance(one, dict):
        only(one, *MESSAGE_FIELDS)
    else:
        # Not a message at all: without a role and without content.
        return _made("system", (), one)
    role, content = one.get("role"), one.get("content")
    if role in {"toolResult", "tool"}:
        return _made("tool", (_result(one),), one)
    if role not in {"user", "assistant"}:
        return _made("system", (TextBlock(text="x"),), one)
    if isinstance(content, str):
        return _made(role, (TextBlock(text=content),), one, plain=True)
    blocks = content if isinstance(content, list) else ()
    return _made(role, tuple(_block(block) for block in blocks), one)


def _made(role: str, blocks: tuple[Block, ...], one: Any, *, plain: bool = False) -> NeutralMessage:
    fields = one if isinstance(one, dict) else {}
    stop = fields.get("stopReason")
    return NeutralMessage.model_validate(
        {
            "role": role,
            "blocks": blocks,
            "stop": STOPS.get(stop, stop) if stop else None,
            "plain": plain,
            "metadata": {
                ours: fields[theirs] for theirs, ours in METADATA.items() if theirs in fields
            },
            "source": one,
            "read": len(blocks),
        }
    )


def _block(block: Any) -> Block:
    kind = only(block, *BLOCK_FIELDS).get("type") if isinstance(block, dict) else None
    found: Block
    if kind in CALLS:
        given = [block[name] for name in INPUTS if block.get(name) is not None]
        found = CallBlock(
            call_id=_text(block.get("id")),
            tool=_text(block.get("name")),
            input=given[0] if given and isinstance(given[0], dict) else {},
            incomplete=not given or "partialJson" in block,
        )
    elif kind in THINKING:
        signature = block.get("thinkingSignature")
        item = {"type": kind, "signature": signature or block.get("data")}
        found = ReasoningBlock(
            text=_text(block.get("thinking")),
            metadata={"thinking_blocks": [item]}
            if item["signature"] or kind != "thinking"
            else None,
        )
    elif kind == "image":
        found = MediaBlock(
            mime=block["mimeType"], url=f"data:{block['mimeType']};base64,{block['data']}"
        )
    elif kind == "toolResult":
        found = _result(block)
    else:
        found = TextBlock(text=_text(block.get("text")) if isinstance(block, dict) else "")
    return found.model_copy(update={"source": block})


def _result(one: dict[str, Any]) -> ResultBlock:
    identifiers = [one[name] for name in RESULT_IDS if isinstance(one.get(name), str) and one[name]]
    name = one.get("toolName")
    block = ResultBlock(
        call_id=identifiers[0] if identifiers else "",
        # A name that is present and null is blank; a missing one is empty.
        tool=name or " " if isinstance(name, str) else "",
        text="".join(_text(piece.get("text")) for piece in _pieces(one.get("content"))),
        is_error=bool(one.get("isError")),
    )
    return block.model_copy(update={"source": one, "was": block})


def _pieces(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"text": content}]
    return [piece for piece in content or () if isinstance(piece, dict)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _back(message: NeutralMessage, *, both_ids: bool) -> Any:
    extra = message.model_extra or {}
    one = extra.get("source", UNDEFINED)
    if message.role == "tool":
        return result_back(message.blocks[0], both_ids=both_ids)
    if message.role == "system" and "source" in extra:
        return one
    if "source" not in extra:
        return {"role": message.role, "content": _words(message), "timestamp": NOW}
    back: dict[str, Any] = dict(one) if isinstance(one, dict) else {"role": message.role}
    if not message.plain and ("content" in back or message.blocks):
        back["content"] = [_block_back(block) for block in message.blocks]
    stop = next((name for name, ours in STOPS.items() if ours == message.stop), message.stop)
    if stop:
        back["stopReason"] = stop
    for theirs, ours in METADATA.items():
        if ours in (message.metadata or {}):
            back[theirs] = (message.metadata or {})[ours]
    return back


def _words(message: NeutralMessage) -> str:
    return "".join(block.text for block in message.blocks if isinstance(block, TextBlock))


def _block_back(block: Block) -> Any:
    source = (block.model_extra or {}).get("source")
    if source is None:
        assert isinstance(block, TextBlock)
        return {"type": "text", "text": block.text}
    if isinstance(block, CallBlock):
        back = dict(source)
        if _text(source.get("id")) != block.call_id:
            back["id"] = block.call_id
        if _text(source.get("name")) != block.tool:
            back["name"] = block.tool
        return back
    return source


def result_back(block: Any, *, both_ids: bool = False) -> dict[str, Any]:
    """Return a result in the recorded format."""
    extra = block.model_extra or {}
    if "source" not in extra:
        return {
            "role": "toolResult",
            "toolCallId": block.call_id,
            "toolName": block.tool,
            "content": [{"type": "text", "text": block.text}],
            "isError": block.is_error,
            "timestamp": NOW,
        }
    back, was = dict(extra["source"]), extra["was"]
    if block.call_id != was.call_id:
        names = [name for name in RESULT_IDS if name in back] or ["toolCallId"]
        if both_ids:
            names.append("toolCallId")
        back |= dict.fromkeys(names, block.call_id)
    if block.tool != was.tool:
        back["toolName"] = block.tool
    if block.is_error != was.is_error:
        back["isError"] = block.is_error
    return back
