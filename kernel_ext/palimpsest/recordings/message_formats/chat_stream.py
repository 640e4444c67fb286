"""Turn the messages of a chat, in order, into recorded values: user messages, answers, results.

An agent without tool calls writes commands as text and receives the output as a user message. With ``text_commands``
such an output becomes the result of a call whose input is empty, since the command is already in the answer's text.
"""

from collections.abc import Callable
from typing import Any

from palimpsest.recordings.message_formats.chat_messages import (
    CallIds,
    calls_of,
    content_parts,
    thinking_parts,
)
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import (
    Call,
    GapRead,
    MessageRead,
    ResultRead,
    Text,
    UniqueGaps,
    media_of,
    text_of_parts,
)

TEXT_CALLS_SENTENCE = (
    "The agent wrote its commands as text; each is marked as a call without input of its own."
)
PROGRAM_ANSWERS_SENTENCE = (
    "Answers that no recorded request asked for, such as those of a demonstration, are shown as "
    "messages of the program."
)
FactsOf = Callable[[JsonValue], dict[str, Any]]
"""Returns further fields of a message or result, such as its usage and times."""


def result_ids(message: JsonValue) -> tuple[str, ...]:
    """Return the recorded ids of the calls of which a message is the result."""
    call_ids = message.get("tool_call_ids")
    recorded_ids = call_ids if isinstance(call_ids, list) else [message.get("tool_call_id")]
    return tuple(r for r in recorded_ids if isinstance(r, str) and r)


class ChatStream:
    """Reads the messages of a chat in order."""

    def __init__(
        self,
        facts: FactsOf = lambda _: {},
        result_facts: FactsOf = lambda _: {},
        *,
        text_commands: bool = False,
    ) -> None:
        self._facts = facts
        self._result_facts = result_facts
        self._has_text_commands = text_commands
        self._call_ids = CallIds()
        self._message_count = 0
        self._has_user_message = False
        self._awaits_output = False
        self.gaps = UniqueGaps()
        """The gaps of the chat that were reported."""

    def read_message(
        self, message: JsonValue, next_message: JsonValue = NO_VALUE, *, is_answer: bool = True
    ) -> tuple[list[GapRead], MessageRead | ResultRead]:
        """Return a message's value, and the gaps that are reported for the first time.

        ``next_message`` shows whether an answer's command had an output. An assistant message
        that answers no request is read as a message of the program.
        """
        match message.get("role"):
            case "assistant" | "model" if is_answer:
                return self._read_answer(message, next_message)
            case "assistant" | "model":
                return [*self.gaps.once(PROGRAM_ANSWERS_SENTENCE)], self._read_user_message(
                    message, by_program=True
                )
            case "tool" | "function":
                return [], self._read_result(message)
            case "user" if self._awaits_output and self._is_output(message):
                return [], self._read_result(message)
            case role:
                is_by_program = (
                    self._has_user_message or role != "user" or bool(message.get("is_demo"))
                )
                return [], self._read_user_message(
                    message, by_program=is_by_program and self._has_text_commands
                )

    def _new_id(self) -> str:
        self._message_count += 1
        return f"m{self._message_count}"

    def _is_output(self, message: JsonValue) -> bool:
        may_be_output = (
            "message_type" not in message or message.get("message_type") == "observation"
        )
        return self._has_text_commands and may_be_output and message.get("role") == "user"

    def _read_answer(
        self, message: JsonValue, next_message: JsonValue
    ) -> tuple[list[GapRead], MessageRead]:
        message_id = self._new_id()
        gaps: list[GapRead] = []
        calls = calls_of(message, self._call_ids)
        self._awaits_output = False
        if not calls and self._is_output(next_message):
            gaps += self.gaps.once(TEXT_CALLS_SENTENCE)
            calls = (Call(self._call_ids.new_id(f"{message_id}.command"), "command", {}),)
            self._awaits_output = True
        parts = (*thinking_parts(message), *content_parts(message.get("content")), *calls)
        facts = self._facts(message)
        facts["finish"] = facts.get("finish") or ("tool-calls" if calls else "stop")
        return gaps, MessageRead(message_id, "assistant", parts, **facts)

    def _read_result(self, message: JsonValue) -> ResultRead | MessageRead:
        self._awaits_output = False
        call_id = self._call_ids.take_call_of_result(next(iter(result_ids(message)), ""))
        if call_id is None:
            return self._read_user_message(message, by_program=True)
        parts = content_parts(message.get("content"))
        facts = self._result_facts(message)
        return ResultRead(call_id, text_of_parts(parts, ""), media=media_of(parts), **facts)

    def _read_user_message(self, message: JsonValue, *, by_program: bool) -> MessageRead:
        self._awaits_output = False
        self._has_user_message = self._has_user_message or not by_program
        parts = content_parts(message.get("content")) or (Text(message.text("content")),)
        facts = {key: fact for key, fact in self._facts(message).items() if key == "created"}
        return MessageRead(self._new_id(), "user", parts, by_program=by_program, **facts)
