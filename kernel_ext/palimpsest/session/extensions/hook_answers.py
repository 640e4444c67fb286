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

MOST_TEXT = 100_000
"""Maximum characters of one text answer; more would fill a context window by itself."""
ACTIONS: frozenset[str] = frozenset(get_args(HookDecision.__annotations__["action"]))
LIMITS = frozenset({"max_lines", "max_bytes"})
ROLES = frozenset({"system", "user", "assistant", "tool"})


class InvalidHookResult(Exception):
    """An answer cannot be used; the message says why."""


def texts(answer: Any, most: int = MOST_TEXT) -> tuple[str, ...]:
    """Return an answer of one text or several as a tuple, without blank ones; raises InvalidHookResult."""
    given = [answer] if isinstance(answer, str) else answer
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise InvalidHookResult(f"text was expected, not {_kind(answer)}")
    if sum(map(len, given)) > most:
        raise InvalidHookResult(f"it is longer than {most:,} characters")
    return tuple(one for one in given if one.strip())


def system(answer: Any, given: Sequence[str]) -> tuple[str, ...] | SystemPrompt:
    """Validate texts to add to a system prompt, or a ``SystemPrompt`` that replaces ``given`` and may be longer."""
    if not isinstance(answer, SystemPrompt):
        return texts(answer)
    found = texts(answer.texts, MOST_TEXT + sum(map(len, given)))
    if not found:
        raise InvalidHookResult("a SystemPrompt without words")
    return SystemPrompt(found)


def arguments(answer: Any) -> dict[str, Any] | Refuse:
    """Validate changed arguments of a tool call, or a refusal."""
    if isinstance(answer, Refuse):
        if not isinstance(answer.reason, str):
            raise InvalidHookResult("the reason of Refuse must be text")
        return answer
    if not isinstance(answer, Mapping):
        raise InvalidHookResult(f"arguments (a dict) or Refuse were expected, not {_kind(answer)}")
    return _copied(dict(answer))  # type: ignore[no-any-return]


def output(answer: Any) -> str:
    """Validate an output that replaces the tool's."""
    if not isinstance(answer, str):
        raise InvalidHookResult(f"text was expected, not {_kind(answer)}")
    return answer


def compacting(answer: Any) -> Compacting:
    """Validate what a summary is to keep, or a ``Compacting`` that may also replace the summary prompt."""
    if isinstance(answer, Compacting):
        prompt = answer.prompt
        if prompt is not None and not isinstance(prompt, str):
            raise InvalidHookResult("the prompt of Compacting must be text")
        return Compacting(texts(answer.context), prompt or None)
    return Compacting(texts(answer))


def wanted(answer: Any, rule: str) -> tuple[HookDecision, ...]:
    """Validate decisions: a ``Decision``, a dict with action and part_id or message_id, or a list of them."""
    several = answer if isinstance(answer, list | tuple) else [answer]
    return tuple(_wanted(one, rule) for one in several)


def _wanted(one: Any, rule: str) -> HookDecision:
    if isinstance(one, Decision):
        one = {
            "action": one.action,
            "part_id": one.part_id,
            "message_id": None if one.part_id else one.message_id,
            **one.numbers,
        }
    if not isinstance(one, Mapping):
        raise InvalidHookResult(f"a Decision or a dict was expected, not {_kind(one)}")
    if one.get("action") not in ACTIONS:
        known = ", ".join(sorted(ACTIONS))
        raise InvalidHookResult(f"there is no action {one.get('action')!r} ({known})")
    part_id, message_id, text = one.get("part_id"), one.get("message_id"), one.get("text")
    if not isinstance(part_id or message_id, str) or not isinstance(text, str | None):
        raise InvalidHookResult("part_id or message_id must name what it is about")
    limits = {name: one[name] for name in LIMITS if name in one}
    if not all(type(value) is int and value > 0 for value in limits.values()):
        raise InvalidHookResult("max_lines and max_bytes must be whole numbers above 0")
    if one["action"] == "truncate" and not limits:
        raise InvalidHookResult("truncate needs max_lines or max_bytes")
    return HookDecision(rule, one["action"], part_id, None if part_id else message_id, text, limits)


def messages(answer: Any) -> tuple[dict[str, Any], ...]:
    """Validate the messages of a whole request, in OpenAI's format, where every tool call has its result."""
    if not isinstance(answer, Sequence) or isinstance(answer, str | bytes) or not answer:
        raise InvalidHookResult(f"a list of messages was expected, not {_kind(answer)}")
    if not all(isinstance(one, Mapping) for one in answer):
        raise InvalidHookResult("each message must be a dict")
    copied = [_copied(dict(one)) for one in answer]
    for one in copied:
        if one.get("role") not in ROLES:
            raise InvalidHookResult(f"there is no role {one.get('role')!r}")
        content = one.get("content")
        if not isinstance(content, str | list | None):
            raise InvalidHookResult("the content of a message must be text or a list")
        if not content and not one.get("tool_calls"):
            raise InvalidHookResult("a message is empty")
        for call in one.get("tool_calls") or ():
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
                raise InvalidHookResult("a tool call has no function with arguments")
    _check_calls(copied)
    if all(one["role"] in ("system", "tool") for one in copied):
        raise InvalidHookResult("there is no message of a user in it")
    return tuple(copied)


def _check_calls(found: Sequence[dict[str, Any]]) -> None:
    """Check that every call has its result right after it, and every result its call; else raise InvalidHookResult."""
    open_: set[str] = set()
    for one in found:
        if one["role"] == "tool":
            if one.get("tool_call_id") not in open_:
                raise InvalidHookResult("a result has no call before it")
            open_.discard(one["tool_call_id"])
            continue
        if open_:
            raise InvalidHookResult("a tool call has no result")
        open_ = {str(call.get("id")) for call in one.get("tool_calls") or ()}
    if open_:
        raise InvalidHookResult("a tool call has no result")


def _copied(value: Any) -> Any:
    """Return a copy by way of JSON; raises InvalidHookResult for what JSON cannot hold."""
    try:
        return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InvalidHookResult("it holds what cannot be written as JSON") from None


def _kind(value: Any) -> str:
    return type(value).__name__
