"""Describe a planned, done or undone revert and its file changes, as Markdown and as text."""

from collections.abc import Mapping, Sequence

from palimpsest.frontends.operation_text.cell_review_text import first_source_line
from palimpsest.frontends.operation_text.command_output import CommandOutput
from palimpsest.render.content.phrases import count, counted_noun
from palimpsest.render.safety.escaping import code_block, code_span, escape_inline
from palimpsest.session.engine import Snapshot
from palimpsest.session.revert.plan import hidden_by_revert
from palimpsest.transcript.context_values.cell_changes import CellAction
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.session_record.reverts import (
    FileDiff,
    RevertedCell,
    RevertedFile,
    RevertPreview,
)
from palimpsest.transcript.session_record.sessions import standing_revert

MAX_SHOWN_MESSAGES = 12
"""Maximum messages that a preview shows; the others are only counted."""

FILE_OUTCOMES = {  # by action: planned, done
    "restore": ("would be brought back", "brought back"),
    "delete": ("would be deleted", "deleted"),
    "conflict": ("is left alone", "was left alone"),
    "impossible": ("can't be brought back", "couldn't be brought back"),
}
CHANGE_SIGNS = {"added": "A", "modified": "M", "deleted": "D"}
HOW_TO_UNDO = "%agent unrevert undoes this; the next prompt, or %agent cleanup, makes it final."
KERNEL_STAYS = "Variables in the kernel stay as they are, and so do cells that you wrote."
CELL_OUTCOMES: Mapping[CellAction, tuple[str, str]] = {
    "insert": ("would be brought back", "brought back"),
    "edit": ("would get its former source", "got its former source"),
    "move": ("would be moved back", "moved back"),
    "delete": ("would be deleted", "deleted"),
}
REDONE_CELL_TEXTS: Mapping[CellAction, str] = {
    "insert": "inserted again",
    "edit": "has the agent's source again",
    "move": "moved again",
    "delete": "deleted again",
}
"""What an unrevert did to a cell."""


def revert_text(preview: RevertPreview, *, is_undone: bool = False) -> CommandOutput:
    """Return a text on a planned or done revert, or on one that was undone."""
    lines = [_revert_sentence(preview, is_undone=is_undone)]
    if preview.problem:
        lines.append(preview.problem)
    messages = () if is_undone else preview.messages
    excerpts = [
        f"{message.role}: {message.excerpt or '(no words)'}"
        for message in messages[:MAX_SHOWN_MESSAGES]
    ]
    if len(messages) > MAX_SHOWN_MESSAGES:
        excerpts.append(f"and {count(len(messages) - MAX_SHOWN_MESSAGES)} more")
    files = [file for file in preview.files if file.action != "nothing"]
    plain_lines = [*lines, *(f"  {line}" for line in excerpts)]
    markdown_blocks = ["\n\n".join(escape_inline(line) for line in lines)]
    if excerpts:
        markdown_blocks.append("\n".join(f"- {escape_inline(line)}" for line in excerpts))
    if files:
        rows = [(file.file, _file_sentence(file, is_done=preview.done)) for file in files]
        plain_lines += [f"  {name} {text}" for name, text in rows]
        items = (f"- {code_span(name)} {escape_inline(text)}" for name, text in rows)
        markdown_blocks.append("\n".join(items))
    cell_sentences = [
        _cell_sentence(cell, is_done=preview.done, is_undone=is_undone) for cell in preview.cells
    ]
    if cell_sentences:
        plain_lines += [f"  {line}" for line in cell_sentences]
        markdown_blocks.append("\n".join(f"- {escape_inline(line)}" for line in cell_sentences))
    if preview.conflicts and not is_undone:
        hint = _overwrite_hint(preview)
        plain_lines.append(hint)
        markdown_blocks.append(escape_inline(hint))
    diffs = [file.diff for file in files if file.diff is not None and not preview.done]
    markdown_blocks += [code_block(diff.patch, "diff") for diff in diffs if diff.patch]
    closing_sentence = _closing_sentence(preview, is_undone=is_undone)
    return CommandOutput(
        "\n\n".join([*markdown_blocks, escape_inline(closing_sentence)]),
        "\n".join([*plain_lines, closing_sentence]),
    )


