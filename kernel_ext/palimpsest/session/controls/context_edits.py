"""What a person wants the model to see: pin, leave out, bring back, undo a compaction.

Border: values to values; a wish becomes the decisions that are journaled for it, and a sentence.
Whatever was so already is said and decides nothing. Nothing is erased by any of these.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from palimpsest.context.compaction.plan import completed_compactions
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.visible_messages.fold import marker, newest_prompt
from palimpsest.context.visible_messages.view import View
from palimpsest.session.records.part_lookup import Target, describe, find_part, is_summary
from palimpsest.transcript.context_values.decisions import (
    EXCLUDE,
    PIN,
    RESTORE,
    UNDO,
    UNPIN,
    Decision,
    DecisionAction,
    EffectiveDecisions,
    undone,
)
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.ids import short
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.parts import FilePart, ReasoningPart, TextPart, ToolPart

ContextEditAction = Literal["pin", "unpin", "exclude", "restore", "undo"]

REACHES_MODEL = TextPart | ReasoningPart | FilePart | ToolPart
"""Parts with words of their own; what else a message holds is bookkeeping."""

RULES: dict[str, str] = {"pin": PIN, "drop": EXCLUDE}


@dataclass(frozen=True, slots=True, repr=False)
class ContextEdit:
    """What became of a wish."""

    target: str
    """The id of the part or message that it is about."""
    sentence: str
    decisions: tuple[Decision, ...] = ()
    """What was journaled; empty when nothing had to be."""

    def __repr__(self) -> str:
        return self.sentence


class ContextEditor:
    """Turns the wishes of one moment into decisions."""

    def __init__(
        self,
        messages: Messages,
        decisions: tuple[Decision, ...],
        new_id: Callable[[], str],
        weigh: Callable[[Messages], int],
    ) -> None:
        self._messages = messages
        self._decisions = decisions
        self._new_id = new_id
        self._weigh = weigh
        self._holding = EffectiveDecisions(decisions)

    def edit_context(self, action: ContextEditAction, name: str) -> ContextEdit:
        """Return what is to be journaled; raises UserError when it cannot be."""
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
        """Keep a part from every reduction, or every part of a message."""
        target = self._meant(target, "kept")
        what = describe(target)
        if all(self._holding.pinned(part.id, target.message.id) for part in target.parts):
            return ContextEdit(target.id, f"{_begin(what)} is pinned already.")
        return ContextEdit(
            target.id,
            f"Pinned {what}: it stays in every later request. %agent unpin {short(target.id)} "
            "takes the pin off.",
            self._chosen(target, "pin"),
        )

    def unpin(self, target: Target) -> ContextEdit:
        """Take a pin off again."""
        target = self._meant(target, "unpinned")
        what = describe(target)
        wish = self._holding.edit(target.id)
        if wish is not None and wish.action == "pin":
            made = (self._decision(target, "restore", UNPIN),)
            return ContextEdit(target.id, f"{_begin(what)} is no longer pinned.", made)
        if target.part and self._holding.pinned(target.part.id, target.message.id):
            home = short(target.message.id)
            return ContextEdit(target.id, f"Its whole message is pinned: %agent unpin {home}.")
        return ContextEdit(target.id, f"{_begin(what)} is not pinned.")

    def exclude(self, target: Target) -> ContextEdit:
        """Leave a part out of every later request, or a whole message."""
        target = self._meant(target, "left out")
        what = describe(target)
        if self._is_gone(target):
            return ContextEdit(target.id, f"{_begin(what)} is left out already.")
        when = "from the next request on"
        made = self._chosen(target, "drop")
        if is_summary(target.message):
            when += ", and with it what it covers"
            made += (self._decision(self._marker_of(target), "drop", EXCLUDE),)
        if target.part is None and target.message.id == self._newest_question():
            when = "once there is a newer prompt; until then it is what is answered"
        return ContextEdit(
            target.id,
            f"Left out {what}, {when}. %agent restore {short(target.id)} brings it back.",
            made,
        )

    def restore(self, target: Target) -> ContextEdit:
        """Bring back what was left out, cleared or cut; a summary gives way to what it covers."""
        taken: tuple[Decision, ...] = ()
        if _is_compaction(target.message):
            summary = self._summary(target)
            if summary is None or not self._is_gone(summary):
                return self.undo(target)
            target = summary
            taken = (self._decision(self._marker_of(summary), "restore", RESTORE),)
        what = describe(target)
        taken = (*self._taken(target), *taken)
        if taken:
            sentence = f"Restored {what}: the model sees it again from the next request on."
            return ContextEdit(target.id, sentence, taken)
        if target.part is not None and self._is_gone(target):
            home = short(target.message.id)
            return ContextEdit(target.id, f"Its whole message is left out: %agent restore {home}.")
        return ContextEdit(target.id, f"Nothing was taken out of {what}.")

    def undo(self, target: Target | None) -> ContextEdit:
        """Show again what the newest summary covers; raises UserError when there is none."""
        gone = undone(self._decisions)
        summaries = [self._messages[at] for _, at, _ in completed_compactions(self._messages)]
        standing = [one for one in summaries if one.id not in gone]
        wanted = _summary_of(target, summaries) if target is not None else None
        if target is not None and wanted is None:
            raise UserError("That compaction has no good summary, so it hides nothing.")
        if wanted is not None and wanted.id in gone:
            return ContextEdit(wanted.id, "That compaction is undone already.")
        if not standing:
            raise UserError("There is no compaction to undo: the model sees the whole history.")
        newest = standing[-1]
        if wanted is not None and wanted.id != newest.id:
            raise UserError(
                "A newer summary stands for that one too. Restore the newer one first: %agent "
                f"restore {short(newest.id)}."
            )
        return ContextEdit(
            newest.id,
            "The compaction is undone: from the next request on the model sees the history whole "
            "again. Nothing is compacted by itself until the next prompt.",
            (self._undoing(newest),),
        )

    def _meant(self, target: Target, done: str) -> Target:
        """Return what a person can decide about by itself; a compaction means its summary."""
        if _is_compaction(target.message):
            summary = self._summary(target)
            if summary is None:
                raise UserError(f"That compaction has no good summary that could be {done}.")
            return summary
        if not target.parts:
            raise UserError("That message is empty, so nothing of it reaches the model.")
        if target.part is not None and not isinstance(target.part, REACHES_MODEL):
            raise UserError(
                f"Only words, thoughts, files and tool calls can be {done} alone, and the model is not "
                f"sent this {target.part.type}. Its message is {target.message.id}."
            )
        return target

    def _summary(self, target: Target) -> Target | None:
        """Return the good summary of a compaction, whatever of it was named."""
        summaries = [self._messages[at] for _, at, _ in completed_compactions(self._messages)]
        found = _summary_of(target, summaries)
        return Target(found) if found is not None else None

    def _marker_of(self, summary: Target) -> Target:
        """Return the marker of a summary, which goes with it."""
        parent = getattr(summary.message.info, "parent_id", None)
        return Target(next(one for one in self._messages if one.id == parent))

    def _undoing(self, summary: Message) -> Decision:
        saved = next(
            (
                one
                for one in reversed(self._decisions)
                if one.action == "summarise" and one.message_id == summary.id
            ),
            None,
        )
        return Decision(
            id=self._new_id(),
            action="restore",
            rule=UNDO,
            message_id=summary.id,
            numbers={"prompt": newest_prompt(self._messages)},
            tokens_before=saved.tokens_after if saved else 0,
            tokens_after=saved.tokens_before if saved else 0,
        )

    def _chosen(self, target: Target, action: Literal["pin", "drop"]) -> tuple[Decision, ...]:
        """Return a pin or an exclusion; the opposite one of the very same thing is taken off first."""
        before = self._holding.edit(target.id)
        made = [self._decision(target, action, RULES[action])]
        if before is not None and before.action != action:
            rule = UNPIN if before.action == "pin" else RESTORE
            made.insert(0, self._decision(target, "restore", rule))
        return tuple(made)

    def _taken(self, target: Target) -> Iterator[Decision]:
        """Yield what takes off each reduction that hides something of the target."""
        if target.part is None:
            wish = self._holding.edit(target.id)
            if wish is not None and wish.action == "drop":
                yield self._decision(target, "restore", RESTORE)
        for part in target.parts:
            reduction = self._holding.reduction(part.id, target.message.id)
            is_cut = reduction is not None and reduction.action == "truncate"
            if reduction is None or reduction.part_id is None or (is_cut and target.part is None):
                continue
            yield self._decision(Target(target.message, part), "restore", RESTORE)

    def _decision(self, target: Target, action: DecisionAction, rule: str) -> Decision:
        made = Decision(
            id=self._new_id(),
            action=action,
            rule=rule,
            message_id=target.message.id,
            part_id=target.part.id if target.part is not None else None,
        )
        before = self._tokens(target, self._decisions)
        after = self._tokens(target, (*self._decisions, made))
        return made.model_copy(update={"tokens_before": before, "tokens_after": after})

    def _tokens(self, target: Target, decisions: tuple[Decision, ...]) -> int:
        """Return what the target costs in a request, as these decisions show it."""
        holding = EffectiveDecisions(decisions)
        shown = tuple(
            part
            for part in target.parts
            if not _drops(holding.reduction(part.id, target.message.id))
        )
        alone = target.message.model_copy(update={"parts": shown})
        return self._weigh(apply_decisions((alone,), View((alone,), decisions))) if shown else 0

    def _is_gone(self, target: Target) -> bool:
        return all(
            _drops(self._holding.reduction(part.id, target.message.id)) for part in target.parts
        )

    def _newest_question(self) -> str | None:
        users = (one.id for one in reversed(self._messages) if isinstance(one.info, UserMessage))
        return next(users, None)


def needs_full_transcript(messages: Messages, action: ContextEditAction, name: str) -> bool:
    """Tell whether a wish is about what a live window leaves in the log."""
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
    """Return the good summary that is meant: named itself, or by its marker."""
    for summary in summaries:
        parent = getattr(summary.info, "parent_id", None)
        if target.message.id in (summary.id, parent):
            return summary
    return None


def _drops(reduction: Decision | None) -> bool:
    return reduction is not None and reduction.action == "drop"


def _begin(words: str) -> str:
    return words[:1].upper() + words[1:]
