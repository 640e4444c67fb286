"""Read what the system prompt tells of the place: folders, platform, date, instruction files."""

import datetime
import os
import platform
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from palimpsest.context.engine_text.system_prompt import EnvironmentDetails
from palimpsest.tools.file_access.instruction_files import NAMES
from palimpsest.tools.file_access.safe_open import UnreadableForPrompt, read_for_prompt

INSTRUCTION_BYTES = 40_000
"""A longer instruction file is cut: it would fill the window of a small model by itself."""
MOST_FILES = 100
"""That one pattern of the setting ``instructions`` may name."""


def read_surroundings(
    model: str,
    cwd: Path,
    root: Path,
    notebook: str | None,
    created_ms: int,
    files: tuple[str, ...] = (),
    problems: list[str] | None = None,
) -> EnvironmentDetails:
    """Describe where a session works, as of its beginning; what is left out is told in ``problems``."""
    problems = [] if problems is None else problems
    return EnvironmentDetails(
        model=model,
        directory=str(cwd),
        root=str(root),
        git=any((folder / ".git").exists() for folder in (cwd, *cwd.parents)),
        platform=platform.system().lower(),
        date=day_of(created_ms),
        notebook=notebook,
        instructions=read_instructions(cwd, root, problems) + read_files(files, root, problems),
    )


def day_of(now_ms: int) -> str:
    """Return the day of a moment, where this kernel runs."""
    moment = datetime.datetime.fromtimestamp(now_ms / 1000).astimezone()
    return moment.strftime("%a %b %d %Y")


def read_instructions(cwd: Path, root: Path, problems: list[str]) -> tuple[tuple[str, str], ...]:
    """Return path and content of each instruction file from the project down to the folder."""
    folders = [folder for folder in (cwd, *cwd.parents) if folder == root or root in folder.parents]
    # The first name that exists anywhere on the way counts, with all its files.
    for name in NAMES:
        found = [folder / name for folder in reversed(folders) if (folder / name).is_file()]
        if readable := _texts(found, lambda _: root, problems):
            return readable
    return ()


def read_files(
    patterns: tuple[str, ...], root: Path, problems: list[str]
) -> tuple[tuple[str, str], ...]:
    """Return path and content of the files that the configuration names."""
    paths: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        relative = path.relative_to(path.anchor)
        try:
            found = sorted(islice(Path(path.anchor).glob(str(relative)), MOST_FILES + 1))
        except (OSError, RuntimeError) as error:
            problems.append(f"The instructions {pattern} are left out: {error}.")
            continue
        if len(found) > MOST_FILES:
            problems.append(f"Of the instructions {pattern}, {MOST_FILES} files are read.")
        paths.update(dict.fromkeys(found[:MOST_FILES]))
    named = [path for path in paths if path.is_file()]
    return _texts(named, lambda path: _confined_to(path, root), problems)


def _confined_to(path: Path, root: Path) -> Path | None:
    """Return the folder that a named file must not leave: the project, for a name within it.

    A name outside comes from a person's own settings, or from ones that a person trusts.
    """
    named = Path(os.path.normpath(path))
    return root if named.is_relative_to(root) or path.is_relative_to(root) else None


def _texts(
    paths: Iterable[Path], within: Callable[[Path], Path | None], problems: list[str]
) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for path in paths:
        try:
            data = read_for_prompt(path, within(path), INSTRUCTION_BYTES)
        except UnreadableForPrompt as reason:
            problems.append(f"The instructions {path} are left out: {reason}.")
        except OSError as error:
            problems.append(f"The instructions {path} cannot be read: {error.strerror}.")
        else:
            found.append((str(path), data.decode("utf-8", "replace")))
    return tuple((path, text) for path, text in found if text)
