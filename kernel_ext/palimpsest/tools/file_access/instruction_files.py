"""Add the instruction files of subfolders, such as AGENTS.md, to the output of reading a file there.

Those from the project's folder down to the working folder are in the system prompt. A deeper folder may
have its own; they are put before the text of the first file that is read there. After a compaction they
may be shown again.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from palimpsest.tools.file_access.file_contents import UnreadableForPrompt, read_for_prompt
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.parts import ToolCompleted, ToolPart

NAMES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""Names of instruction files; in each folder only the first one that exists is used."""

LOADED = "instructions"
"""Key in a call's metadata with the paths of the instruction files shown in its output."""

MOST_BYTES = 8_000
"""Maximum bytes shown of an instruction file, to leave space for the file that was requested."""

SHOWN = "<note>\nInstructions from: {path} (for work in this folder)\n{text}\n</note>"
NOT_SHOWN = "<note>\nThe instructions in {path} are left out: {reason}.\n</note>"
CUT = "(The rest of {path} is left out here; read it before you work in this folder.)"


def nested(path: Path, root: Path, cwd: Path) -> tuple[Path, ...]:
    """Return the instruction files of the folders above ``path`` and below ``cwd``, outermost first."""
    root, cwd = root.resolve(), cwd.resolve()
    known = {cwd, *cwd.parents}
    folders = [folder for folder in path.parents if root in folder.parents and folder not in known]
    found = (_first(folder) for folder in reversed(folders))
    return tuple(one for one in found if one is not None and one != path)


def _first(folder: Path) -> Path | None:
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


class ShownInstructions:
    """Tracks which instruction files the calls of one answer show, since these run concurrently.

    Responsibilities: assign each file to one call only; those that earlier answers showed are found in
    the transcript.
    """

    def __init__(self) -> None:
        self._claimed: dict[str, tuple[str, set[str]]] = {}

    def claim(self, paths: Sequence[Path], context: ToolContext) -> tuple[Path, ...]:
        """Return those paths that were not shown yet; from now on they count as shown."""
        if not paths:
            return ()
        message_id, claimed = self._claimed.get(context.session_id, ("", set()))
        if message_id != context.message_id:
            claimed = set()
        self._claimed[context.session_id] = (context.message_id, claimed)
        before = claimed | set(_loaded(context.messages))
        fresh = tuple(path for path in paths if str(path) not in before)
        claimed.update(map(str, fresh))
        return fresh


def _loaded(messages: Messages) -> Iterator[str]:
    """Yield the paths of the instruction files shown since the newest compaction summary."""
    for message in reversed(messages):
        info = message.info
        if isinstance(info, AssistantMessage) and info.summary and info.finish and not info.error:
            return
        for part in message.parts:
            if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
                shown = part.state.metadata.get(LOADED)
                yield from (str(path) for path in shown) if isinstance(shown, list) else ()


def with_instructions(outcome: ToolOutcome, paths: Sequence[Path], root: Path) -> ToolOutcome:
    """Return the outcome with the instruction files before its output; an unreadable one is skipped."""
    told = [(path, text) for path in paths if (text := _text(path, root.resolve()))]
    if not told:
        return outcome
    output = "\n\n".join([*(text for _, text in told), outcome.output])
    metadata = dict(outcome.metadata) | {LOADED: [str(path) for path, _ in told]}
    return ToolOutcome(outcome.title, output, metadata, outcome.attachments)


def _text(path: Path, root: Path) -> str:
    shown = path.relative_to(root).as_posix()
    try:
        data = read_for_prompt(path, root, MOST_BYTES + 1)
    except UnreadableForPrompt as reason:
        return NOT_SHOWN.format(path=shown, reason=reason)
    except OSError:
        return ""
    text = data[:MOST_BYTES].decode("utf-8", "replace").strip()
    if len(data) > MOST_BYTES:
        text = f"{text}\n{CUT.format(path=shown)}"
    return SHOWN.format(path=shown, text=text) if text else ""
