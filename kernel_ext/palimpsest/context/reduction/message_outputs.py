"""The outputs of a session's messages as pruning rules see them, and the decisions of these rules.

Border: pure. ``request_outputs.py`` defines a rule's input and result; the loop journals the decisions.
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
from palimpsest.context.reduction.superseded_reads import NewerCall, newer_calls
from palimpsest.context.visible_messages import View, turn_spans, whole_output
from palimpsest.transcript.context_values.decisions import (
    Decision,
    EffectiveDecisions,
    effective_reductions,
    pinned_part_ids,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, Messages, UserMessage, parts_of
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
    """Unknown before each output is counted."""

    def newest_first(self) -> Iterator["MessageOutput"]:
        """Yield the outputs that are shown."""
        yield from reversed(self._shown_outputs)

    def older_than(self, turns: int) -> Iterator["MessageOutput"]:
        """Yield the outputs before the newest ``turns`` user messages, newest first, back to a summary."""
        messages = self.view.messages
        output_by_part_id = {output.part_id: output for output in self._outputs_in(messages)}
        turns_passed = 0
        for index in range(len(messages) - 1, -1, -1):
            info = messages[index].info
            turns_passed += isinstance(info, UserMessage)
            if turns_passed < turns:
                continue
            if isinstance(info, AssistantMessage) and info.summary:
                return
            for part in reversed(messages[index].parts):
                if not _is_output(part):
                    continue
                reduction = self._reduction_by_part_id.get(part.id)
                if reduction is not None and reduction.action == "clear":
                    yield replace(self._output(index, part, part), is_cleared=True)
                elif part.id in output_by_part_id:
                    yield output_by_part_id[part.id]

    def newer_call(self, part_id: str) -> NewerCall | None:
        """Return the call that made a read out of date."""
        return self._newer_call_by_part_id.get(part_id)

    def all_chars(self, *, counts_width: bool) -> int:
        """Return the characters of all messages as they are shown."""
        parts = parts_of(apply_decisions(self.messages, self.view))
        return sum(_part_chars(part, counts_width=counts_width) for part in parts)

    def reductions_by(self, rule: str) -> dict[str, OutputReduction]:
        """Return the effective reductions by a rule, by part id."""
        return {
            part_id: OutputReduction(
                part_id, "clear" if reduction.action == "clear" else "truncate", reduction.numbers
            )
            for part_id, reduction in self._reduction_by_part_id.items()
            if reduction.rule == rule
        }

    def without_rule(self, rule: str) -> Self:
        """Return the outputs as they would be shown if a rule had decided nothing yet."""
        other_decisions = tuple(
            decision for decision in self.view.decisions if decision.rule != rule
        )
        return replace(self, view=replace(self.view, decisions=other_decisions))

    def decisions(
        self, rule: str, reductions: Sequence[OutputReduction], new_id: Callable[[], str]
    ) -> tuple[Decision, ...]:
        """Return the decisions to journal for a rule's reductions."""
        return tuple(self._decision(rule, reduction, new_id()) for reduction in reductions)

    @cached_property
    def messages(self) -> Messages:
        """The messages that a request shows, with summaries in place of what they cover."""
        return self.view.folded_messages(self.policy.compact)

    @cached_property
    def user_and_answer_positions(self) -> tuple[int, list[int]]:
        """The position of the first user message, and the positions of the model's answers."""
        infos = [message.info for message in self.messages]
        prompts = (index for index, info in enumerate(infos) if isinstance(info, UserMessage))
        answers = [index for index, info in enumerate(infos) if isinstance(info, AssistantMessage)]
        return next(prompts, len(infos)), answers

    @cached_property
    def turn_starts(self) -> list[int]:
        """Positions at which turns begin."""
        return [first for first, _ in turn_spans(self.messages)]

    @cached_property
    def _pinned_ids(self) -> frozenset[str]:
        return pinned_part_ids(self.view.messages, self.view.decisions)

    @cached_property
    def _effective_decisions(self) -> EffectiveDecisions:
        return EffectiveDecisions(self.view.decisions)

    @cached_property
    def _provider_by_message_id(self) -> dict[str, str]:
        """The provider of each message, by message id."""
        return {message.id: message.info.model.provider for message in self.view.messages}

    @property
    def _newest_provider(self) -> str | None:
        """The provider of the next request, which is that of the newest message."""
        messages = self.view.messages
        return messages[-1].info.model.provider if messages else None

    @cached_property
    def _shown_outputs(self) -> list["MessageOutput"]:
        return self._outputs_in(self.messages)

    @cached_property
    def _newer_call_by_part_id(self) -> dict[str, NewerCall]:
        return newer_calls(self.messages, [output.part_id for output in self._shown_outputs])

    @cached_property
    def _reduction_by_part_id(self) -> dict[str, Decision]:
        return effective_reductions(self.view.decisions)

    def _outputs_in(self, messages: Messages) -> list["MessageOutput"]:
        """Return the outputs in messages that are neither cleared nor dropped, oldest first."""
        cleared_ids = {
            part_id
            for part_id, reduction in self._reduction_by_part_id.items()
            if reduction.action in {"clear", "drop"}
        }
        original_by_id = {part.id: part for part in parts_of(messages)}
        return [
            self._output(position, part, original_by_id[part.id])
            for position, message in enumerate(apply_decisions(messages, self.view))
            for part in message.parts
            if part.id not in cleared_ids and _is_output(part)
        ]

    def _output(
        self, position: int, part: ToolPart | NotebookPart, original: Part
    ) -> "MessageOutput":
        state = part.state if isinstance(part, ToolPart) else None
        media_count = len(state.attachments) if isinstance(state, ToolCompleted) else 0
        is_pinned = part.id in self._pinned_ids
        full_text = whole_output(part, {})
        sent_text = full_text
        if isinstance(part, ToolPart) and is_provider_call(part):
            is_same_provider = (
                self._provider_by_message_id.get(part.message_id) == self._newest_provider
            )
            sent_text = sent_result(part, full_text, is_same_provider=is_same_provider)
        return MessageOutput(
            outputs=self,
            position=position,
            part_id=part.id,
            tool=part.tool if isinstance(part, ToolPart) else part.type,
            shown_text=full_text,
            sent_text=sent_text,
            whole_text=whole_output(original, self.view.texts),
            media_count=media_count,
            pinned=is_pinned,
            is_kept_by_user=is_pinned or part.id in self._effective_decisions.restored_ids,
        )

    def _decision(self, rule: str, reduction: OutputReduction, decision_id: str) -> Decision:
        if reduction.action == "restore":
            previous_reduction = self._reduction_by_part_id[reduction.part_id]
            return Decision(
                id=decision_id,
                action="restore",
                rule=rule,
                message_id=previous_reduction.message_id,
                part_id=reduction.part_id,
                tokens_before=previous_reduction.tokens_after,
                tokens_after=previous_reduction.tokens_before,
            )
        return Decision(
            id=decision_id,
            action=reduction.action,
            rule=rule,
            message_id=self._message_id_by_part_id[reduction.part_id],
            part_id=reduction.part_id,
            numbers=dict(reduction.numbers),
            tokens_before=reduction.tokens,
            tokens_after=self.count(reduction.text),
        )

    @cached_property
    def _message_id_by_part_id(self) -> dict[str, str]:
        return {
            part.id: part.message_id for part in parts_of(self.view.messages) if _is_output(part)
        }


