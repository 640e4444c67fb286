"""A program that starts one command, reports its exit, and kills all processes that the command started.

``process.py`` runs it as ``python -I -S shell_runner.py REPORT OUTLET SHELL
COMMAND``. It imports little, to start fast. As a subreaper, it inherits every process that the
command starts, including those that left its group or session, so that none can escape.

Stdin takes one-byte commands: ``k`` kills all processes, ``d`` lets background processes continue and
discards their output (OUTLET is the other end of their pipe). When stdin closes, the kernel has
ended, and all processes are killed. ``exit CODE``, ``left PIDS`` and ``killed`` are written to REPORT.
"""

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 0.06
"""Time between SIGTERM and SIGKILL; a stop must take effect within 150 ms."""
MAX_KILL_SECONDS = 3.0
PARENT_CHECK_SECONDS = 1.0
POLL_SECONDS = 0.002
MAX_READ_BYTES = 65_536


def become_subreaper() -> None:
    """Inherit orphaned processes; on systems without subreapers, only the process group is reached."""
    if not sys.platform.startswith("linux"):
        return
    try:
        import ctypes  # noqa: PLC0415 - costs milliseconds, and only Linux needs it

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


def start_command(shell: str, command: str, handles_to_close: tuple[int, ...]) -> int:
    """Start the command in a process session of its own, with empty stdin; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        null_fd = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null_fd, 0)
        for handle in handles_to_close:
            os.close(handle)
        for name in ("INT", "HUP", "PIPE", "CHLD", "TERM", "XFSZ"):
            signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_DFL)
        os.execv(shell, [shell, "-c", command])
    except BaseException as error:  # noqa: BLE001 - this is the child; it must not return
        os.write(2, f"The shell {shell} could not be started: {error}\n".encode())
    os._exit(127)


def children_of(pid: int) -> list[int]:
    """Return the ids of a process's children, of all its threads; raises OSError without /proc."""
    children: list[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - pathlib is slow to import
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:  # noqa: PTH123
            children += [int(child) for child in file.read().split()]
    return children


def parent_by_pid() -> dict[int, int]:
    """Return the parent of every process by id, from /proc; empty if there is none."""
    parents = {}
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return {}
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    return parents


def descendants() -> list[int]:
    """Return the ids of all descendants of this process."""
    children_by_pid: Callable[[int], list[int]] = children_of
    try:
        pids = children_of(os.getpid())
    except OSError:
        parents = parent_by_pid()
        children_by_pid = lambda pid: [child for child, parent in parents.items() if parent == pid]  # noqa: E731
        pids = children_by_pid(os.getpid())
    # The list grows while it is iterated.
    for pid in pids:
        try:
            pids += [child for child in children_by_pid(pid) if child not in pids]
        except OSError:
            continue
    return pids


class Subreaper:
    """Watches the command, its background processes, and the kernel."""

    def __init__(self, report_fd: int, outlet_fd: int, main_pid: int) -> None:
        self.report_fd = report_fd
        self.outlet_fd = outlet_fd
        self.main_pid = main_pid
        self.has_main_ended = False
        self.is_draining = False
        self.parent_pid = os.getppid()

    def reap_ended(self) -> bool:
        """Reap the processes that have ended, and return whether other processes still run."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.main_pid:
                self.has_main_ended = True
                self.report_line(f"exit {os.waitstatus_to_exitcode(status)}")

    def report_line(self, line: str) -> None:
        """Write a line to the kernel, if it still reads."""
        try:
            os.write(self.report_fd, f"{line}\n".encode())
        except OSError:
            return

    def send_signal(self, signal_number: int) -> None:
        """Send a signal to every descendant, and to the command's group while the command runs."""
        pids = descendants()
        if not self.has_main_ended:
            # Once the command itself is gone, its id may belong to another process.
            pids = [-self.main_pid, *pids]
        for pid in pids:
            try:
                os.kill(pid, signal_number)
            except (ProcessLookupError, PermissionError):
                continue

    def end_all(self) -> None:
        """Terminate every process, and kill those that do not end."""
        started_at = time.monotonic()
        self.send_signal(signal.SIGTERM)
        while self.reap_ended() and time.monotonic() - started_at < MAX_KILL_SECONDS:
            if time.monotonic() - started_at > GRACE_SECONDS:
                self.send_signal(signal.SIGKILL)
            time.sleep(POLL_SECONDS)
        self.report_line("killed")

    def on_terminate(self, *_: object) -> None:
        """Handle SIGTERM: kill everything and exit."""
        self.end_all()
        os._exit(0)

    def run_command(self) -> bool:
        """Execute one command from stdin, and return whether to continue watching."""
        if os.read(0, 1) == b"d":
            self.is_draining = True
            return True
        self.end_all()
        return False

    def run_until_empty(self, wake_reader: int) -> None:
        """Run until no process is left, or everything was killed."""
        is_reported = False
        while self.reap_ended():
            if self.has_main_ended and not is_reported:
                is_reported = True
                self.report_line("left " + " ".join(str(pid) for pid in descendants()))
            sources = [0, wake_reader, self.outlet_fd] if self.is_draining else [0, wake_reader]
            ready, _, _ = select.select(sources, [], [], PARENT_CHECK_SECONDS)
            if 0 in ready and not self.run_command():
                return
            if os.getppid() != self.parent_pid:
                self.end_all()
                return
            self.discard_input(wake_reader, ready)

    def discard_input(self, wake_reader: int, ready: list[int]) -> None:
        """Discard wake-up bytes and the output of background processes."""
        if wake_reader in ready:
            os.read(wake_reader, 512)
        if self.outlet_fd in ready and not os.read(self.outlet_fd, MAX_READ_BYTES):
            self.is_draining = False


def main() -> None:
    """Run the command given by the arguments."""
    report_fd, outlet_fd = int(sys.argv[1]), int(sys.argv[2])
    shell, command = sys.argv[3], sys.argv[4]
    wake_reader, wake_writer = os.pipe()
    os.set_blocking(wake_writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    become_subreaper()
    runner = Subreaper(
        report_fd,
        outlet_fd,
        start_command(shell, command, (report_fd, outlet_fd, wake_reader, wake_writer)),
    )
    signal.signal(signal.SIGTERM, runner.on_terminate)
    # The pipe of the output must close when the command and its children are done.
    null_fd = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_fd, 1)
    os.dup2(null_fd, 2)
    runner.run_until_empty(wake_reader)
    os._exit(0)


if __name__ == "__main__":
    main()
