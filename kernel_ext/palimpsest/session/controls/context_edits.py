"""Turn the user's edits of the context into decisions: pin, exclude, restore, undo a compaction.

Border: values to values; an edit becomes the decisions that are journaled for it, and a sentence.
An edit that already holds makes no decision, only a sentence. None of them erases anything.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from palimpsest.context.compaction.plan import completed_compactions
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.visible_messages import View, marker, newest_prompt
from palimpsest.session.records.part_lookup import Target, describe, find_part
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
from palimpsest.transcript.messages import Message, Messages, UserMessage, is_summary
from palimpsest.transcript.parts import FilePart, ReasoningPart, TextPart, ToolPart

ContextEditAction = Literal["pin", "unpin", "exclude", "restore", "undo"]

REACHES_MODEL = TextPart | ReasoningPart | FilePart | ToolPart
"""Parts with content for the model; all others are bookkeeping."""

RULES: dict[str, str] = {"pin": PIN, "drop": EXCLUDE}


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
    _weigh: Callable[[Messages], int]

    def __post_init__(self) -> None:
        self._effective = EffectiveDecisions(self._decisions)

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
        target = self._meant(target, "kept")
        what = describe(target)
        if all(self._effective.pinned(part.id, target.message.id) for part in target.parts):
            return ContextEdit(target.id, f"{_begin(what)} is pinned already.")
        return ContextEdit(
            target.id,
            f"Pinned {what}: it stays in every later request. %agent unpin {short(target.id)} "
            "takes the pin off.",
            self._chosen(target, "pin"),
        )

    def unpin(self, target: Target) -> ContextEdit:
        """Remove a pin."""
        target = self._meant(target, "unpinned")
        what = describe(target)
        wish = self._effective.edit(target.id)
        if wish is not None and wish.action == "pin":
            made = (self._decision(target, "restore", UNPIN),)
            return ContextEdit(target.id, f"{_begin(what)} is no longer pinned.", made)
        if target.part and self._effective.pinned(target.part.id, target.message.id):
            home = short(target.message.id)
            return ContextEdit(target.id, f"Its whole message is pinned: %agent unpin {home}.")
        return ContextEdit(target.id, f"{_begin(what)} is not pinned.")

    def exclude(self, target: Target) -> ContextEdit:
        """Exclude a part, or a whole message, from every later request."""
        target = self._meant(target, "left out")
        what = describe(target)
        if self._is_gone(target):
            return ContextEdit(target.id, f"{_begin(what)} is left out already.")
        when = "from the next request on"
        made = self._chosen(target, "drop")
        if is_summary(target.message):
            when += ", and with it what it covers"
            made += (self._decision(self._marker_of(target), "drop", EXCLUDE),)
        if target.message.id == self._newest_question() and not self._is_more_than(target):
            when = "once there is a newer prompt; until then it is what is answered"
        return ContextEdit(
            target.id,
            f"Left out {what}, {when}. %agent restore {short(target.id)} brings it back.",
            made,
        )

    def restore(self, target: Target) -> ContextEdit:
        """Bring back what was excluded, cleared or truncated; a summary is replaced by the messages it covers."""
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
        """Undo the newest compaction, so that the messages it covers are sent again; raises UserError if none."""
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
        """Return the target that can be edited by itself; a compaction's marker means its summary."""
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
        """Return the good summary of a compaction, whichever of its messages was named."""
        summaries = [self._messages[at] for _, at, _ in completed_compactions(self._messages)]
        found = _summary_of(target, summaries)
        return Target(found) if found is not None else None

    def _marker_of(self, summary: Target) -> Target:
        """Return the marker of a summary, which is edited with it."""
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
        """Return a pin or an exclusion; an opposite edit of the same target is reversed first."""
        before = self._effective.edit(target.id)
        made = [self._decision(target, action, RULES[action])]
        if before is not None and before.action != action:
            rule = UNPIN if before.action == "pin" else RESTORE
            made.insert(0, self._decision(target, "restore", rule))
        return tuple(made)

    def _taken(self, target: Target) -> Iterator[Decision]:
        """Yield a restoring decision for each reduction that hides part of the target."""
        if target.part is None:
            wish = self._effective.edit(target.id)
            if wish is not None and wish.action == "drop":
                yield self._decision(target, "restore", RESTORE)
        for part in target.parts:
            reduction = self._effective.reduction(part.id, target.message.id)
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
        """Return the tokens of the target in a request under these decisions."""
        effective = EffectiveDecisions(decisions)
        shown = tuple(
            part
            for part in target.parts
            if not _drops(effective.reduction(part.id, target.message.id))
        )
        alone = target.message.model_copy(update={"parts": shown})
        return self._weigh(apply_decisions((alone,), View((alone,), decisions))) if shown else 0

    def _is_gone(self, target: Target) -> bool:
        return all(
            _drops(self._effective.reduction(part.id, target.message.id)) for part in target.parts
        )

    def _is_more_than(self, target: Target) -> bool:
        """Return whether the model is sent more of the target's message than the target."""
        named = {part.id for part in target.parts}
        return any(
            isinstance(part, REACHES_MODEL)
            and part.id not in named
            and not _drops(self._effective.reduction(part.id, target.message.id))
            for part in target.message.parts
        )

    def _newest_question(self) -> str | None:
        users = (one.id for one in reversed(self._messages) if isinstance(one.info, UserMessage))
        return next(users, None)


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
        parent = getattr(summary.info, "parent_id", None)
        if target.message.id in (summary.id, parent):
            return summary
    return None


def _drops(reduction: Decision | None) -> bool:
    return reduction is not None and reduction.action == "drop"


def _begin(words: str) -> str:
    return words[:1].upper() + words[1:]
