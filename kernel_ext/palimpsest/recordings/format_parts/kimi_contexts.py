"""Read the system prompt and the compactions of a session of Kimi CLI from the context files beside its events.

A compaction begins a new ``context.jsonl``: the system prompt, the summary, the messages that stayed, and a count of
tokens. The former file stays as ``context_1.jsonl``, ``context_2.jsonl`` and so on. Only the beginnings are read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.recordings.message_formats.chat_messages import recorded_calls
from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import JsonValue, fingerprint, media_at
from palimpsest.recordings.reading.recorded import Media, Text, Thinking, text_of_parts
from palimpsest.recordings.reading.sources import json_lines, report_beside

CONTEXT_FILE = re.compile(r"context(?:_([0-9]{1,6}))?\.jsonl")
COMPACTED_TEXT = "<system>Previous context has been compacted"
"""The beginning of the message that holds a summary."""
NEWEST_NUMBER = 10**6
"""The number of the newest context, whose file has none: greater than any in a file's name."""
MAX_FILES = 1_000
"""Maximum entries of a session's folder among which context files are searched."""
MAX_KEPT_MESSAGES = 1_000
MEDIA_TYPES = {"image_url": "image/png", "audio_url": "audio/wav", "video_url": "video/mp4"}


@dataclass(frozen=True, slots=True)
class KimiCompaction:
    """A compaction, read from the context that begins with its summary."""

    summary: str
    kept_keys: tuple[bytes, ...]
    """The keys of the messages that stayed."""
    tokens_after: int | None
    """The program's own estimate of the context's tokens."""


@dataclass(frozen=True, slots=True)
class KimiContexts:
    """The system prompt and the compactions in the context files of one session."""

    system: str | None = None
    compactions: tuple[KimiCompaction, ...] = ()

    @classmethod
    def of_folder(cls, folder: Path, report: Report) -> "KimiContexts":
        """Read the context files of a folder, the oldest first; links are not followed."""
        system: str | None = None
        compactions: list[KimiCompaction] = []
        for file in _context_files(folder):
            system_prompt, compaction = _read_beginning(file, report_beside(report, file.name))
            system = system or system_prompt
            # A context that went back to an earlier state begins like the one before it.
            if compaction is not None and compaction not in compactions[-1:]:
                compactions.append(compaction)
        return cls(system, tuple(compactions))


def _context_files(folder: Path) -> list[Path]:
    numbered_files: list[tuple[int, Path]] = []
    for entry, _ in zip(folder.iterdir(), range(MAX_FILES), strict=False):
        match = CONTEXT_FILE.fullmatch(entry.name)
        if match and entry.is_file() and not entry.is_symlink():
            numbered_files.append((int(match[1] or NEWEST_NUMBER), entry))
    return [path for _, path in sorted(numbered_files)]


def _read_beginning(file: Path, report: Report) -> tuple[str | None, KimiCompaction | None]:
    """Return a context's system prompt, and the compaction with which it begins; None for either that it lacks."""
    system: str | None = None
    summary: str | None = None
    kept_keys: list[bytes] = []
    for _, line in json_lines(file, report):
        match line.get("role"):
            case "_system_prompt":
                system = line.text("content") or None
            case "_usage" if summary is not None:
                return system, KimiCompaction(
                    summary, tuple(kept_keys), line.integer("token_count")
                )
            case "user" | "assistant" | "tool" if summary is not None:
                if len(kept_keys) < MAX_KEPT_MESSAGES and line.get("role") != "tool":
                    kept_keys.append(_message_key_of(line))
            case "user":
                parts = [*kimi_parts(line.get("content"))]
                texts = [part.text for part in parts if isinstance(part, Text)]
                if not texts or not texts[0].startswith(COMPACTED_TEXT):
                    return system, None
                summary = "".join(texts[1:])
            case "assistant" | "tool":
                return system, None
            case _:
                pass
    return system, None if summary is None else KimiCompaction(summary, tuple(kept_keys), None)


def _message_key_of(line: JsonValue) -> bytes:
    text = text_of_parts(kimi_parts(line.get("content")), "")
    return message_key(line.text("role"), text, [call_id for call_id, _, _ in recorded_calls(line)])


def message_key(role: str, text: str, call_ids: list[str]) -> bytes:
    """Return a short key by which a message of the events is found among the messages of a context."""
    return fingerprint("\0".join((role, *call_ids) if call_ids else (role, "", text)))


def kimi_parts(content: Any) -> Iterator[Text | Thinking | Media]:
    """Yield the parts of a message's content, which is a text or a list of parts."""
    if isinstance(content, str):
        yield Text(JsonValue(content).text())
        return
    for part in JsonValue(content).objects():
        match part.text("type"):
            case "text":
                yield Text(part.text("text"))
            case "think":
                thought = part.text("think")
                yield Thinking(thought, encrypted=not thought and bool(part.get("encrypted")))
            case "image_url" | "audio_url" | "video_url" as part_type:
                yield media_at(part.get(part_type, "url"), MEDIA_TYPES[part_type])
            case _:
                pass
