"""Validate what hooks return: each kind of hook allows a few forms, and anything else is rejected.

Border: pure. An answer is copied, so that a hook cannot change it later.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.session_record.hook_values import (
    Compacting,
    HookDecision,
    Refuse,
    SystemPrompt,
)

MAX_TEXT_CHARS = 100_000
"""Maximum characters of one text answer; more would fill a context window by itself."""
ACTIONS: frozenset[str] = frozenset(get_args(HookDecision.__annotations__["action"]))
LIMIT_FIELDS = frozenset({"max_lines", "max_bytes"})
ROLES = frozenset({"system", "user", "assistant", "tool"})


class InvalidHookResult(Exception):
    """An answer cannot be used; the message says why."""


def validate_texts(answer: Any, max_chars: int = MAX_TEXT_CHARS) -> tuple[str, ...]:
    """Return an answer of one text or several as a tuple, without blank ones; raises InvalidHookResult."""
    texts = [answer] if isinstance(answer, str) else answer
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise InvalidHookResult(f"text was expected, not {_type_name(answer)}")
    if sum(map(len, texts)) > max_chars:
        raise InvalidHookResult(f"it is longer than {max_chars:,} characters")
    return tuple(text for text in texts if text.strip())


def validate_system(answer: Any, earlier_texts: Sequence[str]) -> tuple[str, ...] | SystemPrompt:
    """Validate texts to add to a system prompt, or a ``SystemPrompt`` that replaces ``earlier_texts`` and may be longer."""
    if not isinstance(answer, SystemPrompt):
        return validate_texts(answer)
    texts = validate_texts(answer.texts, MAX_TEXT_CHARS + sum(map(len, earlier_texts)))
    if not texts:
        raise InvalidHookResult("a SystemPrompt without words")
    return SystemPrompt(texts)


def validate_arguments(answer: Any) -> dict[str, Any] | Refuse:
    """Validate changed arguments of a tool call, or a refusal."""
    if isinstance(answer, Refuse):
        if not isinstance(answer.reason, str):
            raise InvalidHookResult("the reason of Refuse must be text")
        return answer
    if not isinstance(answer, Mapping):
        raise InvalidHookResult(
            f"arguments (a dict) or Refuse were expected, not {_type_name(answer)}"
        )
    return _json_copy(dict(answer))  # type: ignore[no-any-return]


def validate_output(answer: Any) -> str:
    """Validate an output that replaces the tool's."""
    if not isinstance(answer, str):
        raise InvalidHookResult(f"text was expected, not {_type_name(answer)}")
    return answer


def validate_compacting(answer: Any) -> Compacting:
    """Validate texts that a summary must keep, or a ``Compacting`` that may also replace the summary prompt."""
    if isinstance(answer, Compacting):
        prompt = answer.prompt
        if prompt is not None and not isinstance(prompt, str):
            raise InvalidHookResult("the prompt of Compacting must be text")
        return Compacting(validate_texts(answer.context), prompt or None)
    return Compacting(validate_texts(answer))


def validate_decisions(answer: Any, rule: str) -> tuple[HookDecision, ...]:
    """Validate decisions: a ``Decision``, a dict with action and part_id or message_id, or a list of them."""
    decisions = answer if isinstance(answer, list | tuple) else [answer]
    return tuple(_parse_decision(decision, rule) for decision in decisions)


def _parse_decision(answer: Any, rule: str) -> HookDecision:
    if isinstance(answer, Decision):
        answer = {
            "action": answer.action,
            "part_id": answer.part_id,
            "message_id": None if answer.part_id else answer.message_id,
            **answer.numbers,
        }
    if not isinstance(answer, Mapping):
        raise InvalidHookResult(f"a Decision or a dict was expected, not {_type_name(answer)}")
    if answer.get("action") not in ACTIONS:
        action_names = ", ".join(sorted(ACTIONS))
        raise InvalidHookResult(f"there is no action {answer.get('action')!r} ({action_names})")
    part_id, message_id, text = answer.get("part_id"), answer.get("message_id"), answer.get("text")
    if not isinstance(part_id or message_id, str) or not isinstance(text, str | None):
        raise InvalidHookResult("part_id or message_id must name what it is about")
    limits = {name: answer[name] for name in LIMIT_FIELDS if name in answer}
    if not all(type(value) is int and value > 0 for value in limits.values()):
        raise InvalidHookResult("max_lines and max_bytes must be whole numbers above 0")
    if answer["action"] == "truncate" and not limits:
        raise InvalidHookResult("truncate needs max_lines or max_bytes")
    return HookDecision(
        rule, answer["action"], part_id, None if part_id else message_id, text, limits
    )


def validate_messages(answer: Any) -> tuple[dict[str, Any], ...]:
    """Validate the messages of a whole request, in OpenAI's format, where every tool call has its result."""
    if not isinstance(answer, Sequence) or isinstance(answer, str | bytes) or not answer:
        raise InvalidHookResult(f"a list of messages was expected, not {_type_name(answer)}")
    if not all(isinstance(message, Mapping) for message in answer):
        raise InvalidHookResult("each message must be a dict")
    message_copies = [_json_copy(dict(message)) for message in answer]
    for message in message_copies:
        if message.get("role") not in ROLES:
            raise InvalidHookResult(f"there is no role {message.get('role')!r}")
        content = message.get("content")
        if not isinstance(content, str | list | None):
            raise InvalidHookResult("the content of a message must be text or a list")
        if not content and not message.get("tool_calls"):
            raise InvalidHookResult("a message is empty")
        for call in message.get("tool_calls") or ():
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
                raise InvalidHookResult("a tool call has no function with arguments")
    _check_calls(message_copies)
    if all(message["role"] in ("system", "tool") for message in message_copies):
        raise InvalidHookResult("there is no message of a user in it")
    return tuple(message_copies)


def _check_calls(messages: Sequence[dict[str, Any]]) -> None:
    """Check that every call has its result right after it, and every result its call; else raise InvalidHookResult."""
    unanswered_ids: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in unanswered_ids:
                raise InvalidHookResult("a result has no call before it")
            unanswered_ids.discard(message["tool_call_id"])
            continue
        if unanswered_ids:
            raise InvalidHookResult("a tool call has no result")
        unanswered_ids = {str(call.get("id")) for call in message.get("tool_calls") or ()}
    if unanswered_ids:
        raise InvalidHookResult("a tool call has no result")


def _json_copy(value: Any) -> Any:
    """Return a copy by way of JSON; raises InvalidHookResult for what JSON cannot hold."""
    try:
        return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InvalidHookResult("it holds what cannot be written as JSON") from None


def _type_name(value: Any) -> str:
    return type(value).__name__
