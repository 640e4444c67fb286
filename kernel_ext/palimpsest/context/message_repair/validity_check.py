"""Tell in one look that a history is valid already, so that nobody has to repair it.

Border: pure. Says yes only where every rule of the default (``hygiene``) would give the messages
back as they are; no means only that the rules have to look. Almost every history of our own is
valid, and the rules together look at each message a dozen times.
"""

from collections.abc import Callable

from palimpsest.context.message_repair.usable_calls import MAX_NAME_CHARS, STRICT_NAME
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    NeutralMessages,
)
from palimpsest.transcript.provider_profile.profile import ProviderProfile


def is_valid(messages: NeutralMessages, target: ProviderProfile) -> bool:
    """Say whether the default's rules would leave these messages as they are."""
    if not messages:
        return True
    if target.merges_answers and messages[0].role == "assistant":
        return False
    if target.user_last and messages[-1].role == "assistant":
        return False
    return _Look(target).passes(messages)


class _Look:
    """One look over a history."""

    def __init__(self, target: ProviderProfile) -> None:
        self._merges_answers = target.merges_answers
        self._merges_questions = target.merges_questions
        self._ids: set[str] = set()
        self._open: list[CallBlock] = []
        """Calls whose results have to come next."""
        self._before = ""

    def passes(self, messages: NeutralMessages) -> bool:
        """Say whether every message is as it must be after the one before it."""
        look: dict[str, Callable[[NeutralMessage], bool]] = {
            "user": self._user,
            "assistant": self._assistant,
            "tool": self._results,
        }
        for message in messages:
            if bool(self._open) != (message.role == "tool"):
                return False
            passes = look.get(message.role)
            if passes is None or not passes(message):
                return False
            self._before = message.role
        return not self._open

    def _user(self, message: NeutralMessage) -> bool:
        if self._merges_questions and self._before == "user":
            return False
        says = False
        for block in message.blocks:
            if block.type == "text":
                says = says or not _is_blank(block.text)
            elif block.type == "media":
                says = True
            else:
                return False
        return says

    def _assistant(self, message: NeutralMessage) -> bool:
        if self._merges_answers and self._before == "assistant":
            return False
        says = False
        for block in message.blocks:
            if block.type == "call":
                if not self._call(block):
                    return False
                says = True
            elif block.type == "text":
                says = says or not _is_blank(block.text)
            elif block.type != "reasoning":
                return False
        return says

    def _call(self, block: CallBlock) -> bool:
        usable = (
            not block.incomplete
            and bool(block.call_id.strip())
            and block.call_id not in self._ids
            and len(block.tool) <= MAX_NAME_CHARS
            and STRICT_NAME.fullmatch(block.tool) is not None
        )
        self._ids.add(block.call_id)
        self._open.append(block)
        return usable

    def _results(self, message: NeutralMessage) -> bool:
        calls, self._open = self._open, []
        return len(calls) == len(message.blocks) and all(
            block.type == "result" and block.call_id == call.call_id and block.tool == call.tool
            for call, block in zip(calls, message.blocks, strict=True)
        )


def _is_blank(text: str) -> bool:
    return not text or text.isspace()
