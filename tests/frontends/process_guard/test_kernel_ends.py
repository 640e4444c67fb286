"""Code of the agent that asks the kernel to end is told that it is the user's, and the kernel lives on."""

from pathlib import Path

import pytest
from tests.harness.agent_python import call_python
from tests.harness.kernel import Kernel
from tests.sample_size import sampled_cases, thinned
from tests.waiting import LAST_RESORT_SECONDS

pytestmark = pytest.mark.slow

ENDS = {
    "exit": "exit",
    "exit with a code": "exit(0)",
    "quit": "quit()",
    "exit in a function": "def f():\n    exit()\nf()",
    "exit of builtins": "import builtins\nbuiltins.exit(2)",
    "keeping the kernel": "exit(keep_kernel=True)",
    "sys.exit": "import sys\nsys.exit(3)",
    "sys.exit with words": "import sys\nsys.exit('no data')",
    "SystemExit": "raise SystemExit",
    "SystemExit after await": "import asyncio\nawait asyncio.sleep(0)\nraise SystemExit(4)",
    "in a task": (
        "import asyncio, sys\nasync def f():\n    sys.exit(5)\nawait asyncio.create_task(f())"
    ),
    "in a task that nobody awaits": (
        "import asyncio, sys\nasync def f():\n    sys.exit(5)\n"
        "task = asyncio.create_task(f())\nawait asyncio.sleep(0.01)"
    ),
    "ask_exit": "get_ipython().ask_exit()",
    "ask_exit in a thread": (
        "import threading\nt = threading.Thread(target=get_ipython().ask_exit)\nt.start(); t.join()"
    ),
    "exit_now": "get_ipython().exit_now = True",
    "shutdown": "get_ipython().kernel.do_shutdown(False)",
    "reset": "%reset -f",
    "soft reset": "%reset -s -f",
    "reset by its method": "get_ipython().reset()",
    "reset by run_line_magic": "get_ipython().run_line_magic('reset', '-f')",
    "selective reset": "%reset_selective -f kept",
    "SIGTERM": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "SIGTERM by number": "import os\nos.kill(0, 15)",
    "SIGHUP by raise_signal": "import signal\nsignal.raise_signal(signal.SIGHUP)",
    "SIGUSR1 to the thread": (
        "import signal, threading\nsignal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)"
    ),
    "a timer": "import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(0.05)",
    "a timer with its default again": (
        "import signal, time\nsignal.signal(signal.SIGALRM, signal.SIG_DFL)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(0.05)"
    ),
    "a timer whose default comes later": (
        "import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0.03)\n"
        "signal.signal(signal.SIGALRM, signal.SIG_DFL)\ntime.sleep(0.06)"
    ),
    "a timer for later": "import signal\nsignal.alarm(1000)",
    "a timer of CPU time": (
        "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0.01)\nfor _ in range(10**7): pass"
    ),
    "loop.stop": "import asyncio\nasyncio.get_event_loop().stop()",
    "loop.stop after await": (
        "import asyncio\nawait asyncio.sleep(0)\nasyncio.get_running_loop().stop()\n"
        "await asyncio.sleep(0)"
    ),
    "tornado's stop": "from tornado.ioloop import IOLoop\nIOLoop.current().stop()",
    "next input": "get_ipython().set_next_input('rm -rf', replace=True)",
    "load": "%load nothing.py\n",
    "no modules": "import sys\nsys.modules.clear()",
    "no print": "import builtins\ndel builtins.print",
    "no builtins": "import builtins\ndel builtins.print, builtins.len",
}


SAME_WAY = {
    *(
        "exit with a code",
        "quit",
        "exit in a function",
        "keeping the kernel",
        "sys.exit with words",
        "SystemExit after await",
    ),
    *(
        "in a task that nobody awaits",
        "soft reset",
        "reset by its method",
        "SIGTERM by number",
        "loop.stop after await",
    ),
    *("exit of builtins", "SystemExit", "in a task", "ask_exit in a thread"),
    *("a timer with its default again", "a timer whose default comes later", "no print"),
}
"""Ends that come where another one does."""


@pytest.mark.parametrize("code", sampled_cases(ENDS, *(one for one in ENDS if one not in SAME_WAY)))
def test_the_kernel_and_its_variables_live_on_and_the_call_has_failed(
    kernel: Kernel, code: str
) -> None:
    (kernel.folder / "nothing.py").write_text("1", encoding="utf-8")
    kernel.run("kept = 41")

    called = call_python(kernel, code)

    assert called.failed
    assert called.section("error") or "failed: NameError" in called.output
    assert "use 'exit'" not in called.output
    assert called.run.reply["content"]["payload"] == []
    assert kernel.run("print(kept, len([1]))").stream() == "41 1\n"


