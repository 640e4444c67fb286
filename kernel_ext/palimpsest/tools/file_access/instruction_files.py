"""Find the instruction files of folders below the working one, and show each of them once.

Those on the way from the project to the working folder are in the system prompt. A folder further in
may have its own; they matter when a file there is read, so they stand before that file's text. What
a compaction has hidden may be shown again.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from palimpsest.tools.file_access.safe_open import UnreadableForPrompt, read_for_prompt
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.parts import ToolCompleted, ToolPart

NAMES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""Of the files with these names in one folder, the first counts."""

LOADED = "instructions"
"""Key in the metadata of a call: paths of what was shown with it."""

MOST_BYTES = 8_000
"""More would crowd out the file that was asked for; the rest can be read."""

SHOWN = "<note>\nInstructions from: {path} (for work in this folder)\n{text}\n</note>"
NOT_SHOWN = "<note>\nThe instructions in {path} are left out: {reason}.\n</note>"
CUT = "(The rest of {path} is left out here; read it before you work in this folder.)"


def nested(path: Path, root: Path, cwd: Path) -> tuple[Path, ...]:
    """Return the instruction files of the folders that hold a file, outermost first."""
    root, cwd = root.resolve(), cwd.resolve()
    known = {cwd, *cwd.parents}
    folders = [folder for folder in path.parents if root in folder.parents and folder not in known]
    found = (_first(folder) for folder in reversed(folders))
    return tuple(one for one in found if one is not None and one != path)


def _first(folder: Path) -> Path | None:
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


class ShownInstructions:
    """Remembers what the calls of one answer show, since they run side by side.

    Responsibilities: give each file to one call only; what earlier answers showed is read off the
    transcript.
    """

    def __init__(self) -> None:
        self._claimed: dict[str, tuple[str, set[str]]] = {}

    def claim(self, paths: Sequence[Path], context: ToolContext) -> tuple[Path, ...]:
        """Return those that nobody has shown; from now on they count as shown."""
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
    """Yield what was shown since the newest summary."""
    for message in reversed(messages):
        info = message.info
        if isinstance(info, AssistantMessage) and info.summary and info.finish and not info.error:
            return
        for part in message.parts:
            if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
                shown = part.state.metadata.get(LOADED)
                yield from (str(path) for path in shown) if isinstance(shown, list) else ()


def with_instructions(outcome: ToolOutcome, paths: Sequence[Path], root: Path) -> ToolOutcome:
    """Return what was read with instruction files before it; an unreadable one is passed over."""
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
