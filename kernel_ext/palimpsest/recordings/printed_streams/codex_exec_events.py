"""Read the output of ``codex exec --json`` before 0.44: the settings, the prompt, and ``{id, msg}`` events.

The tokens of each request follow the results of its calls: in the newest of these versions beside a total, in the
oldest alone. No times and no id of the session are printed.
"""

from collections.abc import Iterator
from pathlib import Path

from palimpsest.recordings.format_parts.codex_items import FORMAT, ReportedUsage, usage_of
from palimpsest.recordings.message_formats.content_blocks import texts_and_media
from palimpsest.recordings.printed_streams.printed_answers import PrintedAnswers
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import (
    Call,
    GapRead,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    media_of,
    text_of_parts,
)
from palimpsest.recordings.reading.sources import discard_report, json_lines
from palimpsest.transcript.values import Usage

SETTING_KEYS = frozenset({"workdir", "model", "provider"})
WINDOW_LINES = 20
"""Lines at a session's beginning that are searched for its context window."""
NOT_PRINTED = "The system prompt and the tools are not in the recording."


def is_old_event(record: JsonValue) -> bool:
    """Return whether a record is an event of these versions, or their settings."""
    return record.fields().keys() >= SETTING_KEYS or ("id" in record and bool(_event_kind(record)))


def _event_kind(record: JsonValue) -> str:
    return record.text("msg", "type")


class OldEvents:
    """Reads the events of sessions that were printed one after the other."""

    def __init__(self, name: str, path: Path) -> None:
        """``name`` is the id of the first session, since none is printed."""
        self._name = name
        self._path = path
        self._sessions = 0
        self._answers = PrintedAnswers(ends_with_tokens=True)
        self._reports = ReportedUsage()
        self._calls = 0

    def read_event(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        """Yield the values of the next event."""
        is_settings = record.fields().keys() >= SETTING_KEYS
        if is_settings or not self._sessions:
            yield from self._begin_session(record if is_settings else NO_VALUE, number)
        if words := record.text("prompt"):
            yield from self._answers.complete_answer()
            answers = self._answers
            yield MessageRead(answers.new_id(), "user", (Text(words),), model=answers.model)
        if _event_kind(record):
            yield from self._event(record.at("msg"), _event_kind(record))

    def finish(self) -> Iterator[Recorded]:
        """Yield the answer that nothing follows."""
        yield from self._answers.complete_answer()

    def _begin_session(self, settings: JsonValue, number: int) -> Iterator[Recorded]:
        yield from self._answers.complete_answer()
        self._sessions += 1
        self._answers = PrintedAnswers(ends_with_tokens=True)
        self._reports = ReportedUsage()
        provider, model = settings.text("provider") or "openai", settings.text("model")
        self._answers.model = f"{provider}/{model}" if model else ""
        self._answers.effort = settings.text("reasoning effort") or None
        yield SessionBegin(
            self._name if self._sessions == 1 else f"{self._name}-{self._sessions}",
            FORMAT,
            directory=settings.text("workdir"),
            model=self._answers.model,
            window=self._window(number),
            permissions=settings.text("approval"),
        )
        yield GapRead(NOT_PRINTED)

    def _window(self, first_request: int) -> int | None:
        """Return the context window that is printed within ``WINDOW_LINES`` of a line."""
        for number, record in json_lines(self._path, discard_report):
            window = record.count("msg", "model_context_window")
            if number >= first_request + WINDOW_LINES or (number >= first_request and window):
                return window or None
        return None

    def _event(self, event: JsonValue, kind: str) -> Iterator[Recorded]:
        answers = self._answers
        match kind:
            case "agent_message":
                yield from answers.add(Text(event.text("message")))
            case "agent_reasoning" | "agent_reasoning_raw_content":
                yield from answers.add(Thinking(event.text("text")))
            case "token_count":
                if usage := self._usage(event):
                    yield from answers.complete_answer(usage)
            case "task_complete":
                yield from answers.complete_answer()
            case "turn_aborted":
                yield from answers.complete_answer(finish="aborted")
            case "error":
                reason = event.text("message") or "The turn failed."
                yield from answers.complete_answer(finish="error", error=reason)
            case _:
                yield from self._tool_event(event, kind)

    def _usage(self, event: JsonValue) -> Usage | None:
        if "input_tokens" in event:
            return usage_of(event, NO_VALUE, NO_VALUE)
        return self._reports.usage_of_event(event)

    def _tool_event(self, event: JsonValue, kind: str) -> Iterator[Recorded]:
        """Yield the values that follow from the beginning or end of a call; other events are for the screen only."""
        call = _call_of(event, kind)
        if call and call.id:
            yield from self._answers.add(call)
        elif call:  # a plan, or a picture that was looked at: only the call is printed
            self._calls += 1
            name = f"call.{self._calls}"
            yield from self._answers.add(Call(name, call.tool, call.input))
            yield from self._answers.add_result(ResultRead(name, ""), is_recorded=False)
        if result := _result_of(event, kind):
            yield from self._answers.add_result(result)


def _call_of(event: JsonValue, kind: str) -> Call | None:
    """Return the call that begins with an event; its id is empty where no end of it is printed."""
    name = event.id("call_id")
    match kind:
        case "exec_command_begin":
            return Call(name, "shell", {"command": event.list_at("command")})
        case "patch_apply_begin":
            return Call(name, "apply_patch", {"changes": event.fields("changes")})
        case "mcp_tool_call_begin":
            invocation = event.at("invocation")
            tool = f"{invocation.text('server')}__{invocation.text('tool')}"
            return Call(name, tool, invocation.tool_input("arguments", name="arguments"))
        case "web_search_end":
            return Call(name, "web_search", {"query": event.text("query")}, at_provider=True)
        case "plan_update":
            return Call("", "update_plan", {"plan": event.list_at("plan")})
        case "view_image_tool_call":
            return Call("", "view_image", {"path": event.text("path")})
        case _:
            return None


def _result_of(event: JsonValue, kind: str) -> ResultRead | None:
    """Return the result of the call that ends with an event."""
    name = event.id("call_id")
    streams = f"{event.text('stdout')}{event.text('stderr')}"
    match kind:
        case "exec_command_end":
            output = event.either("formatted_output", "aggregated_output").text() or streams
            exit_code = event.get("exit_code")
            has_code = isinstance(exit_code, int)
            facts = {"exit_code": exit_code} if has_code else {}
            return ResultRead(name, output, is_error=has_code and exit_code != 0, metadata=facts)
        case "patch_apply_end":
            return ResultRead(name, streams, is_error=event.get("success") is False)
        case "mcp_tool_call_end":
            content = texts_and_media(event.get("result", "Ok", "content"))
            failure = event.at("result", "Err")
            is_error = failure.raw is not None or event.get("result", "Ok", "isError") is True
            output = text_of_parts(content) or failure.as_text()
            return ResultRead(name, output, is_error=is_error, media=media_of(content))
        case "web_search_end":
            return ResultRead(name, "")
        case _:
            return None