@pytest.mark.parametrize(
    "code", thinned(["exit(0)", "import sys; sys.exit(3)", "raise SystemExit"], 3)
)
def test_the_model_is_told_whose_the_kernel_is(kernel: Kernel, code: str) -> None:
    called = call_python(kernel, code)

    assert called.output.startswith("[error]\nSystemExit")
    assert "The kernel is the user's and was not ended" in called.output
    assert "The kernel is the user's and was not ended" in called.run.markdown()


@pytest.mark.parametrize("cell", thinned(["%%time\n%agent -y hi", "x = %agent -y hi"], 2))
def test_it_is_so_in_a_cell_that_blocks(kernel: Kernel, cell: str) -> None:
    kernel.run("kept = 41")

    called = call_python(kernel, "print('before')\nexit()\nprint('after')", cell)

    assert called.failed
    assert called.section("stdout") == "before"
    assert kernel.run("print(kept)").stream() == "41\n"


def test_a_signal_of_its_own_is_no_press_of_the_stop_button(kernel: Kernel) -> None:
    called = call_python(kernel, "import os, signal\nos.kill(os.getpid(), signal.SIGINT)")

    assert called.failed
    assert called.output.startswith("[error]\nKeyboardInterrupt: the code sent SIGINT")
    assert "Over." in called.run.markdown()


def test_signals_to_children_and_to_handlers_are_sent(kernel: Kernel) -> None:
    code = (
        "import os, signal, subprocess\n"
        "child = subprocess.Popen(['sleep', '1000'])\nos.kill(child.pid, signal.SIGTERM)\n"
        "found = [child.wait()]\n"
        "old = signal.signal(signal.SIGUSR1, lambda number, _: found.append(int(number)))\n"
        "os.kill(os.getpid(), signal.SIGUSR1)\nsignal.raise_signal(signal.SIGUSR1)\n"
        "signal.signal(signal.SIGUSR1, old)\nfound"
    )

    called = call_python(kernel, code)

    assert called.output == "[result]\n[-15, 10, 10]"


def test_a_child_process_may_end_itself(kernel: Kernel) -> None:
    code = (
        "import os, signal, sys\n"
        "found = []\n"
        "for end in (lambda: sys.exit(3), lambda: os.kill(os.getpid(), signal.SIGTERM)):\n"
        "    pid = os.fork()\n    if not pid: end()\n    found.append(os.waitpid(pid, 0)[1])\nfound"
    )

    called = call_python(kernel, code)

    assert called.section("result") == "[256, 15]"


def test_the_users_own_cell_ends_the_kernel_as_before(folder: Path) -> None:
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()
        call_python(kernel, "exit()")

        run = kernel.run("exit()")

        assert run.reply["content"]["payload"][0]["source"] == "ask_exit"
        kernel.process.wait(LAST_RESORT_SECONDS)


SCENARIO = """
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.model.script import says
register_scenario("ends", [says("So.").calls("python", code={code!r}), says("Done.")])
"""

FATAL = {
    "os._exit": "import os\nprint('half')\nos._exit(1)",
    "SIGKILL": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "abort": "import os\nos.abort()",
    "a crash": "import ctypes\nctypes.string_at(0)",
}


@pytest.mark.parametrize("code", sampled_cases(FATAL, "a crash"))
def test_the_next_kernel_names_the_code_that_ran_when_the_kernel_ended(
    folder: Path, code: str
) -> None:
    environment = {"JPY_SESSION_NAME": str(folder / "a.ipynb"), "PALIMPSEST_REHEARSAL_DELAY": "0"}
    with Kernel(cwd=folder, env=environment) as kernel:
        assert kernel.run("%load_ext palimpsest").status == "ok"
        kernel.run(SCENARIO.format(code=code))
        kernel.client.send("%agent -y --model rehearsal/ends go on")
        kernel.process.wait(LAST_RESORT_SECONDS)
    with Kernel(cwd=folder, env=environment) as kernel:
        kernel.run("%load_ext palimpsest")
        first = kernel.run("%agent --model rehearsal/rehearsal hello")
        second = kernel.run("%agent --model rehearsal/rehearsal hello")

    assert "The kernel ended while the agent's Python ran" in first.stream("stderr")
    assert code.split("\n")[0] in first.stream("stderr")
    assert "The kernel ended" not in second.stream("stderr")
    logs = folder.glob(".palimpsest/sessions/**/*.jsonl")
    assert any("The kernel ended while this code ran" in log.read_text("utf-8") for log in logs)