@dataclass(frozen=True, slots=True)
class MessageOutput:
    """The output of a completed call, or a note on the user's cells; see ``RequestOutput``."""

    outputs: MessageOutputs
    position: int
    """Index of its message among the view's."""
    part_id: str
    tool: str
    shown_text: str
    sent_text: str
    """Its text in a request: the shown text, or the provider's own blocks of a call that the provider ran."""
    whole_text: str
    media_count: int
    pinned: bool
    is_kept_by_user: bool
    is_cleared: bool = False

    @property
    def shown_chars(self) -> int:
        """Characters that are shown."""
        return len(self.shown_text)

    @property
    def tokens(self) -> int:
        """Tokens of ``sent_text``."""
        return self.outputs.count(self.sent_text)

    def is_recent(self, turns: int) -> bool:
        """Return whether it belongs to one of the newest ``turns`` turns."""
        newest_starts = self.outputs.turn_starts[-turns:] if turns else []
        return bool(newest_starts) and self.position >= newest_starts[0]

    def is_settled(self, answers: int) -> bool:
        """Return whether it came after the first prompt, and before the newest ``answers`` answers."""
        first_prompt_position, answer_positions = self.outputs.user_and_answer_positions
        if answers > len(answer_positions):
            return False
        return (
            first_prompt_position
            < self.position
            < (answer_positions[-answers] if answers else math.inf)
        )


def _is_output(part: Part) -> TypeGuard[ToolPart | NotebookPart]:
    if isinstance(part, ToolPart):
        return isinstance(part.state, ToolCompleted)
    return isinstance(part, NotebookPart)


def _part_chars(part: Part, *, counts_width: bool) -> int:
    match part:
        case TextPart():
            return 0 if part.ignored else weigh_chars(part.text, counts_width=counts_width)
        case ReasoningPart():
            return weigh_chars(part.text, counts_width=counts_width)
        case FilePart():
            return MEDIA_CHARS
        case ToolPart():
            input_json = json.dumps(part.state.input, ensure_ascii=False, separators=(",", ":"))
            return len(input_json) + _state_chars(part, counts_width=counts_width)
        case _:
            return weigh_chars(part.words_for_summary(), counts_width=counts_width)


def _state_chars(part: ToolPart, *, counts_width: bool) -> int:
    match part.state:
        case ToolCompleted(output=output, attachments=attachments):
            return weigh_chars(output, counts_width=counts_width) + MEDIA_CHARS * len(attachments)
        case ToolFailed(error=error):
            return weigh_chars(error, counts_width=counts_width)
        case ToolPending() | ToolRunning():
            return 0
        case _:
            assert_never(part.state)
