"""What a piece of the agent's Python leaves running does not end the kernel, and both are told what was refused."""

from pathlib import Path

import pytest
from tests.harness.agent_python import call_python
from tests.harness.kernel import Kernel
from tests.harness.terminal import ipython
from tests.sample_size import sampled_cases, thinned
from tests.waiting import LAST_RESORT_SECONDS, eventually

pytestmark = pytest.mark.slow

IMPORTS = "import _thread, asyncio, faulthandler, os, signal, sys, threading\n"
TIMER = "threading.Thread(target=lambda: (late.wait(), ({})())).start()"
"""A thread that does something when the piece has ended: the person's next cell sets ``late``."""
LOOP = "def go(f): f() if late.is_set() else loop.call_later(0.01, go, f)\nloop = asyncio.get_event_loop()\n"
WAITS = "while not late.is_set(): await asyncio.sleep(0.01)\n"
ALARM = "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01);"
SIGTERM = "which would have ended it"
LATE = {
    "ask_exit": (TIMER.format("lambda: get_ipython().ask_exit()"), "asked the kernel to end"),
    "exit": (TIMER.format("exit"), "asked the kernel to end"),
    "exit_now": (
        "ip = get_ipython()\n" + TIMER.format("lambda: setattr(ip, 'exit_now', True)"),
        "asked the kernel to end",
    ),
    "do_shutdown": (
        "k = get_ipython().kernel\n" + TIMER.format("lambda: k.do_shutdown(False)"),
        "asked the kernel to end",
    ),
    "reset": (TIMER.format("get_ipython().reset"), "%reset is not available"),
    "SIGTERM": (TIMER.format("lambda: os.kill(os.getpid(), signal.SIGTERM)"), SIGTERM),
    "SIGINT": (TIMER.format("lambda: os.kill(os.getpid(), signal.SIGINT)"), "stop button"),
    "interrupt_main": (TIMER.format("_thread.interrupt_main"), "stop button"),
    "a thread of a thread": (
        "def f(): os.kill(0, 15)\n" + TIMER.format("lambda: threading.Timer(0.05, f).start()"),
        SIGTERM,
    ),
    "a low thread": (
        ("def f(): late.wait(); os.kill(os.getpid(), 15)\n_ = _thread.start_new_thread(f, ())"),
        SIGTERM,
    ),
    "an executor": (
        (
            "def f(): late.wait(); os.kill(os.getpid(), 15)\n"
            "_ = asyncio.get_event_loop().run_in_executor(None, f)"
        ),
        SIGTERM,
    ),
    "a callback": (LOOP + "loop.call_later(0.01, go, sys.exit);", "raised SystemExit"),
    "a callback that interrupts": (
        LOOP + "def f(): raise KeyboardInterrupt\nloop.call_later(0.01, go, f);",
        "raised KeyboardInterrupt",
    ),
    "a task": (
        (
            f"async def f():\n    {WAITS}    sys.exit(2)\n"
            "task = asyncio.get_event_loop().create_task(f())"
        ),
        "raised SystemExit",
    ),
    "a task of a task": (
        (
            "async def g():\n    sys.exit(2)\n"
            f"async def f():\n    {WAITS}    await asyncio.create_task(g())\n"
            "task = asyncio.create_task(f())\nawait asyncio.sleep(0)"
        ),
        "raised SystemExit",
    ),
    "loop.stop": (
        "loop = asyncio.get_event_loop()\n"
        + TIMER.format("lambda: loop.call_soon_threadsafe(loop.stop)"),
        "stopped the kernel's event loop",
    ),
    "a handler of the loop's errors": (
        (
            "loop = asyncio.get_event_loop()\nloop.set_exception_handler(lambda *a: exit())\n"
            "def f(): 1 / 0\ndef go(f): f() if late.is_set() else loop.call_later(0.01, go, f)\n"
            "loop.call_later(0.01, go, f);"
        ),
        "asked the kernel to end",
    ),
    "loop.stop of a thread": (
        "loop = asyncio.get_event_loop()\n" + TIMER.format("loop.stop"),
        "stopped the kernel's event loop",
    ),
    "a handler that exits": (
        (
            "def f(*a):\n    if late.is_set(): signal.setitimer(signal.ITIMER_REAL, 0); sys.exit(1)\n"
            "signal.signal(signal.SIGALRM, f)\n" + ALARM
        ),
        "raised SystemExit",
    ),
    "a handler that raises": (
        (
            "def f(*a):\n    if late.is_set(): signal.setitimer(signal.ITIMER_REAL, 0); raise TimeoutError\n"
            "signal.signal(signal.SIGALRM, f)\n" + ALARM
        ),
        "raised TimeoutError",
    ),
    "a timer without a handler": (
        TIMER.format("lambda: signal.setitimer(signal.ITIMER_REAL, 0.01)"),
        "set a timer (SIGALRM)",
    ),
    "a reader": (
        (
            "r, w = os.pipe()\nasyncio.get_event_loop().add_reader(r, sys.exit)\n"
            + TIMER.format("lambda: os.write(w, b'x')")
        ),
        "raised SystemExit",
    ),
    "text for the next cell": (
        TIMER.format("lambda ip=get_ipython(): ip.set_next_input('rm')"),
        "asked the page for something",
    ),
    "keys": ("ask = input\n" + TIMER.format("ask"), "nobody can answer"),
}


