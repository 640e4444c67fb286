"""Read what the system prompt tells of the place: folders, platform, date, instruction files."""

import datetime
import platform
from pathlib import Path

from palimpsest.context.system import Surroundings
from palimpsest.tools.instructions import NAMES

INSTRUCTION_BYTES = 40_000
"""A longer instruction file is cut: it would fill the window of a small model by itself."""


def read_surroundings(
    model: str,
    cwd: Path,
    root: Path,
    notebook: str | None,
    created_ms: int,
    files: tuple[str, ...] = (),
) -> Surroundings:
    """Describe where a session works, as of its beginning."""
    return Surroundings(
        model=model,
        directory=str(cwd),
        root=str(root),
        git=any((folder / ".git").exists() for folder in (cwd, *cwd.parents)),
        platform=platform.system().lower(),
        date=day_of(created_ms),
        notebook=notebook,
        instructions=read_instructions(cwd, root) + read_files(files),
    )


def day_of(now_ms: int) -> str:
    """Return the day of a moment, where this kernel runs."""
    moment = datetime.datetime.fromtimestamp(now_ms / 1000).astimezone()
    return moment.strftime("%a %b %d %Y")


def read_instructions(cwd: Path, root: Path) -> tuple[tuple[str, str], ...]:
    """Return path and content of each instruction file from the project down to the folder."""
    folders = [folder for folder in (cwd, *cwd.parents) if folder == root or root in folder.parents]
    # The first name that exists anywhere on the way counts, with all its files.
    for name in NAMES:
        found = [folder / name for folder in reversed(folders) if (folder / name).is_file()]
        texts = [(path, _text(path)) for path in found]
        if readable := tuple((str(path), text) for path, text in texts if text):
            return readable
    return ()


def read_files(patterns: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return path and content of the files that the configuration names."""
    paths: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        relative = path.relative_to(path.anchor)
        paths.update(dict.fromkeys(sorted(Path(path.anchor).glob(str(relative)))))
    texts = [(path, _text(path)) for path in paths if path.is_file()]
    return tuple((str(path), text) for path, text in texts if text)


def _text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(INSTRUCTION_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
