"""Record each cell that the user runs: its source, its number, what it printed, showed and raised.

Border: loaded with ``%load_ext``, so nothing heavy is imported. It listens to IPython's events and reads
the messages that the kernel sends to its front ends; it runs none of the user's code and sends nothing.
A message names the request that it belongs to, so what threads and widgets print later goes to its cell.
"""

import base64
import binascii
import re
import threading
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from palimpsest.frontends.kernel.kept_cells import KeptCells, attached_kept_cells
from palimpsest.frontends.kernel.text_buffer import ANSI, TextBuffer
from palimpsest.transcript.context_values.cell_runs import (
    CellRun,
    HiddenBy,
    NotebookRuns,
    OutputKind,
    RecordedOutput,
)
from palimpsest.transcript.context_values.hidden_tag import has_hidden_tag

if TYPE_CHECKING:
    from palimpsest.transcript.context_values.page_cells import CellsWanted, PageNotebook

MOST_RUNS = 200
"""Runs that are kept; a loop of cells must not fill the memory."""
MOST_OUTPUTS = 60
"""Outputs of one run that are kept; its errors are kept beyond that."""
SOURCE_CHARS = 40_000
HEAD_CHARS = 24_000
TAIL_CHARS = 24_000
"""Characters of one output that are kept; what the model is told is cut further."""
MARKUP_CHARS = 24_000
MOST_IMAGES = 6
"""Pictures of one run that are kept."""
IMAGE_BYTES = 6_000_000
"""Size above which a picture is named and not kept."""
ALL_IMAGE_BYTES = 32_000_000
"""Size of all pictures that are kept; the oldest go first."""
EARLIER_CELLS = 50
"""Cells that ran before the extension was loaded, of which IPython knows the source."""

_RECORDED = frozenset(
    {
        "stream",
        "display_data",
        "execute_result",
        "update_display_data",
        "error",
        "clear_output",
        "comm_open",
    }
)
_SEGMENT = "application/vnd.palimpsest.segment+json"
_LLM = "x-vendor/llm"
_PLAIN = "text/plain"
_MARKUP = ("text/markdown", "text/latex", "text/html")
_IMAGES = ("image/png", "image/jpeg")
_AGENT_CELL = re.compile(r"\s*%{1,2}agent\b")
_EMPTY_TEXT = "<IPython.core.display."


@dataclass(slots=True, eq=False)
class _Output:
    """An output while it may still grow."""

    kind: OutputKind
    text: TextBuffer = field(default_factory=lambda: TextBuffer(HEAD_CHARS, TAIL_CHARS))
    markup: str = ""
    mimes: tuple[str, ...] = ()
    image: tuple[str, bytes] | None = None
    error: tuple[str, str] | None = None

    def value(self, kept: KeptCells) -> RecordedOutput:
        text, markup = kept.clean(self.text.text()), kept.clean(self.markup)
        return RecordedOutput(self.kind, text, markup, self.mimes, self.image, self.error)


@dataclass(slots=True, eq=False)
class _Run:
    """A run of a cell while outputs may still come."""

    known: CellRun
    """What is known of it, without its outputs."""
    outputs: list[_Output] = field(default_factory=list)
    clear_next: bool = False
    value: CellRun | None = None
    """The run as a value, as of its last change."""

    def changed(self, **known: Any) -> None:
        self.known = replace(self.known, version=self.known.version + 1, **known)
        self.value = None

    def as_value(self, kept: KeptCells) -> CellRun:
        if self.value is None:
            outputs = tuple(one.value(kept) for one in self.outputs)
            self.value = replace(self.known, outputs=outputs)
        return self.value