WAYS = ("ask_exit", "a callback", "keys")
"""An end by IPython, an error, a question; the others go the same
ways from another place, and most of them also end the code that runs in ``test_kernel_ends.py``."""


@pytest.mark.parametrize(("code", "words"), sampled_cases(LATE, *WAYS))
def test_the_kernel_lives_and_user_and_model_are_told(folder: Path, code: str, words: str) -> None:
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()
        kernel.run("import threading\nkept, late = 41, threading.Event()")
        call_python(kernel, IMPORTS + code)
        kernel.run("late.set()")

        def told() -> bool:
            return any(
                words in message["content"].get("text", "")
                for message in kernel.iopub
                if message["header"]["msg_type"] == "stream"
            )

        eventually(told)
        after = kernel.run("print(kept)")
        next_call = call_python(kernel, "1 + 1")
        later = call_python(kernel, "1 + 1")

        assert after.stream() == "41\n"
        assert after.reply["content"]["payload"] == []
        assert not next_call.failed
        assert words in next_call.section("left behind")
        assert words not in later.output


BROKEN = {
    "None": "sys.stdout = None",
    "errors to None": "sys.stderr = None",
    "both": "sys.stdout = sys.stderr = None",
    "a closed file": "sys.stdout = io.StringIO(); sys.stdout.close()",
    "the kernel's own, closed": "sys.stdout.close()",
    "no stream": "sys.stdout = object()",
    "a stream whose questions raise": "sys.stdout = type('S', (), {'closed': property(lambda s: 1 / 0)})()",
    "deleted": "del sys.stdout",
}


def test_a_thread_that_asks_later_takes_no_keys_of_a_terminal(tmp_path: Path) -> None:
    code = (
        "import getpass, sys, threading\ndef f(ask):\n    try: got.append(ask())\n"
        "    except BaseException as e: got.append(type(e).__name__)\n"
        "def asks():\n    late.wait()\n    f(lambda: input('? '))\n    f(lambda: getpass.getpass())\n"
        "    f(lambda: sys.stdin.readline())\n"
        "t = threading.Thread(target=asks); t.start()"
    )
    begin = (
        f"import sys, threading; sys.path.insert(0, {str(Path(__file__).resolve().parents[3])!r})\n"
        "late, got = threading.Event(), []\n"
        "from tests.harness.kernel_application import load\n"
        "from palimpsest.testing import calls, says\n"
        f"load(get_ipython()).script(calls('python', code={code!r}), says('Over.'))\n"
        "get_ipython().run_line_magic('agent', '-y --new go')\n"
        "late.set(); t.join(); print('GOT', got)\n"
        "print('MINE', input('mine: '))\n"
    )
    (tmp_path / "begin.py").write_text(begin)
    with ipython(tmp_path, "begin.py") as terminal:
        terminal.type("a key\n")
        text = terminal.to_the_end()

    assert "GOT ['NobodyAnswers', 'NobodyAnswers', 'NobodyAnswers']" in text
    assert "nobody can answer there" in text
    assert "MINE a key" in text


