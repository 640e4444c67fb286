"""Capture what the agent's Python prints, displays, returns and raises.

Border: patches one IPython shell for the length of one run and undoes every patch. Text is
captured for the model; figures and rich results stay native outputs of the cell and are recorded.
IPython's own capture swaps streams for the whole process and misses errors (spec/kernel.md B4),
so here writes are distinguished by thread, and streams that user code kept are captured too.
"""

import base64
import io
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import Any

from IPython.core.error import UsageError

from palimpsest.frontends.kernel.text_buffer import ANSI, TextBuffer
from palimpsest.frontends.process_guard.agent_pieces import PIECE, Piece
from palimpsest.frontends.process_guard.attribute_patches import patched, swapped
from palimpsest.frontends.process_guard.child_output import ChildOutput
from palimpsest.frontends.process_guard.kernel_ends import exit_text, taken_payloads
from palimpsest.tools.calls.images import fit_image
from palimpsest.tools.tool import LeftRunning, PythonOutcome, ShownResult
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.strings.surrogates import with_joined_surrogates

HEAD_CHARS = 2_000_000
"""How much of the beginning of one stream is kept; the tool truncates it further for the model."""
TAIL_CHARS = 500_000
MOST_IMAGES = 8
"""Images sent to the model per run; each costs about a thousand tokens."""
LARGEST_IMAGE_CHARS = 40_000_000
"""Length of base64 above which an image is not sent, not even shrunk."""

MOST_SHOWN = 8
"""Rich results of a run that the panel shows in the place of a cell."""
SHOWN_CHARS = 100_000
"""Their length together; a frame of 60 rows and 20 columns takes about 70,000. The session keeps them."""
WIDGET = "application/vnd.jupyter.widget-view+json"


