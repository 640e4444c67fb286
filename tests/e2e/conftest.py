"""Fixtures with a real JupyterLab and a real browser for the tests in this folder.

The server is the one that ``make lab`` starts, with folders of its own for settings, workspaces and
kernels, so that neither a developer's JupyterLab nor an installed extension plays a part. Server and
browser are used for all tests of a process, and so is the page unless a test asks for its own; the kernels
that a test started end with it.
"""

import os
import shutil
import subprocess
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect
from tests.e2e.forked_kernels import kernel_forks
from tests.e2e.jupyterlab import BUILT, ROOT, Lab, PageErrors, browser_path, running
from tests.e2e.shared_browser import (
    LAST_RESORT_MILLISECONDS,
    SharedBrowser,
    leave,
    new_page,
    waiting_page,
)
from tests.untested import skip_without

BROWSER = SharedBrowser()
FAILED = pytest.StashKey[bool]()

expect.set_options(timeout=LAST_RESORT_MILLISECONDS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    """Close the browser before a test that does not use it.

    While it lives, playwright's event loop counts as running, and async tests could not begin.
    """
    yield
    if "window" not in getattr(nextitem, "fixturenames", ()):
        BROWSER.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record which tests fail, and add their page's text to the report; their page is not used again."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
        page = getattr(item, "funcargs", {}).get("page")
        if report.when == "call" and page is not None:
            with suppress(Error):
                report.sections.append(
                    ("What the page said", page.inner_text("body", timeout=2_000))
                )
    return report


@pytest.fixture(scope="session")
def front_end() -> Path:
    """The built front end; built now if missing."""
    if not (BUILT / "package.json").is_file():
        subprocess.run(["make", "front"], cwd=ROOT, check=True, timeout=600)
    return BUILT


@pytest.fixture(scope="session")
def program() -> str:
    """The path of a browser on this machine; tests are skipped without one, except on CI."""
    path = browser_path()
    if path is None:
        skip_without("a browser")
    elif shutil.which(path) is None:
        pytest.fail(f"PALIMPSEST_BROWSER names {path!r}, which is no program on this machine.")
    return str(path)


@pytest.fixture(scope="session")
def forks() -> str | None:
    """The address of the process that forks kernels; None on a system that cannot wait for them."""
    return kernel_forks() if hasattr(os, "pidfd_open") else None


@pytest.fixture(scope="session")
def lab(
    program: str,  # noqa: ARG001  # asked first: without a browser no server is needed
    tmp_path_factory: pytest.TempPathFactory,
    front_end: Path,
    forks: str | None,
) -> Iterator[Lab]:
    """JupyterLab as ``make lab`` starts it, without what plays no part, on a copy of the notebooks."""
    with running(tmp_path_factory.mktemp("lab"), front_end, lean=True, forks=forks) as lab:
        yield lab


@pytest.fixture(scope="session")
def bare(
    program: str,  # noqa: ARG001  # as above
    tmp_path_factory: pytest.TempPathFactory,
    front_end: Path,
    forks: str | None,
) -> Iterator[Lab]:
    """A JupyterLab with our extension disabled."""
    home = tmp_path_factory.mktemp("bare")
    with running(home, front_end, ours=False, lean=True, forks=forks) as lab:
        lab.kind = "bare"
        yield lab


@pytest.fixture(scope="session")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile folder of this process's browser."""
    return tmp_path_factory.mktemp("profile")


@pytest.fixture(scope="session")
def ends() -> Iterator[ThreadPoolExecutor]:
    """An executor that waits for kernels to end while the next test begins."""
    with ThreadPoolExecutor(4) as ends:
        yield ends


@pytest.fixture
def window(program: str, profile: Path) -> BrowserContext:
    """The browser window (context) that tests share."""
    return BROWSER.window(program, profile)


@pytest.fixture
def browser(window: BrowserContext) -> Browser:
    """The browser, for tests that need a window of their own."""
    assert window.browser is not None
    return window.browser


@pytest.fixture
def seen() -> PageErrors:
    """The errors that the page of this test reported."""
    return PageErrors()


@pytest.fixture
def own_page() -> None:
    """Marker fixture: the test needs a page that no other test has used."""


@pytest.fixture
def page(
    window: BrowserContext,
    seen: PageErrors,
    ends: ThreadPoolExecutor,
    request: pytest.FixtureRequest,
) -> Iterator[Page]:
    """A page in a clean state."""
    is_own = "own_page" in request.fixturenames
    opened = new_page(window) if is_own else waiting_page(window, request.fixturenames)
    with seen.watching(opened):
        yield opened
    failed = request.node.stash.get(FAILED, default=False)
    leave(window, opened, ends, keep=not failed)