MOMENTS = ("in a cell", "between cells", "and goes on")


@pytest.mark.parametrize(
    ("broken", "moment"),
    sampled_cases(
        {f"{name}, {one}": (broken, one) for name, broken in BROKEN.items() for one in MOMENTS},
        "a closed file, between cells",
    ),
)
def test_a_stream_that_a_thread_breaks_is_put_back_and_told(
    folder: Path, broken: str, moment: str
) -> None:
    goes_on = "\n    threading.Event().wait()" if moment == "and goes on" else ""
    code = (
        f"import io, sys, threading\ndef f():\n    late.wait()\n    {broken}\n    done.set(){goes_on}\n"
        "threading.Thread(target=f, daemon=True).start()"
    )
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()
        kernel.run("import threading\nkept, late, done = 41, threading.Event(), threading.Event()")
        call_python(kernel, code)
        if moment == "between cells":
            kernel.run("threading.Timer(0.05, late.set).start()")
            kernel.run("", stdin=False)
            kernel.run("done.wait()")
        else:
            kernel.run("late.set(); done.wait()")

        run = kernel.run("print(kept)\nkept + 1")
        told = call_python(kernel, "1 + 1").section("left behind")

    assert run.stream() == "41\n"
    assert run.outputs()[-1]["data"]["text/plain"] == "42"
    assert "unusable" in told


@pytest.mark.soak  # with each commit a stream that a thread breaks is put back, above; this adds one that is replaced between cells
def test_a_stream_that_a_thread_replaces_between_cells_is_put_back(folder: Path) -> None:
    code = (
        "import io, sys, threading\ndef f():\n    late.wait()\n    sys.stdout = io.StringIO()\n    done.set()\n"
        "    threading.Event().wait()\n_ = threading.Thread(target=f, daemon=True).start()"
    )
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()
        kernel.run("import threading\nlate, done = threading.Event(), threading.Event()")
        call_python(kernel, code)
        kernel.run("_ = threading.Timer(0.2, late.set).start()")
        eventually(lambda: kernel.value("done.is_set()") == "True")

        assert kernel.run("print(41)").stream() == "41\n"


@pytest.mark.parametrize(
    "replaced",
    thinned(["max = builtins.min = len", "isinstance = lambda *a: False", "hasattr = None"], 3),
)
def test_the_loops_go_on_while_a_builtin_is_replaced(kernel: Kernel, replaced: str) -> None:
    name = replaced.partition(" ")[0]
    code = (
        f"import builtins, threading\nold = builtins.{name}, builtins.min\nbuiltins.{replaced}\n"
        f"threading.Event().wait(0.2)\nbuiltins.{name}, builtins.min = old\n6 * 7"
    )

    assert call_python(kernel, code).section("result") == "42"
    assert kernel.run("print(6 * 7)").stream() == "42\n"


@pytest.mark.soak  # with each commit a stream that a thread breaks is put back, above; this adds one that is the user's own
def test_a_stream_that_the_user_replaces_stays(folder: Path) -> None:
    code = (
        "import threading\n_ = threading.Thread(target=threading.Event().wait, daemon=True).start()"
    )
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()
        call_python(kernel, code)
        kernel.run("import io, sys\nold, sys.stdout = sys.stdout, io.StringIO()")

        kernel.run("print('mine')")

        assert kernel.value("sys.stdout.getvalue()") == repr("mine\n")
        assert "put back" not in call_python(kernel, "1").section("left behind")


