"""Capture the agent's Python: its prints, displays, result and error.

Border: patches one IPython shell during one run and undoes every patch. Text is
captured for the model; figures and rich results stay native outputs of the cell and are recorded.
IPython's own capture swaps streams for the whole process and misses errors, so here
writes are distinguished by thread, and streams that user code holds are also captured.
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
from functools import partial
from typing import Any

from IPython.core.error import UsageError

from palimpsest.frontends.process_guard.agent_pieces import CURRENT_PIECE, Piece
from palimpsest.frontends.process_guard.attribute_patches import (
    patched_attribute,
    swapped_attribute,
)
from palimpsest.frontends.process_guard.child_output import ChildOutput
from palimpsest.frontends.process_guard.kernel_ends import exit_text, remove_payloads
from palimpsest.frontends.user_cells.text_buffer import ANSI, TextBuffer
from palimpsest.tools.calls.images import fit_image
from palimpsest.tools.tool import LeftRunning, PythonOutcome, ShownResult
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.strings.surrogates import with_joined_surrogates

MAX_HEAD_CHARS = 2_000_000
"""Maximum characters of a stream's beginning that are kept; the tool truncates it further for the model."""
MAX_TAIL_CHARS = 500_000
MAX_IMAGES = 8
"""Maximum images of a run that are sent to the model; each costs about a thousand tokens."""
MAX_IMAGE_CHARS = 40_000_000
"""Length of base64 above which an image is not sent, not even a smaller version."""

MAX_SHOWN_RESULTS = 8
"""Maximum rich results of a run that the panel shows where no cell does."""
MAX_SHOWN_CHARS = 100_000
"""Maximum characters of a run's rich results together, which the session stores; a frame of 60 rows and 20 columns has about 70,000."""
WIDGET_MIME = "application/vnd.jupyter.widget-view+json"


class _Stream(io.TextIOBase):
    """Replaces ``sys.stdout`` or ``sys.stderr`` during a run."""

    def __init__(self, original: Any, capture_text: Callable[[str], bool]) -> None:
        self._original_stream = original
        self._capture_text = capture_text
        self._pid = os.getpid()

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if not self._capture_text(text):
            self._original_stream.write(text)
        return len(text)

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        # A forked child would send text that its parent has not sent yet.
        if os.getpid() == self._pid:
            self._original_stream.flush()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return int(self._original_stream.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original_stream, name)


