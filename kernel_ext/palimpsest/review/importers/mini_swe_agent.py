"""Read mini-swe-agent's ``.traj.json`` files: one list of messages, which is never shortened.

An answer that could not be parsed was paid for but is not in the list; the message about the mistake
holds its response, so that it becomes an answer that is taken back at once.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from palimpsest.review.importers.chat_messages import full_model_name, text_of, usage_of
from palimpsest.review.importers.chat_stream import ChatStream
from palimpsest.review.importers.swe_agent import totals_of
from palimpsest.review.importing.importer import Head, Report
from palimpsest.review.importing.json_fields import (
    cost_field,
    finish_of,
    inner,
    mapping,
    mappings,
    moment,
    text,
    whole_number,
)
from palimpsest.review.importing.recorded import (
    GapRead,
    Json,
    MessageRead,
    Recorded,
    RemovedRead,
    SessionBegin,
)
from palimpsest.review.importing.sources import json_field, json_objects
from palimpsest.transcript.errors import UserError

NO_TOOLS = "The tools that were offered are not in the recording."
OTHER_COUNT = "The recording counts {told} requests, but has the answers of {found}."


class MiniSweAgentImporter:
    """Reads a ``.traj.json`` file: one run of an agent."""

    name = "mini-swe-agent"
    title = "mini-swe-agent"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins as the agent writes it."""
        start = head.start.lstrip()
        if not start.startswith(b"{") or b'"info"' not in start[:200]:
            return False
        named = head.path.name.endswith(".traj.json")
        return b'"mini_version"' in start or (named and b'"model_stats"' in start)

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a run; the file's messages are read one at a time."""
        info = mapping(json_field(path, "info", report))
        config = mapping(info.get("config"))
        model = full_model_name(inner(config, "model", "model_name"))
        messages = _messages(path, report)
        first = next(messages, None)
        if first is None:
            raise UserError(f"{str(path)!r} holds no message of mini-swe-agent.")
        has_system = first.get("role") == "system"
        yield SessionBegin(
            id=path.name.split(".")[0],
            format=self.name,
            format_version=text(info.get("mini_version")),
            directory=text(inner(config, "environment", "cwd")),
            created=_written(first),
            model=model,
            system=text_of(first.get("content")) if has_system else None,
        )
        yield GapRead(NO_TOOLS)
        yield from totals_of(mapping(info.get("model_stats")))
        stream = ChatStream(_answer_facts, _result_facts, text_commands=True)
        pending = None if has_system else first
        found = 0
        for message in messages:
            if pending is not None:
                found += yield from _one(stream, pending, message)
            pending = message
        if pending is not None:
            found += yield from _one(stream, pending, None)
        told = whole_number(inner(info, "model_stats", "api_calls"))
        if told is not None and told != found:
            yield GapRead(OTHER_COUNT.format(told=told, found=found))


def _one(
    stream: ChatStream, message: Json, following: Json | None
) -> Generator[Recorded, None, int]:
    """Yield what is recorded by one message; returns how many answers that are."""
    failed = _failed_answer(message)
    if failed is not None:
        placed, said = stream.read(failed)
        yield from said
        yield RemovedRead((placed.id,))
    placed, said = stream.read(message, following)
    yield from said
    answers = [one for one in said if isinstance(one, MessageRead) and one.role == "assistant"]
    return len(answers) + (failed is not None)


def _messages(path: Path, report: Report) -> Iterator[Json]:
    """Yield the messages in the form of a chat; the note on how the run ended is none."""
    for _, message in json_objects(path, "messages.item", report, "message"):
        if message.get("role") != "exit":
            yield _as_chat(message)


def _as_chat(message: Json) -> Json:
    """Return a message of either interface as one of a chat."""
    extra = mapping(message.get("extra"))
    kind = "error" if extra.get("interrupt_type") else "observation"
    if message.get("type") == "function_call_output":
        content, call = message.get("output"), message.get("call_id")
        made = {"role": "tool", "content": content, "tool_call_id": call}
    elif message.get("object") == "response":
        made = _of_response(message)
    else:
        made = message
    return {**made, "extra": extra, "message_type": kind}


def _of_response(response: Json) -> Json:
    """Return an answer of the Responses interface as one of a chat."""
    items = mappings(response.get("output"))
    spoken = [one for one in items if one.get("type") == "message"]
    thought = [
        text(said.get("text"))
        for one in items
        if one.get("type") == "reasoning"
        for said in mappings(one.get("summary"))
    ]
    called = [
        {"id": one.get("call_id") or one.get("id"), "function": one}
        for one in items
        if one.get("type") == "function_call"
    ]
    return {
        "role": "assistant",
        "content": [part for one in spoken for part in mappings(one.get("content"))],
        "tool_calls": called,
        "reasoning_content": "\n".join(thought),
        "usage": response.get("usage"),
        "model": response.get("model"),
    }


def _failed_answer(message: Json) -> Json | None:
    """Return the answer that a message about a mistake is on; None for other messages."""
    extra = mapping(message.get("extra"))
    response = mapping(extra.get("response"))
    if not extra.get("interrupt_type") or not response:
        return None
    if response.get("object") == "response":
        made = _of_response(response)
    else:
        choice = next(iter(mappings(response.get("choices"))), {})
        made = mapping(choice.get("message"))
    return {**made, "role": "assistant", "extra": extra}


def _written(message: Json) -> int | None:
    return moment(inner(message, "extra", "timestamp"))


def _answer_facts(message: Json) -> dict[str, Any]:
    """Return what the response says about its request; the time is when the answer was there."""
    extra = mapping(message.get("extra"))
    response = mapping(extra.get("response"))
    choice = next(iter(mappings(response.get("choices"))), {})
    created = _written(message)
    cost = cost_field(extra, "cost")
    facts: dict[str, Any] = {
        "created": created,
        "completed": created,
        "usage": usage_of(
            response.get("usage") or message.get("usage"), response.get("service_tier")
        ),
        "cost": cost or None,
    }
    finish = finish_of(choice.get("finish_reason"))
    return facts | ({"finish": finish} if finish else {})


def _result_facts(message: Json) -> dict[str, Any]:
    """Return when a command ended and its exit code."""
    extra = mapping(message.get("extra"))
    code = extra.get("returncode")
    return {
        "ended": _written(message),
        "is_error": bool(extra.get("exception_info")),
        "metadata": {"exit": code} if isinstance(code, int) else {},
    }
