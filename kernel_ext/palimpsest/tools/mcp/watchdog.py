"""A program that runs another program, and ends the process group when the process that started it has ended.

Border: a separate script, run by file name with the standard library only. A killed kernel cannot end
its servers itself, and a server that does not read its stdin would continue to run.

Usage: watchdog.py PROGRAM [ARGUMENT ...]
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

POLL_SECONDS = 0.5
GRACE_SECONDS = 1.0
"""Time between SIGTERM and SIGKILL."""


def main() -> int:
    """Run the program; returns its exit code, or 127 when it cannot be run."""
    parent_pid = os.getppid()
    try:
        child = subprocess.Popen(sys.argv[1:])
    except OSError as problem:
        sys.stderr.write(f"{sys.argv[1]}: {problem.strerror}\n")
        return 127
    # Close the watchdog's copies of the pipes, so that they close when the program ends.
    null_fd = os.open(os.devnull, os.O_RDWR)
    os.dup2(null_fd, 0)
    os.dup2(null_fd, 1)
    while not _wait_for_end(child):
        if os.getppid() != parent_pid:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            with contextlib.suppress(OSError):
                os.killpg(0, signal.SIGTERM)
            time.sleep(GRACE_SECONDS)
            os.killpg(0, signal.SIGKILL)
    return child.returncode


def _wait_for_end(child: "subprocess.Popen[bytes]") -> bool:
    """Wait up to ``POLL_SECONDS`` for the program to end, and return whether it has ended."""
    if hasattr(signal, "sigtimedwait"):
        # Wakes when the program ends, or twice a second, which is cheap for a server that runs for hours.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        if child.poll() is None:
            signal.sigtimedwait({signal.SIGCHLD}, POLL_SECONDS)
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(POLL_SECONDS)
    return child.poll() is not None


if __name__ == "__main__":
    sys.exit(main())
