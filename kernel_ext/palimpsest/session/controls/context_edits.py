"""Turn the user's edits of the context into decisions: pin, exclude, restore, undo a compaction.

Border: values to values; an edit becomes the decisions that are journaled for it, and a sentence.
An edit that is in effect already makes no decision, only a sentence. No edit erases anything.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from palimpsest.context.compaction.plan import completed_compactions
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.visible_messages import View, marker, newest_prompt
from palimpsest.session.records.part_lookup import Target, describe_target, find_part
from palimpsest.transcript.context_values.decisions import (
    EXCLUDE,
    PIN,
    RESTORE,
    UNDO,
    UNPIN,
    Decision,
    DecisionAction,
    EffectiveDecisions,
    undone_compactions,
)
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.messages import Message, Messages, UserMessage, is_summary
from palimpsest.transcript.parts import FilePart, ReasoningPart, TextPart, ToolPart

ContextEditAction = Literal["pin", "unpin", "exclude", "restore", "undo"]

MODEL_PART_TYPES = TextPart | ReasoningPart | FilePart | ToolPart
"""Parts with content for the model; all others are bookkeeping."""

RULE_OF_ACTION: dict[str, str] = {"pin": PIN, "drop": EXCLUDE}


@dataclass(frozen=True, slots=True, repr=False)
class ContextEdit:
    """The outcome of a context edit."""

    target: str
    """The id of the part or message that was edited."""
    sentence: str
    decisions: tuple[Decision, ...] = ()
    """The decisions to journal; empty when none were needed."""

    def __repr__(self) -> str:
        return self.sentence


@dataclass(eq=False, repr=False)
class ContextEditor:
    """Turns context edits into decisions, for one state of a session."""

    _messages: Messages
    _decisions: tuple[Decision, ...]
    _new_id: Callable[[], str]
    _count_tokens: Callable[[Messages], int]

    def __post_init__(self) -> None:
        self._effective_decisions = EffectiveDecisions(self._decisions)

    def edit_context(self, action: ContextEditAction, name: str) -> ContextEdit:
        """Return the decisions of an edit; raises UserError or NotFound when it cannot be made."""
        if action == "undo":
            return self.undo(find_part(self._messages, name) if name else None)
        target = find_part(self._messages, name)
        match action:
            case "pin":
                return self.pin(target)
            case "unpin":
                return self.unpin(target)
            case "exclude":
                return self.exclude(target)
            case "restore":
                return self.restore(target)

    def pin(self, target: Target) -> ContextEdit:
        """Exempt a part, or every part of a message, from every reduction."""
        target = self._editable_target(target, "kept")
        target_text = describe_target(target)
        if all(
            self._effective_decisions.is_pinned(part.id, target.message.id) for part in target.parts
        ):
            return ContextEdit(target.id, f"{_capitalized_text(target_text)} is pinned already.")
        return ContextEdit(
            target.id,
            f"Pinned {target_text}: it stays in every later request. %agent unpin {short_id(target.id)} "
            "takes the pin off.",
            self._edit_decisions(target, "pin"),
        )

    def unpin(self, target: Target) -> ContextEdit:
        """Remove a pin."""
        target = self._editable_target(target, "unpinned")
        target_text = describe_target(target)
        edit = self._effective_decisions.edit(target.id)
        if edit is not None and edit.action == "pin":
            sentence = f"{_capitalized_text(target_text)} is no longer pinned."
            return ContextEdit(target.id, sentence, (self._new_decision(target, "restore", UNPIN),))
        if target.part and self._effective_decisions.is_pinned(target.part.id, target.message.id):
            command = f"%agent unpin {short_id(target.message.id)}"
            return ContextEdit(target.id, f"Its whole message is pinned: {command}.")
        return ContextEdit(target.id, f"{_capitalized_text(target_text)} is not pinned.")

    def exclude(self, target: Target) -> ContextEdit:
        """Exclude a part, or a whole message, from every later request."""
        target = self._editable_target(target, "left out")
        target_text = describe_target(target)
        if self._is_excluded(target):
            return ContextEdit(target.id, f"{_capitalized_text(target_text)} is left out already.")
        start_text = "from the next request on"
        decisions = self._edit_decisions(target, "drop")
        if is_summary(target.message):
            start_text += ", and with it what it covers"
            decisions += (self._new_decision(self._marker_of(target), "drop", EXCLUDE),)
        if target.message.id == self._newest_prompt_id() and not self._has_more_content(target):
            start_text = "once there is a newer prompt; until then it is what is answered"
        return ContextEdit(
            target.id,
            f"Left out {target_text}, {start_text}. %agent restore {short_id(target.id)} brings it back.",
            decisions,
        )

    def restore(self, target: Target) -> ContextEdit:
        """Bring back what was excluded, cleared or truncated; a summary is replaced by the messages it covers."""
        decisions: tuple[Decision, ...] = ()
        if _is_compaction(target.message):
            summary = self._summary_target(target)
            if summary is None or not self._is_excluded(summary):
                return self.undo(target)
            target = summary
            decisions = (self._new_decision(self._marker_of(summary), "restore", RESTORE),)
        target_text = describe_target(target)
        decisions = (*self._restoring_decisions(target), *decisions)
        if decisions:
            sentence = f"Restored {target_text}: the model sees it again from the next request on."
            return ContextEdit(target.id, sentence, decisions)
        if target.part is not None and self._is_excluded(target):
            command = f"%agent restore {short_id(target.message.id)}"
            return ContextEdit(target.id, f"Its whole message is left out: {command}.")
        return ContextEdit(target.id, f"Nothing was taken out of {target_text}.")

    def undo(self, target: Target | None) -> ContextEdit:
        """Undo the newest compaction, so that the messages it covers are sent again; raises UserError if none."""
        undone_ids = undone_compactions(self._decisions)
        summaries = self._completed_summaries()
        active_summaries = [summary for summary in summaries if summary.id not in undone_ids]
        target_summary = _summary_of(target, summaries) if target is not None else None
        if target is not None and target_summary is None:
            raise UserError("That compaction has no good summary, so it hides nothing.")
        if target_summary is not None and target_summary.id in undone_ids:
            return ContextEdit(target_summary.id, "That compaction is undone already.")
        if not active_summaries:
            raise UserError("There is no compaction to undo: the model sees the whole history.")
        newest_summary = active_summaries[-1]
        if target_summary is not None and target_summary.id != newest_summary.id:
            raise UserError(
                "A newer summary stands for that one too. Restore the newer one first: %agent "
                f"restore {short_id(newest_summary.id)}."
            )
        return ContextEdit(
            newest_summary.id,
            "The compaction is undone: from the next request on the model sees the history whole "
            "again. Nothing is compacted by itself until the next prompt.",
            (self._undo_decision(newest_summary),),
        )

    def _editable_target(self, target: Target, action_text: str) -> Target:
        """Return the target that an edit applies to: for a compaction's marker, its summary."""
        if _is_compaction(target.message):
            summary = self._summary_target(target)
            if summary is None:
                raise UserError(f"That compaction has no good summary that could be {action_text}.")
            return summary
        if not target.parts:
            raise UserError("That message is empty, so nothing of it reaches the model.")
        if target.part is not None and not isinstance(target.part, MODEL_PART_TYPES):
            raise UserError(
                f"Only words, thoughts, files and tool calls can be {action_text} alone, and the model is not "
                f"sent this {target.part.type}. Its message is {target.message.id}."
            )
        return target

    def _summary_target(self, target: Target) -> Target | None:
        """Return the good summary of a compaction; the target is the summary or its marker."""
        summary = _summary_of(target, self._completed_summaries())
        return Target(summary) if summary is not None else None

    def _completed_summaries(self) -> list[Message]:
        return [self._messages[index] for _, index, _ in completed_compactions(self._messages)]

    def _marker_of(self, summary: Target) -> Target:
        """Return the marker of a summary, which is edited with it."""
        marker_id = getattr(summary.message.info, "parent_id", None)
        return Target(next(message for message in self._messages if message.id == marker_id))

    def _undo_decision(self, summary: Message) -> Decision:
        summary_decisions = (d for d in reversed(self._decisions) if d.action == "summarise")
        undone_decision = next((d for d in summary_decisions if d.message_id == summary.id), None)
        return Decision(
            id=self._new_id(),
            action="restore",
            rule=UNDO,
            message_id=summary.id,
            numbers={"prompt": newest_prompt(self._messages)},
            tokens_before=undone_decision.tokens_after if undone_decision else 0,
            tokens_after=undone_decision.tokens_before if undone_decision else 0,
        )

    def _edit_decisions(
        self, target: Target, action: Literal["pin", "drop"]
    ) -> tuple[Decision, ...]:
        """Return a pin or an exclusion; an opposite edit of the same target is reversed first."""
        earlier_edit = self._effective_decisions.edit(target.id)
        decisions = [self._new_decision(target, action, RULE_OF_ACTION[action])]
        if earlier_edit is not None and earlier_edit.action != action:
            rule = UNPIN if earlier_edit.action == "pin" else RESTORE
            decisions.insert(0, self._new_decision(target, "restore", rule))
        return tuple(decisions)

    def _restoring_decisions(self, target: Target) -> Iterator[Decision]:
        """Yield a restoring decision for each reduction that hides part of the target."""
        if target.part is None:
            edit = self._effective_decisions.edit(target.id)
            if edit is not None and edit.action == "drop":
                yield self._new_decision(target, "restore", RESTORE)
        for part in target.parts:
            reduction = self._effective_decisions.reduction(part.id, target.message.id)
            is_truncation = reduction is not None and reduction.action == "truncate"
            if (
                reduction is None
                or reduction.part_id is None
                or (is_truncation and target.part is None)
            ):
                continue
            yield self._new_decision(Target(target.message, part), "restore", RESTORE)

    def _new_decision(self, target: Target, action: DecisionAction, rule: str) -> Decision:
        decision = Decision(
            id=self._new_id(),
            action=action,
            rule=rule,
            message_id=target.message.id,
            part_id=target.part.id if target.part is not None else None,
        )
        tokens_before = self._tokens_under(target, self._decisions)
        tokens_after = self._tokens_under(target, (*self._decisions, decision))
        return decision.model_copy(
            update={"tokens_before": tokens_before, "tokens_after": tokens_after}
        )

    def _tokens_under(self, target: Target, decisions: tuple[Decision, ...]) -> int:
        """Return the tokens of the target in a request under these decisions."""
        effective_decisions = EffectiveDecisions(decisions)
        sent_parts = tuple(
            part
            for part in target.parts
            if not _is_exclusion(effective_decisions.reduction(part.id, target.message.id))
        )
        message = target.message.model_copy(update={"parts": sent_parts})
        sent_messages = apply_decisions((message,), View((message,), decisions))
        return self._count_tokens(sent_messages) if sent_parts else 0

    def _is_excluded(self, target: Target) -> bool:
        return all(
            _is_exclusion(self._effective_decisions.reduction(part.id, target.message.id))
            for part in target.parts
        )

    def _has_more_content(self, target: Target) -> bool:
        """Return whether the model is sent more of the target's message than the target."""
        target_ids = {part.id for part in target.parts}
        return any(
            isinstance(part, MODEL_PART_TYPES)
            and part.id not in target_ids
            and not _is_exclusion(self._effective_decisions.reduction(part.id, target.message.id))
            for part in target.message.parts
        )

    def _newest_prompt_id(self) -> str | None:
        prompt_ids = (m.id for m in reversed(self._messages) if isinstance(m.info, UserMessage))
        return next(prompt_ids, None)


def needs_full_transcript(messages: Messages, action: ContextEditAction, name: str) -> bool:
    """Return whether an edit needs messages before the live window, which are only in the log."""
    if action == "undo":
        return True
    try:
        target = find_part(messages, name)
    except NotFound:
        return True
    return action == "restore" and _is_compaction(target.message)


def _is_compaction(message: Message) -> bool:
    return is_summary(message) or marker(message) is not None


def _summary_of(target: Target, summaries: Iterable[Message]) -> Message | None:
    """Return the good summary that the target refers to, itself or by its marker."""
    for summary in summaries:
        marker_id = getattr(summary.info, "parent_id", None)
        if target.message.id in (summary.id, marker_id):
            return summary
    return None


def _is_exclusion(reduction: Decision | None) -> bool:
    return reduction is not None and reduction.action == "drop"


def _capitalized_text(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
