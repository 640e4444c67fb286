"""Nothing of a hidden cell, and nothing of the kernel itself, reaches the model of a real kernel."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.harness.kernel import Kernel
from tests.harness.served_home import served_home
from tests.sample_size import thinned

from palimpsest.model.script import calls, says
from palimpsest.testing import FaultServer

pytestmark = pytest.mark.slow

MODEL = "openai/gpt-4o"
HIDDEN = """\
def broken(limit=["HUSH-default"]):
    "HUSH-documentation"
    hush = "HUSH-" + "value"
    raise ValueError("it is broken")  # HUSH-line
kept = "assigned"
"HUSH-" + "result"
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, server: FaultServer) -> Iterator[Kernel]:
    """A kernel with a cell from before the extension, one with the tag, one after ``%agent private``, and open ones."""
    home, project = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("project")
    cell = {"cell_type": "code", "id": "h1", "outputs": [], "execution_count": 1}
    hidden = {**cell, "metadata": {"tags": ["agent-hidden"]}, "source": "HUSH_in_a_file = 1"}
    shown = {**cell, "id": "o1", "metadata": {}, "source": "open_in_a_file = 1"}
    saved = {"cells": [hidden, shown], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (project / "other.ipynb").write_text(json.dumps(saved, indent=1))
    settings = 'titles = false\npermission = "allow"\n'
    env = served_home(home, MODEL, server.openai_base, settings)
    with Kernel(cwd=project, env=env) as kernel:
        kernel.run("def early():\n    raise KeyError('early')  # HUSH-early\n")
        kernel.run("%load_ext palimpsest")
        kernel.run(HIDDEN, tags=["agent-hidden"])
        kernel.run("%agent private")
        kernel.run("def private():\n    broken()  # HUSH-private\n'HUSH-' + 'private-result'")
        kernel.run(
            "app = get_ipython(); history = In; results = Out; space = globals(); import sys"
        )
        kernel.run("copied = list(In); table = {'a': [Out]}")
        yield kernel


def bodies(server: FaultServer) -> str:
    return json.dumps([_body(request.body) for request in server.requests])


def _body(body: Any) -> Any:
    return json.loads(body) if isinstance(body, bytes | str) else body


def asked(kernel: Kernel, server: FaultServer, tool: str, **given: Any) -> str:
    """Return what the model was told in answer to a call."""
    server.script(calls(tool, **given), says("Fine."))
    server.requests.clear()
    kernel.run("%agent --new go")
    return json.dumps(_body(server.requests[-1].body)["messages"][-1]["content"])


PATHS = (
    *(
        "In[3]",
        "_ih[3]",
        "_ih",
        "Out",
        "_oh",
        "_i3",
        "_3",
        "_",
        "__",
        "_i",
        "_ii",
        "app",
        "app.user_ns",
    ),
    *(
        "get_ipython",
        "get_ipython.__self__.kernel.session.key",
        "app.kernel.session.key",
        "history[3]",
    ),
    *(
        "history",
        "results",
        "results[3]",
        "space['In'][3]",
        "space",
        "copied",
        "copied[3]",
        "table",
        "table['a'][0]",
    ),
    *(
        "sys.modules['__main__'].In",
        "broken.__globals__['In']",
        "broken.__code__.co_consts",
        "broken",
        "private",
    ),
    *(
        "broken.__defaults__",
        "app.history_manager.input_hist_raw[3]",
        "app.compile",
        "sys",
        "early",
    ),
)


def test_no_path_of_the_tool_leads_to_a_hidden_cell_or_the_key(
    kernel: Kernel, server: FaultServer
) -> None:
    told = {path: asked(kernel, server, "variables", name=path) for path in PATHS}

    assert [path for path, words in told.items() if "HUSH" in words] == []
    assert "no variable of the user" in told["In[3]"]
    assert "assigned" in asked(kernel, server, "variables", name="kept"), "a value is a value"


def test_mentions_and_lists_tell_nothing_of_one(kernel: Kernel, server: FaultServer) -> None:
    server.script(says("Fine."))
    server.requests.clear()

    kernel.run(
        "%agent --new see @In, @Out, @copied, @history, @broken, @table, @other.ipynb and kept"
    )

    assert "HUSH" not in bodies(server)
    assert "open_in_a_file" in bodies(server)
    assert "HUSH" not in asked(kernel, server, "variables")


@pytest.mark.parametrize(
    "code",
    thinned(
        [
            "broken()",
            "private()",
            "early()",
            "import traceback\ntry:\n    private()\nexcept Exception:\n    traceback.print_exc()",
            "import logging\ntry:\n    private()\nexcept Exception:\n    logging.exception('no')",
            "try:\n    private()\nexcept Exception as error:\n    raise RuntimeError('chain') from error",
            "raise ExceptionGroup('several', [one for one in [ValueError('x')]]) from None",
            "import warnings\ntry:\n    broken()\nexcept Exception as e:\n    warnings.warn(str(e))",
            "%xmode Verbose\nbroken()\n",
            "%xmode Plain\nbroken()\n",
            "%xmode Minimal\nbroken()\n",
            "import concurrent.futures as f\nf.ThreadPoolExecutor().submit(broken).result()",
        ],
        4,
    ),
)
def test_a_traceback_of_the_agent_s_code_shows_no_line_of_one(
    kernel: Kernel, server: FaultServer, code: str
) -> None:
    output = asked(kernel, server, "python", code=code)
    kernel.run("%xmode Context")

    assert "HUSH" not in output
    assert "broken" in output or "early" in output or "several" in output


@pytest.mark.parametrize("mode", thinned(["Context", "Verbose", "Plain"], 3))
def test_an_error_of_the_user_s_cell_shows_no_line_of_one(
    kernel: Kernel, server: FaultServer, mode: str
) -> None:
    server.script(says("Fine."), says("Fine."))
    server.requests.clear()
    kernel.run("%agent --new begin")
    kernel.run(f"%xmode {mode}")
    kernel.run("private()")
    kernel.run("%xmode Context")

    kernel.run("%agent fix")

    assert "HUSH" not in bodies(server)
    assert "it is broken" in bodies(server)


def test_files_show_no_hidden_cell(kernel: Kernel, server: FaultServer) -> None:
    assert "HUSH" not in asked(kernel, server, "read", path="other.ipynb")
    assert "HUSH_in" not in asked(kernel, server, "grep", pattern="in_a_file")


def test_the_notebook_tool_tells_nothing_of_cells_whose_tags_are_not_known(
    kernel: Kernel, server: FaultServer
) -> None:
    output = asked(kernel, server, "notebook")

    assert "early" not in output
    assert "1 cell ran before the agent was loaded" in output
