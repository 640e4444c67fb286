"""Names and paths as they may stand in a log, a snapshot or an export: relative, and leading nowhere else.

Border: pure text. What such a path is put below, and whether a folder on the way is a link, is the
work of who opens it.
"""

import re
import unicodedata
from collections.abc import Collection

IGNORED = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]")
"""Characters that some file systems leave out of names when they compare them."""
DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
RECORDS = frozenset({".git", "git~1", ".palimpsest", "palimp~1"})
"""Folders whose files nothing but their own program writes, as ``folded`` writes them."""
MOST_CHARS = 4_096


def comparable_path(path: str) -> str:
    """Return a path as a file system compares it that minds neither case nor how letters are composed."""
    return ("/" if path.startswith("/") else "") + "/".join(comparable_names(path))


def comparable_names(path: str) -> list[str]:
    """Return the names of a path, so compared."""
    if path.isascii():  # nothing to compose, and nothing that is left out: most paths
        text = path.lower()
    else:
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        text = IGNORED.sub("", text)
    text = text.replace("\\", "/")
    names = text.split("/")
    if ":" in text or ". " in text or "./" in text or text.endswith((".", " ")) or " /" in text:
        names = [_plain(name) for name in names]
    return [name for name in names if name and name != "."]


def _plain(name: str) -> str:
    """Return a name without what NTFS drops: a stream behind a colon, dots and spaces at the end."""
    if name in (".", ".."):
        return name
    head = name.partition(":")[0]
    return (head or name).rstrip(". ") or name


def path_problem(path: object, never: Collection[str] = ()) -> str | None:
    """Say what is wrong with a path below a project, as the end of a sentence; None for a good one.

    ``never`` are names that nothing of ours ever writes there.
    """
    if not isinstance(path, str) or not path or len(path) > MOST_CHARS:
        return "it is no path"
    if path.startswith(("/", "\\")) or DRIVE.match(path):
        return "it is an absolute path"
    names = path.split("/")
    if "\0" in path or any(name in ("", ".", "..") for name in names):
        return "it does not stay in its folder"
    if any(name in never for name in names) or RECORDS & set(comparable_names(path)):
        return "it lies in a folder that is never kept or brought back"
    return None
