"""What processes print that the agent's Python starts is told to the model and shown, as in a cell."""

import pytest
from tests.harness.agent_python import call_python
from tests.harness.kernel import Kernel
from tests.sample_size import thinned
from tests.waiting import eventually

pytestmark = pytest.mark.slow

CHILDREN = {
    "fork": (
        "import os\npid = os.fork()\nif not pid:\n    print('child'); os._exit(0)\n"
        "os.waitpid(pid, 0)\nprint('parent')"
    ),
    "fork that runs to the end of the code": (
        "import os\npid = os.fork()\nprint('parent' if pid and os.waitpid(pid, 0) else 'child')"
    ),
    "fork after await": (
        "import asyncio, os\nawait asyncio.sleep(0)\npid = os.fork()\n"
        "print('parent' if pid and os.waitpid(pid, 0) else 'child')\nawait asyncio.sleep(0)"
    ),
    "fork with sys.stdout.write": (
        "import os, sys\npid = os.fork()\nif not pid:\n    sys.stdout.write('child\\n'); os._exit(0)\n"
        "os.waitpid(pid, 0)\nprint('parent')"
    ),
    "multiprocessing by fork": (
        "import multiprocessing\nwith_fork = multiprocessing.get_context('fork')\n"
        "p = with_fork.Process(target=print, args=('child',)); p.start(); p.join()\nprint('parent')"
    ),
    "multiprocessing by spawn": (
        "import multiprocessing\nwith_spawn = multiprocessing.get_context('spawn')\n"
        "p = with_spawn.Process(target=print, args=('child',)); p.start(); p.join()\nprint('parent')"
    ),
    "a pool": (
        "from concurrent.futures import ProcessPoolExecutor\nimport multiprocessing\n"
        "def work(): print('child')\n"
        "with ProcessPoolExecutor(1, multiprocessing.get_context('fork')) as pool:\n"
        "    pool.submit(work).result()\nprint('parent')"
    ),
    "subprocess": "import subprocess\nsubprocess.run(['echo', 'child'])\nprint('parent')",
    "system": "import os\n_ = os.system('echo child')\nprint('parent')",
}


@pytest.mark.parametrize("code", thinned(CHILDREN.values(), 3), ids=CHILDREN.keys())
def test_it_stands_in_its_place_in_the_output(kernel: Kernel, code: str) -> None:
    called = call_python(kernel, code)

    assert called.section("stdout") == "child\nparent"
    assert "child\nparent" in called.run.markdown()
    assert kernel.run("1 + 1").status == "ok"


@pytest.mark.soak  # with each commit one that shows a value waits for no lock, below; this adds thirty children
def test_a_child_that_shows_a_value_takes_nothing_of_its_parents(kernel: Kernel) -> None:
    code = (
        "import os\nfrom IPython.display import HTML\nfor i in range(30):\n    pid = os.fork()\n"
        "    if not pid:\n        break\n    os.write(1, b'parent ')\n    os.waitpid(pid, 0)\n"
        "HTML('<b>shown</b>')"
    )

    called = call_python(kernel, code)

    assert called.section("stdout").count("parent") == 30


def test_a_child_that_shows_a_value_waits_for_no_lock_of_its_parents(kernel: Kernel) -> None:
    code = (
        "import os, threading\nfrom IPython.display import HTML\n"
        "locked, ended = threading.Event(), threading.Event()\n"
        "def lock(_): locked.set(); ended.wait()\n"
        "journal = harness.frontend.channel.current_session.journal\n"
        "threading.Thread(target=journal.read_state, args=(lock,)).start(); locked.wait()\n"
        "pid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\n    ended.set()\nHTML('<b>shown</b>')"
    )

    called = call_python(kernel, code)

    assert not called.failed
    assert sum("shown" in str(output["data"]) for output in called.run.outputs()) == 2


def test_a_letter_in_two_writes_is_one_letter(kernel: Kernel) -> None:
    code = (
        "import os\n_ = os.write(1, b'\\xc3')\nprint(end='', flush=True)\n_ = os.write(1, b'\\xa9')"
    )

    assert call_python(kernel, code).section("stdout") == "é"


def test_what_the_code_itself_writes_to_a_descriptor_is_told(kernel: Kernel) -> None:
    called = call_python(kernel, "import os\n_ = os.write(2, b'written\\n')")

    assert called.section("stderr") == "written"


FAILING = {
    "fork": "import os\npid = os.fork()\nif not pid:\n    1 / 0\n_ = os.waitpid(pid, 0)",
    "multiprocessing": (
        "import multiprocessing\ndef work(): 1 / 0\n"
        "p = multiprocessing.get_context('fork').Process(target=work); p.start(); p.join()"
    ),
}


@pytest.mark.parametrize("code", thinned(FAILING.values(), 2), ids=FAILING.keys())
def test_its_traceback_is_told(kernel: Kernel, code: str) -> None:
    called = call_python(kernel, code)

    assert "ZeroDivisionError: division by zero" in called.section("stderr")


def test_a_forked_child_does_not_become_a_second_kernel(kernel: Kernel) -> None:
    call_python(kernel, "import os\npid = os.fork()")

    assert kernel.value("os.waitpid(pid, 0)[1]") == "0"


def test_what_a_child_prints_after_the_code_has_ended_is_shown_in_the_notebook(
    kernel: Kernel,
) -> None:
    gate = kernel.gate()
    code = f"import os\nif not os.fork():\n    exec({gate.blocking!r}); print('late ' * 2); os._exit(0)"

    called = call_python(kernel, code)
    gate.reached()
    gate.open()

    assert "late" not in called.output
    kernel.wait_text("late late")


def test_a_flood_of_a_child_is_cut_in_the_middle(kernel: Kernel) -> None:
    code = "import subprocess\n_ = subprocess.run('yes | head -c 1000000', shell=True)"

    called = call_python(kernel, code)
    length = eventually(lambda: len(called.output))

    assert length < 200_000
