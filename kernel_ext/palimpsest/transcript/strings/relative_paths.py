r"""Check names and paths from a log, a snapshot or an export: relative, and never leading out of their folder.

Names on a Unix disk are bytes. Python decodes them by the locale, and keeps undecodable bytes as surrogates, which no log,
request or page can hold. So a name is recorded as UTF-8 under every locale; a byte that is no UTF-8 becomes ``\xff``, and a
backslash is doubled where it would be read as such an escape. Windows has no such names.

Border: pure text. The code that opens such a path chooses its base folder, and checks the path for links.
"""

import re
import sys
import unicodedata
from collections.abc import Collection

IGNORED_CHARACTERS = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]")
"""Characters that some file systems ignore when they compare names."""
DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
PROTECTED_FOLDERS = frozenset({".git", "git~1", ".palimpsest", "palimp~1"})
"""Folders of git and of this package, where nothing is restored, in the form of ``comparable_names``."""
MAX_PATH_CHARS = 4_096
"""Maximum characters of a path."""
ESCAPED_BYTE = re.compile(r"\\(?:x([89a-f][0-9a-f])|\\)")
"""Matches a byte or a backslash in the form in which names are recorded."""
UNDECODED_BYTE = re.compile("[\udc80-\udcff]")
"""Matches a byte of a name that is not UTF-8, in the form in which Python keeps it."""
FIRST_SURROGATE = 0xDC00
"""Python keeps a byte that it cannot decode as the character with this number plus the byte."""
ENCODING, ERROR_HANDLER = sys.getfilesystemencoding(), "surrogateescape"
"""How Python decodes the names on a disk in this process."""


def comparable_path(path: str) -> str:
    """Return a path in lower case and composed form: equal texts may name the same file on some file systems."""
    return ("/" if path.startswith("/") else "") + "/".join(comparable_names(path))


def comparable_names(path: str) -> list[str]:
    """Return the names of a path in the form in which they are compared."""
    if path.isascii():  # Most paths have no characters to compose or to ignore.
        text = path.lower()
    else:
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        text = IGNORED_CHARACTERS.sub("", text)
    text = text.replace("\\", "/")
    names = text.split("/")
    if ":" in text or ". " in text or "./" in text or text.endswith((".", " ")) or " /" in text:
        names = [_ntfs_name(name) for name in names]
    return [name for name in names if name and name != "."]


def _ntfs_name(name: str) -> str:
    """Return a name as NTFS stores it: without a stream behind a colon, and without dots and spaces at the end."""
    if name in (".", ".."):
        return name
    head = name.partition(":")[0]
    return (head or name).rstrip(". ") or name


def path_problem(path: object, excluded_names: Collection[str] = ()) -> str | None:
    """Return what is wrong with a path below a project, as the end of a sentence; None for a valid one.

    ``excluded_names`` are further folders and files that are never recorded or restored.
    """
    if not isinstance(path, str) or not path or len(path) > MAX_PATH_CHARS:
        return "it is no path"
    if path.startswith(("/", "\\")) or DRIVE.match(path):
        return "it is an absolute path"
    names = path.split("/")
    if "\\" in path and recorded_name(disk_name(path)) != path:
        return "it is no path"  # Another spelling of a name would pass the comparisons below.
    if "\0" in path or any(name in ("", ".", "..") for name in names):
        return "it does not stay in its folder"
    is_excluded = any(name in excluded_names for name in names)
    if is_excluded or not PROTECTED_FOLDERS.isdisjoint(comparable_names(path)):
        return "it lies in a folder that is never kept or brought back"
    return None


def recorded_name(name: str) -> str:
    """Return a name or path, as Python decoded it from the disk, as text that can be recorded and shown."""
    if sys.platform == "win32" or (name.isascii() and "\\" not in name):
        return name
    try:
        text = name.encode(ENCODING, ERROR_HANDLER).decode("utf-8", ERROR_HANDLER)
    except UnicodeEncodeError:  # No file has such a name.
        return name.encode("utf-8", "replace").decode()
    if UNDECODED_BYTE.search(text) is None and ESCAPED_BYTE.search(text) is None:
        return text
    text = text.replace("\\", "\\\\")
    return UNDECODED_BYTE.sub(lambda match: f"\\x{ord(match[0]) - FIRST_SURROGATE:02x}", text)


def disk_name(recorded_path: str) -> str:
    """Return a recorded name or path as Python names it on the disk."""
    if sys.platform == "win32" or (recorded_path.isascii() and "\\" not in recorded_path):
        return recorded_path
    text = ESCAPED_BYTE.sub(
        lambda match: chr(FIRST_SURROGATE + int(match[1], 16)) if match[1] else "\\", recorded_path
    )
    try:
        return text.encode("utf-8", ERROR_HANDLER).decode(ENCODING, ERROR_HANDLER)
    except UnicodeEncodeError:  # It has half of a surrogate pair, and no file has such a name.
        return recorded_path
