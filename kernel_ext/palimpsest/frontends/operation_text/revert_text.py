"""What a revert did, would do or undid, and what changed in files, as Markdown and as text."""

from collections.abc import Sequence

from palimpsest.frontends.operation_text.command_output import CommandOutput
from palimpsest.render.content.phrases import count, some
from palimpsest.render.safety.escaping import code_block, code_span, inline
from palimpsest.session.engine import Snapshot
from palimpsest.session.revert.plan import hidden_by_revert
from palimpsest.transcript.ids import short
from palimpsest.transcript.session_record.reverts import FileDiff, RevertedFile, RevertPreview
from palimpsest.transcript.session_record.sessions import standing_revert

MOST_MESSAGES = 12
"""How many messages a preview shows; the rest is only counted."""

VERBS = {
    "restore": ("would be brought back", "brought back"),
    "delete": ("would be deleted", "deleted"),
    "conflict": ("is left alone", "was left alone"),
    "impossible": ("can't be brought back", "couldn't be brought back"),
}
SIGNS = {"added": "A", "modified": "M", "deleted": "D"}
KERNEL_STAYS = "Variables in the kernel and cells of the notebook stay as they are."


def revert_text(preview: RevertPreview, *, back: bool = False) -> CommandOutput:
    """Return what a revert would do, or did, or what undoing it did, as text."""
    lines = [_head(preview, back=back)]
    if preview.problem:
        lines.append(preview.problem)
    messages = () if back else preview.messages
    shown = [f"{one.role}: {one.excerpt or '(no words)'}" for one in messages[:MOST_MESSAGES]]
    if len(messages) > MOST_MESSAGES:
        shown.append(f"and {count(len(messages) - MOST_MESSAGES)} more")
    files = [one for one in preview.files if one.action != "nothing"]
    plain = [*lines, *(f"  {one}" for one in shown)]
    marked = ["\n\n".join(inline(one) for one in lines)]
    if shown:
        marked.append("\n".join(f"- {inline(one)}" for one in shown))
    if files:
        sentences = [_sentence(one, done=preview.done) for one in files]
        plain += [
            f"  {one.file} {sentence}" for one, sentence in zip(files, sentences, strict=True)
        ]
        rows = zip(files, sentences, strict=True)
        marked.append("\n".join(f"- {code_span(one.file)} {inline(text)}" for one, text in rows))
    if preview.conflicts and not back:
        hint = _overwriting(preview)
        plain.append(hint)
        marked.append(inline(hint))
    patches = [one.diff for one in files if one.diff is not None and not preview.done]
    marked += [code_block(one.patch, "diff") for one in patches if one.patch]
    end = _next(preview, back=back)
    return CommandOutput("\n\n".join([*marked, inline(end)]), "\n".join([*plain, end]))


def _overwriting(preview: RevertPreview) -> str:
    target = short(preview.part_id or preview.message_id)
    command = f"%agent revert {target} --overwrite"
    if len(preview.conflicts) == 1:
        return f"Overwrite it all the same with {command}=all."
    return f"Overwrite them all the same with {command}=all, or single ones with --overwrite=FILE."


def _head(preview: RevertPreview, *, back: bool) -> str:
    number = some(len(preview.messages), "message")
    if back:
        return f"{number} are here again."
    if preview.part_id is not None:
        where = f"a part of message {short(preview.message_id)} and what follows it"
        return f"{'Reverted' if preview.done else 'Would revert'} {where}: {number} whole."
    return f"{'Reverted' if preview.done else 'Would revert'} {number}."


def _next(preview: RevertPreview, *, back: bool) -> str:
    if back:
        return KERNEL_STAYS
    if preview.done:
        return (
            "%agent unrevert undoes this; the next prompt, or %agent cleanup, makes it final. "
            + KERNEL_STAYS
        )
    return f"Nothing was changed. {KERNEL_STAYS}"


def _sentence(one: RevertedFile, *, done: bool) -> str:
    words = VERBS[one.action][done]
    if one.action in {"restore", "delete"} and one.diff is not None:
        words += f" ({_numbers(one.diff)})"
    return f"{words}: {one.reason}" if one.reason else words


def revert_state_text(picture: Snapshot) -> str:
    """Return how many messages are reverted now, as text; empty where none are."""
    revert = standing_revert(picture.session)
    if revert is None:
        return ""
    number = len(hidden_by_revert(picture.messages, revert).messages)
    return f"{some(number, 'message')}; %agent unrevert undoes it, the next prompt removes them"


def cleaned_text(removed: int) -> CommandOutput:
    """Return how many messages a cleanup removed, as text."""
    if not removed:
        words = "Nothing is reverted in this session, so there is nothing to remove."
    else:
        words = f"Removed {some(removed, 'message')} that were reverted, for good."
    return CommandOutput(words, words)


def diff_text(diffs: Sequence[FileDiff], target: str = "") -> CommandOutput:
    """Return what a turn or the session changed in files, as text."""
    whose = "That turn" if target else "This session"
    if not diffs:
        words = f"{whose} changed no file."
        return CommandOutput(words, words)
    total = f"{whose} changed {totals(diffs)}."
    rows = [
        f"{SIGNS[one.status]} {one.file} {_numbers(one)}".rstrip()
        + (f" ({one.note})" if one.note else "")
        for one in diffs
    ]
    marked = [
        total,
        *(
            code_block(one.patch, "diff") if one.patch else f"- {inline(row)}"
            for one, row in zip(diffs, rows, strict=True)
        ),
    ]
    return CommandOutput("\n\n".join(marked), "\n".join([total, *rows]))


def totals(diffs: Sequence[FileDiff]) -> str:
    """Return "3 files, +12 -4"."""
    added, gone = sum(d.additions for d in diffs), sum(d.deletions for d in diffs)
    return f"{some(len(diffs), 'file')}, +{added:,} -{gone:,}"


def _numbers(one: FileDiff) -> str:
    return f"+{one.additions:,} -{one.deletions:,}"