def test_a_listener_of_cells_ends_neither_cells_nor_kernel(folder: Path) -> None:
    code = "import sys\ndef f(*a): sys.exit(3)\nget_ipython().events.register('pre_run_cell', f)\n"
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()
        call_python(kernel, code)

        run = kernel.run("print(41)")
        away = call_python(kernel, "get_ipython().events.unregister('pre_run_cell', f)")

        assert run.stream() == "41\n"
        assert "raised SystemExit" in run.stream("stderr")
        assert not away.failed
        assert kernel.run("1").stream("stderr") == ""


def test_the_users_own_thread_and_task_do_what_they_did(folder: Path) -> None:
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()
        call_python(kernel, "1 + 1")
        kernel.run(
            "import os, signal, sys, threading\n"
            "found = []\nold = signal.signal(signal.SIGUSR1, lambda n, f: found.append(int(n)))\n"
            "t = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1))\n"
            "t.start(); t.join()"
        )
        assert kernel.value("found") == "[10]"

        kernel.client.send("threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()")

        kernel.process.wait(LAST_RESORT_SECONDS)


ASKS = {
    "breakpoint": "x = 1\nbreakpoint()\ny = 2",
    "breakpoint at the end": "breakpoint()",
    "in a function": "def f():\n    breakpoint()\nf()",
    "set_trace": "import pdb; pdb.set_trace()",
    "IPython's set_trace": "from IPython.core.debugger import set_trace\nset_trace()",
    "post_mortem": "import pdb\ntry: 1 / 0\nexcept Exception: pdb.post_mortem()",
    "pdb.run": "import pdb\npdb.run('1 + 1')",
    "input": "input('name? ')",
    "input that is caught": "try: input()\nexcept Exception: pass",
    "getpass": "import getpass\ngetpass.getpass()",
    "interact": "import code\ncode.interact()",
    "cmd": "import cmd\ncmd.Cmd().cmdloop()",
    "stdin": "import sys\nsys.stdin.readline()",
    "lines of stdin": "import sys\nfor line in sys.stdin: print(line)",
    "in a thread": "import threading\nt = threading.Thread(target=input); t.start(); t.join()",
    "a debugger in a thread": (
        "import threading\nt = threading.Thread(target=breakpoint); t.start(); t.join()"
    ),
    "in a thread of asyncio": "import asyncio\nawait asyncio.to_thread(input)",
    "of the kernel": "get_ipython().kernel.raw_input('?')",
    "embed": "import IPython\nIPython.embed()",
}


@pytest.mark.parametrize("code", thinned(ASKS.values(), 3), ids=ASKS.keys())
@pytest.mark.parametrize("cell", ["%%agent -y\nhi"])
def test_code_that_waits_for_keys_is_a_failed_call_with_one_sentence(
    kernel: Kernel, code: str, cell: str
) -> None:
    called = call_python(kernel, code, cell)

    assert called.failed
    assert "\n" not in called.section("error")
    assert called.section("error").startswith("The code waited for keys (")
    assert "nobody can answer there" in called.section("error")
    assert kernel.run("print(6 * 7)").stream() == "42\n"


def test_a_debugger_that_reads_a_text_of_the_code_runs(kernel: Kernel) -> None:
    code = (
        "import io, pdb\nout = io.StringIO()\n"
        "pdb.Pdb(stdin=io.StringIO('p 6 * 7\\nc\\n'), stdout=out, nosigint=True).run('1')\n'42' in out.getvalue()"
    )

    assert call_python(kernel, code).section("result") == "True"


def test_the_users_own_cell_is_asked_as_before(kernel: Kernel) -> None:
    call_python(kernel, "1 + 1")

    run = kernel.run("input('name? ')")

    assert "StdinNotImplementedError" in run.of("error")[0]["ename"]
