"""The wheel beside pydantic and markdown-it-py alone, without its other dependencies, reviews recordings.

The wheel is built from the work tree and installed with ``--no-deps`` into a new environment. What it needs there is linked
from the environment of the tests, so that nothing is fetched; all other packages are truly missing.
"""

import json
import os
import re
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.command_line.command_line import run
from tests.packaging.built_wheel import built_wheel
from tests.recordings.formats.sample_files import sample

NEEDED = (
    *("pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"),
    *("markdown_it", "mdurl"),
)
"""The modules of pydantic, of markdown-it-py, and of what these need."""
ROOMS = (
    *("recordings", "context_policies", "live_policies", "review"),
    *("transcript", "context", "render", "store", "model.catalog", "model.tokenizer"),
    *("frontends.command_line", "public.recorded_session"),
)
IMPORT_ALL = """
import sys
from importlib import import_module
from pkgutil import walk_packages
for room in sys.argv[1:]:
    found = import_module(f"palimpsest.{room}")
    for module in walk_packages(getattr(found, "__path__", ()), f"{found.__name__}."):
        import_module(module.name)
places = {name.partition(".")[0]: getattr(one, "__file__", None) or "" for name, one in sys.modules.items()}
print(*sorted(name for name, place in places.items() if "site-packages" in place))
"""
OPENED = """
import sys, palimpsest
review = palimpsest.open_recording(sys.argv[1])[0]
print(review.compare(["recorded", "palimpsest"], price="units"))
print(review.whatif("palimpsest"))
try:
    palimpsest.Session
except ImportError as error:
    print(error)
"""
PI, SWE = "pi_version_3.jsonl", "marshmallow-1867.traj"
LIST = re.compile(
    r"the list of prices of litellm \S+, copied on [\d-]+|litellm \S+'s list of prices, on this disk since [\d-]+"
)
"""How a sentence names the list that a price is from: the copy in the package, or litellm's own."""
ESTIMATED = "Tokens by tiktoken/o200k_base are estimates here"

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` of an environment with the wheel and what a review needs."""
    folder, wheel = tmp_path_factory.mktemp("small"), tmp_path_factory.mktemp("wheel")
    venv.create(folder, with_pip=False)
    binaries = folder / "bin"
    pip = [sys.executable, "-m", "pip", "--python", binaries / "python", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", built_wheel(wheel)], check=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    for name in NEEDED:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        place = origin.parent if origin.name == "__init__.py" else origin
        (site / place.name).symlink_to(place)
    return binaries


def done(*command: Any, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return subprocess.run(
        command,
        cwd=cwd,
        env={**kept, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=False,
    )


def palimpsest(small: Path, *words: str, cwd: Path) -> str:
    """Return what the console script writes, which ends well and complains of nothing."""
    ran = done(small / "palimpsest", *words, cwd=cwd)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.soak  # with each commit tests/test_layers.py holds what review may import; this adds an installation that has nothing else
def test_what_a_review_needs_imports_nothing_else(small: Path, tmp_path: Path) -> None:
    ran = done(small / "python", "-c", IMPORT_ALL, *ROOMS, cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert set(ran.stdout.split()) <= {"palimpsest", *NEEDED}


@pytest.mark.soak  # with each commit tests/frontends/command_line/test_command_line.py runs both; this adds an installation that has nothing else
def test_inspect_and_compare_say_what_they_say_where_all_is_installed(
    small: Path, tmp_path: Path
) -> None:
    """A recording of lines, and one that ijson reads where it is installed; prices are those of the two lists."""
    sample(PI, tmp_path)
    sample(SWE, tmp_path)
    for words in (
        ("inspect", SWE, "--price", "openai/gpt-4o", "--json"),
        ("compare", PI, "--policy", "recorded", "opencode.prune", "--json"),
    ):
        told = palimpsest(small, *words, cwd=tmp_path)
        whole = run(*words, cwd=tmp_path).out

        assert json.loads(LIST.sub("a list", told)) == json.loads(LIST.sub("a list", whole)), words


@pytest.mark.soak  # with each commit tests/frontends/command_line/test_command_line.py runs both; this adds an installation that has nothing else
def test_report_and_import_write_what_they_are_asked_for(small: Path, tmp_path: Path) -> None:
    sample(PI, tmp_path)

    palimpsest(small, "report", PI, "-o", "session.html", cwd=tmp_path)
    palimpsest(small, "import", PI, "--project", ".", cwd=tmp_path)

    assert (tmp_path / "session.html").read_text(encoding="utf-8").startswith("<!")
    assert "Two files" in palimpsest(small, "inspect", ".", cwd=tmp_path)


@pytest.mark.soak  # with each commit nothing is missing; this adds an installation without what these commands need
def test_what_is_missing_is_said(small: Path, tmp_path: Path) -> None:
    sample(PI, tmp_path)
    sample("inspect_zstandard.eval", tmp_path)

    compared = palimpsest(small, "compare", PI, "--policy", "palimpsest", cwd=tmp_path)
    unread = done(small / "palimpsest", "inspect", "inspect_zstandard.eval", cwd=tmp_path)
    opened = done(small / "python", "-c", OPENED, PI, cwd=tmp_path)

    assert ESTIMATED in " ".join(compared.split())
    assert unread.returncode == 2
    assert unread.stderr.endswith("needs a package: pip install zstandard\n")
    assert opened.stderr == ""
    assert " ".join(opened.stdout.split()).count(ESTIMATED) == 2
    assert "palimpsest.Session needs the package platformdirs" in opened.stdout
