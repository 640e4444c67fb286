"""Sessions whose usage is that of a provider's cache: each request reads what the one before left, and appends."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from tests.recordings.formats.imported import import_file

from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Usage

GROWTH = 1_000
"""Reported tokens by which each request grows."""
TAIL = 10
"""Reported tokens behind the last mark of a request."""


def caching_session(
    requests: int,
    *,
    losses: Mapping[int, int] | None = None,
    reads: Sequence[int] | None = None,
    first: int = 20_000,
    growth: int = GROWTH,
    prompts: Sequence[int] | None = None,
    output: int = 500,
    model: str = "anthropic/claude-opus-4-5",
    pause_seconds: int = 20,
    hourly: bool = False,
    shown: int = 800,
) -> Timeline:
    """Return a session; ``losses`` are what single requests read instead, ``reads`` what all do.

    Prompts grow by ``growth`` tokens, or are ``prompts``; an answer has ``shown`` characters.
    """
    plain = _appending(requests, pause_seconds, shown)
    is_marked = "claude" in model
    found = []
    held = 0
    for request in plain.requests:
        prompt = first + growth * request.index if prompts is None else prompts[request.index]
        read = held if reads is None else reads[request.index]
        read = (losses or {}).get(request.index, read)
        tail = TAIL if is_marked else prompt - read
        written = prompt - read - tail if is_marked else 0
        held = prompt - TAIL if is_marked else prompt
        usage = Usage(
            input=tail,
            cache_read=read,
            cache_write=written,
            cache_write_hour=written if hourly else 0,
            output=output,
        )
        found.append(replace(request, model=model, usage=usage, cost=None, price=None))
    return replace(plain, requests=tuple(found), events=(), earlier={})


@cache
def _appending(requests: int, pause_seconds: int, shown: int) -> Timeline:
    lines: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": "p", "timestamp": _at(0), "cwd": "/w"}
    ]
    last = None
    for number in range(requests):
        at = number * pause_seconds
        ask, answer = f"u{number}", f"a{number}"
        lines += [
            _message(ask, last, at, {"role": "user", "content": _text("abcd" * 500)}),
            _message(
                answer,
                ask,
                at,
                {"role": "assistant", "content": _text("w" * shown), "provider": "anthropic",
                 "model": "claude-opus-4-5", "api": "x", "stopReason": "stop"},
            ),
        ]  # fmt: skip
        last = answer
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        store, report = import_file(path)
    return timeline_of(store, report.sessions[0].id)


def _at(seconds: int) -> str:
    return (
        f"2026-08-01T{10 + seconds // 3_600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.000Z"
    )


def _text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def _message(name: str, parent: str | None, at: int, value: dict[str, object]) -> dict[str, object]:
    return {
        "type": "message",
        "id": name,
        "parentId": parent,
        "timestamp": _at(at),
        "message": {"timestamp": 0, **value},
    }
