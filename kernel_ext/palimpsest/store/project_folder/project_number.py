"""A random number that identifies a project after it was moved, stored in its ``.palimpsest``.

It grants nothing by itself. The user's stored approvals include it, so that they do not apply to another
project that is later put at the same path.
"""

import json
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from palimpsest.store.disk.file_writing import scratch_file

FILE = "project.json"
_NUMBER = re.compile(r"[0-9a-f]{32}")
_LONGEST = 10_000


class ProjectNumber:
    """Reads and creates the number of one project."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._known = ""

    def known(self) -> str:
        """Return the number; empty if the project has none that can be read."""
        if not self._known:
            with suppress(OSError, ValueError, RecursionError, AttributeError):
                flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
                with open(os.open(self._path, flags), "rb") as file:  # noqa: PTH123  # by its descriptor
                    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                        number = json.loads(file.read(_LONGEST)).get("number")
                        if isinstance(number, str) and _NUMBER.fullmatch(number):
                            self._known = number
        return self._known

    def make(self) -> str:
        """Return the number, creating it if there is none; raises OSError."""
        if not self.known():
            content = json.dumps({"version": 1, "number": uuid4().hex}) + "\n"
            scratch = scratch_file(self._path.parent, content.encode())
            with suppress(OSError):  # another kernel was faster, or there are no hard links
                os.link(scratch, self._path)
            if not self.known():  # the file there has no valid number
                scratch.replace(self._path)
            scratch.unlink(missing_ok=True)
            if not self.known():
                raise OSError(0, f"{self._path} cannot be written")
        return self._known
