"""A real JupyterLab and a real browser for the tests in this folder.

The server is the one that ``make lab`` starts, with folders of its own for settings, workspaces
and kernels, so that neither a developer's JupyterLab nor an installed extension plays a part.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.e2e.lab import BUILT, FLAGS, ROOT, Lab, Seen, browser_path, needed, running


@pytest.fixture(scope="session")
def front_end() -> Path:
    """The built front end; built now when it is not there."""
    if not (BUILT / "package.json").is_file():
        subprocess.run(["make", "front"], cwd=ROOT, check=True, timeout=600)
    return BUILT


@pytest.fixture(scope="session")
def program() -> str:
    """The browser of this machine; one without skips, CI does not."""
    path = browser_path()
    if path is None:
        needed("No browser was found: install chromium, or name one with PALIMPSEST_BROWSER.")
    return str(path)


@pytest.fixture(scope="session")
def lab(
    program: str,  # noqa: ARG001  # asked first: without a browser no server is needed
    tmp_path_factory: pytest.TempPathFactory,
    front_end: Path,
) -> Iterator[Lab]:
    """JupyterLab as ``make lab`` starts it, on a copy of the notebooks."""
    with running(tmp_path_factory.mktemp("lab"), front_end) as lab:
        yield lab


@pytest.fixture(scope="module")
def browser(program: str) -> Iterator[Browser]:
    """A headless browser.

    It lives as long as its module: while it does, playwright's event loop counts as running, and
    async tests of other folders could not begin.
    """
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=[*FLAGS])
        yield started
        started.close()


@pytest.fixture
def patient() -> None:
    """Wait longer than a kernel takes to start on a busy machine."""
    expect.set_options(timeout=20_000)


@pytest.fixture
def seen() -> Seen:
    """What the page of this test complained of."""
    return Seen()


@pytest.fixture
def page(browser: Browser, seen: Seen) -> Iterator[Page]:
    """A fresh page with nothing remembered."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(30_000)
    opened = context.new_page()
    seen.watch(opened)
    yield opened
    context.close()