ENDS_LATER = {
    "a thread": (
        "import os, threading\nthreading.Thread(target=lambda: (late.wait(), os._exit(1))).start()",
        "the thread 'Thread-",
    ),
    "a thread that crashes": (
        (
            "import ctypes, threading\n"
            "def f(): late.wait(); ctypes.string_at(0)\nthreading.Thread(target=f, name='crasher').start()"
        ),
        "the thread 'crasher'",
    ),
    "a low thread": (
        "import _thread, os\n_ = _thread.start_new_thread(lambda: (late.wait(), os._exit(1)), ())",
        "a thread",
    ),
    "a callback": (
        (
            "import asyncio, os\nloop = asyncio.get_event_loop()\n"
            "def look(): os.abort() if late.is_set() else loop.call_later(0.1, look)\nlook()"
        ),
        "a callback for later",
    ),
    "a task": (
        (
            "import asyncio, os\nasync def f():\n    while not late.is_set(): await asyncio.sleep(0.01)\n"
            "    os._exit(1)\ntask = asyncio.create_task(f(), name='ender')\nawait asyncio.sleep(0)"
        ),
        "the task 'ender'",
    ),
    "a timer of the system": (
        (
            "import os, signal\n"
            "_ = signal.signal(signal.SIGALRM, lambda *_: late.is_set() and os._exit(1))\n"
            "_ = signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)"
        ),
        "a timer (SIGALRM)",
    ),
    "a worker": (
        (
            "import os\nfrom concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor()\n"
            "_ = pool.submit(lambda: (late.wait(), os._exit(1)))"
        ),
        "the thread 'ThreadPoolExecutor",
    ),
}
LATE = "import threading; late = threading.Event()"
NOT_TOLD = {
    "a kernel that ends as it should": (
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()",
        "exit()",
    ),
    "what was over": (
        "import threading\nt = threading.Thread(target=late.wait)\nt.start()",
        "import os; late.set(); t.join(); threading.Timer(0.5, os._exit, (1,)).start()",
    ),
    "workers that wait for work": (
        (
            "import asyncio\nfrom concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor()\n"
            "found = list(pool.map(abs, range(9))), await asyncio.to_thread(abs, 1)"
        ),
        "import os; os._exit(1)",
    ),
}


@pytest.mark.soak  # with each commit the next kernel names code that ran, above; this adds code that ended before
@pytest.mark.parametrize(
    ("code", "what"),
    sampled_cases(ENDS_LATER, "a thread that crashes"),
)
def test_the_next_kernel_names_the_code_that_had_left_something_running(
    folder: Path, code: str, what: str
) -> None:
    environment = {"JPY_SESSION_NAME": str(folder / "a.ipynb"), "PALIMPSEST_REHEARSAL_DELAY": "0"}
    with Kernel(cwd=folder, env=environment) as kernel:
        assert kernel.run("%load_ext palimpsest").status == "ok"
        kernel.run(SCENARIO.format(code=code) + LATE)
        kernel.run("%agent -y --model rehearsal/ends go on")
        kernel.client.send("late.set()")
        kernel.process.wait(LAST_RESORT_SECONDS)
    with Kernel(cwd=folder, env=environment) as kernel:
        kernel.run("%load_ext palimpsest")
        first = kernel.run("%agent --model rehearsal/rehearsal hello")
        second = kernel.run("%agent --model rehearsal/rehearsal hello")

    told = first.stream("stderr")
    assert "The kernel ended, and every variable is gone" in told
    assert "may have ended it" in told
    assert what in told
    assert code.split("\n")[0] in told
    assert "The kernel ended" not in second.stream("stderr")


@pytest.mark.soak  # with each commit the next kernel names code that ran, above; this adds ends that it did not cause
@pytest.mark.parametrize(("code", "end"), NOT_TOLD.values(), ids=NOT_TOLD.keys())
def test_what_did_not_run_when_the_kernel_ended_is_not_named(
    folder: Path, code: str, end: str
) -> None:
    environment = {"JPY_SESSION_NAME": str(folder / "a.ipynb"), "PALIMPSEST_REHEARSAL_DELAY": "0"}
    # A forked kernel leaves out what is done at the end of a process.
    with Kernel(cwd=folder, env=environment, fresh=end == "exit()") as kernel:
        kernel.run("%load_ext palimpsest")
        kernel.run(SCENARIO.format(code=code) + LATE)
        kernel.run("%agent -y --model rehearsal/ends go on")
        kernel.client.send(end)
        kernel.process.wait(LAST_RESORT_SECONDS)
    with Kernel(cwd=folder, env=environment) as kernel:
        kernel.run("%load_ext palimpsest")

        assert kernel.run("%agent --model rehearsal/rehearsal hello").stream("stderr") == ""
