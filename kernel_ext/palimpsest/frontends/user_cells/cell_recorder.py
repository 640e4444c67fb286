"""Record each cell that the user runs: source, number, outputs and error.

Border: loaded with ``%load_ext``, so no heavy module is imported. It listens to IPython's events and reads
the messages that the kernel sends to its front ends; it runs no user code and sends nothing.
A message names its request, so that later output of threads and widgets is assigned to its cell.
"""

import asyncio
import base64
import binascii
import threading
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from palimpsest.frontends.user_cells.hidden_cells import HiddenCells, attached_hidden_cells
from palimpsest.frontends.user_cells.requested_cells import running_request
from palimpsest.frontends.user_cells.text_buffer import ANSI, TextBuffer
from palimpsest.transcript.context_values.cell_runs import (
    CellRun,
    HiddenBy,
    NotebookRuns,
    OutputKind,
    RecordedOutput,
    has_hidden_tag,
    is_prompt_cell,
)

if TYPE_CHECKING:
    from palimpsest.tools.tool import NotebookChanger
    from palimpsest.transcript.context_values.page_cells import CellsWanted, PageNotebook

MAX_RUNS = 200
"""Maximum runs that are kept, so that a loop of cells does not fill the memory."""
MAX_OUTPUTS = 60
"""Maximum outputs of one run that are kept, beside its errors."""
MAX_SOURCE_CHARS = 40_000
MAX_HEAD_CHARS = 24_000
MAX_TAIL_CHARS = 24_000
"""Maximum characters at the beginning and end of an output that are kept; the model is shown less."""
MAX_MARKUP_CHARS = 24_000
MAX_MIME_TYPES = 12
MAX_MIME_CHARS = 100
MAX_IMAGES = 6
MAX_IMAGE_BYTES = 6_000_000
"""Size above which an image is only named."""
MAX_ALL_IMAGE_BYTES = 32_000_000
"""Size of all images above which the oldest are dropped."""
MAX_STORED_ENTRIES = 4 * MAX_RUNS
"""Maximum requests, widgets and displays whose runs are remembered."""
MAX_EARLIER_SOURCE_CHARS = 2_000
MAX_EARLIER_CELLS = 50
"""Maximum cells from before the extension was loaded, whose source IPython has."""

_RECORDED_MESSAGES = frozenset({
    "stream", "display_data", "execute_result", "update_display_data", "error", "clear_output",
    "comm_open",
})  # fmt: skip
_SEGMENT_MIME = "application/vnd.palimpsest.segment+json"
_LLM_MIME = "x-vendor/llm"
_PLAIN_MIME = "text/plain"
_MARKUP_MIMES = ("text/markdown", "text/latex", "text/html")
_IMAGE_MIMES = ("image/png", "image/jpeg")
_PLACEHOLDER_PREFIX = "<IPython.core.display."


@dataclass(slots=True, eq=False)
class _Output:
    """An output that may still grow."""

    kind: OutputKind
    text: TextBuffer = field(default_factory=lambda: TextBuffer(MAX_HEAD_CHARS, MAX_TAIL_CHARS))
    markup: str = ""
    mimes: tuple[str, ...] = ()
    image: tuple[str, bytes] | None = None
    error: tuple[str, str] | None = None

    def as_value(self, hidden_cells: HiddenCells) -> RecordedOutput:
        text, markup = map(hidden_cells.masked_text, (self.text.shown_text(), self.markup))
        return RecordedOutput(self.kind, text, markup, self.mimes, self.image, self.error)


@dataclass(slots=True, eq=False)
class _Run:
    """A run of a cell whose outputs may still grow."""

    data: CellRun
    """The run without its outputs."""
    outputs: list[_Output] = field(default_factory=list)
    clears_before_next: bool = False
    """Whether the next output replaces all outputs so far."""
    value: CellRun | None = None
    """The run as a value; None after a change."""

    def mark_changed(self, **data: Any) -> None:
        self.data = replace(self.data, version=self.data.version + 1, **data)
        self.value = None

    def as_value(self, hidden_cells: HiddenCells) -> CellRun:
        if self.value is None:
            outputs = tuple(output.as_value(hidden_cells) for output in self.outputs)
            self.value = replace(self.data, outputs=outputs)
        return self.value


