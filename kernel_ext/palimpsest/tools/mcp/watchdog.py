"""Run a program and end it, with all it started, when the process that asked for it is gone.

Border: a script of its own, run by file name with the standard library alone. A kernel that is
killed can end nothing itself, and a server that does not look at its input would live on.

Usage: watchdog.py PROGRAM [ARGUMENT ...]
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

LOOK_SECONDS = 0.5
GRACE_SECONDS = 1.0


def main() -> int:
    """Run the program; returns its exit code, or 127 when it cannot be run."""
    parent = os.getppid()
    try:
        child = subprocess.Popen(sys.argv[1:])
    except OSError as problem:
        sys.stderr.write(f"{sys.argv[1]}: {problem.strerror}\n")
        return 127
    # The ends of the pipes are the program's alone, so that they close when it ends.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    while not _ended(child):
        if os.getppid() != parent:
            _end_all()
    return child.returncode


def _ended(child: "subprocess.Popen[bytes]") -> bool:
    """Wait a moment for the end of the program."""
    if hasattr(signal, "sigtimedwait"):
        # Woken by its end, or twice a second: a server lives for hours.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        if child.poll() is None:
            signal.sigtimedwait({signal.SIGCHLD}, LOOK_SECONDS)
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(LOOK_SECONDS)
    return child.poll() is not None


def _end_all() -> None:
    """End this process and its group, which the program and what it started belong to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