class _Stream(io.TextIOBase):
    """Stands in for ``sys.stdout`` or ``sys.stderr`` during a run."""

    def __init__(self, original: Any, catch: Callable[[str], bool]) -> None:
        self._original = original
        self._catch = catch
        self._pid = os.getpid()

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if not self._catch(text):
            self._original.write(text)
        return len(text)

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        if os.getpid() == self._pid:  # a forked child would send what its parent has not sent yet
            self._original.flush()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        number: int = self._original.fileno()
        return number

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class Capture:
    """The outputs of one run of the agent's code.

    Responsibilities: hold text, error, result, images; pass rich output on while the cell takes it.
    """

    def __init__(
        self,
        on_native: Callable[[], bool] | None = None,
        interrupted: Callable[[], bool] = lambda: False,
        code: str = "",
    ) -> None:
        self.stdout = TextBuffer(HEAD_CHARS, TAIL_CHARS)
        self.stderr = TextBuffer(HEAD_CHARS, TAIL_CHARS)
        self.error: str | None = None
        self.result: str | None = None
        self.images: list[Attachment] = []
        self.rich: list[str] = []
        self.shown: list[ShownResult] = []
        self.notes: list[str] = []
        """What the code leaves changed in the process, a sentence each."""
        self.left_running: LeftRunning | None = None
        """What of the code goes on after its end."""
        self.quiet = False
        """The value of the last expression is not shown: the code ends in a semicolon."""
        self.piece = Piece(code)
        self._on_native = on_native
        self._interrupted = interrupted
        self._fresh: deque[str] = deque()
        self._older_threads: frozenset[threading.Thread] = frozenset()
        self._main = threading.current_thread()
        self._pid = os.getpid()
        self._streams: dict[str, Any] = {}
        self._children: ChildOutput | None = None

    def fresh(self) -> str:
        """Return what was printed since the last call; called from the engine thread."""
        pieces = []
        while self._fresh:
            pieces.append(self._fresh.popleft())
        return "".join(pieces)

    @contextmanager
    def installed(self, shell: Any) -> Iterator[None]:
        """Capture the outputs of the shell's code until the end of the block."""
        self._main = threading.current_thread()
        self._older_threads = frozenset(threading.enumerate()) - {self._main}
        streams = sys.stdout, sys.stderr
        self._streams = {"stdout": streams[0], "stderr": streams[1]}
        publisher, hook = shell.display_pub, shell.displayhook
        show = self._displayhook(shell, publisher.publish)
        pages = list(shell.payload_manager.read_payload())
        with ExitStack() as undo:
            undo.callback(PIECE.reset, PIECE.set(self.piece))
            undo.callback(self._take_pages, shell.payload_manager, pages)
            if shell.call_pdb:
                undo.callback(setattr, shell, "call_pdb", shell.call_pdb)
                shell.call_pdb = False
            changed: tuple[tuple[Any, str, Any], ...] = (
                (publisher, "publish", self._publisher(publisher.publish)),
                (publisher, "clear_output", self._clear),
                (shell.events, "trigger", self._keep_figures(shell.events)),
                (shell, "_showtraceback", self._traceback),
                (shell, "showtraceback", self._traceback_unless(shell.showtraceback)),
            )
            for target, name, value in changed:
                undo.enter_context(patched(target, name, value))
            undo.enter_context(self._kept_caught(streams[0], "stdout"))
            undo.enter_context(self._kept_caught(streams[1], "stderr"))
            for target, name in (
                (shell, "last_execution_succeeded"),
                (shell, "last_execution_result"),
                (hook, "exec_result"),
                (shell.display_trap, "hook"),
            ):
                undo.callback(setattr, target, name, getattr(target, name))
            shell.display_trap.hook = show
            stand_ins: tuple[tuple[str, Any], ...] = (
                ("displayhook", show),
                ("stderr", _Stream(streams[1], lambda text: self._caught("stderr", text))),
                ("stdout", _Stream(streams[0], lambda text: self._caught("stdout", text))),
            )
            for name, value in stand_ins:
                undo.enter_context(swapped(sys, name, f"sys.{name}", value, self.notes.append))
            self._children = ChildOutput(self._streams, self._keep_now)
            undo.callback(self._end_children)
            yield

    def _end_children(self) -> None:
        if not self.in_child and self._children is not None:
            self._children.end()
            self._children = None

    def outcome(self, error: str | None, *, interrupted: bool = False) -> PythonOutcome:
        """Return what was captured as one value; a run that was interrupted has no result."""
        return PythonOutcome(
            stdout=self.stdout.text(),
            stderr=self.stderr.text(),
            result=None if interrupted else self.result,
            error=error or self.error,
            interrupted=interrupted,
            images=tuple(self.images),
            rich=tuple(self.rich),
            shown=tuple(self.shown),
            notes=tuple(self.notes),
            left_running=self.left_running,
        )

    def show(self, data: dict[str, Any]) -> bool:
        """Record a MIME bundle; true when it should become a native output."""
        kinds = [mime for mime in data if mime != "text/plain"]
        text = _words_of(data)
        if text:
            self._keep("stdout", text.rstrip("\n") + "\n")
        if not kinds:
            return False
        image = _image(data)
        if image is None:
            self.rich += [mime for mime in kinds if mime not in self.rich]
        elif len(self.images) < MOST_IMAGES:
            self.images.append(image)
        if self._on_native is not None and self._on_native():
            return True
        if image is None:
            self._keep_shown(data)
        return False

    def _keep_shown(self, data: dict[str, Any]) -> None:
        """Keep a result that no cell displays, as far as there is room."""
        found = shown_result(data)
        used = sum(len(one.text) for one in self.shown)
        if len(self.shown) < MOST_SHOWN and used + len(found.text) <= SHOWN_CHARS:
            self.shown.append(found)

    def _take_pages(self, manager: Any, before: list[dict[str, Any]]) -> None:
        """Send requested help (``name?``) to the model instead of the page's pager."""
        for page in taken_payloads(
            manager, lambda one: one not in before and one.get("source") == "page"
        ):
            self._keep("stdout", str(page.get("data", {}).get("text/plain", "")) + "\n")

    def is_of_run(self) -> bool:
        """Tell whether the caller is the agent's code or a thread that it started."""
        thread = threading.current_thread()
        if thread is self._main:
            return PIECE.get() is self.piece
        return thread not in self._older_threads

    @property
    def in_child(self) -> bool:
        """Whether this is a process that the code forked, whose memory the kernel does not see."""
        return os.getpid() != self._pid

    def write_from_child(self, name: str, text: str) -> None:
        """Write a forked child's text to its descriptor, where the kernel reads what children print."""
        descriptor = getattr(self._streams[name], "_original_stdstream_fd", None)
        if descriptor is None:  # a stream that writes by itself, as in a terminal
            self._streams[name].write(text)
            self._streams[name].flush()
            return
        rest = text.encode(errors="replace")
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    def _caught(self, name: str, text: str) -> bool:
        if self.in_child:
            self.write_from_child(name, text)
            return True
        mine = self.is_of_run()
        if mine:
            self._keep(name, text)
        return mine

    def _keep(self, name: str, text: str) -> None:
        # A forked child has its parent's pipes, and perhaps its lock in the hand of a thread that it has not.
        children = None if self.in_child else self._children
        (self._keep_now if children is None else children.keep)(name, text)

    def _keep_now(self, name: str, text: str) -> None:
        (self.stdout if name == "stdout" else self.stderr).write(text)
        self._fresh.append(text)

    def _kept_caught(self, stream: Any, name: str) -> AbstractContextManager[None]:
        """Capture writes to a stream that user code holds (log handlers)."""
        if getattr(stream, "watch_fd_thread", None) is None:
            return nullcontext()
        write = stream.write

        def caught(text: str) -> Any:
            if self.in_child:
                self.write_from_child(name, text)
            elif not self._caught(name, text):
                return write(text)
            return len(text)

        return patched(stream, "write", caught)

    def _publisher(self, publish: Callable[..., Any]) -> Callable[..., Any]:
        def tee(data: Any, metadata: Any = None, *args: Any, **kwargs: Any) -> Any:
            if self.in_child or not self.is_of_run():
                return publish(data, metadata, *args, **kwargs)
            # A message to a page cannot carry half of a surrogate pair.
            data = with_joined_surrogates(data)
            if kwargs.get("update"):
                return publish(data, metadata, *args, **kwargs) if self._on_native else None
            if isinstance(data, dict) and not self.show(data):
                return None
            return publish(data, metadata, *args, **kwargs)

        return tee

    def _keep_figures(self, events: Any) -> Callable[..., None]:
        """Keep other threads from showing the figures of this run as their own.

        matplotlib's figures belong to no thread, and every cell and every widget message that ends
        on a subshell meanwhile would show them (spec/kernel.md A5).
        """
        trigger = events.trigger

        def trigger_mine(event: str, *arguments: Any, **options: Any) -> None:
            if event != "post_execute" or threading.current_thread() is self._main:
                trigger(event, *arguments, **options)
                return
            for one in list(events.callbacks[event]):
                if one.__name__ != "flush_figures":
                    _call(one, events.shell)

        return trigger_mine

    def _clear(self, wait: bool = False) -> None:  # noqa: FBT001, FBT002, ARG002  # IPython's signature
        """Clear the captured text, never the cell's output, which shows the turn."""
        self.stdout, self.stderr = (
            TextBuffer(HEAD_CHARS, TAIL_CHARS),
            TextBuffer(HEAD_CHARS, TAIL_CHARS),
        )

    def _traceback(self, _kind: Any, _value: Any, lines: list[str]) -> None:
        self.error = ANSI.sub("", "\n".join(lines))

    def _traceback_unless(self, show: Callable[..., Any]) -> Callable[..., None]:
        """Omit the traceback of a stop: it would name our frames, and formatting takes time."""

        def show_unless(*arguments: Any, **options: Any) -> None:
            raised = sys.exc_info()[1]
            if isinstance(raised, SystemExit):
                self.error = exit_text(raised)
            elif isinstance(raised, UsageError):  # IPython only prints it
                self.error = f"UsageError: {raised}"
            elif not self._interrupted():
                show(*arguments, **options)

        return show_unless

    def _displayhook(self, shell: Any, publish: Callable[..., Any]) -> Callable[[Any], None]:
        def show(value: Any = None) -> None:
            if value is None or self.quiet:
                return
            data, metadata = with_joined_surrogates(shell.display_formatter.format(value))
            text = data.pop("text/plain", None)
            self.result = text if isinstance(text, str) else None
            if data and self.show(data):
                # Published past the tee, which would count it twice.
                publish(data if text is None else {**data, "text/plain": text}, metadata)

        return show


