"""What the first answer does not need is not imported for it: in a script, and in a kernel.

A module that is imported costs its time at every start, whoever needs it. The lists name what a start must leave out,
libraries and rooms of the package; what is missing from them may be imported.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel

from palimpsest.model.script import says
from palimpsest.testing import FaultServer

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = (
    *("litellm", "openai", "tiktoken", "tokenizers", "aiohttp"),
    *("markdown_it", "bs4", "markdownify", "yaml", "zstandard", "jsonschema", "mcp", "PIL"),
    *("pandas", "numpy", "dask", "nbformat"),
)
"""Libraries that no first answer needs, unless its model does."""
SHELL = ("IPython", "ipykernel", "ipywidgets", "anywidget", "traitlets.config")
"""What only a kernel needs."""
SERVER = ("jupyter_server", "palimpsest.server_extension")
"""What only Jupyter's server needs."""
REVIEWERS = tuple(
    f"palimpsest.{folder}"
    for folder in ("recordings", "context_policies", "live_policies", "review")
)
"""The folders that read sessions afterwards, or let a policy of the user's act."""
PLACEHOLDER = [
    "palimpsest.context_policies",
    "palimpsest.context_policies.summary_size",
]
"""What a session object imports of them: how long a placeholder of a summary is, a default of its what-if."""
ANSWERS_OF_A_VIEW = (
    "palimpsest.context_policies",
    "palimpsest.context_policies.prompt_cache",
    "palimpsest.context_policies.prompt_cache.ruler",
    "palimpsest.review",
    "palimpsest.review.recorded_sessions",
    "palimpsest.review.recorded_sessions.branch",
    "palimpsest.review.request_contents",
    "palimpsest.review.request_contents.lost_word",
    "palimpsest.review.request_contents.tool_definitions",
    "palimpsest.review.session_notes",
    "palimpsest.review.session_notes.note_places",
    "palimpsest.review.tables",
    "palimpsest.review.tables.figures",
    "palimpsest.review.tables.question_limits",
    "palimpsest.review.timeline_view",
    "palimpsest.review.timeline_view.comparison_values",
    "palimpsest.review.timeline_view.view_patch",
    "palimpsest.review.timeline_view.view_queries",
    "palimpsest.review.timeline_view.view_values",
)
"""The values of the page's protocol that are about a review, and nothing that makes one."""
NO_ANSWER = ("rich", "click", "pygments", "httpx._main")
"""What httpx imports for its command line, where it is installed."""
WITH_A_SESSION = (
    "palimpsest.session.open_sessions.workspace",
    "palimpsest.session.open_sessions.live_session",
    "palimpsest.session.runs.title_writer",
    "palimpsest.session.replay",
    "palimpsest.loop.turn",
    "palimpsest.context.compaction.audit",
)
"""What the first session needs, and the application does not."""
LOADED = "[name for name in __import__('sys').modules]"
IMPORTED = "import palimpsest\npalimpsest.App, palimpsest.open_session, palimpsest.Session\n"
ASKED = """
import os, tempfile
app = palimpsest.App(start=os.environ["FOLDER"], overrides={"model": os.environ["MODEL"], "titles": False})
session = palimpsest.open_session()
assert session.prompt("Hello").error is None
app.close()
"""


def script(code: str, folder: Path, **variables: str) -> set[str]:
    """Run a script in a process of its own; return the modules that it had loaded at its end."""
    paths = os.pathsep.join(str(path) for path in (ROOT / "kernel_ext", ROOT))
    told = "import json, sys\nprint('loaded', json.dumps(sorted(sys.modules)))\n"
    keys = {name: "" for name in os.environ if name.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-c", f"{IMPORTED}{code}\n{told}"],
        env={**os.environ, **keys, "PYTHONPATH": paths, "FOLDER": str(folder), **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.rpartition("loaded ")[2]))


