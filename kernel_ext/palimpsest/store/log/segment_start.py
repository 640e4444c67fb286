"""Begin a segment, so that every segment in which something was kept stays on the chain.

A segment exists from the moment its file is made, but says only a moment later which segment it
follows and where it cuts that one. In this moment two things could lose what was written: a third
kernel that passes over a segment without a header while its writer goes on, and two writers that
cut the same segment at two places. So the segments below ours are settled before ours says
anything: their writers are given time, and for one that says nothing (it was killed or stopped in
that moment) we say it. The first line of a file counts, whoever wrote it and whatever comes later,
so all who look agree.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from palimpsest.store.disk.file_writing import write_fully
from palimpsest.store.disk.regular_files import NOFOLLOW, is_regular
from palimpsest.store.interface import Owner
from palimpsest.store.log.segments import Segments, header_line, segment_epochs, segment_name

HEADER_WAIT_SECONDS = 2.0
"""How long a new writer may take between making its segment and saying where it cuts the last."""

POLL_SECONDS = 0.01


def begin_segment(segments: Segments, directory: Path, epoch: int, owner: Owner) -> Path | None:
    """Make a session's segment and cut the one before it; None when somebody was faster.

    Raises OSError when the folder cannot be written.
    """
    path = directory / segment_name(epoch)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return None
    try:
        # After our segment exists: who writes below looks for it after each write.
        settle_segments(segments, directory, below=epoch)
        write_fully(fd, _header(segments, directory, epoch, owner))
    finally:
        os.close(fd)
    return path


def settle_segments(segments: Segments, directory: Path, *, below: int | None = None) -> None:
    """Wait until the newest segments (below an epoch) have headers, and write those that are missing.

    Raises NotFound when the session is gone. A file with half a header, as a full disk may leave it,
    is passed over: its writer gave up.
    """
    until = time.monotonic() + HEADER_WAIT_SECONDS
    while silent := _silent(segments, directory, below):
        if time.monotonic() > until:
            for epoch in silent:
                _help(segments, directory, epoch)
            return
        time.sleep(POLL_SECONDS)


def _silent(segments: Segments, directory: Path, below: int | None) -> list[int]:
    """Return the epochs whose segments say nothing, above the newest that does, lowest first."""
    found: list[int] = []
    for epoch in segment_epochs(directory):
        path = directory / segment_name(epoch)
        if (below is None or epoch < below) and is_regular(path):
            if segments.header(path) is not None:
                break
            found.append(epoch)
    return found[::-1]


def _help(segments: Segments, directory: Path, epoch: int) -> None:
    """Write a segment's header in its writer's place, unless it holds anything by now."""
    with suppress(OSError):
        fd = os.open(directory / segment_name(epoch), os.O_WRONLY | os.O_APPEND | NOFOLLOW)
        try:
            found = os.fstat(fd)
            if (
                found.st_size == 0 and found.st_nlink == 1
            ):  # else it is a file of somebody else, too
                write_fully(fd, _header(segments, directory, epoch, None))
        finally:
            os.close(fd)


def _header(segments: Segments, directory: Path, epoch: int, owner: Owner | None) -> bytes:
    before = segments.own(directory.name, below=epoch)
    previous, cut = (before[-1].segment, before[-1].size()) if before else (None, None)
    writer = {"host": "", "pid": 0, "kernel_id": ""}
    if owner is not None:
        writer = {"host": owner.host, "pid": owner.pid, "kernel_id": owner.kernel_id}
    return header_line(directory.name, epoch, previous, cut, writer)
