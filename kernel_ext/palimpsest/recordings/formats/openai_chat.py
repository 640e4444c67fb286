"""Read JSON lines of ``{messages, tools, metadata}`` in the form of OpenAI's chat interface.

A line is a whole conversation, or a request with or without its answer. A line that begins with all messages of the
previous line continues its session; each assistant message is the answer to a request. Tokens are recorded only where a
line has a ``usage`` for its last answer.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palimpsest.recordings.message_formats.chat_messages import full_model_name, text_of, usage_of
from palimpsest.recordings.message_formats.chat_stream import ChatStream
from palimpsest.recordings.message_formats.request_comparison import message_key
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NOTHING, JsonValue
from palimpsest.recordings.reading.recorded import GapRead, Recorded, SessionBegin
from palimpsest.recordings.reading.sources import json_lines
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name

NO_USAGE = "No tokens are recorded of most or all requests."
CUT = "The requests were not recorded as such; one is cut at each answer."
SYSTEM_ROLES = frozenset({"system", "developer"})


class OpenAIChatImporter:
    """Reads a file with one conversation or request a line."""

    name = "openai-chat"
    title = "OpenAI chat JSONL"
    tried_on = "hand-made files"

    def recognises(self, head: Head) -> bool:
        """Return whether the first line is an object with a list of messages that have roles."""
        line = head.start.lstrip().split(b"\n", 1)[0]
        if not line.startswith(b"{"):
            return False
        value = JsonValue(line).decoded()
        if value.raw is line:
            start = line[:400].replace(b" ", b"")
            return b'"messages":[{' in start and b'"role":' in start
        messages = value.objects("messages")
        return bool(messages) and all(isinstance(message.get("role"), str) for message in messages)

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each conversation as a session."""
        session: _Conversation | None = None
        number = 0
        for place, line in json_lines(path, report):
            messages = [
                entry for entry in line.objects("messages") if isinstance(entry.get("role"), str)
            ]
            if not messages:
                report(f"line {place}", "It has no messages and was left out.")
                continue
            keys = [message_key(message) for message in messages]
            if session is None or not session.continues(keys):
                number += 1
                session = _Conversation()
                yield self._begin(line, messages, f"{recorded_name(path.stem)}-{number}")
                yield GapRead(CUT)
            yield from session.read(line, messages, keys)
        if session is None:
            raise UserError(f"{str(path)!r} holds no line with messages.")

    def _begin(self, line: JsonValue, messages: list[JsonValue], name: str) -> SessionBegin:
        metadata = line.at("metadata")
        system = [
            text_of(entry.get("content")) for entry in messages if entry.get("role") in SYSTEM_ROLES
        ]
        return SessionBegin(
            id=name,
            format=self.name,
            title=metadata.text("title"),
            created=line.moment("created"),
            model=full_model_name(line.get("model") or metadata.get("model")),
            system="\n\n".join(system) if system else None,
            tools=JsonValue(line.get("tools") or line.get("functions")).tool_specs(),
        )


class _Conversation:
    """Reads the lines of one session, each message once."""

    def __init__(self) -> None:
        self._stream = ChatStream(self._facts)
        self._keys: list[bytes] = []
        self._line = NOTHING
        self._is_last_answer = False

    def continues(self, keys: list[bytes]) -> bool:
        """Return whether a line begins with all messages that were read."""
        return len(keys) > len(self._keys) and keys[: len(self._keys)] == self._keys

    def read(
        self, line: JsonValue, messages: list[JsonValue], keys: list[bytes]
    ) -> Iterator[Recorded]:
        """Yield the messages that a line adds."""
        new = messages[len(self._keys) :]
        self._keys, self._line = keys, line
        answers = [index for index, reply in enumerate(new) if reply.get("role") == "assistant"]
        for index, message in enumerate(new):
            if message.get("role") in SYSTEM_ROLES:
                continue
            self._is_last_answer = bool(answers) and index == answers[-1]
            gaps, entry = self._stream.read(message)
            yield from (*gaps, entry)
        if answers and usage_of(line.get("usage")) is None:
            yield from self._stream.report_once(NO_USAGE)

    def _facts(self, message: JsonValue) -> dict[str, Any]:
        """Return a line's facts about its last answer."""
        line = self._line if self._is_last_answer else NOTHING
        usage, tier = (message.get(name) or line.get(name) for name in ("usage", "service_tier"))
        return {
            "model": full_model_name(line.get("model")),
            "usage": usage_of(usage, tier),
            "finish": JsonValue(message.get("finish_reason") or line.get("finish_reason")).finish(),
        }