class CellRecorder:
    """The runs of one kernel's cells.

    Responsibilities: begin and end a run with IPython's events; put each output to the run whose request
    it answers; forget what is old. Read from any thread.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.kernel = uuid.uuid4().hex[:12]
        """Names this start of the kernel, since runs are counted anew after each."""
        self._lock = threading.RLock()
        self._runs: OrderedDict[int, _Run] = OrderedDict()
        self._by_request: OrderedDict[str, _Run] = OrderedDict()
        self._comms: OrderedDict[str, _Run] = OrderedDict()
        """The run in which each widget was made."""
        self._displays: OrderedDict[str, tuple[_Run, _Output]] = OrderedDict()
        self._current: _Run | None = None
        self._depth = 0
        self._count = 0
        self._image_bytes = 0
        self._deleted: set[str] = set()
        self._earlier: tuple[tuple[int, str], ...] = ()
        self._kept = KeptCells(shell)
        self._undo = ExitStack()
        self.is_agent_code: Callable[[], bool] = lambda: False
        """Tells whether the calling code was written by the agent; its outputs are its tool's."""
        self._private_next = False
        self.read_pages: (
            Callable[[CellsWanted, float], Awaitable[Sequence[PageNotebook] | None]] | None
        ) = None
        """Asks the open pages for their cells, once the channel to them is loaded."""

    def register(self) -> None:
        """Begin to record."""
        shell = self._shell
        shell.events.register("pre_run_cell", self.begin)
        shell.events.register("post_run_cell", self.end)
        self._earlier = _earlier_cells(shell)
        self._kept = attached_kept_cells(shell)
        self._kept.keep_unrecorded(_history(shell))
        kernel = getattr(shell, "kernel", None)
        session = getattr(kernel, "session", None)
        if session is None:
            return
        send = session.send
        session.send = self._watching(send)
        self._undo.callback(_restore, session, "send", send)
        handlers = getattr(kernel, "shell_handlers", {})
        on_comm = handlers.get("comm_msg")
        if on_comm is not None:
            handlers["comm_msg"] = self._naming_comms(on_comm)
            self._undo.callback(handlers.__setitem__, "comm_msg", on_comm)

    def unregister(self) -> None:
        """Stop recording."""
        self._kept.recorded_until(max((at for at, _ in _history(self._shell)), default=0))
        self._shell.events.unregister("pre_run_cell", self.begin)
        self._shell.events.unregister("post_run_cell", self.end)
        self._undo.close()

    def hide_next(self) -> None:
        """Keep the next cell from the agent (``%agent private``)."""
        self._private_next = True

    def runs(self) -> NotebookRuns:
        """Return what is recorded, oldest first; from any thread."""
        with self._lock:
            self._take_terminal_outputs()
            return NotebookRuns(
                runs=tuple(run.as_value(self._kept) for run in self._runs.values()),
                deleted=frozenset(self._deleted),
                forgotten=self._count - len(self._runs),
                earlier=self._earlier,
            )

    async def page(self, wanted: "CellsWanted", seconds: float) -> "Sequence[PageNotebook] | None":
        """Return the notebooks that open pages show now; None where no page answers in time."""
        return None if self.read_pages is None else await self.read_pages(wanted, seconds)

    def begin(self, info: Any = None) -> None:
        """Begin a run; a listener of IPython. What is not counted in the history is no cell."""
        self._depth += 1
        if self._depth > 1 or info is None:
            return
        if not getattr(info, "store_history", True) or getattr(info, "silent", False):
            return
        message = self._request()
        metadata = message.get("metadata") or {}
        with self._lock:
            self._count += 1
            source = str(getattr(info, "raw_cell", "") or "")
            cell_id = getattr(info, "cell_id", None) or metadata.get("cellId")
            known = CellRun(
                serial=self._count,
                version=1,
                source=shortened(source, SOURCE_CHARS),
                cell_id=cell_id,
                status="running",
                hidden=self._hidden(metadata, source),
                by_agent=_AGENT_CELL.match(source) is not None,
            )
            run = _Run(known)
            if known.hidden:
                self._kept.keep(source)
            else:
                self._kept.open(source)
            self._runs[known.serial] = self._current = run
            request = (message.get("header") or {}).get("msg_id")
            if isinstance(request, str):
                _remember(self._by_request, request, run)
            deleted = metadata.get("deletedCells")
            if isinstance(deleted, list):
                self._deleted.update(one for one in deleted if isinstance(one, str))
            self._forget_old()

    def end(self, result: Any = None) -> None:
        """End a run; a listener of IPython, which tells the end of an empty cell without its beginning."""
        if self._depth == 0:
            return
        self._depth -= 1
        run = self._current
        if self._depth or run is None:
            return
        with self._lock:
            self._current = None
            number = getattr(result, "execution_count", None)
            number = number if isinstance(number, int) else None
            if run.known.hidden and number is not None:
                self._kept.keep_number(number)
            problem = getattr(result, "error_before_exec", None) or getattr(
                result, "error_in_exec", None
            )
            status = "ok" if problem is None else "error"
            if isinstance(problem, KeyboardInterrupt):
                status = "stopped"
            run.changed(number=number, status=status)

    def _hidden(self, metadata: dict[str, Any], source: str) -> HiddenBy:
        if has_hidden_tag(metadata):
            return "tag"
        # The cell that says %agent private is not the one that it means.
        if self._private_next and not _AGENT_CELL.match(source):
            self._private_next = False
            return "private"
        return ""

    def _request(self) -> dict[str, Any]:
        """Return the request that is being carried out; empty in a terminal."""
        kernel = getattr(self._shell, "kernel", None)
        try:
            found = kernel.get_parent("shell") if kernel is not None else None
        except Exception:  # noqa: BLE001  # a kernel of another kind; the events tell enough
            return {}
        return found if isinstance(found, dict) else {}

    def _watching(self, send: Callable[..., Any]) -> Callable[..., Any]:
        def watched(stream: Any, msg_or_type: Any, *arguments: Any, **options: Any) -> Any:
            with suppress(Exception):  # recording must never cost a message
                self._take(msg_or_type, arguments, options)
            return send(stream, msg_or_type, *arguments, **options)

        return watched

    def _naming_comms(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """Return a handler of widget messages that notes for which cell's widget each one is."""

        def handle(stream: Any, ident: Any, message: Any) -> Any:
            comm = (message.get("content") or {}).get("comm_id")
            request = (message.get("header") or {}).get("msg_id")
            with self._lock:
                run = self._comms.get(str(comm))
                if run is not None and isinstance(request, str):
                    _remember(self._by_request, request, run)
            return handler(stream, ident, message)

        return handle

    def _take(self, message: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Record a message on its way to the front ends."""
        if isinstance(message, dict):
            kind = message.get("msg_type") or message["header"]["msg_type"]
            if kind not in _RECORDED:
                return
            content, parent = message.get("content"), message.get("parent_header")
        else:
            if message not in _RECORDED:
                return
            kind = message
            content = arguments[0] if arguments else options.get("content")
            parent = arguments[1] if len(arguments) > 1 else options.get("parent")
        parent = (parent or {}).get("header", parent) or {}
        with self._lock:
            run = self._by_request.get(str(parent.get("msg_id")))
            if run is None or run.known.hidden or self.is_agent_code():
                return
            if kind == "comm_open":
                _remember(self._comms, str((content or {}).get("comm_id")), run)
                return
            self._put(run, str(kind), content or {})

    def _put(self, run: _Run, kind: str, content: dict[str, Any]) -> None:
        if kind == "clear_output":
            run.clear_next = bool(content.get("wait"))
            if not run.clear_next:
                run.outputs.clear()
                run.changed()
            return
        data = content.get("data") or {}
        if _SEGMENT in data:
            return
        if kind == "update_display_data":
            self._update(content, data)
            return
        if run.clear_next:
            run.clear_next = False
            run.outputs.clear()
        if kind == "stream":
            self._stream(run, content)
        elif kind == "error":
            output = _Output("error")
            lines = content.get("traceback") or ()
            output.text.write(ANSI.sub("", "\n".join(map(str, lines))))
            output.error = (str(content.get("ename", "")), str(content.get("evalue", "")))
            run.outputs.append(output)
        elif len(run.outputs) >= MOST_OUTPUTS:
            run.changed(dropped=run.known.dropped + 1)
        else:
            output = _Output("result" if kind == "execute_result" else "display")
            self._fill(output, data, run)
            run.outputs.append(output)
            shown = (content.get("transient") or {}).get("display_id")
            if isinstance(shown, str):
                _remember(self._displays, shown, (run, output))
        run.changed()

    def _stream(self, run: _Run, content: dict[str, Any]) -> None:
        kind: OutputKind = "stderr" if content.get("name") == "stderr" else "stdout"
        last = run.outputs[-1] if run.outputs else None
        if last is None or last.kind != kind:
            if len(run.outputs) >= MOST_OUTPUTS:
                run.changed(dropped=run.known.dropped + 1)
                return
            last = _Output(kind)
            run.outputs.append(last)
        last.text.write(str(content.get("text", "")))

    def _update(self, content: dict[str, Any], data: dict[str, Any]) -> None:
        found = self._displays.get((content.get("transient") or {}).get("display_id") or "")
        if found is None:
            return
        run, output = found
        if output.image is not None:
            self._image_bytes -= len(output.image[1])
        output.text, output.markup, output.image = TextBuffer(HEAD_CHARS, TAIL_CHARS), "", None
        self._fill(output, data, run)
        run.changed()

    def _fill(self, output: _Output, data: dict[str, Any], run: _Run) -> None:
        text = data.get(_LLM) or data.get(_PLAIN) or ""
        if not isinstance(text, str) or text.startswith(_EMPTY_TEXT):
            text = ""
        if not text:
            found = next((data[mime] for mime in _MARKUP if isinstance(data.get(mime), str)), "")
            output.markup = found[:MARKUP_CHARS]
        output.text.write(text)
        output.mimes = tuple(str(mime)[:100] for mime in data if mime not in (_PLAIN, _LLM))[:12]
        output.image = self._image(data, run)

    def _image(self, data: dict[str, Any], run: _Run) -> tuple[str, bytes] | None:
        if sum(one.image is not None for one in run.outputs) >= MOST_IMAGES:
            return None
        for mime in _IMAGES:
            content = data.get(mime)
            if isinstance(content, str) and len(content) <= IMAGE_BYTES * 4 // 3 + 4:
                try:
                    content = base64.b64decode("".join(content.split()), validate=True)
                except (binascii.Error, ValueError):
                    return None
            if isinstance(content, bytes) and 0 < len(content) <= IMAGE_BYTES:
                self._image_bytes += len(content)
                return mime, content
        return None

    def _forget_old(self) -> None:
        while len(self._runs) > MOST_RUNS:
            _, gone = self._runs.popitem(last=False)
            self._drop_images(gone)
        for run in self._runs.values():
            if self._image_bytes <= ALL_IMAGE_BYTES:
                return
            if self._drop_images(run):
                run.value = None

    def _drop_images(self, run: _Run) -> bool:
        """Drop a run's pictures; true where it had some."""
        had = False
        for output in run.outputs:
            if output.image is not None:
                self._image_bytes -= len(output.image[1])
                output.image = None
                had = True
        return had

    def _take_terminal_outputs(self) -> None:
        """Take what IPython itself keeps of outputs where no kernel sends messages."""
        if getattr(self._shell, "kernel", None) is not None:
            return
        kept = getattr(getattr(self._shell, "history_manager", None), "outputs", {})
        raised = getattr(getattr(self._shell, "history_manager", None), "exceptions", {})
        for run in self._runs.values():
            number = run.known.number
            if run.outputs or run.known.hidden or number is None:
                continue
            for one in list(kept.get(number, ()))[:MOST_OUTPUTS]:
                self._take_kept(run, str(one.output_type), dict(one.bundle))
            if run.known.status == "error" and isinstance(raised.get(number), dict):
                self._put(run, "error", raised[number])
            run.value = None

    def _take_kept(self, run: _Run, kind: str, bundle: dict[str, Any]) -> None:
        if kind in ("out_stream", "err_stream"):
            name = "stdout" if kind == "out_stream" else "stderr"
            text = bundle.get("stream", "")
            self._put(run, "stream", {"name": name, "text": "".join(text)})
        else:
            self._put(run, kind, {"data": bundle})


def shortened(text: str, chars: int) -> str:
    """Return a text of at most so many characters, its middle left out."""
    if len(text) <= chars:
        return text
    half = chars // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def _history(shell: Any) -> list[tuple[int, str]]:
    """Return number and source of each cell that ran in this kernel, as far as IPython knows them."""
    history = getattr(getattr(shell, "history_manager", None), "input_hist_raw", None) or ()
    return [(at, str(source)) for at, source in enumerate(history) if at and str(source).strip()]


def _earlier_cells(shell: Any) -> tuple[tuple[int, str], ...]:
    """Return number and source of the cells that ran before; without the source where a cell may have a tag.

    Nobody noted the tags of those cells. In a terminal there are none.
    """
    tagged = getattr(shell, "kernel", None) is not None
    # The last one is the cell that runs now, which loads the extension.
    ran = _history(shell)[:-1][-EARLIER_CELLS:]
    return tuple(
        (at, "" if tagged else shortened(source, 2_000)) for at, source in ran if _tells(source)
    )


def _tells(source: str) -> bool:
    return not _AGENT_CELL.match(source) and "%load_ext palimpsest" not in source


def _remember(kept: "OrderedDict[str, Any]", key: str, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > 4 * MOST_RUNS:
        kept.popitem(last=False)


def _restore(target: Any, name: str, before: Any) -> None:
    """Undo a replaced method, unless somebody replaced it again meanwhile."""
    vars(target).pop(name, None)
    if getattr(target, name) != before:
        setattr(target, name, before)
