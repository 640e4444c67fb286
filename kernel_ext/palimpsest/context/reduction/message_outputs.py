"""The outputs of a session's messages as the rules see them, and the decisions that their answers become.

Border: pure. ``request_outputs.py`` says what a rule sees and answers; the loop journals the decisions.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self, TypeGuard, assert_never

from palimpsest.context.budget.request_tokens import weigh_chars
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.reduction.cache_ttl_pruning import MEDIA_CHARS
from palimpsest.context.reduction.request_outputs import OutputReduction
from palimpsest.context.reduction.superseded_reads import NewerCall, superseded
from palimpsest.context.visible_messages import View, turn_spans, whole_output
from palimpsest.transcript.context_values.decisions import (
    Decision,
    EffectiveDecisions,
    effective_reductions,
    pinned_parts,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, Messages, UserMessage
from palimpsest.transcript.parts import (
    FilePart,
    NotebookPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)
from palimpsest.transcript.provider_calls import is_provider_call, sent_result


@dataclass(frozen=True)
class MessageOutputs:
    """The outputs of a session's messages; see ``RequestOutputs``."""

    view: View
    policy: Policy
    count: Callable[[str], int]
    """Tokens of a text."""
    tokens_at_most: ClassVar[float] = math.inf
    """Not known before each is counted."""

    def newest_first(self) -> Iterator["MessageOutput"]:
        """Yield the outputs that are shown."""
        yield from reversed(self._shown)

    def older(self, turns: int) -> Iterator["MessageOutput"]:
        """Yield the outputs before the newest so many messages of the user, newest first, back to a summary."""
        messages = self.view.messages
        shown = {one.part_id: one for one in self._listed(messages)}
        found = 0
        for position in range(len(messages) - 1, -1, -1):
            info = messages[position].info
            found += isinstance(info, UserMessage)
            if found < turns:
                continue
            if isinstance(info, AssistantMessage) and info.summary:
                return
            for part in reversed(messages[position].parts):
                if not _is_output(part):
                    continue
                reduction = self._reductions.get(part.id)
                if reduction is not None and reduction.action == "clear":
                    yield replace(self._output(position, part, part), cleared=True)
                elif part.id in shown:
                    yield shown[part.id]

    def newer_call(self, part_id: str) -> NewerCall | None:
        """Return the call that made a read out of date."""
        return self._newer.get(part_id)

    def all_chars(self, *, wide: bool) -> int:
        """Return the characters of all messages as they are shown."""
        messages = apply_decisions(self.messages, self.view)
        return sum(_chars(part, wide=wide) for message in messages for part in message.parts)

    def made_by(self, rule: str) -> dict[str, OutputReduction]:
        """Return what a rule's decisions that hold did, by their parts."""
        return {
            name: OutputReduction(
                name, "clear" if one.action == "clear" else "truncate", one.numbers
            )
            for name, one in self._reductions.items()
            if one.rule == rule
        }

    def without(self, rule: str) -> Self:
        """Return the outputs as they would be shown if a rule had decided nothing yet."""
        kept = tuple(one for one in self.view.decisions if one.rule != rule)
        return replace(self, view=replace(self.view, decisions=kept))

    def decisions(
        self, rule: str, found: Sequence[OutputReduction], new_id: Callable[[], str]
    ) -> tuple[Decision, ...]:
        """Return what is journalled of a rule's answer."""
        return tuple(self._decision(rule, one, new_id()) for one in found)

    @cached_property
    def messages(self) -> Messages:
        """The messages that a request shows, after the fold."""
        return self.view.folded(self.policy.compact)

    @cached_property
    def settled(self) -> tuple[int, list[int]]:
        """Positions of the first message of the user, and of the model's answers."""
        infos = [message.info for message in self.messages]
        prompts = (at for at, info in enumerate(infos) if isinstance(info, UserMessage))
        answers = [at for at, info in enumerate(infos) if isinstance(info, AssistantMessage)]
        return next(prompts, len(infos)), answers

    @cached_property
    def turns(self) -> list[int]:
        """Positions at which turns begin."""
        return [first for first, _ in turn_spans(self.messages)]

    @cached_property
    def _pinned(self) -> frozenset[str]:
        return pinned_parts(self.view.messages, self.view.decisions)

    @cached_property
    def _restored(self) -> frozenset[str]:
        return EffectiveDecisions(self.view.decisions).restored

    @cached_property
    def _providers(self) -> dict[str, str]:
        """The provider that each message names."""
        return {one.id: one.info.model.provider for one in self.view.messages}

    @property
    def _newest_provider(self) -> str | None:
        """The provider of the request that comes next, which is that of the newest message."""
        messages = self.view.messages
        return messages[-1].info.model.provider if messages else None

    @cached_property
    def _shown(self) -> list["MessageOutput"]:
        return self._listed(self.messages)

    @cached_property
    def _newer(self) -> dict[str, NewerCall]:
        return superseded(self.messages, [one.part_id for one in self._shown])

    @cached_property
    def _reductions(self) -> dict[str, Decision]:
        return effective_reductions(self.view.decisions)

    def _listed(self, messages: Messages) -> list["MessageOutput"]:
        """Return the outputs among messages that are shown, oldest first: nothing cleared or dropped."""
        gone = {name for name, one in self._reductions.items() if one.action in {"clear", "drop"}}
        originals = {part.id: part for message in messages for part in message.parts}
        return [
            self._output(position, part, originals[part.id])
            for position, message in enumerate(apply_decisions(messages, self.view))
            for part in message.parts
            if part.id not in gone and _is_output(part)
        ]

    def _output(
        self, position: int, part: ToolPart | NotebookPart, original: Part
    ) -> "MessageOutput":
        state = part.state if isinstance(part, ToolPart) else None
        media = len(state.attachments) if isinstance(state, ToolCompleted) else 0
        pinned = part.id in self._pinned
        shown = whole_output(part, {})
        sent = shown
        if isinstance(part, ToolPart) and is_provider_call(part):
            same = self._providers.get(part.message_id) == self._newest_provider
            sent = sent_result(part, shown, same_provider=same)
        return MessageOutput(
            outputs=self,
            position=position,
            part_id=part.id,
            tool=part.tool if isinstance(part, ToolPart) else part.type,
            shown=shown,
            sent=sent,
            whole=whole_output(original, self.view.texts),
            media=media,
            pinned=pinned,
            kept=pinned or part.id in self._restored,
        )

    def _decision(self, rule: str, one: OutputReduction, name: str) -> Decision:
        if one.action == "restore":
            made = self._reductions[one.part_id]
            return Decision(
                id=name,
                action="restore",
                rule=rule,
                message_id=made.message_id,
                part_id=one.part_id,
                tokens_before=made.tokens_after,
                tokens_after=made.tokens_before,
            )
        return Decision(
            id=name,
            action=one.action,
            rule=rule,
            message_id=self._homes[one.part_id],
            part_id=one.part_id,
            numbers=dict(one.numbers),
            tokens_before=one.tokens,
            tokens_after=self.count(one.text),
        )

    @cached_property
    def _homes(self) -> dict[str, str]:
        return {
            part.id: part.message_id
            for message in self.view.messages
            for part in message.parts
            if _is_output(part)
        }


