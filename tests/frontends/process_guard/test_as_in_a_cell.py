"""A generated piece of code shows the same as the agent's Python as in a plain cell, and the kernel lives."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.harness.agent_python import call_python
from tests.harness.kernel import Kernel
from tests.sample_size import sample_size

PIECES = sample_size(8, 200)
IMPORTS = "import asyncio, os, random, signal, sys, threading, time\nfound = []\n"


def asynchronous(rng: random.Random) -> str:
    count = rng.randrange(1, 6)
    return rng.choice(
        [
            (
                f"async def f(i):\n    await asyncio.sleep(0.001 * i)\n    found.append(i)\n"
                f"await asyncio.gather(*map(f, range({count})))\nprint(found)"
            ),
            f"for i in range({count}):\n    await asyncio.sleep(0)\n    print(i)",
            f"async with asyncio.timeout(5):\n    found = await asyncio.to_thread(lambda: {count})",
            (
                "try:\n    async with asyncio.timeout(0.001): await asyncio.sleep(60)\n"
                "except TimeoutError: print('over')"
            ),
            (
                "task = asyncio.create_task(asyncio.sleep(60))\nawait asyncio.sleep(0)\ntask.cancel()\n"
                "try: await task\nexcept asyncio.CancelledError: print('cancelled')"
            ),
            f"await asyncio.sleep(0.001)\nraise ValueError({count})",
            (
                "queue = asyncio.Queue()\nasync def put():\n    for i in 'abc': await queue.put(i)\n"
                "t = asyncio.create_task(put())\nfound = [await queue.get() for _ in 'abc']\nawait t"
            ),
            f"found = await asyncio.get_running_loop().run_in_executor(None, pow, 2, {count})",
            "async def f():\n    raise KeyError('k')\nfound = [repr(e) for e in await asyncio.gather(f(), f(), return_exceptions=True)]",
            "async def g():\n    for i in range(3):\n        yield i\nfound = [i async for i in g()]",
        ]
    )


def threaded(rng: random.Random) -> str:
    count = rng.randrange(1, 5)
    return rng.choice(
        [
            (
                f"ts = [threading.Thread(target=found.append, args=(i,)) for i in range({count})]\n"
                "[t.start() for t in ts]; [t.join() for t in ts]; found.sort()"
            ),
            "t = threading.Thread(target=print, args=('in a thread',)); t.start(); t.join()",
            "t = threading.Thread(target=sys.exit); t.start(); t.join(); print('on')",
            (
                "from concurrent.futures import ThreadPoolExecutor\n"
                f"with ThreadPoolExecutor() as pool: found = list(pool.map(abs, range({count})))"
            ),
            "t = threading.Timer(0.001, found.append, [1]); t.start(); t.join()",
        ]
    )


def forked(rng: random.Random) -> str:
    code = rng.randrange(0, 5)
    return rng.choice(
        [
            (
                f"pid = os.fork()\nif not pid:\n    print('child'); sys.stdout.flush(); os._exit({code})\n"
                "found = os.waitpid(pid, 0)[1]"
            ),
            f"import subprocess\nfound = subprocess.run(['sh', '-c', 'echo out; exit {code}']).returncode",
            f"found = os.system('exit {code}')",
            (
                "import multiprocessing\nctx = multiprocessing.get_context('fork')\n"
                "p = ctx.Process(target=print, args=('child',)); p.start(); p.join(); found = p.exitcode"
            ),
            (
                f"r, w = os.pipe()\nif not os.fork():\n    os.write(w, b'{code}'); os._exit(0)\n"
                "found = os.read(r, 9); os.close(r); os.close(w); _ = os.wait()"
            ),
        ]
    )


def signalled(rng: random.Random) -> str:
    one = rng.choice(["SIGUSR1", "SIGUSR2", "SIGHUP"])
    take = f"old = signal.signal(signal.{one}, lambda n, f: found.append(n))\n"
    send = rng.choice(
        [
            f"os.kill(os.getpid(), signal.{one})",
            f"signal.raise_signal(signal.{one})",
            f"signal.pthread_kill(threading.main_thread().ident, signal.{one})",
        ]
    )
    timer = (
        "old = signal.signal(signal.SIGALRM, lambda n, f: found.append(n))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001)\nwhile not found: time.sleep(0.001)\nsignal.signal(signal.SIGALRM, old)"
    )
    return rng.choice([f"{take}{send}\n_ = signal.signal(signal.{one}, old)", timer])


def looped(rng: random.Random) -> str:
    return rng.choice(
        [
            (
                "def f():\n    found.append(asyncio.run(asyncio.sleep(0.001, 3)))\n"
                "t = threading.Thread(target=f); t.start(); t.join()"
            ),
            "asyncio.get_event_loop().call_soon(found.append, 1)\nawait asyncio.sleep(0.01)",
            "c = asyncio.sleep(0)\ntry: asyncio.run(c)\nexcept RuntimeError as e: print(e)\nc.close()",
            "try: asyncio.get_event_loop().close()\nexcept RuntimeError as e: print(e)",
            (
                "loop = asyncio.new_event_loop()\n"
                "c = asyncio.sleep(0)\ntry: loop.run_until_complete(c)\nexcept RuntimeError as e: print(e)\nc.close()\n"
                "loop.close()"
            ),
            (
                "import anyio\nasync def f(): found.append(2)\n"
                "async with anyio.create_task_group() as g: g.start_soon(f)"
            ),
            (
                "loop = asyncio.get_running_loop()\nr, w = os.pipe()\ngot = loop.create_future()\n"
                "loop.add_reader(r, lambda: got.done() or got.set_result(os.read(r, 9)))\n"
                "os.write(w, b'x'); found = await got\n_ = loop.remove_reader(r); os.close(r); os.close(w)"
            ),
            (
                "await asyncio.sleep(0)\nasyncio.get_running_loop().call_later(0.001, found.append, 5)\n"
                "await asyncio.sleep(0.05)"
            ),
        ]
    )


def nested(rng: random.Random) -> str:
    first = rng.choice(["", "await asyncio.sleep(0.001)\n", "await asyncio.sleep(0)\n"])
    call = rng.choice(
        [
            "found = asyncio.run(asyncio.sleep(0.005, 7))",
            "found = asyncio.get_event_loop().run_until_complete(asyncio.sleep(0.005, 7))",
            "found = [asyncio.run(asyncio.sleep(0.001, i)) for i in range(3)]",
            "async def f(): return asyncio.run(asyncio.sleep(0.001, 7))\nfound = asyncio.run(f())",
        ]
    )
    last = rng.choice(["", "\nawait asyncio.sleep(0.001)", "\nraise OSError('after')"])
    return f"import nest_asyncio2\n{first}nest_asyncio2.apply()\n{call}{last}"


KINDS: tuple[Callable[[random.Random], str], ...] = (
    asynchronous,
    threaded,
    forked,
    signalled,
    looped,
    nested,
)


def shown_by_a_cell(kernel: Kernel, code: str) -> tuple[list[str], str, str]:
    """Return the lines printed, the error's name and the variable ``found``."""
    run = kernel.run(code)
    kernel.drain()  # what children print comes on a way of its own
    printed = "".join(
        m["content"]["text"]
        for m in kernel.iopub
        if m["header"]["msg_type"] == "stream" and m["parent_header"].get("msg_id") == run.id
    )
    error = run.reply["content"].get("ename", "")
    return sorted(printed.split()), error, kernel.value("found")


