"""What the agent's Python leaves changed in the process is told in a line each, and the line takes it back."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.agent_python import call_python
from tests.harness.kernel import Kernel
from tests.sample_size import thinned

from palimpsest.frontends.process_guard.process_changes import ProcessState

CHANGES = {
    "working folder": ("import os\nos.chdir('/')", "left the working folder at '/'", "os.getcwd()"),
    "by magic": ("%cd -q /", "left the working folder at '/'", "__import__('os').getcwd()"),
    "path": (
        "import sys\nsys.path.insert(0, '/nowhere')",
        "added /nowhere to sys.path",
        "'/nowhere' in __import__('sys').path",
    ),
    "warnings": (
        "import warnings\nwarnings.filterwarnings('ignore')",
        "left a warning filter (ignore Warning)",
        "str(__import__('warnings').filters[:2])",
    ),
    "logging": (
        "import logging\nlogging.disable(logging.CRITICAL)",
        "left logging.disable at 50 (was 0)",
        "logging.root.manager.disable",
    ),
    "log level": (
        "import logging\nlogging.getLogger().setLevel(10)",
        "left the level of the root logger at 10",
        "__import__('logging').root.level",
    ),
    "pandas": (
        "import pandas\npandas.set_option('display.max_rows', 7)",
        "left pandas options changed: display.max_rows",
        "pandas.get_option('display.max_rows')",
    ),
    "numpy print": (
        "import numpy\nnumpy.set_printoptions(precision=3)",
        "left numpy's print options changed: precision",
        None,  # a setting of the context that the code runs in
    ),
    "locale": (
        (
            "import locale\n_ = locale.setlocale(locale.LC_NUMERIC, 'POSIX')\n"
            "_ = locale.setlocale(locale.LC_ALL, 'C')"
        ),
        "left the locale at 'C'",
        "locale.setlocale(locale.LC_ALL)",
    ),
    "signal": (
        "import signal\n_ = signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "left another handler for SIGUSR1",
        "str(signal.getsignal(signal.SIGUSR1))",
    ),
    "recursion": (
        "import sys\nsys.setrecursionlimit(4321)",
        "left the recursion limit at 4321",
        "__import__('sys').getrecursionlimit()",
    ),
    "garbage": ("import gc\ngc.disable()", "left gc.isenabled() at False", "gc.isenabled()"),
    "decimal": (
        "import decimal\ndecimal.getcontext().prec = 5",
        "left the precision of decimal at 5",
        None,
    ),
    "umask": ("import os\n_ = os.umask(0o27)", "left the umask at 23", None),
    "sockets": (
        "import socket\nsocket.setdefaulttimeout(3)",
        "left the default timeout of sockets at 3.0 (was None)",
        "socket.getdefaulttimeout()",
    ),
    "rcParams": (
        "import matplotlib\nmatplotlib.rcParams['figure.dpi'] = 33",
        "left matplotlib's rcParams changed: figure.dpi",
        "matplotlib.rcParams['figure.dpi']",
    ),
    "hook": (
        "import threading\nthreading.excepthook = print",
        "replaced threading.excepthook",
        None,
    ),
    "builtins": (
        "import builtins\nbuiltins.open = open.__call__",
        "replaced builtins: open",
        "__import__('builtins').open",
    ),
    "print": (
        "import builtins\nold = print\nbuiltins.print = lambda *a, **k: old('>', *a, **k)",
        "replaced builtins: print",
        "__import__('builtins').print",
    ),
    "two builtins": (
        "import builtins\nbuiltins.max = builtins.min = len",
        "replaced builtins: max, min",
        "str(__import__('builtins').max)",
    ),
    "breakpointhook": (
        "import sys\nsys.breakpointhook = print",
        "replaced sys.breakpointhook",
        "__import__('sys').breakpointhook",
    ),
}

PUT_BACK = {
    "sys.stdout": "import sys, io\nsys.stdout = io.StringIO()\nprint('lost')",
    "sys.stderr": "import sys, io\nsys.stderr = io.StringIO()",
    "sys.stdin": "import sys, io\nsys.stdin = io.StringIO('a')",
    "sys.displayhook": "import sys\nsys.displayhook = lambda value: None\n1",
    "builtins.input": "import builtins\nbuiltins.input = lambda *a: 'yes'\ninput()",
    "sys.excepthook": "import sys\nsys.excepthook = lambda *a: None\n1",
    "getpass.getpass": "import getpass\ngetpass.getpass = lambda *a: 'yes'",
}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel in which the libraries are imported, so that their settings are there before."""
    with Kernel(cwd=tmp_path_factory.mktemp("imported")) as kernel:
        kernel.load_scripted_model()
        kernel.run("import matplotlib.pyplot, pandas, numpy.random, logging, socket, gc, os")
        kernel.run("import locale, signal, random, decimal")
        yield kernel


