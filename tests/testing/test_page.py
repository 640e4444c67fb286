"""The examples of docs/testing.md work as documented, each as a script of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import palimpsest.testing

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^## ([^\n]+)|```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)


def scripts() -> list[object]:
    """Return each example with the heading above it; those for pytest are run by pytest."""
    heading, found = "", []
    for title, source in EXAMPLES:
        heading = title or heading
        if source and not source.startswith("# test_"):
            found.append(pytest.param(source, id=f"{heading} {len(found) + 1}"))
    return found


def run(*program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, without key, network and settings."""
    bare = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "kernel_ext"), "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, *program],
        cwd=folder,
        env=bare,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("source", scripts())
def test_the_example_does_what_it_says(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.model.errors.retry.FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.chdir(tmp_path)

    exec(compile(source, "docs/testing.md", "exec"), {"__name__": "example"})


@pytest.mark.slow
def test_the_first_example_is_a_script_that_needs_nothing(tmp_path: Path) -> None:
    first = next(source for _, source in EXAMPLES if source)

    done = run(
        "-W",
        "error",
        "-c",
        f"{first}\nimport sys; print('litellm' in sys.modules)",
        folder=tmp_path,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.soak  # with each commit the first example is a script that needs nothing, above; this adds pytest
@pytest.mark.slow
def test_the_example_for_pytest_passes_in_pytest(tmp_path: Path) -> None:
    [source] = [source for _, source in EXAMPLES if source.startswith("# test_stock.py")]
    (tmp_path / "test_stock.py").write_text(source)

    # A base folder of its own: otherwise pytest deletes old folders of other runs, which may take long.
    own = f"--basetemp={tmp_path / 'own'}"
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", own, folder=tmp_path)

    assert "2 passed" in done.stdout


def test_the_page_names_everything_public() -> None:
    told = set(re.findall(r"\w+", PAGE))

    assert set(palimpsest.testing.__all__) - told <= {"ReceivedRequest", "ScriptedAnswer"}


def test_everything_public_says_what_it_is() -> None:
    public = {name: getattr(palimpsest.testing, name) for name in palimpsest.testing.__all__}

    assert [name for name, value in public.items() if callable(value) and not value.__doc__] == []
