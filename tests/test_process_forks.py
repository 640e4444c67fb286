"""The process that forks others for tests survives whatever happens to those who ask it."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness import process_forks
from tests.harness.process_forks import NUMBER_BYTES, number_in_bytes, received_number
from tests.waiting import LAST_RESORT_SECONDS, eventually

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="It cannot fork here.")

STOPS_WHO_FORKED_IT = "import os, signal; os.kill(os.getppid(), signal.SIGSTOP)"


@pytest.fixture
def address() -> str:
    """The address of a process that forks, with nothing imported."""
    return process_forks.fork_server(())


@pytest.fixture
def line(address: str) -> Iterator[socket.socket]:
    """A connection to it."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        yield line


def order(line: socket.socket, code: str, *, bytes_kept: int = 0) -> None:
    """Ask for a process that runs code; as if killed before the last bytes were sent."""
    wanted = json.dumps(
        {"arguments": ["-c", code], "folder": "/", "environment": dict(os.environ)}
    ).encode()
    socket.send_fds(line, [number_in_bytes(len(wanted))], [0, 1, 2])
    line.sendall(wanted[: len(wanted) - bytes_kept])


def forks(address: str) -> bool:
    """Return whether it still forks."""
    run = [sys.executable, "-IS", process_forks.__file__, "start", address, "-c", "exit(7)"]
    return subprocess.run(run, check=False, timeout=LAST_RESORT_SECONDS).returncode == 7


def state(process: int) -> str:
    """Return a process's state in one letter."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_that_has_ended_before_its_number_was_read_tells_both(
    line: socket.socket,
) -> None:
    order(line, "exit(3)")
    line.recv(2 * NUMBER_BYTES, socket.MSG_PEEK | socket.MSG_WAITALL)

    assert received_number(line)
    assert received_number(line) == 3


@pytest.mark.parametrize("kept", [1, 10**6])
def test_one_that_was_killed_while_it_asked_is_passed_over(
    address: str, line: socket.socket, kept: int
) -> None:
    order(line, "exit(3)", bytes_kept=kept)
    line.close()

    assert forks(address)


def test_a_kernel_ends_with_the_process_that_started_it(address: str) -> None:
    run = [sys.executable, "-IS", process_forks.__file__, "start", address]
    code = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
    starts = f"import subprocess; subprocess.Popen({[*run, '-c', code]!r}); input()"
    server = subprocess.Popen(
        [sys.executable, "-c", starts],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {process_forks.KERNEL_OF: "1"},
    )
    assert server.stdout is not None
    kernel = Path("/proc", server.stdout.readline().decode().strip())
    assert kernel.exists()

    server.kill()
    rest, _ = server.communicate(timeout=LAST_RESORT_SECONDS)

    assert rest == b""
    eventually(lambda: not kernel.exists())


def test_an_end_and_a_gone_asker_in_one_round_are_both_noted(
    address: str, line: socket.socket
) -> None:
    order(line, STOPS_WHO_FORKED_IT)
    process = received_number(line)
    assert process
    eventually(lambda: state(process) == "Z")
    parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    line.close()
    os.kill(parent, signal.SIGCONT)

    assert forks(address)


def test_a_signal_that_comes_before_the_process_is_there_reaches_it(tmp_path: Path) -> None:
    address = str(tmp_path / "s")
    with (
        socket.socket(socket.AF_UNIX) as listener,
        subprocess.Popen(["sleep", "60"], start_new_session=True) as forked,
    ):
        listener.bind(address)
        listener.listen()
        run = [sys.executable, "-IS", process_forks.__file__, "start", address]
        with subprocess.Popen(run) as started:
            line, _ = listener.accept()
            started.send_signal(signal.SIGTERM)
            line.sendall(number_in_bytes(forked.pid))

            assert forked.wait(LAST_RESORT_SECONDS) == -signal.SIGTERM
            line.sendall(number_in_bytes(-signal.SIGTERM))
            assert started.wait(LAST_RESORT_SECONDS) == -signal.SIGTERM
        line.close()