class Capture:
    """The outputs of one run of the agent's code; rich output is passed to the cell if it shows it."""

    def __init__(
        self,
        prepare_native_output: Callable[[], bool] | None = None,
        is_interrupted: Callable[[], bool] = lambda: False,
        code: str = "",
    ) -> None:
        self.stdout = TextBuffer(MAX_HEAD_CHARS, MAX_TAIL_CHARS)
        self.stderr = TextBuffer(MAX_HEAD_CHARS, MAX_TAIL_CHARS)
        self.error: str | None = None
        self.result_text: str | None = None
        self.images: list[Attachment] = []
        self.rich_types: list[str] = []
        self.shown_results: list[ShownResult] = []
        self.notes: list[str] = []
        """Sentences on changes that the code left in the process."""
        self.left_running: LeftRunning | None = None
        """Threads and processes that the code left running."""
        self.is_quiet = False
        """Whether the value of the last expression is not shown, because the code ends in a semicolon."""
        self.piece = Piece(code)
        self._prepare_native = prepare_native_output
        self._is_interrupted = is_interrupted
        self._new_texts: deque[str] = deque()
        self._older_threads: frozenset[threading.Thread] = frozenset()
        self._main_thread = threading.current_thread()
        self._pid = os.getpid()
        self._streams: dict[str, Any] = {}
        self._child_output: ChildOutput | None = None

    def take_new_text(self) -> str:
        """Return the text printed since the last call; called from the engine thread."""
        texts = []
        while self._new_texts:
            texts.append(self._new_texts.popleft())
        return "".join(texts)

    @contextmanager
    def capture_outputs(self, shell: Any) -> Iterator[None]:
        """Within the block, capture the outputs of the shell's code."""
        self._main_thread = threading.current_thread()
        self._older_threads = frozenset(threading.enumerate()) - {self._main_thread}
        self._streams = {"stdout": sys.stdout, "stderr": sys.stderr}
        publisher, hook = shell.display_pub, shell.displayhook
        display_value = self._recording_displayhook(shell, publisher.publish)
        payloads = list(shell.payload_manager.read_payload())
        with ExitStack() as restorations:
            restorations.callback(CURRENT_PIECE.reset, CURRENT_PIECE.set(self.piece))
            restorations.callback(self._capture_help_pages, shell.payload_manager, payloads)
            if shell.call_pdb:
                restorations.callback(setattr, shell, "call_pdb", shell.call_pdb)
                shell.call_pdb = False
            patches: tuple[tuple[Any, str, Any], ...] = (
                (publisher, "publish", self._recording_publish(publisher.publish)),
                (publisher, "clear_output", self._clear_captured),
                (shell.events, "trigger", self._without_foreign_figures(shell.events)),
                (shell, "_showtraceback", self._store_traceback),
                (shell, "showtraceback", self._showtraceback_unless_stopped(shell.showtraceback)),
            )
            for target, name, value in patches:
                restorations.enter_context(patched_attribute(target, name, value))
            for name, stream in self._streams.items():
                restorations.enter_context(self._capturing_held_stream(stream, name))
            for target, name in (
                (shell, "last_execution_succeeded"),
                (shell, "last_execution_result"),
                (hook, "exec_result"),
                (shell.display_trap, "hook"),
            ):
                restorations.callback(setattr, target, name, getattr(target, name))
            shell.display_trap.hook = display_value
            replacements: tuple[tuple[str, Any], ...] = (
                ("displayhook", display_value),
                ("stderr", _Stream(sys.stderr, partial(self._capture_text, "stderr"))),
                ("stdout", _Stream(sys.stdout, partial(self._capture_text, "stdout"))),
            )
            for name, value in replacements:
                patch = swapped_attribute(sys, name, f"sys.{name}", value, self.notes.append)
                restorations.enter_context(patch)
            self._child_output = ChildOutput(self._streams, self._store_now)
            restorations.callback(self._end_child_output)
            yield

    def _end_child_output(self) -> None:
        if not self.in_child and self._child_output is not None:
            self._child_output.end_capture()
            self._child_output = None

    def outcome(self, error: str | None, *, interrupted: bool = False) -> PythonOutcome:
        """Return the captured outputs as one value; an interrupted run has no result."""
        return PythonOutcome(
            stdout=self.stdout.shown_text(),
            stderr=self.stderr.shown_text(),
            result_text=None if interrupted else self.result_text,
            error=error or self.error,
            was_interrupted=interrupted,
            images=tuple(self.images),
            displayed_mimes=tuple(self.rich_types),
            shown_results=tuple(self.shown_results),
            notes=tuple(self.notes),
            left_running=self.left_running,
        )

    def record_bundle(self, data: dict[str, Any]) -> bool:
        """Record a MIME bundle; returns True if it becomes a native output.

        A forked child records nothing: it would wait for locks whose holders, threads of its parent, it does not have.
        """
        rich_types = [mime for mime in data if mime != "text/plain"]
        if self.in_child:
            return bool(rich_types)
        text = _displayed_text(data)
        if text:
            self._store("stdout", text.rstrip("\n") + "\n")
        if not rich_types:
            return False
        image = _model_image(data)
        if image is None:
            self.rich_types += [mime for mime in rich_types if mime not in self.rich_types]
        elif len(self.images) < MAX_IMAGES:
            self.images.append(image)
        if self._prepare_native is not None and self._prepare_native():
            return True
        if image is None:
            self._store_shown(data)
        return False

    def _store_shown(self, data: dict[str, Any]) -> None:
        """Store a result that no cell displays, within the limits."""
        result = shown_result(data)
        used_chars = sum(len(output.text) for output in self.shown_results)
        if (
            len(self.shown_results) < MAX_SHOWN_RESULTS
            and used_chars + len(result.text) <= MAX_SHOWN_CHARS
        ):
            self.shown_results.append(result)

    def _capture_help_pages(self, manager: Any, payloads_before: list[dict[str, Any]]) -> None:
        """Capture requested help (``name?``) for the model instead of the page's pager."""
        for payload in remove_payloads(
            manager,
            lambda payload: payload not in payloads_before and payload.get("source") == "page",
        ):
            self._store("stdout", str(payload.get("data", {}).get("text/plain", "")) + "\n")

    def is_called_by_run(self) -> bool:
        """Return whether the caller is the agent's code or a thread that it started."""
        thread = threading.current_thread()
        if thread is self._main_thread:
            return CURRENT_PIECE.get() is self.piece
        return thread not in self._older_threads

    @property
    def in_child(self) -> bool:
        """Whether this process was forked by the code, so that its memory is not the kernel's."""
        return os.getpid() != self._pid

    def write_from_child(self, name: str, text: str) -> None:
        """Write a forked child's text to the descriptor from which the kernel reads the output of children."""
        descriptor = getattr(self._streams[name], "_original_stdstream_fd", None)
        if descriptor is None:  # a stream without a descriptor, as in a terminal
            self._streams[name].write(text)
            self._streams[name].flush()
            return
        remaining_bytes = text.encode(errors="replace")
        while remaining_bytes:
            remaining_bytes = remaining_bytes[os.write(descriptor, remaining_bytes) :]

    def _capture_text(self, name: str, text: str) -> bool:
        if self.in_child:
            self.write_from_child(name, text)
            return True
        is_captured = self.is_called_by_run()
        if is_captured:
            self._store(name, text)
        return is_captured

    def _store(self, name: str, text: str) -> None:
        # A forked child shares its parent's pipes, and its copy of the lock may be held by a thread that it lacks.
        child_output = None if self.in_child else self._child_output
        (self._store_now if child_output is None else child_output.store)(name, text)

    def _store_now(self, name: str, text: str) -> None:
        (self.stdout if name == "stdout" else self.stderr).write(text)
        self._new_texts.append(text)

    def _capturing_held_stream(self, stream: Any, name: str) -> AbstractContextManager[None]:
        """Capture writes to the original stream, which user code may hold (log handlers)."""
        if getattr(stream, "watch_fd_thread", None) is None:
            return nullcontext()
        write = stream.write

        def captured_write(text: str) -> Any:
            return len(text) if self._capture_text(name, text) else write(text)

        return patched_attribute(stream, "write", captured_write)

    def _recording_publish(self, publish: Callable[..., Any]) -> Callable[..., Any]:
        def publish_recorded(data: Any, metadata: Any = None, *args: Any, **kwargs: Any) -> Any:
            if self.in_child or not self.is_called_by_run():
                return publish(data, metadata, *args, **kwargs)
            # A message to a page cannot carry half of a surrogate pair.
            data = with_joined_surrogates(data)
            if kwargs.get("update"):
                return publish(data, metadata, *args, **kwargs) if self._prepare_native else None
            if isinstance(data, dict) and not self.record_bundle(data):
                return None
            return publish(data, metadata, *args, **kwargs)

        return publish_recorded

    def _without_foreign_figures(self, events: Any) -> Callable[..., None]:
        """Prevent other threads from showing the figures of this run as their own.

        matplotlib's figures belong to no thread, and each cell or widget message that ends
        on a subshell meanwhile would show them.
        """
        trigger = events.trigger

        def trigger_without_figures(event: str, *arguments: Any, **options: Any) -> None:
            if event != "post_execute" or threading.current_thread() is self._main_thread:
                trigger(event, *arguments, **options)
                return
            for callback in list(events.callbacks[event]):
                if callback.__name__ != "flush_figures":
                    _call_listener(callback, events.shell)

        return trigger_without_figures

    def _clear_captured(self, wait: bool = False) -> None:  # noqa: FBT001, FBT002, ARG002  # IPython's signature
        """Clear the captured text, but not the cell's output, which shows the turn."""
        self.stdout = TextBuffer(MAX_HEAD_CHARS, MAX_TAIL_CHARS)
        self.stderr = TextBuffer(MAX_HEAD_CHARS, MAX_TAIL_CHARS)

    def _store_traceback(self, _kind: Any, _value: Any, lines: list[str]) -> None:
        self.error = ANSI.sub("", "\n".join(lines))

    def _showtraceback_unless_stopped(self, show: Callable[..., Any]) -> Callable[..., None]:
        """Omit the traceback of a stop, which would name frames of Palimpsest and is slow to format."""

        def show_unless_stopped(*arguments: Any, **options: Any) -> None:
            error = sys.exc_info()[1]
            if isinstance(error, SystemExit):
                self.error = exit_text(error)
            elif isinstance(error, UsageError):  # IPython only prints it
                self.error = f"UsageError: {error}"
            elif not self._is_interrupted():
                show(*arguments, **options)

        return show_unless_stopped

    def _recording_displayhook(
        self, shell: Any, publish: Callable[..., Any]
    ) -> Callable[[Any], None]:
        def display_value(value: Any = None) -> None:
            if value is None or self.is_quiet:
                return
            data, metadata = with_joined_surrogates(shell.display_formatter.format(value))
            text = data.pop("text/plain", None)
            self.result_text = text if isinstance(text, str) else None
            if data and self.record_bundle(data):
                # Published directly, since the patched ``publish`` would record it twice.
                publish(data if text is None else {**data, "text/plain": text}, metadata)

        return display_value


