"""One browser for all tests of a process, and a loaded JupyterLab page for the next test.

Loading JupyterLab takes three seconds of CPU. A page whose test left no changes is used for the next test:
its notebooks are closed, and theme, size and side bar are reset.
"""

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, sync_playwright
from tests.e2e.jupyterlab import FLAGS, Lab, Notebook7

STORED = "cookies,local_storage,indexeddb,service_workers,cache_storage"
"""Browser storage that is cleared between tests: all but the HTTP cache."""
SIZE = {"width": 1280, "height": 900}
MEDIA = {
    "media": "null",
    "color_scheme": "null",
    "forced_colors": "null",
    "reduced_motion": "reduce",
}
THEME = "JupyterLab Light"
LAST_RESORT_MILLISECONDS = 120_000
"""How long a test waits for a page: a page that loads on a machine under load has taken half a minute."""

CLEAR = """async theme => {
  const { commands, shell } = window.jupyterapp;
  const dialogs = document.querySelectorAll('.jp-Dialog, .lm-Menu').length;
  const chosen = document.body.dataset.jpThemeName;
  if (chosen !== theme) {
    await commands.execute('apputils:change-theme', { theme });
  }
  const widgets = [...shell.widgets('main')];
  const contexts = widgets.map(({ sessionContext }) => sessionContext).filter(one => one);
  const connected = async context => {
    await context.ready;
    const kernel = context.session?.kernel;
    while (kernel?.connectionStatus === 'connecting') {
      await new Promise(done => kernel.connectionStatusChanged.connect(done));
    }
  };
  const quiet = await Promise.race([
    Promise.all(contexts.map(connected)).then(() => true, () => false),
    new Promise(done => setTimeout(() => done(false), 5000))
  ]);
  for (const widget of widgets) {
    widget.dispose();
  }
  shell.collapseRight();
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return quiet && dialogs === 0;
}"""
"""Closes what a test opened; returns whether JupyterLab is as it was at the start.

A kernel that is still being connected to is waited for: closed before, JupyterLab would tell the
next test that it cannot be found.
"""


class SharedBrowser:
    """The browser of this process, started for the first test that needs one."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._window: BrowserContext | None = None

    def window(self, program: str, profile: Path) -> BrowserContext:
        """Return the window in which all tests open their pages.

        Its profile caches loaded and compiled scripts: JupyterLab has ten megabytes of them.
        """
        if self._window is None:
            playwright = self._stack.enter_context(sync_playwright())
            self._window = playwright.chromium.launch_persistent_context(
                profile,
                executable_path=program,
                args=[*FLAGS],
                viewport={"width": 1280, "height": 900},
                reduced_motion="reduce",
            )
            self._stack.callback(self._window.close)
            self._window.set_default_timeout(LAST_RESORT_MILLISECONDS)
        return self._window

    def close(self) -> None:
        """Close it, if it was started."""
        for lab in Lab.RUNNING:
            lab.waiting = None
        self._window = None
        self._stack.close()


def waiting_page(window: BrowserContext, kinds: Collection[str]) -> Page:
    """Return the page of a JupyterLab that the test uses and that has nothing open, or a new one."""
    waiting = [lab.waiting for lab in Lab.RUNNING if lab.kind in kinds and lab.waiting is not None]
    if not waiting:
        return window.new_page()
    waiting[0].bring_to_front()
    return waiting[0]


def new_page(window: BrowserContext) -> Page:
    """Return a new page; it takes over the process of the waiting pages, which are closed."""
    for lab in Lab.RUNNING:
        if lab.waiting is not None:
            lab.waiting.close()
            lab.waiting = None
    return window.new_page()


def leave(window: BrowserContext, page: Page, ends: ThreadPoolExecutor, *, keep: bool) -> None:
    """Clean up after a test; JupyterLab may stay in its page for the next test."""
    (blank, *opened) = window.pages
    waiting = [lab.waiting for lab in Lab.RUNNING if lab.waiting is not None]
    keeps = keep and all(one is page or one in waiting for one in opened)
    for lab in Lab.RUNNING:
        if lab.waiting is page:
            lab.waiting = None
        if keeps and lab.waiting is None and shows(page, lab) and page.evaluate(CLEAR, THEME):
            lab.waiting = page
    for one in opened:
        if all(one is not lab.waiting for lab in Lab.RUNNING):
            one.close()
        elif one is page:
            one.set_viewport_size(SIZE)  # type: ignore[arg-type]
            one.emulate_media(**MEDIA)  # type: ignore[arg-type]
            one.mouse.move(0, 0)  # what is under it opens its details over the next test's panel
    session = window.new_cdp_session(blank)
    for lab in Lab.RUNNING:
        lab.forget(ends)
        session.send("Storage.clearDataForOrigin", {"origin": lab.url, "storageTypes": STORED})
    session.detach()


def shows(page: Page, lab: Lab) -> bool:
    """Return whether a page shows a notebook of this JupyterLab in the single-document mode."""
    return not isinstance(lab, Notebook7) and page.url.startswith(f"{lab.url}/doc/")