def _call(callback: Callable[[], Any], shell: Any) -> None:
    """Call one of IPython's listeners as IPython does: what it raises is shown, not raised."""
    try:
        callback()
    except (Exception, KeyboardInterrupt):  # noqa: BLE001  # a listener may raise anything
        shell.showtraceback()


def _image(data: dict[str, Any]) -> Attachment | None:
    """Return the image in a MIME bundle, for the model; None if there is none that a model accepts."""
    for mime in ("image/png", "image/jpeg"):
        content = data.get(mime)
        with suppress(ValueError, UserError):  # user code may display anything as a picture
            if isinstance(content, str) and len(content) <= LARGEST_IMAGE_CHARS:
                content = base64.b64decode("".join(content.split()), validate=True)
            if isinstance(content, bytes):
                found = fit_image(content, "The picture")
                encoded = base64.b64encode(found.data).decode("ascii")
                return Attachment(mime=found.mime, url=f"data:{found.mime};base64,{encoded}")
    return None


def shown_result(data: dict[str, Any]) -> ShownResult:
    """Return what of a MIME bundle can be shown where no kernel speaks to it."""
    if WIDGET in data:
        name = re.match(r"\w+", str(data.get("text/plain", "")))
        return ShownResult("widget", name.group() if name else "")
    markdown = data.get("text/markdown") or data.get("text/latex")
    if isinstance(markdown, str):
        return ShownResult("markdown", markdown)
    html = data.get("text/html")
    if isinstance(html, str):
        return ShownResult("html", html)
    return ShownResult("other", next(mime for mime in data if mime != "text/plain"))


def _words_of(data: dict[str, Any]) -> str:
    """Return the text of a displayed MIME bundle, for the model."""
    text = data.get("text/plain", "")
    if not isinstance(text, str) or text.startswith("<IPython.core.display."):
        text = data.get("text/markdown") or data.get("text/latex") or ""
    return str(text)
