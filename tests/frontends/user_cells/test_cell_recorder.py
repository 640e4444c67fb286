"""The recorder keeps what each cell prints, shows, returns and raises, whatever kind it is, within its limits."""

import ast
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.harness.kernel import Kernel
from tests.sample_size import thinned

from palimpsest.frontends.user_cells.cell_recorder import (
    MAX_HEAD_CHARS,
    MAX_OUTPUTS,
    MAX_RUNS,
    MAX_TAIL_CHARS,
)

pytestmark = pytest.mark.slow

READ = """
import json as _json
_recorded = RECORDER.recorded_runs()
def _shown(run):
    return {"source": run.source, "number": run.number, "status": run.status, "dropped": run.dropped,
            "cell_id": run.cell_id, "outputs": [[one.kind, one.text, one.markup, list(one.mimes),
            one.image and [one.image[0], len(one.image[1])], one.error] for one in run.outputs]}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with Kernel(cwd=tmp_path_factory.mktemp("recorder")) as kernel:
        kernel.run(
            "from palimpsest.frontends.user_cells.cell_recorder import CellRecorder\n"
            "RECORDER = CellRecorder(get_ipython()); RECORDER.register()"
        )
        kernel.run(READ)
        yield kernel


def recorded(kernel: Kernel, code: str, **metadata: Any) -> dict[str, Any]:
    """Run a cell and return what was recorded of it."""
    kernel.run(code, **metadata)
    kernel.run("import sys; sys.stdout.flush(); sys.stderr.flush()")
    found = kernel.value("_json.dumps(_shown(RECORDER.recorded_runs().runs[-2]))")
    value: dict[str, Any] = json.loads(_unquoted(found))
    return value


def _unquoted(text: str) -> str:
    value = ast.literal_eval(text)
    assert isinstance(value, str)
    return value


INLINE = "import matplotlib; matplotlib.use('module://matplotlib_inline.backend_inline')\nimport matplotlib.pyplot as plt\n"
SHOW = "from IPython.display import *\n"

KINDS = {
    "print": ("print('out-1')", ("stdout", "out-1")),
    "print in pieces": ("for n in range(3): print(n, end=',', flush=True)", ("stdout", "0,1,2,")),
    "stderr": ("import sys; print('err-1', file=sys.stderr)", ("stderr", "err-1")),
    "both streams": (
        "import sys; print('a'); print('b', file=sys.stderr); print('c')",
        ("stderr", "b"),
    ),
    "result": ("6 * 7", ("result", "42")),
    "result of text": ("'t' + 'ext'", ("result", "'text'")),
    "quiet result": ("6 * 7;", None),
    "None": ("None", None),
    "table": ("import pandas as pd; pd.DataFrame({'a': [1]})", ("result", "   a\n0  1")),
    "array": ("import numpy as np; np.arange(3)", ("result", "array([0, 1, 2])")),
    "display of text": (SHOW + "display('shown')", ("display", "'shown'")),
    "HTML": (SHOW + "display(HTML('<b>bold</b>'))", ("display", "")),
    "Markdown": (SHOW + "display(Markdown('**m**'))", ("display", "")),
    "LaTeX": (SHOW + "display(Latex('$x$'))", ("display", "")),
    "SVG": (
        SHOW + "display(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>'))",
        ("display", ""),
    ),
    "JSON": (SHOW + "display(JSON({'a': 1}))", ("display", "")),
    "JavaScript": (SHOW + "display(Javascript('1'))", ("display", "")),
    "own MIME type": (
        SHOW + "display({'application/x-mine': {'a': 1}, 'text/plain': 'mine'}, raw=True)",
        ("display", "mine"),
    ),
    "a figure": (INLINE + "plt.plot([1, 2]); plt.show()", ("display", "<Figure")),
    "a figure left open": (INLINE + "_ = plt.plot([1, 2])", ("display", "<Figure")),
    "a picture": (
        SHOW
        + "import base64; display(Image(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')))",
        ("display", ""),
    ),
    "a damaged picture": (
        SHOW + "display({'image/png': 'no base64!', 'text/plain': 'damaged'}, raw=True)",
        ("display", "damaged"),
    ),
    "updated display": (
        SHOW + "h = display('one', display_id=True); h.update('two')",
        ("display", "'two'"),
    ),
    "cleared": (SHOW + "print('gone'); clear_output(); print('stays')", ("stdout", "stays")),
    "cleared on the next": (
        SHOW + "print('gone'); clear_output(wait=True); print('stays')",
        ("stdout", "stays"),
    ),
    "progress bar": ("for n in range(0, 101, 50): print(f'\\r{n} %', end='')", ("stdout", "100 %")),
    "colours": ("print('\\x1b[31mred\\x1b[0m')", ("stdout", "red\n")),
    "warning": ("import warnings; warnings.warn('careful')", ("stderr", "careful")),
    "log": ("import logging; logging.getLogger('x').warning('logged')", ("stderr", "logged")),
    "error": ("1 / 0", ("error", "ZeroDivisionError")),
    "nested error": (
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('outer') from e",
        ("error", "outer"),
    ),
    "error after output": ("print('before'); raise KeyError('k')", ("error", "KeyError")),
    "own error class": ("class Mine(Exception): pass\nraise Mine('own')", ("error", "own")),
    "syntax error": ("def f(:\n    pass", ("error", "SyntaxError")),
    "indentation error": ("if True:\nprint(1)", ("error", "IndentationError")),
    "exit": ("raise SystemExit(3)", ("error", "SystemExit")),
    "line magic": ("%time 1 + 1", ("stdout", "time")),
    "shell line": ("!echo from-the-shell", ("stdout", "from-the-shell")),
    "cell magic": ("%%bash\necho from-bash", ("stdout", "from-bash")),
    "writefile": ("%%writefile made.txt\ntext", ("stdout", "Writing made.txt")),
    "captured": ("%%capture taken\nprint('inside')", None),
    "async": ("import asyncio; await asyncio.sleep(0); print('awaited')", ("stdout", "awaited")),
    "a thread that is joined": (
        "import threading; t = threading.Thread(target=print, args=('from-thread',)); t.start(); t.join()",
        ("stdout", "from-thread"),
    ),
    "a subprocess": (
        "import subprocess; print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout)",
        ("stdout", "child"),
    ),
    "file descriptor": (
        "import os; _ = os.write(1, b'to-fd\\n')\nwhile not any('to-fd' in o.text for r in RECORDER.recorded_runs().runs for o in r.outputs): pass",
        ("stdout", "to-fd"),
    ),
    "widget": (
        "import ipywidgets; ipywidgets.IntSlider(value=3)",
        ("result", "IntSlider(value=3)"),
    ),
    "emoji and Chinese": ("print('数据 🐧')", ("stdout", "数据 🐧")),
    "half a character": (
        "print('\\ud83d'.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace'))",
        ("stdout", "�"),
    ),
    "zero bytes": ("print('a\\x00b')", ("stdout", "a\x00b")),
}


@pytest.mark.parametrize("name", thinned(KINDS, 8))
def test_each_kind_of_output_is_recorded(kernel: Kernel, name: str) -> None:
    code, expected = KINDS[name]

    run = recorded(kernel, code)

    if expected is None:
        assert run["outputs"] == []
        return
    kind, words = expected
    assert any(output[0] == kind and words in output[1] for output in run["outputs"]), run
    assert "\x1b" not in json.dumps(run)
    assert (run["status"] == "error") == (kind == "error")


@pytest.mark.soak  # with each commit tests/frontends/user_cells/test_user_cells.py sends a picture of a cell; this adds matplotlib's
def test_pictures_are_kept_as_bytes(kernel: Kernel) -> None:
    run = recorded(kernel, INLINE + "plt.plot([1, 2]); plt.show()")

    (image,) = [output[4] for output in run["outputs"] if output[4]]
    assert image[0] == "image/png"
    assert image[1] > 1_000


def test_a_huge_output_keeps_its_ends(kernel: Kernel) -> None:
    run = recorded(kernel, "print('first'); print('x' * 5_000_000); print('last')")

    text = run["outputs"][0][1]
    assert text.startswith("first")
    assert text.endswith("last\n")
    assert len(text) <= MAX_HEAD_CHARS + MAX_TAIL_CHARS + 60


def test_many_outputs_are_counted(kernel: Kernel) -> None:
    run = recorded(kernel, SHOW + f"for n in range({MAX_OUTPUTS + 25}): display(n)")

    assert len(run["outputs"]) == MAX_OUTPUTS
    assert run["dropped"] == 25


def test_an_interrupted_cell_is_stopped(kernel: Kernel) -> None:
    assert recorded(kernel, "raise KeyboardInterrupt")["status"] == "stopped"


def test_what_is_not_in_the_history_is_no_cell(kernel: Kernel) -> None:
    before = int(kernel.value("len(RECORDER.recorded_runs().runs)"))
    kernel.run("get_ipython().run_cell('print(1)', store_history=False)")

    # The cell itself, and the one that counts; not the code that it ran.
    assert int(kernel.value("len(RECORDER.recorded_runs().runs)")) <= before + 2


@pytest.mark.soak  # with each commit each kind of output is recorded, above; this adds what a widget prints later
def test_a_widget_callback_prints_into_its_cell(kernel: Kernel) -> None:
    kernel.run(
        "import ipywidgets\nbutton = ipywidgets.Button(); button.on_click(lambda _: print('CLICKED'))\nbutton",
        cellId="cell-button",
    )
    comm = _unquoted(kernel.value("button.comm.comm_id"))
    kernel.run("pass")
    message = {"comm_id": comm, "data": {"method": "custom", "content": {"event": "click"}}}
    handler = (
        "kernel = get_ipython().kernel\n"
        f"message = {{'header': {{'msg_id': 'click-1', 'msg_type': 'comm_msg'}}, 'content': {message!r}, "
        "'metadata': {}, 'parent_header': {}}\n"
        "done = kernel.shell_handlers['comm_msg'](None, None, message)\n"
        "RECORDER._record_message('stream', ({'name': 'stdout', 'text': 'CLICKED'}, "
        "{'msg_id': 'click-1'}), {})"
    )
    kernel.run(handler)

    texts = _unquoted(
        kernel.value(
            "_json.dumps([[o.text for o in r.outputs] for r in RECORDER.recorded_runs().runs if r.cell_id == 'cell-button'])"
        )
    )
    assert "CLICKED" in json.loads(texts)[-1][-1]


def test_old_runs_are_forgotten(kernel: Kernel) -> None:
    kernel.run(
        "class Info:\n    raw_cell = 'x = 1'; store_history = True; silent = False; cell_id = None\n"
        f"running = RECORDER._running_runs\nfor n in range({MAX_RUNS + 50}):\n"
        "    RECORDER._running_runs = []; RECORDER.begin(Info())\nRECORDER._running_runs = running"
    )

    assert int(kernel.value("len(RECORDER.recorded_runs().runs)")) == MAX_RUNS
    assert int(kernel.value("RECORDER.recorded_runs().forgotten")) > 0