@dataclass(frozen=True, slots=True)
class MessageOutput:
    """What one completed call returned, or what the user's cells did; see ``RequestOutput``."""

    outputs: MessageOutputs
    position: int
    """Index of its message among those that are looked at."""
    part_id: str
    tool: str
    shown: str
    sent: str
    """What a request holds of it: the text that is shown, or the provider's own blocks of a call that it ran."""
    whole: str
    media: int
    pinned: bool
    kept: bool
    cleared: bool = False

    @property
    def chars(self) -> int:
        """Characters that are shown."""
        return len(self.shown)

    @property
    def tokens(self) -> int:
        """Tokens of what is sent."""
        return self.outputs.count(self.sent)

    def is_recent(self, turns: int) -> bool:
        """Return whether it belongs to one of the newest so many turns."""
        newest = self.outputs.turns[-turns:] if turns else []
        return bool(newest) and self.position >= newest[0]

    def is_settled(self, answers: int) -> bool:
        """Return whether it came after the first prompt, and before the newest so many answers."""
        first, known = self.outputs.settled
        if answers > len(known):
            return False
        return first < self.position and (not answers or self.position < known[-answers])


def _is_output(part: Part) -> TypeGuard[ToolPart | NotebookPart]:
    if isinstance(part, ToolPart):
        return isinstance(part.state, ToolCompleted)
    return isinstance(part, NotebookPart)


def _chars(part: Part, *, wide: bool) -> int:
    match part:
        case TextPart():
            return 0 if part.ignored else weigh_chars(part.text, wide=wide)
        case ReasoningPart():
            return weigh_chars(part.text, wide=wide)
        case FilePart():
            return MEDIA_CHARS
        case ToolPart():
            given = json.dumps(part.state.input, ensure_ascii=False, separators=(",", ":"))
            return len(given) + _state_chars(part, wide=wide)
        case _:
            return weigh_chars(part.words_for_summary(), wide=wide)


def _state_chars(part: ToolPart, *, wide: bool) -> int:
    match part.state:
        case ToolCompleted(output=output, attachments=attachments):
            return weigh_chars(output, wide=wide) + MEDIA_CHARS * len(attachments)
        case ToolFailed(error=error):
            return weigh_chars(error, wide=wide)
        case ToolPending() | ToolRunning():
            return 0
        case _:
            assert_never(part.state)
