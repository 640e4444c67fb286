"""Find the session beside a recording that begins with the same messages: it was resumed or forked into a new file.

Recordings that begin alike are put in the order of their last records; a message counts in the first one that holds it.
"""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from palimpsest.recordings.reading.sources import discard_report, json_lines

MAX_FILES = 5_000
"""Most files of a folder that are compared."""


class SessionBeginning(NamedTuple):
    """What tells which recordings begin alike."""

    session: str
    first_answer: str
    """What identifies the first answer across recordings: its id, time and usage; empty where there is none."""


@runtime_checkable
class ResumedFormat(Protocol):
    """An importer of files of JSON lines, whose agent copies messages into a new file when a session goes on."""

    def beginning(self, path: Path) -> SessionBeginning:
        """Return how a recording begins."""


class SharedBeginning(NamedTuple):
    """The messages that a recording shares with an earlier one."""

    session: str
    """The earlier session."""
    last_message: str
    """The last shared message."""


def shared_beginning(
    path: Path,
    importer: ResumedFormat,
    messages: Sequence[str],
    messages_of: Callable[[Path], Collection[str]],
) -> SharedBeginning | None:
    """Return the earlier session beside a file with which it shares most of its messages; None where there is none.

    ``messages`` are the ids of the file's messages in order, ``messages_of`` returns those of another file.
    """
    shared_count, session = 0, ""
    for file in earlier_recordings(path, importer):
        others = messages_of(file)
        counts = (count for count in range(len(messages), 0, -1) if messages[count - 1] in others)
        count = next(counts, 0)
        if count > shared_count:
            shared_count, session = count, importer.beginning(file).session
    return SharedBeginning(session, messages[shared_count - 1]) if shared_count else None


def earlier_recordings(path: Path, importer: object) -> Sequence[Path]:
    """Return the recordings of other sessions beside a file that begin as it does and end before it, in that order.

    Two files of one session are copies of a file, and are not compared; other importers' files have none.
    """
    if not isinstance(importer, ResumedFormat):
        return ()
    folder = path.parent
    beginnings = _beginnings(folder, modified_time(folder), path.suffix, importer.beginning)
    own = beginnings.get(path.name)
    if own is None or not own.first_answer:
        return ()
    others = [
        name
        for name, (session, first_answer) in beginnings.items()
        if first_answer == own.first_answer and session != own.session
    ]
    if not others:
        return ()
    end = (_last_time(path), path.name)
    ends = sorted((_last_time(folder / name), name) for name in others)
    return tuple(folder / name for time, name in ends if (time, name) < end)


@lru_cache(maxsize=8)
def _beginnings(
    folder: Path, _modified: int, suffix: str, beginning: Callable[[Path], SessionBeginning]
) -> dict[str, SessionBeginning]:
    """Return how the files of a folder begin, by name; read again when the folder has changed."""
    files = (
        file
        for file in sorted(folder.glob(f"*{suffix}"))
        if file.is_file() and not file.is_symlink()
    )
    return {file.name: beginning(file) for file, _ in zip(files, range(MAX_FILES), strict=False)}


def _last_time(path: Path) -> int:
    """Return the newest time of a file's records, in milliseconds since 1970."""
    times = (record.moment("timestamp") or 0 for _, record in json_lines(path, discard_report))
    return max(times, default=0)


def modified_time(folder: Path) -> int:
    """Return the time at which a folder was changed, in nanoseconds; 0 where it cannot be read."""
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0