def shown_by_the_agent(kernel: Kernel, code: str) -> tuple[list[str], str, str]:
    """Return the same of the code as the agent's Python."""
    called = call_python(kernel, code)
    printed = f"{called.section('stdout')} {called.section('stderr')}"
    last = called.section("error").rpartition("\n")[2]
    error = re.match(r"[\w.]+", last)
    return sorted(printed.split()), error.group() if error else "", kernel.value("found")


@pytest.mark.slow
@pytest.mark.timeout(120 + 10 * PIECES)
def test_generated_code_shows_what_it_shows_in_a_cell(tmp_path: Path) -> None:
    rng = random.Random(32)
    pieces = [IMPORTS + KINDS[number % len(KINDS)](rng) for number in range(PIECES)]
    plain, agent = tmp_path / "plain", tmp_path / "agent"
    plain.mkdir()
    agent.mkdir()
    with Kernel(cwd=plain) as cell, Kernel(cwd=agent) as called:
        called.load_scripted_model()
        for code in pieces:
            if "nest_asyncio2" in code:  # only the first use in a process is at risk
                with Kernel(cwd=plain) as one, Kernel(cwd=agent) as other:
                    other.load_scripted_model()
                    assert shown_by_the_agent(other, code) == shown_by_a_cell(one, code), code
            else:
                assert shown_by_the_agent(called, code) == shown_by_a_cell(cell, code), code
        assert called.run("print(6 * 7)").stream() == "42\n"