def _overwrite_hint(preview: RevertPreview) -> str:
    target = short_id(preview.part_id or preview.message_id)
    command = f"%agent revert {target} --overwrite"
    if len(preview.conflicts) == 1:
        return f"Overwrite it all the same with {command}=all."
    return f"Overwrite them all the same with {command}=all, or single ones with --overwrite=FILE."


def _revert_sentence(preview: RevertPreview, *, is_undone: bool) -> str:
    count_text = counted_noun(len(preview.messages), "message")
    if is_undone:
        return f"{count_text} are here again."
    if preview.part_id is not None:
        place_text = f"a part of message {short_id(preview.message_id)} and what follows it"
        return f"{'Reverted' if preview.done else 'Would revert'} {place_text}: {count_text} whole."
    return f"{'Reverted' if preview.done else 'Would revert'} {count_text}."


def _closing_sentence(preview: RevertPreview, *, is_undone: bool) -> str:
    if is_undone:
        return KERNEL_STAYS
    if preview.done:
        return f"{HOW_TO_UNDO} {KERNEL_STAYS}"
    return f"Nothing was changed. {KERNEL_STAYS}"


def _cell_sentence(cell: RevertedCell, *, is_done: bool, is_undone: bool) -> str:
    if cell.problem:
        return cell.problem
    number = cell.change.number
    label = f"cell [{number}]" if number is not None else f"cell {first_source_line(cell.change)!r}"
    action = cell.change.action
    sentence = (
        f"{label} {REDONE_CELL_TEXTS[action] if is_undone else CELL_OUTCOMES[action][is_done]}"
    )
    return f"{sentence}. {cell.note}" if cell.note else sentence


def _file_sentence(file: RevertedFile, *, is_done: bool) -> str:
    sentence = FILE_OUTCOMES[file.action][is_done]
    if file.action in {"restore", "delete"} and file.diff is not None:
        sentence += f" ({_line_counts(file.diff)})"
    return f"{sentence}: {file.reason}" if file.reason else sentence


def revert_state_text(snapshot: Snapshot) -> str:
    """Return a sentence on the number of messages that are reverted now; empty where none are."""
    revert = standing_revert(snapshot.session)
    if revert is None:
        return ""
    hidden_count = len(hidden_by_revert(snapshot.messages, revert).message_ids)
    return f"{counted_noun(hidden_count, 'message')}; %agent unrevert undoes it, the next prompt removes them"


def cleaned_text(removed_count: int) -> CommandOutput:
    """Return a sentence on the number of messages that a cleanup removed."""
    if not removed_count:
        sentence = "Nothing is reverted in this session, so there is nothing to remove."
    else:
        sentence = f"Removed {counted_noun(removed_count, 'message')} that were reverted, for good."
    return CommandOutput(sentence, sentence)


def diff_text(diffs: Sequence[FileDiff], target: str = "") -> CommandOutput:
    """Return a text on the file changes of a turn or of the session."""
    owner_text = "That turn" if target else "This session"
    if not diffs:
        sentence = f"{owner_text} changed no file."
        return CommandOutput(sentence, sentence)
    total_text = f"{owner_text} changed {diff_totals(diffs)}."
    diff_lines = [
        f"{CHANGE_SIGNS[diff.status]} {diff.file} {_line_counts(diff)}".rstrip()
        + (f" ({diff.note})" if diff.note else "")
        for diff in diffs
    ]
    blocks = [
        code_block(diff.patch, "diff") if diff.patch else f"- {escape_inline(diff_line)}"
        for diff, diff_line in zip(diffs, diff_lines, strict=True)
    ]
    return CommandOutput("\n\n".join([total_text, *blocks]), "\n".join([total_text, *diff_lines]))


def diff_totals(diffs: Sequence[FileDiff]) -> str:
    """Return totals such as "3 files, +12 -4"."""
    added_lines, removed_lines = sum(d.additions for d in diffs), sum(d.deletions for d in diffs)
    return f"{counted_noun(len(diffs), 'file')}, +{added_lines:,} -{removed_lines:,}"


def _line_counts(diff: FileDiff) -> str:
    return f"+{diff.additions:,} -{diff.deletions:,}"
