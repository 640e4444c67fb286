"""Log the files, programs and connections that a Python process opens; tests put it on PYTHONPATH."""

import os
import sys
from typing import Any

EVENTS = {
    "open", "look", "os.listdir", "os.scandir", "subprocess.Popen", "os.posix_spawn", "os.exec", "os.system",
    "socket.connect", "socket.getaddrinfo",
}  # fmt: skip

_target = os.environ.get("AUDIT_FILE")
_file = os.open(_target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if _target else -1


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in EVENTS:
        return
    first = arguments[0] if arguments else ""
    if isinstance(first, int):
        return
    words = [
        event,
        os.fsdecode(first) if isinstance(first, str | bytes | os.PathLike) else repr(first),
    ]
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 else 0
        words.append("write" if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) else "read")
    elif event.startswith("socket") or event == "subprocess.Popen":
        words.append(repr(arguments[1:2]))
    line = "\t".join(words).replace("\n", " ")
    os.write(_file, (line + "\n").encode("utf-8", "replace"))


if _target:
    sys.addaudithook(_hook)


def _watched(name: str) -> None:
    """Log calls that look for a file without opening it, for which there is no audit event."""
    look = getattr(os, name)

    def looking(path: Any, *arguments: Any, **named: Any) -> Any:
        if not isinstance(path, int) and named.get("dir_fd") is None:
            _hook("look", (path,))
        return look(path, *arguments, **named)

    setattr(os, name, looking)


if _target:
    _watched("stat")
    _watched("lstat")
