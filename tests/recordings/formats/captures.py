"""Make captures of HTTP by hand: lines as claude-tap writes them, and entries of HAR."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]
BEGUN = 1_790_000_000


def user(*texts: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def reply(text: str) -> Json:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def response(number: int, text: str, **more: Any) -> Json:
    """Return an answer of Anthropic's messages."""
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-8",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 100 * number, "output_tokens": number},
        **more,
    }


def tap_line(
    number: int,
    messages: Sequence[Json],
    answer: Any,
    *,
    status: int = 200,
    path: str = "/v1/messages?beta=true",
    **body: Any,
) -> Json:
    """Return an exchange as claude-tap writes it; ``number`` gives its second."""
    return {
        "timestamp": f"2026-11-29T10:00:{number:02}+00:00",
        "request_id": f"req_{number}",
        "turn": number,
        "duration_ms": 500,
        "request": {
            "method": "POST",
            "path": path,
            "headers": {},
            "body": {"model": "claude-opus-4-8", "system": "Be brief.", "messages": messages}
            | body,
        },
        "response": {"status": status, "headers": {}, "body": answer},
        "upstream_base_url": "https://api.anthropic.com",
    }


def write_lines(path: Path, *exchanges: Json) -> Path:
    path.write_text("".join(f"{json.dumps(exchange)}\n" for exchange in exchanges))
    return path


def har_entry(url: str, body: Any, content: Json, **more: Any) -> Json:
    """Return an exchange as an entry of a HAR file."""
    text = body if isinstance(body, str) else json.dumps(body)
    return {
        "startedDateTime": "2026-11-29T10:00:00.000Z",
        "time": 500,
        "request": {
            "method": "POST",
            "url": url,
            "headers": [],
            "postData": {"mimeType": "application/json", "text": text},
        },
        "response": {"status": 200, "headers": [], "content": content},
    } | more


def write_har(path: Path, *entries: Json) -> Path:
    log = {"version": "1.2", "creator": {"name": "by hand", "version": "1"}, "entries": entries}
    path.write_text(json.dumps({"log": log}))
    return path
