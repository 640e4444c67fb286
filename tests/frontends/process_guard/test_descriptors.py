"""A run's own pipes in place of the kernel's descriptors: order, late text, and that everything is given back."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.frontends.process_guard.child_output import ChildOutput


class WatchedStream:
    """A stream of ipykernel as far as a run looks at it; its descriptor is a file of the test's."""

    watch_fd_thread = "a thread"

    def __init__(self) -> None:
        self._original_stdstream_fd = os.open(os.devnull, os.O_WRONLY)
        self._original_stdstream_copy = os.open(os.devnull, os.O_WRONLY)
        self.late: list[str] = []
        self.came = threading.Event()

    def write(self, text: str) -> None:
        self.late.append(text)
        self.came.set()

    def print(self, text: str) -> None:
        """Print as a child does."""
        os.write(self._original_stdstream_fd, text.encode())

    def close(self) -> None:
        os.close(self._original_stdstream_fd)
        os.close(self._original_stdstream_copy)


@pytest.fixture
def stream() -> Iterator[WatchedStream]:
    made = WatchedStream()
    yield made
    made.close()


def reader() -> threading.Thread | None:
    return next((t for t in threading.enumerate() if t.name == "palimpsest-child-output"), None)


def join_reader() -> None:
    if (thread := reader()) is not None:
        thread.join(LAST_RESORT_SECONDS)
        assert not thread.is_alive()


def pipes() -> set[str]:
    """Return the pipes that are open in this process, by descriptor."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(f"{link.name} {link.readlink()}")
    return {link for link in found if " pipe:" in link}


def test_what_is_kept_next_stands_after_what_a_child_printed(stream: WatchedStream) -> None:
    kept: list[str] = []
    output = ChildOutput({"stdout": stream}, lambda _name, text: kept.append(text))

    for i in range(2_000):
        stream.print(f"child {i},")
        output.store("stdout", f"parent {i},")
    output.end_capture()

    assert "".join(kept) == "".join(f"child {i},parent {i}," for i in range(2_000))
    join_reader()


def test_more_than_a_pipe_holds_is_taken_while_the_run_waits(stream: WatchedStream) -> None:
    kept: list[str] = []
    output = ChildOutput({"stdout": stream}, lambda _name, text: kept.append(text))

    subprocess.run(
        ["head", "-c", "1000000", "/dev/zero"], stdout=stream._original_stdstream_fd, check=True
    )
    output.end_capture()

    assert sum(map(len, kept)) == 1_000_000
    join_reader()


def test_what_a_child_prints_later_goes_to_the_stream(stream: WatchedStream) -> None:
    kept: list[str] = []
    output = ChildOutput({"stdout": stream}, lambda _name, text: kept.append(text))
    child = subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, stdout=stream._original_stdstream_fd, text=True
    )
    output.end_capture()

    child.communicate("late")

    assert stream.came.wait(LAST_RESORT_SECONDS)
    assert (kept, stream.late) == ([], ["late"])
    join_reader()


def test_everything_is_given_back(stream: WatchedStream) -> None:
    before = pipes()

    for _ in range(3):
        output = ChildOutput({"stdout": stream}, print)
        output.end_capture()
        join_reader()

    assert pipes() <= before


@pytest.mark.parametrize(
    ("place", "name", "refusal"),
    [
        (os, "pipe", OSError(24, "Too many open files")),
        (threading.Thread, "start", RuntimeError("can't start new thread")),
    ],
)
def test_without_a_free_descriptor_or_thread_the_run_goes_on(
    stream: WatchedStream,
    monkeypatch: pytest.MonkeyPatch,
    place: object,
    name: str,
    refusal: Exception,
) -> None:
    kept: list[str] = []
    before = pipes()

    def full(*_: object) -> None:
        raise refusal

    monkeypatch.setattr(place, name, full)
    output = ChildOutput({"stdout": stream}, lambda _name, text: kept.append(text))
    output.store("stdout", "parent")
    output.end_capture()

    assert kept == ["parent"]
    assert pipes() <= before


def test_a_stream_of_a_terminal_is_left_alone() -> None:
    kept: list[str] = []
    output = ChildOutput({"stdout": object()}, lambda _name, text: kept.append(text))

    output.store("stdout", "parent")
    output.end_capture()

    assert kept == ["parent"]
    assert reader() is None
