"""Read mini-swe-agent's ``.traj.json`` files: one list of messages, which is never shortened.

An answer that could not be parsed was paid for but is not in the list. The message about the mistake contains the
response, which is read as an answer that is removed at once. Older versions keep such an answer in the
list; their files have fewer other fields, and those of the first versions are only the list.
"""

import re
from collections.abc import Generator, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from palimpsest.recordings.formats.swe_agent import totals_of
from palimpsest.recordings.message_formats.chat_messages import full_model_name, text_of, usage_of
from palimpsest.recordings.message_formats.chat_stream import ChatStream
from palimpsest.recordings.reading.document_beginning import (
    document_text,
    is_one_document,
    list_beginning,
    object_beginning,
)
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import (
    NO_TOOLS_SENTENCE,
    GapRead,
    Json,
    MessageRead,
    Recorded,
    RemovedRead,
    SessionBegin,
)
from palimpsest.recordings.reading.sources import head_of, json_field, json_objects
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name

DOCUMENT_START = re.compile(rb'\{\s*"info"\s*:\s*\{\s*"(?:exit_status|model_stats)"')
"""The beginning of a document, in all versions that write more than the messages."""
TASK_END_TEXT = re.compile(r"SUBMIT_FINAL_OUTPUT|SWE_AGENT_FINAL_OUTPUT")
"""The text that ends a task in all versions; the prompt contains it."""
CHAT_ROLES = frozenset({"system", "user", "assistant"})
ACTION_BLOCK = re.compile(r"```bash\n.*?\n```", re.DOTALL)
"""The command in an answer of the versions without calls."""
MAX_FIRST_FIELD_BYTES = 200
"""Maximum bytes at a file's beginning in which the document's first field is searched."""
MESSAGE_PREFIXES = {"messages": "messages.item", "history": "history.item"}
COUNTS_SENTENCE = "The recording counts {reported} requests, but has the answers of {recorded}."


class MiniSweAgentImporter:
    """Reads a ``.traj.json`` file: one run of an agent."""

    name = "mini-swe-agent"
    title = "mini-swe-agent"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins with the fields that the agent writes first, or is a list of its messages."""
        start = head.start.lstrip()
        if DOCUMENT_START.match(start) or (
            b'"info"' in start[:MAX_FIRST_FIELD_BYTES] and b'"mini_version"' in start
        ):
            return start.startswith(b"{")
        text = document_text(start)
        return is_one_document(text) and _are_first_of_a_run(_first_messages(text))

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a run; the file's messages are read one at a time."""
        info = json_field(path, "info", report)
        config = info.at("config")
        messages = _messages(path, report)
        if not config:
            messages = _with_mistakes_marked(messages)
        first_message = next(messages, None)
        if first_message is None:
            raise UserError(f"{str(path)!r} holds no message of mini-swe-agent.")
        has_system = first_message.get("role") == "system"
        name = path.absolute().parent.name if path.name == "traj.json" else path.name.split(".")[0]
        yield SessionBegin(
            id=recorded_name(name),
            format=self.name,
            format_version=info.text("mini_version"),
            directory=config.text("environment", "cwd"),
            created=_created_ms(first_message),
            model=full_model_name(config.get("model", "model_name")),
            system=text_of(first_message.get("content")) if has_system else None,
        )
        yield GapRead(NO_TOOLS_SENTENCE)
        yield from totals_of(info.at("model_stats"))
        stream = ChatStream(_answer_facts, _result_facts, text_commands=True)
        chat_messages = chain(() if has_system else (first_message,), messages, (NO_VALUE,))
        answer_count = 0
        for message, next_message in pairwise(chat_messages):
            answer_count += yield from _message_values(stream, message, next_message)
        reported_calls = info.integer("model_stats", "api_calls")
        if reported_calls is not None and reported_calls != answer_count:
            yield GapRead(COUNTS_SENTENCE.format(reported=reported_calls, recorded=answer_count))


def _message_values(
    stream: ChatStream, message: JsonValue, next_message: JsonValue
) -> Generator[Recorded, None, int]:
    """Yield the values of one message, and return how many answers it contains."""
    answer_count = 0
    if failed_answer := _failed_answer(message):
        gaps, value = stream.read_message(failed_answer)
        yield from (*gaps, value)
        if isinstance(value, MessageRead):
            yield RemovedRead((value.id,))
        answer_count += 1
    gaps, value = stream.read_message(message, next_message)
    yield from (*gaps, value)
    return answer_count + (isinstance(value, MessageRead) and value.role == "assistant")


