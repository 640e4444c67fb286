"""Plan a revert: which messages and parts it hides, and the steps whose file changes it undoes.

Border: pure. Reverting an answer reverts its prompt too, since an unanswered prompt would be answered again at once; a
revert in the middle of an answer keeps its beginning, if that has some text or a tool call. The file changes of all
hidden steps are undone, including those before the place that was named. Order is that of the list, never that of ids.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from palimpsest.transcript.messages import Messages, UserMessage, parts_of
from palimpsest.transcript.parts import Part, PatchPart, StepFinishPart, TextPart, ToolPart
from palimpsest.transcript.session_record.reverts import RevertState

FILE_TOOLS = frozenset({"write", "edit"})
"""The tools whose calls have the written file as their title."""


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """The messages that a revert hides, and the files that it restores."""

    message_id: str
    part_id: str | None
    earlier_snapshot: str | None
    """The snapshot that a revert already in effect took; its files are restored first."""
    patches: tuple[PatchPart, ...]
    """Steps whose file changes are undone, oldest first; the first that names a file holds the state to restore."""
    written_files: tuple[str, ...] = ()
    """The files that hidden calls of the file tools wrote, including those that no snapshot holds."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The messages and parts that a cleanup removes, in order."""

    message_ids: tuple[str, ...] = ()
    part_id_pairs: tuple[tuple[str, str], ...] = ()
    """Pairs of message id and part id."""


def plan_revert(
    messages: Messages,
    message_id: str,
    part_id: str | None = None,
    *,
    standing_revert: RevertState | None = None,
) -> RevertPlan | None:
    """Plan the revert of a message, or of a part of it; None where there is no such message or part."""
    target = _first_hidden(messages, message_id, part_id)
    if target is None:
        return None
    index, first_hidden_part_id = target
    first_message = messages[index]
    part_ids = [message_part.id for message_part in first_message.parts]
    visible_count = part_ids.index(first_hidden_part_id) if first_hidden_part_id in part_ids else 0
    hidden_messages = [
        first_message.model_copy(update={"parts": first_message.parts[visible_count:]}),
        *messages[index + 1 :],
    ]
    parts = list(parts_of(hidden_messages))
    return RevertPlan(
        messages[index].id,
        first_hidden_part_id,
        standing_revert.snapshot if standing_revert is not None else None,
        tuple(part for part in parts if isinstance(part, PatchPart)),
        tuple(dict.fromkeys(_written_files(parts))),
    )


def hidden_by_revert(messages: Messages, revert: RevertState) -> Removal:
    """Return the messages and parts that a revert hides and a cleanup removes; none where the revert's target no longer exists."""
    index = next((i for i, message in enumerate(messages) if message.id == revert.message_id), None)
    if index is None:
        return Removal()
    if revert.part_id is None:
        return Removal(tuple(message.id for message in messages[index:]))
    part_ids = [part.id for part in messages[index].parts]
    first_hidden = part_ids.index(revert.part_id) if revert.part_id in part_ids else len(part_ids)
    removed_parts = tuple((revert.message_id, part_id) for part_id in part_ids[first_hidden:])
    return Removal(tuple(message.id for message in messages[index + 1 :]), removed_parts)


def without_reverted(messages: Messages, revert: RevertState | None) -> Messages:
    """Return the messages that the model sees under a revert."""
    if revert is None:
        return messages
    removal = hidden_by_revert(messages, revert)
    message_ids, part_ids = set(removal.message_ids), {part for _, part in removal.part_id_pairs}
    return tuple(
        message.model_copy(
            update={"parts": tuple(p for p in message.parts if p.id not in part_ids)}
        )
        if message.id == revert.message_id
        else message
        for message in messages
        if message.id not in message_ids
    )


def snapshot_after_step(messages: Messages, patch: PatchPart) -> str | None:
    """Return the snapshot at the end of the step that a patch belongs to."""
    if patch.after is not None:
        return patch.after
    for message in messages:
        if message.id == patch.message_id:
            step_ends = [part for part in message.parts if isinstance(part, StepFinishPart)]
            return step_ends[-1].snapshot if step_ends else None
    return None


def _first_hidden(
    messages: Messages, message_id: str, part_id: str | None
) -> tuple[int, str | None] | None:
    prompt_index: int | None = None
    for index, message in enumerate(messages):
        if isinstance(message.info, UserMessage):
            prompt_index = index
        if message.id != message_id:
            continue
        if part_id is None:
            return (index if prompt_index is None else prompt_index), None
        part_ids = [part.id for part in message.parts]
        if part_id not in part_ids:
            return None
        parts_before = message.parts[: part_ids.index(part_id)]
        if any(isinstance(earlier, TextPart | ToolPart) for earlier in parts_before):
            return index, part_id
        return (index if prompt_index is None else prompt_index), None
    return None


def _written_files(parts: Iterable[Part]) -> list[str]:
    """Return the files that completed calls of the file tools wrote: relative, or absolute outside the project."""
    return [
        part.state.title
        for part in parts
        if isinstance(part, ToolPart)
        and part.tool in FILE_TOOLS
        and part.state.status == "completed"
        and part.state.title
    ]
