"""A prompt walks through few modules: whoever follows one with a debugger can know them all.

A module that only passes calls on is one more file to open before the next line that does something. So the walk of
a prompt is counted: with one ``read``, in two steps, in an application that was just opened, front ends and what
stands in for the model left out. Counted is every module of the package in which a function is called, in any thread.

More than the limit means that a new module lies on the way of every prompt. Then either it belongs into one that is
there already, or its caller can see that it has nothing to do.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import palimpsest
from palimpsest.app import App
from palimpsest.public.session_object import open_session
from palimpsest.testing import ScriptedModel, calls, says

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(palimpsest.__file__).resolve().parent
MOST_MODULES = 114
"""A hundred, and thirteen that every prompt needs: pieces of calls are joined, a report of usage that cannot be true is replaced,
names of secrets, passwords of several words in outputs, and cells that are kept from the agent are looked for. Six more
came at once: of seven, one took the place of another. What is pruned is decided in batches (``batch_pruning.py``, for
``prune_choice.py``), pictures (``picture_limits.py``), requests (``request_limits.py``) and tools (``tool_limits.py``)
are counted against what the provider takes, a limit that was hit is recovered from (``limit_recovery.py``), and a
model's name is looked up as gateways write it (``gateway_names.py``, ``providers.py``). Two more keep libraries out of a
start: first texts are counted without tiktoken (``token_ranks.py``), and methods of ``Session`` that review carries out stand
for themselves until they are looked at (``forwarded_methods.py``).
One more compiles patterns at their first use, so that no start compiles them all (``lazy_patterns.py``).
"""
LEFT_OUT = ("testing/", "frontends/", "model/script")


def test_a_prompt_with_one_read_enters_few_modules() -> None:
    paths = os.pathsep.join(str(path) for path in (ROOT / "kernel_ext", ROOT))
    found = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    entered = json.loads(found.stdout)

    assert {"loop/step.py", "store/log/journal.py", "tools/files/read_tool.py"} <= set(entered)
    assert len(entered) <= MOST_MODULES, entered


def entered_modules(folder: Path) -> list[str]:
    """Send one prompt in a new project, and return the paths of the modules that it enters."""
    files: set[str] = set()
    counting = False

    def look(frame: FrameType, event: str, _: object) -> None:
        if counting and event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    # Before the application is made: a thread begins with the function that is set then.
    threading.setprofile(look)
    sys.setprofile(look)
    project, home = folder / "project", folder / "home"
    (project / ".palimpsest").mkdir(parents=True)
    home.mkdir()
    (project / "a.txt").write_text("hello\n", encoding="utf-8")
    os.chdir(project)
    model = ScriptedModel(calls("read", path="a.txt"), says("It says hello."))
    known = {"scripted/model": {"window": 200_000, "output": 8_000}}
    app = App(
        start=project,
        model=lambda _: model,
        environment={"PATH": os.environ["PATH"], "HOME": str(home)},
        overrides={"model": "scripted/model", "titles": False, "models": known},
    )
    session = open_session(app)
    counting = True
    answer = session.prompt("Read a.txt")
    counting = False
    sys.setprofile(None)
    app.close()
    os.chdir(ROOT)
    assert (answer.steps, answer.text) == (2, "It says hello.")
    inside = [Path(file) for file in files if Path(file).is_relative_to(PACKAGE)]
    names = sorted(path.relative_to(PACKAGE).as_posix() for path in inside)
    return [name for name in names if not name.startswith(LEFT_OUT)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(entered_modules(Path(folder).resolve())))  # noqa: T201  the test reads it
