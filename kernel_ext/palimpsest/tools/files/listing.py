"""The list tool: show a folder as a tree.

Border: names only. The tree is filled level by level up to a limit, so that the upper levels of a large
project are shown first.
"""

from collections import deque
from pathlib import Path

from pydantic import BaseModel, Field

from palimpsest.tools.calls.error_containment import run_in_thread
from palimpsest.tools.file_access.gitignore import GitignoreRules, WalkEntry, folder_entries
from palimpsest.tools.file_access.paths import resolve_permitted_folder
from palimpsest.tools.tool import Abort, ToolContext, ToolOutcome
from palimpsest.transcript.strings.relative_paths import recorded_name

MAX_ENTRIES = 300
MAX_ENTRIES_PER_FOLDER = 60
MAX_FOLDERS_READ = 2_000


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
        place = await resolve_permitted_folder(context, arguments.path)
        name = place.display_path
        await context.ask(self.permission, [name], title=f"List {name}", always=["*"])
        root = context.root.resolve()
        lines = await run_in_thread(
            context.abort, lambda: _folder_tree(root, place.path, context.abort)
        )
        output = "\n".join([name.rstrip("/") + "/", *(lines or ["  (empty)"])])
        return ToolOutcome(name, output, {"lines": len(lines)})


def entry_name(entry: WalkEntry) -> str:
    """Return the name, with a slash after folders and an at sign after links."""
    return recorded_name(entry.path.name) + ("/" if entry.is_dir else "@" if entry.is_link else "")


def _folder_tree(root: Path, folder: Path, abort: Abort) -> list[str]:
    contents_by_folder: dict[Path, tuple[list[WalkEntry], int]] = {}
    folders_left = deque([(folder, GitignoreRules.rules_at(root, folder))])
    entry_count = 0
    while folders_left and entry_count < MAX_ENTRIES and len(contents_by_folder) < MAX_FOLDERS_READ:
        if abort.is_set():
            break
        current_folder, rules = folders_left.popleft()
        found_entries = folder_entries(current_folder, rules)
        listed_entries = found_entries[: min(MAX_ENTRIES_PER_FOLDER, MAX_ENTRIES - entry_count)]
        contents_by_folder[current_folder] = (
            listed_entries,
            len(found_entries) - len(listed_entries),
        )
        entry_count += len(listed_entries)
        folders_left += [
            (entry.path, rules.rules_below(entry.path)) for entry in listed_entries if entry.is_dir
        ]
    return _tree_lines(folder, contents_by_folder, "  ")


def _tree_lines(
    folder: Path, contents_by_folder: dict[Path, tuple[list[WalkEntry], int]], indent: str
) -> list[str]:
    entries, unlisted_count = contents_by_folder[folder]
    lines: list[str] = []
    for entry in entries:
        is_unread = entry.is_dir and entry.path not in contents_by_folder
        lines.append(f"{indent}{entry_name(entry)}{' ...' if is_unread else ''}")
        if entry.is_dir and not is_unread:
            lines += _tree_lines(entry.path, contents_by_folder, indent + "  ")
    if unlisted_count:
        lines.append(f"{indent}({unlisted_count} more)")
    return lines
