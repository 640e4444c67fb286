r"""Write names of files as text in UTF-8, and read them back: bytes that are not UTF-8 stand as ``\xff``.

Names on a Unix disk are bytes. Python decodes them by the locale, and keeps what it cannot decode in a form that no log,
request or page can hold. So a name is written here in one form, whatever the locale of the kernel is, and each name has
a form of its own: a backslash is doubled where it would be read as one of ours. Windows has no such names.
"""

import re
import sys

BYTE = re.compile(r"\\(?:x([89a-f][0-9a-f])|\\)")
KEPT = re.compile("[\udc80-\udcff]")
"""Bytes of a name as Python keeps them where they are not UTF-8."""
FIRST = 0xDC00
ENCODING, KEEPING = sys.getfilesystemencoding(), "surrogateescape"
"""How Python decodes the names on a disk in this process."""


def recorded_name(name: str) -> str:
    """Return a name or path, as Python has it of the disk, as text that can be recorded and shown."""
    if name.isascii() and "\\" not in name:
        return name
    if sys.platform == "win32":
        return name
    try:
        text = name.encode(ENCODING, KEEPING).decode("utf-8", KEEPING)
    except UnicodeEncodeError:  # no name of a file
        return name.encode("utf-8", "replace").decode()
    if KEPT.search(text) is None and BYTE.search(text) is None:
        return text
    text = text.replace("\\", "\\\\")
    return KEPT.sub(lambda found: f"\\x{ord(found[0]) - FIRST:02x}", text)


def disk_name(recorded: str) -> str:
    """Return a recorded name or path as Python names it on the disk."""
    if recorded.isascii() and "\\" not in recorded:
        return recorded
    if sys.platform == "win32":
        return recorded
    text = BYTE.sub(lambda found: chr(FIRST + int(found[1], 16)) if found[1] else "\\", recorded)
    try:
        return text.encode("utf-8", KEEPING).decode(ENCODING, KEEPING)
    except UnicodeEncodeError:  # half of a surrogate pair: no file has such a name
        return recorded
