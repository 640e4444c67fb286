"""Plan a revert: which messages and parts it hides, and the steps whose file changes it undoes.

Border: pure. Reverting an answer reverts its prompt too, since an unanswered prompt
would be answered again at once; a place in the middle of an answer is kept as such, if some
text or tool call comes before it. The file changes of all steps that are hidden are undone, including
those before the place that was named. Order is that of the list, never that of ids.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.parts import PatchPart, StepFinishPart, TextPart, ToolPart
from palimpsest.transcript.session_record.reverts import RevertState

WRITERS = frozenset({"write", "edit"})
"""The tools whose calls are called after the file that they wrote."""


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """What a revert does."""

    message_id: str
    part_id: str | None
    restore: str | None
    """The snapshot of a revert that is already in effect: its files are restored first."""
    patches: tuple[PatchPart, ...]
    """Steps whose file changes are undone, oldest first; the first that names a file holds what to restore."""
    written: tuple[str, ...] = ()
    """The files that hidden calls of the file tools wrote, whether or not a snapshot has them."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The messages and parts that a cleanup removes, in order."""

    messages: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    """Pairs of message id and part id."""


def plan_revert(
    messages: Messages,
    message_id: str,
    part_id: str | None = None,
    *,
    standing: RevertState | None = None,
) -> RevertPlan | None:
    """Return what reverting a message, or a part of it, does; None where there is no such message or part."""
    target = _target(messages, message_id, part_id)
    if target is None:
        return None
    place, part = target
    hidden = [message for _, message in _from(messages, messages[place].id, part)]
    return RevertPlan(
        messages[place].id,
        part,
        standing.snapshot if standing is not None else None,
        tuple(one for message in hidden for one in _patches(message)),
        tuple(dict.fromkeys(name for message in hidden for name in _written(message))),
    )


def hidden_by_revert(messages: Messages, revert: RevertState) -> Removal:
    """Return what a cleanup removes; nothing where the revert's target no longer exists."""
    at = next((i for i, one in enumerate(messages) if one.id == revert.message_id), None)
    if at is None:
        return Removal()
    if revert.part_id is None:
        return Removal(tuple(one.id for one in messages[at:]))
    names = [part.id for part in messages[at].parts]
    first = names.index(revert.part_id) if revert.part_id in names else len(names)
    gone = tuple((revert.message_id, name) for name in names[first:])
    return Removal(tuple(one.id for one in messages[at + 1 :]), gone)


def without_taken_back(messages: Messages, revert: RevertState | None) -> Messages:
    """Return the messages that the model sees under a revert."""
    if revert is None:
        return messages
    gone = hidden_by_revert(messages, revert)
    names, parts = set(gone.messages), {part for _, part in gone.parts}
    return tuple(
        one.model_copy(update={"parts": tuple(p for p in one.parts if p.id not in parts)})
        if one.id == revert.message_id
        else one
        for one in messages
        if one.id not in names
    )


def left_by(messages: Messages, patch: PatchPart) -> str | None:
    """Return the snapshot at the end of the step that a patch belongs to."""
    if patch.after is not None:
        return patch.after
    for message in messages:
        if message.id == patch.message_id:
            ends = [one for one in message.parts if isinstance(one, StepFinishPart)]
            return ends[-1].snapshot if ends else None
    return None


def _target(
    messages: Messages, message_id: str, part_id: str | None
) -> tuple[int, str | None] | None:
    asked: int | None = None
    for at, message in enumerate(messages):
        if isinstance(message.info, UserMessage):
            asked = at
        if message.id != message_id:
            continue
        if part_id is None:
            return (at if asked is None else asked), None
        names = [part.id for part in message.parts]
        if part_id not in names:
            return None
        before = message.parts[: names.index(part_id)]
        if any(isinstance(one, TextPart | ToolPart) for one in before):
            return at, part_id
        return (at if asked is None else asked), None
    return None


def _from(
    messages: Messages, message_id: str, part_id: str | None
) -> Iterator[tuple[int, Message]]:
    """Yield the messages from a place on, the first without its parts before that place."""
    found = False
    for at, message in enumerate(messages):
        if found:
            yield at, message
        elif message.id == message_id:
            found = True
            names = [part.id for part in message.parts]
            first = names.index(part_id) if part_id in names else 0
            yield at, message.model_copy(update={"parts": message.parts[first:]})


def _written(message: Message) -> list[str]:
    """Return the files that completed calls of the file tools wrote: relative, or absolute outside the project."""
    return [
        part.state.title
        for part in message.parts
        if isinstance(part, ToolPart)
        and part.tool in WRITERS
        and part.state.status == "completed"
        and part.state.title
    ]


def _patches(message: Message) -> list[PatchPart]:
    return [part for part in message.parts if isinstance(part, PatchPart)]
