"""A prompt walks through few modules: whoever follows one with a debugger can know them all.

A module that only passes calls on is one more file to open before the next line that does something. So the walk of
a prompt is counted: with one ``read``, in two steps, in an application that was just opened, front ends and what
stands in for the model left out. Counted is every module of the package in which a function is called, in any thread.

More than the limit means that a new module lies on the way of every prompt. Then either it belongs into one that is
there already, or its caller can see that it has nothing to do. More moves mean that a caller asks another module for each
part, record or key what it could ask once.
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
MAX_MODULES = 95
"""No more than there are: a module that is added to the way of every prompt takes the place of another. One of them is entered on a loaded machine alone."""
MAX_MOVES = 1_660
"""Times that the next function called on a thread is one of another module; 2,900 before each thing was asked for once."""
WRITES = "palimpsest-journal"
"""How the name of the thread begins that writes the log: how many records it finds at once is a matter of time."""
BEATS = "palimpsest-lease"
"""The name of the thread that keeps leases fresh: whether a second has passed meanwhile is a matter of time, too."""
INSIDE = f"{PACKAGE}{os.sep}"
OUTSIDE = tuple(INSIDE + name for name in ("testing/", "frontends/", "model/script"))
"""Front ends, and what stands in for the model."""


def test_a_prompt_with_one_read_enters_few_modules_and_seldom_goes_from_one_to_another() -> None:
    paths = os.pathsep.join(str(path) for path in (ROOT / "kernel_ext", ROOT))
    found = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    entered, moves = json.loads(found.stdout)

    assert {"loop/step.py", "store/log/journal.py", "tools/files/read_tool.py"} <= set(entered)
    assert len(entered) <= MAX_MODULES, "\n".join(entered)
    assert moves <= MAX_MOVES, moves


def walked(folder: Path) -> tuple[list[str], int]:
    """Send one prompt in a new project; return the paths of the modules that it enters, and its moves between them."""
    files: set[str] = set()
    newest: dict[threading.Thread, str] = {}
    counting = False
    moves = 0

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal moves
        file = frame.f_code.co_filename
        if not counting or event != "call" or frame.f_code.co_name == "<module>":
            return
        if not file.startswith(INSIDE) or file.startswith(OUTSIDE):
            return
        thread = threading.current_thread()
        if thread.name == BEATS:
            return
        files.add(file)
        if newest.get(thread) != file and not thread.name.startswith(WRITES):
            newest[thread] = file
            moves += 1

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
    answer = session.start("Read a.txt").result()
    counting = False
    sys.setprofile(None)
    app.close()
    os.chdir(ROOT)
    assert (answer.steps, answer.text) == (2, "It says hello.")
    return sorted(file.removeprefix(INSIDE) for file in files), moves


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(walked(Path(folder).resolve())))  # noqa: T201  the test reads it
