"""Create a segment such that every segment with records stays linked to the ones before it.

A segment exists as soon as its file is created, but its header, which names the previous segment and
the place where it cuts that segment, is written a moment later. In between, records could be lost in two ways: a
third kernel skips a segment without a header while its writer continues, or two writers cut the same segment
at two places. So every earlier segment gets its header before the new header is written: its writer is given
time, and if the writer was killed or stopped, the header is written in its place. The first line of a file counts,
whichever process wrote it, so all readers agree.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from palimpsest.store.disk import NOFOLLOW, is_regular, write_fully
from palimpsest.store.interface import Owner
from palimpsest.store.log.segments import Segments, header_line, segment_epochs, segment_name

MAX_HEADER_WAIT_SECONDS = 2.0
"""Maximum seconds that a new writer may take between creating its segment and writing its header."""

POLL_SECONDS = 0.01
NO_OWNER = Owner(host="", pid=0, kernel_id="")
"""The writer in a header that was written in its place."""


def begin_segment(segments: Segments, directory: Path, epoch: int, owner: Owner) -> Path | None:
    """Create a session's segment and cut the one before it; None when another process created it first.

    Raises OSError when the folder cannot be written.
    """
    path = directory / segment_name(epoch)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return None
    try:
        # After the new segment exists: the writer of an earlier one looks for it after each write.
        settle_segments(segments, directory, below_epoch=epoch)
        write_fully(fd, _new_header_line(segments, directory, epoch, owner))
    finally:
        os.close(fd)
    return path


def settle_segments(segments: Segments, directory: Path, *, below_epoch: int | None = None) -> None:
    """Wait until the newest segments (below an epoch) have headers, and write those that are missing.

    Raises NotFound when the session is gone. A file with half a header, as a full disk may leave it,
    is skipped: its writer gave up.
    """
    deadline = time.monotonic() + MAX_HEADER_WAIT_SECONDS
    while missing_epochs := _epochs_without_header(segments, directory, below_epoch):
        if time.monotonic() > deadline:
            for epoch in missing_epochs:
                _write_missing_header(segments, directory, epoch)
            return
        time.sleep(POLL_SECONDS)


def _epochs_without_header(
    segments: Segments, directory: Path, below_epoch: int | None
) -> list[int]:
    """Return the epochs without a header above the newest that has one, lowest first."""
    epochs: list[int] = []
    for epoch in segment_epochs(directory):
        path = directory / segment_name(epoch)
        if (below_epoch is None or epoch < below_epoch) and is_regular(path):
            if segments.header(path) is not None:
                break
            epochs.append(epoch)
    return epochs[::-1]


def _write_missing_header(segments: Segments, directory: Path, epoch: int) -> None:
    """Write a segment's header for its writer, unless the file has content by now."""
    with suppress(OSError):
        fd = os.open(directory / segment_name(epoch), os.O_WRONLY | os.O_APPEND | NOFOLLOW)
        try:
            file_stat = os.fstat(fd)
            # A second link means that the file is also another path's, which must not be written.
            if file_stat.st_size == 0 and file_stat.st_nlink == 1:
                write_fully(fd, _new_header_line(segments, directory, epoch, NO_OWNER))
        finally:
            os.close(fd)


def _new_header_line(segments: Segments, directory: Path, epoch: int, owner: Owner) -> bytes:
    earlier_ranges = segments.own_ranges(directory.name, below_epoch=epoch)
    if not earlier_ranges:
        return header_line(directory.name, epoch, None, None, owner)
    previous = earlier_ranges[-1]
    return header_line(directory.name, epoch, previous.segment, previous.end_offset(), owner)