TRIGGERS = (
    "threading.Timer({delay}, end).start()",
    "_ = _thread.start_new_thread(lambda: (threading.Event().wait({delay}), end()), ())",
    "threading.Timer({delay} / 2, lambda: threading.Timer({delay} / 2, end).start()).start()",
    "asyncio.get_event_loop().call_later({delay}, end);",
    "loop.call_soon(end);",
    "async def f():\n    await asyncio.sleep({delay})\n    end()\ntask = loop.create_task(f())",
    "async def f():\n    await asyncio.sleep({delay})\n    end()\ntask = asyncio.create_task(f())\nawait asyncio.sleep(0)",
    "loop.run_in_executor(None, end);",
    "signal.signal(signal.SIGALRM, lambda *_: end())\nsignal.setitimer(signal.ITIMER_REAL, {delay});",
    "end()",
    "await asyncio.sleep(0)\nend()",
)
"""When a piece asks for something: at once, beside itself, or after its end."""
ENDS = (
    "sys.exit(3)",
    "exit()",
    "raise SystemExit",
    "raise KeyboardInterrupt",
    "get_ipython().ask_exit()",
    "get_ipython().kernel.do_shutdown(False)",
    "get_ipython().reset()",
    "os.kill(os.getpid(), signal.SIGTERM)",
    "os.kill(os.getpid(), signal.SIGINT)",
    "_thread.interrupt_main()",
    "signal.raise_signal(signal.SIGHUP)",
    "loop.stop()",
    "input('?')",
    "breakpoint()",
    "__import__('pdb').set_trace()",
    "__import__('getpass').getpass()",
    "__import__('code').interact()",
)
REPLACES = tuple(
    f"sys.{name} = {value}"
    for name in ("stdout", "stderr", "stdin", "displayhook", "excepthook")
    for value in ("None", "print", "open(os.devnull)")
)
"""What a piece may replace while it runs; a thread that does so later does what a cell of the user may do."""


@pytest.mark.slow
@pytest.mark.timeout(120 + 10 * PIECES)
def test_whatever_ends_asks_or_replaces_at_any_time_the_kernel_lives(folder: Path) -> None:
    rng = random.Random(7)
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()
        kernel.run("kept = 41")
        for _ in range(PIECES):
            trigger = rng.choice(TRIGGERS).format(delay=rng.choice([0.001, 0.01, 0.05]))
            code = (
                "import _thread, asyncio, os, signal, sys, threading\nloop = asyncio.get_event_loop()\n"
                f"def end(*_):\n    {rng.choice(ENDS)}\n{trigger}"
            )
            if rng.random() < 1 / 4:
                code = f"import os, sys\n{rng.choice(REPLACES)}\n1"

            call_python(kernel, code)

            shown = kernel.run("print(kept)")
            assert shown.reply["content"].get("payload", []) == [], code
            assert shown.stream() == "41\n", code
            assert kernel.value("kept") == "41", code
