"""Find the session beside a recording that begins with the same messages: it was resumed or forked into a new file.

Recordings that begin alike are put in the order of their last records; a message counts in the first one that holds it.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from palimpsest.recordings.reading.importer import Recogniser
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.sources import discard_report, head_of, json_lines
from palimpsest.transcript.errors import UserError

MAX_FILES = 5_000
"""Maximum files of a folder that are compared."""
MAX_RECORDS = 1_000
"""Maximum records at a file's beginning in which its first answer is searched."""


class SessionBeginning(NamedTuple):
    """What tells which recordings begin alike."""

    session: str
    first_answer: str
    """What identifies the first answer across recordings: its id, time and usage; empty where there is none."""


@runtime_checkable
class ResumedFormat(Recogniser, Protocol):
    """An importer of files of JSON lines, whose agent copies messages into a new file when a session goes on."""

    def beginning(self, path: Path) -> SessionBeginning:
        """Return how a recording begins."""

    def message_ids(self, path: Path) -> Collection[str]:
        """Return the ids of a recording's messages."""

    def __hash__(self) -> int: ...


class SharedBeginning(NamedTuple):
    """The messages that a recording shares with an earlier one."""

    session: str
    """The earlier session."""
    messages: Sequence[str]
    """The shared messages, in order."""


def shared_beginning(
    path: Path, importer: ResumedFormat, messages: Sequence[str]
) -> SharedBeginning | None:
    """Return the earlier session beside a file with which it shares most of its messages; None where there is none.

    ``messages`` are the ids of the file's messages in order. A file beside it that cannot be read is left out.
    """
    newest: SharedBeginning | None = None
    for file in earlier_recordings(path, importer):
        others = _message_ids(importer, file, _stamp(file))
        shared = [message for message in messages if message in others]
        if shared and (newest is None or len(shared) > len(newest.messages)):
            newest = SharedBeginning(importer.beginning(file).session, shared)
    return newest


def earlier_recordings(path: Path, importer: object) -> Sequence[Path]:
    """Return the recordings of other sessions beside a file that begin as it does and end before it, in that order.

    Two files of one session are copies of a file, and are not compared; other importers' files have none.
    """
    if not isinstance(importer, ResumedFormat):
        return ()
    folder = path.parent
    beginnings = _beginnings(importer, folder, modified_time(folder), path.suffix)
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
    end = (_last_time(path, _stamp(path)), path.name)
    ends = sorted((_last_time(folder / name, _stamp(folder / name)), name) for name in others)
    return tuple(folder / name for time, name in ends if (time, name) < end)


def first_records(path: Path) -> Iterator[JsonValue]:
    """Yield the records at a file's beginning."""
    return (record for _, record in islice(json_lines(path, discard_report), MAX_RECORDS))


@lru_cache(maxsize=8)
def _beginnings(
    importer: ResumedFormat, folder: Path, _modified: int, suffix: str
) -> dict[str, SessionBeginning]:
    """Return how the importer's files in a folder begin, by name; read again when the folder has changed."""
    files = (
        file
        for file in sorted(folder.glob(f"*{suffix}"))
        if file.is_file() and not file.is_symlink()
    )
    beginnings: dict[str, SessionBeginning] = {}
    for file in islice(files, MAX_FILES):
        try:
            if importer.recognises(head_of(file)):
                beginnings[file.name] = importer.beginning(file)
        except (OSError, UserError):
            continue  # it is named where it is read itself
    return beginnings


_Stamp = tuple[int, int]
"""Time of a file's newest change, and its size."""


def _stamp(file: Path) -> _Stamp:
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _message_ids(importer: ResumedFormat, file: Path, _unchanged: _Stamp) -> Collection[str]:
    try:
        return frozenset(importer.message_ids(file))
    except (OSError, UserError):
        return frozenset()


@lru_cache(maxsize=1_024)
def _last_time(file: Path, _unchanged: _Stamp) -> int:
    """Return the newest time of a file's records, in milliseconds since 1970; 0 where it cannot be read."""
    times = (record.moment("timestamp") or 0 for _, record in json_lines(file, discard_report))
    try:
        return max(times, default=0)
    except OSError:
        return 0


def modified_time(folder: Path) -> int:
    """Return the time at which a folder was changed, in nanoseconds; 0 where it cannot be read."""
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0