def _call_listener(callback: Callable[[], Any], shell: Any) -> None:
    """Call one of IPython's listeners as IPython does: its error is shown and not raised."""
    try:
        callback()
    except (Exception, KeyboardInterrupt):  # noqa: BLE001  # a listener may raise anything
        shell.showtraceback()


def _model_image(data: dict[str, Any]) -> Attachment | None:
    """Return the image of a MIME bundle for the model; None without an image that models accept."""
    for mime in ("image/png", "image/jpeg"):
        content = data.get(mime)
        with suppress(ValueError, UserError):  # user code may display any object as an image
            if isinstance(content, str) and len(content) <= MAX_IMAGE_CHARS:
                content = base64.b64decode("".join(content.split()), validate=True)
            if isinstance(content, bytes):
                image = fit_image(content, "The picture")
                image_text = base64.b64encode(image.data).decode("ascii")
                return Attachment(mime=image.mime, url=f"data:{image.mime};base64,{image_text}")
    return None


def shown_result(data: dict[str, Any]) -> ShownResult:
    """Return a MIME bundle as it can be shown without a kernel: its Markdown or HTML, else what it is."""
    if WIDGET_MIME in data:
        name = re.match(r"\w+", str(data.get("text/plain", "")))
        return ShownResult("widget", name.group() if name else "")
    markdown = data.get("text/markdown") or data.get("text/latex")
    if isinstance(markdown, str):
        return ShownResult("markdown", markdown)
    html = data.get("text/html")
    if isinstance(html, str):
        return ShownResult("html", html)
    return ShownResult("other", next(mime for mime in data if mime != "text/plain"))


def _displayed_text(data: dict[str, Any]) -> str:
    text = data.get("text/plain", "")
    if not isinstance(text, str) or text.startswith("<IPython.core.display."):
        text = data.get("text/markdown") or data.get("text/latex") or ""
    return str(text)
