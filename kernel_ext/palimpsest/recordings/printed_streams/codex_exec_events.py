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
MAX_WINDOW_LINES = 20
"""Maximum lines at a session's beginning that are searched for its context window."""
NOT_PRINTED_SENTENCE = "The system prompt and the tools are not in the recording."


def is_old_event(record: JsonValue) -> bool:
    """Return whether a record is an event of these versions, or their settings."""
    return record.fields().keys() >= SETTING_KEYS or ("id" in record and bool(_event_type(record)))


def _event_type(record: JsonValue) -> str:
    return record.text("msg", "type")


class OldEvents:
    """Reads the events of sessions that were printed one after the other."""

    def __init__(self, first_id: str, path: Path) -> None:
        """``first_id`` is the id of the first session, since none is printed."""
        self._first_id = first_id
        self._path = path
        self._session_count = 0
        self._answers = PrintedAnswers(ends_with_tokens=True)
        self._reports = ReportedUsage()
        self._plain_call_count = 0

    def read_event(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        """Yield the values of the next event."""
        is_settings = record.fields().keys() >= SETTING_KEYS
        if is_settings or not self._session_count:
            yield from self._begin_session(record if is_settings else NO_VALUE, number)
        if prompt := record.text("prompt"):
            yield from self._answers.complete_answer()
            answers = self._answers
            yield MessageRead(answers.new_id(), "user", (Text(prompt),), model=answers.model)
        if _event_type(record):
            yield from self._read_event(record.at("msg"), _event_type(record))

    def finish(self) -> Iterator[Recorded]:
        """Yield the answer that nothing follows."""
        yield from self._answers.complete_answer()

    def _begin_session(self, settings: JsonValue, number: int) -> Iterator[Recorded]:
        yield from self._answers.complete_answer()
        self._session_count += 1
        self._answers = PrintedAnswers(ends_with_tokens=True)
        self._reports = ReportedUsage()
        provider, model = settings.text("provider") or "openai", settings.text("model")
        self._answers.model = f"{provider}/{model}" if model else ""
        self._answers.effort = settings.text("reasoning effort") or None
        yield SessionBegin(
            self._first_id
            if self._session_count == 1
            else f"{self._first_id}-{self._session_count}",
            FORMAT,
            directory=settings.text("workdir"),
            model=self._answers.model,
            window=self._window(number),
            permissions=settings.text("approval"),
        )
        yield GapRead(NOT_PRINTED_SENTENCE)

    def _window(self, first_line: int) -> int | None:
        """Return the context window that is printed at most ``MAX_WINDOW_LINES`` after a line; None where none is."""
        for line_number, record in json_lines(self._path, discard_report):
            window = record.count("msg", "model_context_window")
            if line_number >= first_line + MAX_WINDOW_LINES or (
                line_number >= first_line and window
            ):
                return window or None
        return None

    def _read_event(self, event: JsonValue, event_type: str) -> Iterator[Recorded]:
        answers = self._answers
        match event_type:
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
                yield from self._tool_values(event, event_type)

    def _usage(self, event: JsonValue) -> Usage | None:
        if "input_tokens" in event:
            return usage_of(event, NO_VALUE, NO_VALUE)
        return self._reports.usage_of_event(event)

    def _tool_values(self, event: JsonValue, event_type: str) -> Iterator[Recorded]:
        """Yield the values that follow from the beginning or end of a call; other events are for the screen only."""
        call = _call_of(event, event_type)
        if call and call.id:
            yield from self._answers.add(call)
        elif call:  # a plan, or a picture that was looked at: only the call is printed
            self._plain_call_count += 1
            call_id = f"call.{self._plain_call_count}"
            yield from self._answers.add(Call(call_id, call.tool, call.input))
            yield from self._answers.add_result(ResultRead(call_id, ""), is_recorded=False)
        if result := _result_of(event, event_type):
            yield from self._answers.add_result(result)


def _call_of(event: JsonValue, event_type: str) -> Call | None:
    """Return the call that begins with an event; its id is empty where no end of it is printed."""
    call_id = event.id("call_id")
    match event_type:
        case "exec_command_begin":
            return Call(call_id, "shell", {"command": event.list_at("command")})
        case "patch_apply_begin":
            return Call(call_id, "apply_patch", {"changes": event.fields("changes")})
        case "mcp_tool_call_begin":
            invocation = event.at("invocation")
            tool = f"{invocation.text('server')}__{invocation.text('tool')}"
            return Call(call_id, tool, invocation.tool_input("arguments", name="arguments"))
        case "web_search_end":
            return Call(call_id, "web_search", {"query": event.text("query")}, at_provider=True)
        case "plan_update":
            return Call("", "update_plan", {"plan": event.list_at("plan")})
        case "view_image_tool_call":
            return Call("", "view_image", {"path": event.text("path")})
        case _:
            return None


def _result_of(event: JsonValue, event_type: str) -> ResultRead | None:
    """Return the result of the call that ends with an event; None where none ends."""
    call_id = event.id("call_id")
    printed_text = f"{event.text('stdout')}{event.text('stderr')}"
    match event_type:
        case "exec_command_end":
            output = event.either("formatted_output", "aggregated_output").text() or printed_text
            exit_code = event.get("exit_code")
            has_code = isinstance(exit_code, int)
            facts = {"exit_code": exit_code} if has_code else {}
            return ResultRead(call_id, output, is_error=has_code and exit_code != 0, metadata=facts)
        case "patch_apply_end":
            return ResultRead(call_id, printed_text, is_error=event.get("success") is False)
        case "mcp_tool_call_end":
            content = texts_and_media(event.get("result", "Ok", "content"))
            failure = event.at("result", "Err")
            is_error = failure.raw is not None or event.get("result", "Ok", "isError") is True
            output = text_of_parts(content) or failure.as_text()
            return ResultRead(call_id, output, is_error=is_error, media=media_of(content))
        case "web_search_end":
            return ResultRead(call_id, "")
        case _:
            return None