def modules_of(modules: set[str], *names: str) -> list[str]:
    """Return the modules whose name or package is one of ``names``."""
    return sorted(
        module for module in modules if any(f"{module}.".startswith(f"{name}.") for name in names)
    )


@pytest.mark.soak  # with each commit a script that a server answered is counted, below; this adds one that only imports
@pytest.mark.slow
def test_a_script_that_imports_the_application_loads_only_what_makes_it(tmp_path: Path) -> None:
    loaded = script("", tmp_path)

    assert (
        modules_of(
            loaded,
            *LIBRARIES,
            *SHELL,
            "httpx",
            "palimpsest.frontends.kernel",
            "palimpsest.frontends.variables",
        )
        == []
    )
    assert modules_of(loaded, *WITH_A_SESSION, "palimpsest.rehearsal") == []
    assert modules_of(loaded, *REVIEWERS) == PLACEHOLDER


@pytest.mark.soak  # with each commit a script that a server answered is counted, below; this adds the built-in model
@pytest.mark.slow
def test_a_script_that_the_rehearsal_answered_loaded_no_more(tmp_path: Path) -> None:
    loaded = script(ASKED, tmp_path, MODEL="rehearsal/rules", PALIMPSEST_REHEARSAL_DELAY="0")

    assert "palimpsest.rehearsal.rehearsal_model" in loaded
    assert (
        modules_of(
            loaded,
            *LIBRARIES,
            *SHELL,
            "httpx",
            "palimpsest.frontends.kernel",
            "palimpsest.frontends.variables",
        )
        == []
    )
    assert modules_of(loaded, *REVIEWERS) == PLACEHOLDER


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("palimpsest.model.direct.direct_model") is None,
    reason="every provider is asked through litellm",
)
def test_a_script_that_a_server_answered_loaded_a_client_and_not_litellm(tmp_path: Path) -> None:
    with FaultServer(says("Hi.")) as server:
        content = {"models": {"openai/test": {"api_base": server.openai_base}}}
        loaded = script(
            ASKED,
            tmp_path,
            MODEL="openai/test",
            OPENAI_API_KEY="sk-test-openai-0123456789",
            PALIMPSEST_CONFIG_CONTENT=json.dumps(content),
        )

    assert len(server.requests) == 1
    assert "httpx" in loaded
    needless = {
        *LIBRARIES,
        *SHELL,
        "palimpsest.frontends.kernel",
        "palimpsest.frontends.variables",
    } - {"zstandard"}  # httpx's own
    assert modules_of(loaded, *needless, *NO_ANSWER, "palimpsest.rehearsal") == []


@pytest.mark.slow
def test_a_kernel_loads_the_extension_without_review_and_without_what_answers_later(
    tmp_path: Path,
) -> None:
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "")
    with Kernel(cwd=tmp_path, env=keys, fresh=True) as kernel:
        assert kernel.run("%load_ext palimpsest").status == "ok"
        kernel.run(
            "from palimpsest.ipython_extension import extension_of\n"
            "extension_of(get_ipython()).front()"  # waits until all is loaded
        )
        loaded = set(json.loads(kernel.value(f"__import__('json').dumps({LOADED})").strip("'")))
        kernel.run("%%agent -y\nHello")
        asked = set(json.loads(kernel.value(f"__import__('json').dumps({LOADED})").strip("'")))
        kernel.run("%agent -y Hello")
        answered = set(json.loads(kernel.value(f"__import__('json').dumps({LOADED})").strip("'")))

    assert "palimpsest.frontends.frontend" in loaded
    assert modules_of(loaded, *LIBRARIES, "httpx", *SERVER) == []
    assert modules_of(asked, *REVIEWERS, "palimpsest.frontends.operations.sessions") == []
    assert modules_of(answered, *LIBRARIES, "httpx") == []
    assert modules_of(answered, *REVIEWERS) == sorted(ANSWERS_OF_A_VIEW)
