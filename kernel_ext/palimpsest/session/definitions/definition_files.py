"""Find and read the files that define agents, commands and skills.

Border: reads files; ``agent_files``, ``command_files`` and ``skill_files`` interpret them. Lowest precedence
first: the user's folders, then the project's from the outermost inwards, as with settings; and within
one folder ``.agents``, ``.claude``, ``.opencode``, then Palimpsest's own.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from palimpsest.session.config.setting_files import ConfigFolders, is_writable_by_others, upwards
from palimpsest.session.definitions.frontmatter import Document, parse
from palimpsest.session.trust.trust_store import definition_digest
from palimpsest.tools.file_access.file_contents import OUT, UnreadableForPrompt, read_for_prompt
from palimpsest.transcript.errors import ConfigError

FAMILIES = (".agents", ".claude", ".opencode", ".palimpsest")
"""Lowest precedence first: where two define the same name, Palimpsest's own is used."""
LARGEST_BYTES = 256_000
MOST_FILES = 500
"""Maximum number of files in one folder; more were not written by hand."""
MOST_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that may hold agents, commands and skills."""

    path: Path
    is_project: bool
    """It came with the project, so another person may have written it."""
    within: Path | None = None
    """The folder that its files must not lead out of by links: the repository, or its parent; None for any."""

    @property
    def family(self) -> str:
        """Which tool's folder it is, such as ``.claude``."""
        return self.path.name if self.path.name in FAMILIES else ".palimpsest"


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """A Markdown file that was read."""

    name: str
    """Its path below its folder, without the suffix: ``git/commit``."""
    path: Path
    origin: str
    """Its path as shown to the user."""
    folder: Folder
    document: Document
    digest: str = ""
    """A hash of path and content, by which the user's trust in the file is recorded."""


def folders(start: Path, places: ConfigFolders) -> tuple[Folder, ...]:
    """Return the folders that exist, lowest precedence first."""
    home = places.home
    paths = [(home / name, False) for name in FAMILIES]
    paths[2:2] = [(home / ".config" / "opencode", False)]
    paths += [(path, False) for path in places.user]
    above = [folder for folder in upwards(start, home) if folder != home.resolve()]
    repository = next((one for one in above if (one / ".git").exists()), None)
    for folder in reversed(above):
        paths += [(folder / name, True) for name in FAMILIES]
    found: dict[Path, Folder] = {}
    for path, is_project in paths:
        if path.is_dir() and path not in found:
            within = (repository or path.parent) if is_project else None
            found[path] = Folder(path, is_project, within)
    return tuple(found.values())


def folders_signature(
    found: Sequence[Folder], kinds: Sequence[str]
) -> tuple[tuple[str, int, int], ...]:
    """Return a value that changes when a file in the folders does: path, modification time and size of each."""
    seen = []
    for folder in found:
        for kind in kinds:
            for path in _files(folder, folder.path / kind, []):
                try:
                    status = path.stat()
                except OSError:
                    continue
                seen.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(seen)


def read_definitions(
    found: Sequence[Folder],
    kinds: Sequence[str],
    home: Path,
    problems: list[str],
    left_out: list[str],
    *,
    only: str | None = None,
) -> Iterator[DefinitionFile]:
    """Yield every Markdown file in the sub-folders ``kinds``, lowest precedence first; ``only`` those of one name.

    Errors are added to ``problems``; files that must not be read, such as outside the project, to ``left_out``.
    """
    for folder in found:
        for kind in kinds:
            base = folder.path / kind
            outside: list[Path] = []
            files = _files(folder, base, outside)
            left_out += [f"{short_path(one, home)} is left out: {OUT}." for one in outside]
            for path in files:
                if only is not None and path.name != only:
                    continue
                one = read_one(folder, base, path, home, problems, left_out)
                if one is not None:
                    yield one


def read_one(
    folder: Folder,
    base: Path,
    path: Path,
    home: Path,
    problems: list[str],
    left_out: list[str],
) -> DefinitionFile | None:
    """Return one file; None, with a sentence in one of the lists, where it cannot or must not be read."""
    origin = short_path(path, home)
    try:
        content = _content(folder, path)
        document = parse(content)
    except UnreadableForPrompt as problem:
        left_out.append(f"{origin} is left out: {problem}.")
        return None
    except (OSError, UnicodeDecodeError, ConfigError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problems.append(f"{origin} is left out: {reason}.")
        return None
    name = path.relative_to(base).with_suffix("").as_posix()
    return DefinitionFile(name, path, origin, folder, document, definition_digest(path, content))


def short_path(path: Path, home: Path) -> str:
    """Return a path with the home folder as ``~``."""
    try:
        return f"~/{path.relative_to(home).as_posix()}"
    except ValueError:
        return str(path)


def text_field(head: Mapping[str, object], name: str) -> str | None:
    """Return a text value of the frontmatter, or None; raises ConfigError for a value that is no text."""
    value = head.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, bool | int | float):
        return str(value)
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be words, but it is {value!r:.60}")
    return " ".join(value.split()) if name == "description" else value.strip()


def _files(folder: Folder, base: Path, outside: list[Path], depth: int = 0) -> list[Path]:
    """Return the Markdown files below a folder, sorted; links are followed only to files.

    The folder itself, and those directly in it, may be links that stay within ``folder.within``;
    those that do not are added to ``outside``.
    """
    if depth > MOST_DEPTH:
        return []
    if base.is_dir() and not _stays(folder, base):
        outside.append(base)
        return []
    try:
        entries = sorted(os.scandir(base), key=lambda entry: entry.name)
    except OSError:
        return []
    files: list[Path] = []
    for entry in entries[:MOST_FILES]:
        if entry.is_dir(follow_symlinks=depth == 0):
            files += _files(folder, Path(entry.path), outside, depth + 1)
        elif entry.name.endswith(".md"):
            files.append(Path(entry.path))
        if len(files) > MOST_FILES:
            break
    return files[:MOST_FILES]


def _stays(folder: Folder, base: Path) -> bool:
    if folder.within is None:
        return True
    try:
        return base.resolve().is_relative_to(folder.within.resolve())
    except (OSError, RuntimeError):
        return False


def _content(folder: Folder, path: Path) -> str:
    """Return a file's text; raises UnreadableForPrompt, ConfigError, OSError and UnicodeDecodeError."""
    data = read_for_prompt(path, folder.within, LARGEST_BYTES + 1)
    if folder.is_project and is_writable_by_others(path.stat(), path.parent):
        raise ConfigError("it belongs to another user, in a folder open to everybody")
    if len(data) > LARGEST_BYTES:
        raise ConfigError(f"it is larger than {LARGEST_BYTES // 1000} kB")
    return data.decode("utf-8")
