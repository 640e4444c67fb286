"""The list tool: show a folder as a tree.

Border: names only. The tree is filled level by level up to a limit, so that the upper levels of a large
project are shown first.
"""

from collections import deque
from pathlib import Path

from pydantic import BaseModel, Field

from palimpsest.tools.calls.error_containment import in_thread
from palimpsest.tools.file_access.gitignore import GitignoreRules, WalkEntry, scan
from palimpsest.tools.file_access.paths import reach_folder
from palimpsest.tools.tool import Abort, ToolContext, ToolOutcome
from palimpsest.transcript.strings.relative_paths import recorded_name

MOST_ENTRIES = 300
MOST_PER_FOLDER = 60
MOST_FOLDERS_READ = 2_000


class ListArguments(BaseModel):
    """Input of the list tool."""

    path: str = Field(default=".", description="Folder; the working folder if left out.")


class ListTool:
    """The list tool, which shows a folder as a tree."""

    name = "list"
    description = (
        "Show a folder as a tree, without ignored files, the upper levels first when it is large."
    )
    arguments: type[BaseModel] = ListArguments
    concurrent = True
    permission = "list"

    async def run(self, arguments: ListArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission and return the tree."""
        place = await reach_folder(context, arguments.path)
        await context.ask(self.permission, [place.shown], title=f"List {place.shown}", always=["*"])
        root = context.root.resolve()
        lines = await in_thread(context.abort, lambda: _tree(root, place.path, context.abort))
        output = "\n".join([place.shown.rstrip("/") + "/", *(lines or ["  (empty)"])])
        return ToolOutcome(place.shown, output, {"lines": len(lines)})


def name_of(found: WalkEntry) -> str:
    """Return the name, with a slash after folders and an at sign after links."""
    return recorded_name(found.path.name) + ("/" if found.is_dir else "@" if found.is_link else "")


def _tree(root: Path, folder: Path, abort: Abort) -> list[str]:
    contents: dict[Path, tuple[list[WalkEntry], int]] = {}
    waiting = deque([(folder, GitignoreRules.at(root, folder))])
    entries = 0
    while waiting and entries < MOST_ENTRIES and len(contents) < MOST_FOLDERS_READ:
        if abort.is_set():
            break
        here, ignore = waiting.popleft()
        found = scan(here, ignore)
        kept = found[: min(MOST_PER_FOLDER, MOST_ENTRIES - entries)]
        contents[here] = (kept, len(found) - len(kept))
        entries += len(kept)
        waiting += [(one.path, ignore.below(one.path)) for one in kept if one.is_dir]
    return _drawn(folder, contents, "  ")


def _drawn(
    folder: Path, contents: dict[Path, tuple[list[WalkEntry], int]], indent: str
) -> list[str]:
    kept, left = contents[folder]
    lines: list[str] = []
    for one in kept:
        unread = one.is_dir and one.path not in contents
        lines.append(f"{indent}{name_of(one)}{' ...' if unread else ''}")
        if one.is_dir and not unread:
            lines += _drawn(one.path, contents, indent + "  ")
    if left:
        lines.append(f"{indent}({left} more)")
    return lines
