"""Find the earlier session, in a recording's folder, from which the recording was resumed or forked: both begin alike.

Recordings that begin alike are sorted by the time of their last record; a message belongs to the first one that contains it.
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
    """The session and the first answer of a recording, by which recordings that begin alike are found."""

    session: str
    """Id of the session; empty where none is recorded."""
    first_answer: str
    """What identifies the first answer across recordings: its id, time and usage; empty where there is none."""


@runtime_checkable
class ResumedFormat(Recogniser, Protocol):
    """An importer of files of JSON lines, whose agent copies messages into a new file when a session goes on."""

    def session_beginning(self, path: Path) -> SessionBeginning:
        """Return the session and the first answer of a recording."""

    def message_ids(self, path: Path) -> Collection[str]:
        """Return the ids of a recording's messages."""

    def __hash__(self) -> int: ...


class SharedBeginning(NamedTuple):
    """The messages that a recording shares with an earlier one."""

    session: str
    """Id of the earlier session."""
    messages: Sequence[str]
    """Ids of the shared messages, in order."""


def shared_beginning(
    path: Path, importer: ResumedFormat, messages: Sequence[str]
) -> SharedBeginning | None:
    """Return the earlier session in a file's folder that shares most of its messages; None where none shares any.

    ``messages`` are the ids of the file's messages in order. Other files that cannot be read are left out.
    """
    longest_beginning: SharedBeginning | None = None
    for file in earlier_recordings(path, importer):
        other_ids = _message_ids(importer, file, _file_version(file))
        shared_ids = [message_id for message_id in messages if message_id in other_ids]
        if shared_ids and (
            longest_beginning is None or len(shared_ids) > len(longest_beginning.messages)
        ):
            longest_beginning = SharedBeginning(
                importer.session_beginning(file).session, shared_ids
            )
    return longest_beginning


def earlier_recordings(path: Path, importer: object) -> Sequence[Path]:
    """Return the recordings in a file's folder that begin as it does and end before it, in the order of their ends.

    Files with the same session id are copies and left out. Empty for an importer that is no ``ResumedFormat``.
    """
    if not isinstance(importer, ResumedFormat):
        return ()
    folder = path.parent
    beginnings = _beginnings(importer, folder, modified_ns(folder), path.suffix)
    own_beginning = beginnings.get(path.name)
    if own_beginning is None or not own_beginning.first_answer:
        return ()
    other_names = [
        name
        for name, (session_id, first_answer) in beginnings.items()
        if first_answer == own_beginning.first_answer and session_id != own_beginning.session
    ]
    if not other_names:
        return ()
    own_end = (_last_time_ms(path, _file_version(path)), path.name)
    ends = sorted(
        (_last_time_ms(folder / name, _file_version(folder / name)), name) for name in other_names
    )
    return tuple(folder / name for time_ms, name in ends if (time_ms, name) < own_end)


def first_records(path: Path) -> Iterator[JsonValue]:
    """Yield the records at a file's beginning."""
    return (record for _, record in islice(json_lines(path, discard_report), MAX_RECORDS))


@lru_cache(maxsize=8)
def _beginnings(
    importer: ResumedFormat, folder: Path, _modified_ns: int, suffix: str
) -> dict[str, SessionBeginning]:
    """Return the beginnings of an importer's files in a folder, by file name; a new ``_modified_ns`` reads them again."""
    files = (
        file
        for file in sorted(folder.glob(f"*{suffix}"))
        if file.is_file() and not file.is_symlink()
    )
    beginnings: dict[str, SessionBeginning] = {}
    for file in islice(files, MAX_FILES):
        try:
            if importer.recognises(head_of(file)):
                beginnings[file.name] = importer.session_beginning(file)
        except (OSError, UserError):
            continue  # reported when the file itself is imported
    return beginnings


_FileVersion = tuple[int, int]
"""Time of a file's newest change in nanoseconds, and its size in bytes; zeros where it cannot be read."""


def _file_version(file: Path) -> _FileVersion:
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _message_ids(importer: ResumedFormat, file: Path, _version: _FileVersion) -> Collection[str]:
    try:
        return frozenset(importer.message_ids(file))
    except (OSError, UserError):
        return frozenset()


@lru_cache(maxsize=1_024)
def _last_time_ms(file: Path, _version: _FileVersion) -> int:
    """Return the newest time of a file's records, in milliseconds since 1970; 0 where it cannot be read."""
    times = (record.time_ms("timestamp") or 0 for _, record in json_lines(file, discard_report))
    try:
        return max(times, default=0)
    except OSError:
        return 0


def modified_ns(folder: Path) -> int:
    """Return the time at which a folder was changed, in nanoseconds; 0 where it cannot be read."""
    return _file_version(folder)[0]