class CellRecorder:
    """Records the runs of one kernel's cells.

    Responsibilities: begin and end a run by IPython's events; assign each output to the run whose request
    it answers; drop old runs. ``recorded_runs`` may be called from any thread.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.kernel = uuid.uuid4().hex[:12]
        """An id of this start of the kernel, since runs are numbered from 1 after a restart."""
        self._lock = threading.RLock()
        self._runs_by_serial: OrderedDict[int, _Run] = OrderedDict()
        self._runs_by_request: OrderedDict[str, _Run] = OrderedDict()
        self._runs_by_comm: OrderedDict[str, _Run] = OrderedDict()
        """The run in which each widget was created, by the id of its comm."""
        self._outputs_by_display: OrderedDict[str, tuple[_Run, _Output]] = OrderedDict()
        self._running_runs: list[_Run | None] = []
        """The runs of the running cells, the innermost last; None for code that is no cell."""
        self._run_count = 0
        self._image_bytes = 0
        self._deleted_cell_ids: set[str] = set()
        self._cells_before_recording: tuple[tuple[int, str], ...] = ()
        self._hidden_cells = HiddenCells(shell)
        self._undo_stack = ExitStack()
        self.is_agent_code: Callable[[], bool] = lambda: False
        """Returns whether the agent wrote the calling code, whose outputs belong to its tool call."""
        self._is_next_hidden = False
        self.session_id_of_request: Callable[[str], str] = lambda _request_id: ""
        """Returns the id of the session for which a page's message runs a cell; empty for a person's."""
        self.read_pages: (
            Callable[[CellsWanted, float], Awaitable[Sequence[PageNotebook] | None]] | None
        ) = None
        """Reads the cells of open pages; None until the channel to them is loaded."""
        self.changer: NotebookChanger | None = None
        """Changes cells through open pages; None until the channel to them is loaded."""

    def register(self) -> None:
        """Begin recording."""
        shell = self._shell
        shell.events.register("pre_run_cell", self.begin)
        shell.events.register("post_run_cell", self.end)
        self._cells_before_recording = _earlier_cells(shell)
        self._hidden_cells = attached_hidden_cells(shell)
        self._hidden_cells.hide_unrecorded(_history_cells(shell))
        kernel = getattr(shell, "kernel", None)
        session = getattr(kernel, "session", None)
        if session is None:
            return
        send = session.send
        session.send = self._recording_send(send)
        self._undo_stack.callback(_restore_method, session, "send", send)
        handlers = getattr(kernel, "shell_handlers", {})
        comm_handler = handlers.get("comm_msg")
        if comm_handler is not None:
            handlers["comm_msg"] = self._recording_comm_handler(comm_handler)
            self._undo_stack.callback(handlers.__setitem__, "comm_msg", comm_handler)

    def unregister(self) -> None:
        """Stop recording."""
        numbers = (number for number, _ in _history_cells(self._shell))
        self._hidden_cells.end_recording(max(numbers, default=0))
        self._shell.events.unregister("pre_run_cell", self.begin)
        self._shell.events.unregister("post_run_cell", self.end)
        self._undo_stack.close()

    def hide_next(self) -> None:
        """Hide the next cell from the agent (``%agent private``)."""
        self._is_next_hidden = True

    def recorded_runs(self) -> NotebookRuns:
        """Return the recorded cells, oldest first; from any thread."""
        with self._lock:
            self._read_terminal_outputs()
            runs = self._runs_by_serial.values()
            return NotebookRuns(
                runs=tuple(run.as_value(self._hidden_cells) for run in runs),
                deleted_cells=frozenset(self._deleted_cell_ids),
                forgotten=self._run_count - len(self._runs_by_serial),
                earlier_runs=self._cells_before_recording,
            )

    def run_of_request(self, request_id: str) -> CellRun | None:
        """Return the run of the page's message with this id; None where none is recorded; from any thread."""
        with self._lock:
            run = self._runs_by_request.get(request_id)
            return None if run is None else run.as_value(self._hidden_cells)

    async def page(self, request: "CellsWanted", seconds: float) -> "Sequence[PageNotebook] | None":
        """Return the notebooks of open pages; None where no page answers in time."""
        return None if self.read_pages is None else await self.read_pages(request, seconds)

    def begin(self, info: Any = None) -> None:
        """Begin a run; called by IPython. Code that does not count in the history is no cell."""
        request: dict[str, Any] = {}
        with suppress(Exception):  # a kernel of another kind; IPython's events are enough
            request = running_request(self._shell)
        request_id = str((request.get("header") or {}).get("msg_id", ""))
        session_id = self.session_id_of_request(request_id)
        # Code inside a cell is a cell of its own only where a page was asked to run it.
        is_cell = not self._running_runs or (
            session_id != "" and request_id not in self._runs_by_request
        )
        is_counted = getattr(info, "store_history", True) and not getattr(info, "silent", False)
        if not is_cell or info is None or not is_counted:
            self._running_runs.append(None)
            return
        metadata = request.get("metadata") or {}
        with self._lock:
            self._run_count += 1
            source = str(getattr(info, "raw_cell", "") or "")
            cell_id = getattr(info, "cell_id", None) or metadata.get("cellId")
            data = CellRun(
                serial=self._run_count,
                version=1,
                source=shortened_middle(source, MAX_SOURCE_CHARS),
                cell_id=cell_id,
                status="running",
                hidden="" if session_id else self._take_hiding_reason(metadata, source),
                by_agent=is_prompt_cell(source),
                requested_by=session_id,
            )
            run = _Run(data)
            if data.hidden:
                self._hidden_cells.hide(source)
            else:
                self._hidden_cells.reveal_source(source)
            self._runs_by_serial[data.serial] = run
            self._running_runs.append(run)
            if request_id:
                _store_bounded(self._runs_by_request, request_id, run)
            deleted_ids = metadata.get("deletedCells")
            if isinstance(deleted_ids, list):
                self._deleted_cell_ids.update(key for key in deleted_ids if isinstance(key, str))
            self._forget_old()

    def end(self, result: Any = None) -> None:
        """End a run; called by IPython, for an empty cell also without a ``begin``."""
        run = self._running_runs.pop() if self._running_runs else None
        if run is None:
            return
        with self._lock:
            number = getattr(result, "execution_count", None)
            number = number if isinstance(number, int) else None
            if run.data.hidden and number is not None:
                self._hidden_cells.hide_number(number)
            error = getattr(result, "error_before_exec", None)
            error = error or getattr(result, "error_in_exec", None)
            status = "ok" if error is None else "error"
            # ipykernel stops a cell that awaits by cancelling it.
            if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
                status = "stopped"
            run.mark_changed(number=number, status=status)

    def _take_hiding_reason(self, metadata: dict[str, Any], source: str) -> HiddenBy:
        if has_hidden_tag(metadata):
            return "tag"
        # %agent private hides the next cell, not its own.
        if self._is_next_hidden and not is_prompt_cell(source):
            self._is_next_hidden = False
            return "private"
        return ""

    def _recording_send(self, send: Callable[..., Any]) -> Callable[..., Any]:
        def recording_send(stream: Any, msg_or_type: Any, *arguments: Any, **options: Any) -> Any:
            with suppress(Exception):  # a failed recording must not stop a message
                self._record_message(msg_or_type, arguments, options)
            return send(stream, msg_or_type, *arguments, **options)

        return recording_send

    def _recording_comm_handler(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """Return a handler of widget messages that assigns each message to the cell of its widget."""

        def handle(stream: Any, ident: Any, message: Any) -> Any:
            comm_id = (message.get("content") or {}).get("comm_id")
            request_id = (message.get("header") or {}).get("msg_id")
            with self._lock:
                run = self._runs_by_comm.get(str(comm_id))
                if run is not None and isinstance(request_id, str):
                    _store_bounded(self._runs_by_request, request_id, run)
            return handler(stream, ident, message)

        return handle

    def _record_message(
        self, message: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        message_type = message
        if isinstance(message, dict):
            message_type = message.get("msg_type") or message["header"]["msg_type"]
        if message_type not in _RECORDED_MESSAGES:
            return
        if isinstance(message, dict):
            content, parent = message.get("content"), message.get("parent_header")
        else:
            content = arguments[0] if arguments else options.get("content")
            parent = arguments[1] if len(arguments) > 1 else options.get("parent")
        parent = (parent or {}).get("header", parent) or {}
        with self._lock:
            run = self._runs_by_request.get(str(parent.get("msg_id")))
            if run is None or run.data.hidden or self.is_agent_code():
                return
            if message_type == "comm_open":
                _store_bounded(self._runs_by_comm, str((content or {}).get("comm_id")), run)
                return
            self._add_output(run, str(message_type), content or {})

    def _add_output(self, run: _Run, message_type: str, content: dict[str, Any]) -> None:
        if message_type == "clear_output":
            run.clears_before_next = bool(content.get("wait"))
            if not run.clears_before_next:
                run.outputs.clear()
                run.mark_changed()
            return
        data = content.get("data") or {}
        if _SEGMENT_MIME in data:
            return
        if message_type == "update_display_data":
            self._update_display(content, data)
            return
        if run.clears_before_next:
            run.clears_before_next = False
            run.outputs.clear()
        if message_type == "stream":
            self._add_stream_text(run, content)
        elif message_type == "error":
            output = _Output("error")
            lines = content.get("traceback") or ()
            output.text.write(ANSI.sub("", "\n".join(map(str, lines))))
            output.error = (str(content.get("ename", "")), str(content.get("evalue", "")))
            run.outputs.append(output)
        elif len(run.outputs) >= MAX_OUTPUTS:
            run.mark_changed(dropped=run.data.dropped + 1)
        else:
            output = _Output("result" if message_type == "execute_result" else "display")
            self._fill_output(output, data, run)
            run.outputs.append(output)
            display_id = (content.get("transient") or {}).get("display_id")
            if isinstance(display_id, str):
                _store_bounded(self._outputs_by_display, display_id, (run, output))
        run.mark_changed()

    def _add_stream_text(self, run: _Run, content: dict[str, Any]) -> None:
        kind: OutputKind = "stderr" if content.get("name") == "stderr" else "stdout"
        last_output = run.outputs[-1] if run.outputs else None
        if last_output is None or last_output.kind != kind:
            if len(run.outputs) >= MAX_OUTPUTS:
                run.mark_changed(dropped=run.data.dropped + 1)
                return
            last_output = _Output(kind)
            run.outputs.append(last_output)
        last_output.text.write(str(content.get("text", "")))

    def _update_display(self, content: dict[str, Any], data: dict[str, Any]) -> None:
        run_and_output = self._outputs_by_display.get(
            (content.get("transient") or {}).get("display_id") or ""
        )
        if run_and_output is None:
            return
        run, output = run_and_output
        if output.image is not None:
            self._image_bytes -= len(output.image[1])
        output.text, output.markup, output.image = (
            TextBuffer(MAX_HEAD_CHARS, MAX_TAIL_CHARS),
            "",
            None,
        )
        self._fill_output(output, data, run)
        run.mark_changed()

    def _fill_output(self, output: _Output, data: dict[str, Any], run: _Run) -> None:
        text = data.get(_LLM_MIME) or data.get(_PLAIN_MIME) or ""
        if not isinstance(text, str) or text.startswith(_PLACEHOLDER_PREFIX):
            text = ""
        if not text:
            markup_texts = (data[mime] for mime in _MARKUP_MIMES if isinstance(data.get(mime), str))
            output.markup = next(markup_texts, "")[:MAX_MARKUP_CHARS]
        output.text.write(text)
        rich_mimes = [
            str(mime)[:MAX_MIME_CHARS] for mime in data if mime not in (_PLAIN_MIME, _LLM_MIME)
        ]
        output.mimes = tuple(rich_mimes[:MAX_MIME_TYPES])
        output.image = self._stored_image(data, run)

    def _stored_image(self, data: dict[str, Any], run: _Run) -> tuple[str, bytes] | None:
        if sum(output.image is not None for output in run.outputs) >= MAX_IMAGES:
            return None
        for mime in _IMAGE_MIMES:
            content = data.get(mime)
            if isinstance(content, str) and len(content) <= MAX_IMAGE_BYTES * 4 // 3 + 4:
                try:
                    content = base64.b64decode("".join(content.split()), validate=True)
                except (binascii.Error, ValueError):
                    return None
            if isinstance(content, bytes) and 0 < len(content) <= MAX_IMAGE_BYTES:
                self._image_bytes += len(content)
                return mime, content
        return None

    def _forget_old(self) -> None:
        while len(self._runs_by_serial) > MAX_RUNS:
            _, oldest = self._runs_by_serial.popitem(last=False)
            self._drop_images(oldest)
        for run in self._runs_by_serial.values():
            if self._image_bytes <= MAX_ALL_IMAGE_BYTES:
                return
            if self._drop_images(run):
                run.value = None

    def _drop_images(self, run: _Run) -> bool:
        """Drop a run's images; returns whether it had any."""
        has_dropped = False
        for output in run.outputs:
            if output.image is not None:
                self._image_bytes -= len(output.image[1])
                output.image = None
                has_dropped = True
        return has_dropped

    def _read_terminal_outputs(self) -> None:
        """Record the outputs that IPython keeps in a terminal, where no kernel sends messages."""
        if getattr(self._shell, "kernel", None) is not None:
            return
        manager = getattr(self._shell, "history_manager", None)
        outputs, exceptions = getattr(manager, "outputs", {}), getattr(manager, "exceptions", {})
        for run in self._runs_by_serial.values():
            number = run.data.number
            if run.outputs or run.data.hidden or number is None:
                continue
            for output in list(outputs.get(number, ()))[:MAX_OUTPUTS]:
                self._add_terminal_output(run, str(output.output_type), dict(output.bundle))
            if run.data.status == "error" and isinstance(exceptions.get(number), dict):
                self._add_output(run, "error", exceptions[number])
            run.value = None

    def _add_terminal_output(self, run: _Run, output_type: str, bundle: dict[str, Any]) -> None:
        if output_type in ("out_stream", "err_stream"):
            name = "stdout" if output_type == "out_stream" else "stderr"
            text = bundle.get("stream", "")
            self._add_output(run, "stream", {"name": name, "text": "".join(text)})
        else:
            self._add_output(run, output_type, {"data": bundle})


def shortened_middle(text: str, max_chars: int) -> str:
    """Return a text shortened to about ``max_chars`` characters in its middle."""
    if len(text) <= max_chars:
        return text
    half_chars = max_chars // 2
    return f"{text[:half_chars]}\n[{len(text) - 2 * half_chars} characters left out]\n{text[-half_chars:]}"


def _history_cells(shell: Any) -> list[tuple[int, str]]:
    """Return number and source of each cell in IPython's history."""
    history = getattr(getattr(shell, "history_manager", None), "input_hist_raw", None) or ()
    cells = [(number, str(source)) for number, source in enumerate(history)]
    return [(number, source) for number, source in cells if number and source.strip()]


def _earlier_cells(shell: Any) -> tuple[tuple[int, str], ...]:
    """Return number and source of the cells that ran before the extension was loaded.

    In a kernel the sources are empty, since a tag, which is unknown here, may hide a cell. A terminal has no tags.
    """
    may_have_tags = getattr(shell, "kernel", None) is not None
    # Without the last one, the running cell, which loads the extension.
    cells = _history_cells(shell)[:-1][-MAX_EARLIER_CELLS:]
    return tuple(
        (number, "" if may_have_tags else shortened_middle(source, MAX_EARLIER_SOURCE_CHARS))
        for number, source in cells
        if not is_prompt_cell(source) and "%load_ext palimpsest" not in source
    )


def _store_bounded(entries: "OrderedDict[str, Any]", key: str, value: Any) -> None:
    """Store a value as the newest of a table; drop the oldest values of a large table."""
    entries[key] = value
    entries.move_to_end(key)
    while len(entries) > MAX_STORED_ENTRIES:
        entries.popitem(last=False)


def _restore_method(target: Any, name: str, original: Any) -> None:
    """Restore a replaced method, unless other code has replaced it since."""
    vars(target).pop(name, None)
    if getattr(target, name) != original:
        setattr(target, name, original)