def _first_messages(text: str) -> list[JsonValue]:
    """Return the first messages of a list, or of a document that begins with one."""
    if text.startswith("["):
        return list_beginning(text)
    beginning = object_beginning(text)
    first_field = next(iter(beginning.fields), beginning.cut_name)
    return beginning.objects_at(first_field) if first_field in MESSAGE_PREFIXES else []


def _are_first_of_a_run(messages: list[JsonValue]) -> bool:
    """Return whether messages are the first of a run: one of the first two contains the text that ends a task."""
    return all(message.text("role") in CHAT_ROLES for message in messages) and any(
        TASK_END_TEXT.search(text_of(message.get("content"))) for message in messages[:2]
    )


def _with_mistakes_marked(messages: Iterator[JsonValue]) -> Iterator[JsonValue]:
    """Yield the messages of an old version; those about an answer without exactly one command are marked as errors."""
    has_command = True
    for message in messages:
        if message.get("role") == "assistant":
            has_command = len(ACTION_BLOCK.findall(text_of(message.get("content")))) == 1
        elif message.get("role") == "user" and not has_command:
            yield JsonValue({**message.raw, "message_type": "error"})
            continue
        yield message


def _messages(path: Path, report: Report) -> Iterator[JsonValue]:
    """Yield the messages in the form of a chat, without the note on how the run ended."""
    text = document_text(head_of(path).start)
    beginning = object_beginning(text)
    first_field = next(iter(beginning.fields), beginning.cut_name)
    prefix = (
        "item"
        if text.startswith("[")
        else MESSAGE_PREFIXES.get(first_field, MESSAGE_PREFIXES["messages"])
    )
    for _, message in json_objects(path, prefix, report, "message"):
        if message.get("role") != "exit":
            yield _as_chat(message)


def _as_chat(message: JsonValue) -> JsonValue:
    """Return a message of the chat or the Responses interface as a chat message."""
    extra = message.at("extra")
    message_type = "error" if extra.get("interrupt_type") else "observation"
    if message.get("type") == "function_call_output":
        content, call_id = message.get("output"), message.get("call_id")
        chat_message: Json = {"role": "tool", "content": content, "tool_call_id": call_id}
    elif message.get("object") == "response":
        chat_message = _response_as_chat(message)
    else:
        chat_message = message.raw
    return JsonValue({**chat_message, "extra": extra.raw, "message_type": message_type})


def _response_as_chat(response: JsonValue) -> Json:
    """Return an answer of the Responses interface as a chat message."""
    items = response.objects("output")
    output_messages = [item for item in items if item.get("type") == "message"]
    summaries = [
        summary_block.text("text")
        for item in items
        if item.get("type") == "reasoning"
        for summary_block in item.objects("summary")
    ]
    calls = [
        {"id": item.get("call_id") or item.get("id"), "function": item.raw}
        for item in items
        if item.get("type") == "function_call"
    ]
    return {
        "role": "assistant",
        "content": [part.raw for item in output_messages for part in item.objects("content")],
        "tool_calls": calls,
        "reasoning_content": "\n".join(summaries),
        "usage": response.get("usage"),
        "model": response.get("model"),
    }


def _failed_answer(message: JsonValue) -> JsonValue:
    """Return the answer that a message about a mistake refers to; NO_VALUE for other messages."""
    extra = message.at("extra")
    response = extra.at("response")
    if not extra.get("interrupt_type") or not response:
        return NO_VALUE
    if response.get("object") == "response":
        chat_message = _response_as_chat(response)
    else:
        chat_message = response.first_entry("choices").fields("message")
    return JsonValue({**chat_message, "role": "assistant", "extra": extra.raw})


def _created_ms(message: JsonValue) -> int | None:
    return message.time_ms("extra", "timestamp")


def _answer_facts(message: JsonValue) -> dict[str, Any]:
    """Return the response's facts about its request; the recorded time is that of the answer's arrival."""
    extra = message.at("extra")
    response = extra.at("response")
    created_ms = _created_ms(message)
    return {
        "created": created_ms,
        "completed": created_ms,
        "usage": usage_of(
            response.get("usage") or message.get("usage"), response.get("service_tier")
        ),
        "cost": extra.cost("cost"),
        "finish": response.first_entry("choices").finish("finish_reason"),
    }


def _result_facts(message: JsonValue) -> dict[str, Any]:
    """Return when a command ended and its exit code."""
    extra = message.at("extra")
    exit_code = extra.get("returncode")
    return {
        "ended": _created_ms(message),
        "is_error": bool(extra.get("exception_info")),
        "metadata": {"exit": exit_code} if isinstance(exit_code, int) else {},
    }