@pytest.mark.slow
@pytest.mark.parametrize(("code", "told", "look"), thinned(CHANGES.values(), 5), ids=CHANGES.keys())
def test_a_change_is_told_to_model_and_user_with_the_way_back(
    imported: Kernel, code: str, told: str, look: str | None
) -> None:
    before = imported.value(look) if look else None

    called = call_python(imported, code)

    [line] = called.section("left behind").splitlines()
    assert line.startswith(f"This {told}")
    assert told.split("'")[0] in called.run.markdown()
    if look:
        assert imported.value(look) != before
        back = line.partition(" Back: ")[2]
        assert imported.run(f"import sys, os, warnings\n{back}").status == "ok"
        assert imported.value(look) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(PUT_BACK, 6))
def test_what_is_put_back_by_itself_says_so_in_a_line(imported: Kernel, name: str) -> None:
    before = imported.value(f"str(__import__({name.split('.')[0]!r}).{name.split('.')[1]})")

    called = call_python(imported, PUT_BACK[name])

    assert called.section("left behind") == f"This replaced {name}; it was put back."
    assert not called.failed
    assert imported.value(f"str(__import__({name.split('.')[0]!r}).{name.split('.')[1]})") == before
    assert imported.run("print('seen')\n2").stream() == "seen\n"


@pytest.mark.slow
def test_what_was_there_before_the_first_change_comes_back(imported: Kernel) -> None:
    imported.run(
        "import threading\nmine = lambda *a: None\n"
        "threading.excepthook, plain = mine, threading.excepthook"
    )
    call_python(imported, "import threading\nthreading.excepthook = print")
    called = call_python(imported, "import threading\nthreading.excepthook = len")

    imported.run(called.section("left behind").partition(" Back: ")[2])

    assert imported.value("threading.excepthook is mine") == "True"
    imported.run("threading.excepthook = plain")


@pytest.mark.slow
def test_an_output_that_is_redirected_for_a_while_leaves_nothing(imported: Kernel) -> None:
    code = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    print(1)"

    assert call_python(imported, code).output == "(no output)"


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(["random", "numpy.random"], 2))
def test_a_seed_is_told_and_random_numbers_are_not(imported: Kernel, name: str) -> None:
    drawn = call_python(imported, f"_ = [{name}.random() for _ in range(2000)]")
    seeded = call_python(imported, f"def f(): {name}.seed(7)\nf()")
    again = call_python(imported, f"{name}.seed(8); {name}.seed()")

    assert drawn.section("left behind") == ""
    assert f"Back: {name}.seed()" in seeded.section("left behind")
    assert again.section("left behind") == ""


@pytest.mark.soak  # with each commit a seed is told, above; this adds numpy, which the code imports
@pytest.mark.slow
def test_a_seed_of_a_library_that_the_code_imports_is_told(folder: Path) -> None:
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()

        called = call_python(kernel, "import numpy as np\nnp.random.seed(0)")

    assert "gave numpy.random a seed" in called.section("left behind")


@pytest.mark.slow
def test_values_of_the_environment_are_not_told(imported: Kernel) -> None:
    code = "import os\nos.environ['A_TOKEN'] = 'se' + 'cret'\nos.environ['HOME'] += 'se' + 'cret'"

    called = call_python(imported, code)

    assert "A_TOKEN" in called.output
    assert "HOME" in called.output
    assert "secret" not in called.output
    call_python(imported, "del os.environ['A_TOKEN']\nos.environ['HOME'] = os.environ['HOME'][:-6]")


@pytest.mark.soak  # with each commit what was there before the first change comes back, above; this adds matplotlib
@pytest.mark.slow
def test_the_figure_backend_is_put_back_so_that_figures_of_the_user_are_shown(
    folder: Path,
) -> None:
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()

        called = call_python(
            kernel, "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt"
        )
        run = kernel.run("plt.plot([1, 2]);")

    assert "it was put back" in called.section("left behind")
    assert any("image/png" in output["data"] for output in run.outputs())


@pytest.mark.soak  # with each commit looking for changes changes nothing, below; this adds code that changes nothing
@pytest.mark.slow
def test_code_that_only_computes_imports_and_plots_leaves_nothing(imported: Kernel) -> None:
    for code in (
        "x = [n ** 2 for n in range(10)]\nsum(x)",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
        "import http.server, sqlite3, xml.dom",
        "1 / 0",
        "import asyncio\nawait asyncio.sleep(0)",
    ):
        assert call_python(imported, code).section("left behind") == ""


def test_looking_for_changes_costs_little_and_changes_nothing() -> None:
    assert ProcessState().changed_settings() == []
    begun = time.process_time()
    for _ in range(50):
        ProcessState().changed_settings()

    assert (time.process_time() - begun) / 50 < 0.02
