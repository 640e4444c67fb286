"""Untrusted text cannot run scripts, send requests, float or run commands, in any view."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary
from playwright.sync_api import Browser, Page, expect
from tests.e2e.jupyterlab import Lab, open_notebook, photograph
from tests.e2e.leak_monitor import AT_REST, LeakMonitor, harmless, watching
from tests.e2e.running_notebook import VIEW, begin
from tests.e2e.saved_notebooks import SavedAnswer, segment, write
from tests.e2e.test_panel import at_rest, open_panel
from tests.harness.sample_session import BEGUN, SampleSession
from tests.store.record_builders import SESSION

from palimpsest.session.sharing.exports import export_session
from palimpsest.session.sharing.share_page import write_page
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.session_record.events import TodoUpdated
from palimpsest.transcript.values import Todo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CONTENT = ".plm-Rendered .jp-RenderedHTMLCommon, .plm-Rendered .jp-RenderedText"
"""Where our views let a host render untrusted text; everything else is text that React escapes."""
SEGMENTS = ".jp-Notebook .plm-Segment"


@pytest.fixture
def watch(page: Page) -> Iterator[LeakMonitor]:  # noqa: ARG001  # is there until all that it asked was heard
    """A server that must receive no request."""
    with watching() as watch:
        yield watch


def everywhere(payloads: dict[str, str]) -> list[SavedAnswer]:
    """Return messages with every payload in every place where untrusted text can be."""
    said, worked, odd = SavedAnswer(), SavedAnswer(), SavedAnswer()
    for text in payloads.values():
        said.text(text)
        said.thought(text)
    for text in payloads.values():
        worked.ran("python", text, code=text)
    for text in list(payloads.values())[::7]:
        odd.failed("bash", text, command=text)
        odd.ran(text, text, path=text)
        odd.ran("todowrite", "ok", todos=[{"content": text, "status": "pending", "id": "1"}])
        odd.ran("question", "ok", questions=[
            {"question": text, "header": text, "options": [{"label": text, "description": text}]}
        ])  # fmt: skip
    return [said, worked, odd]


def saved(lab: Lab, name: str, payloads: dict[str, str]) -> Path:
    path = lab.folder / name
    one, two, three = everywhere(payloads)
    text = next(iter(payloads.values()))
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n" + "\n".join(f"+{line}" for line in payloads.values())
    asks = [
        {
            "id": "per_1", "permission": "write", "patterns": [text], "always": [text],
            "title": text, "input": {"path": text, "content": text}, "diff": diff,
            "call_id": three.parts[-1].call_id,  # type: ignore[union-attr]
        }
    ]  # fmt: skip
    write(
        path,
        segment(one.message()),
        segment(two.message()),
        segment(three.message(error={"type": "api", "message": text}), is_open=True, asks=asks),
    )
    return path


def sign(home: Path, path: Path) -> None:
    """Sign a notebook as the server does when a user trusts it."""
    notary = NotebookNotary(data_dir=str(home / "data"))
    notary.sign(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("trusted", [pytest.param(False, marks=pytest.mark.soak), True])
def test_a_saved_notebook(page: Page, lab: Lab, watch: LeakMonitor, *, trusted: bool) -> None:
    path = saved(lab, f"drawn-saved-{trusted}.ipynb", watch.payloads())
    if trusted:
        sign(lab.folder.parent, path)
    watch.follow(page)

    open_notebook(page, lab, path.name)

    page.locator(SEGMENTS).first.wait_for()
    assert (
        page.evaluate("window.jupyterapp.shell.currentWidget.model.cells.get(0).trusted") is trusted
    )
    harmless(page, watch, SEGMENTS, CONTENT)
    photograph(page, f"drawn-saved-{trusted}")


def live_script(payloads: dict[str, str]) -> str:
    texts = list(payloads.values())
    code = f"for text in {texts!r}:\n    print(text)"
    todos = [
        {"content": text, "status": "pending", "id": str(at)} for at, text in enumerate(texts[::9])
    ]
    return f"""texts = {texts!r}
answer = says('Begin.')
for text in texts:
    answer = answer.thinks(text).says(text)
harness.script(
    answer.calls('python', code={code!r}).calls('todowrite', todos={todos!r}),
    says('Well.').calls(texts[0], path=texts[1]).calls('read', path=texts[2]),
    says('Over.'),
)"""


def test_the_live_cell_the_panel_and_the_view(page: Page, lab: Lab, watch: LeakMonitor) -> None:
    payloads = watch.sixth(0)
    (first, *_) = payloads.values()
    watch.follow(page)
    notebook = begin(
        page,
        lab,
        "drawn-live",
        f"{VIEW}\n{live_script(payloads)}\nview()",
        f"%%agent --yes\n{first}",
    )
    panel = open_panel(page)
    notebook.run(1)
    notebook.run(2, wait=False)
    expect(panel.get_by_text("Over.").first).to_be_attached(timeout=120_000)
    at_rest(panel)
    page.evaluate(AT_REST)

    harmless(page, watch, ".jp-Notebook .plm-SegmentWidget", CONTENT)
    harmless(page, watch, "#jupyter-palimpsest-panel", CONTENT)
    harmless(page, watch, ".plm-View", CONTENT)
    photograph(page, "drawn-live")


def told(payloads: dict[str, str]) -> MemoryStore:
    """Return a store with a session in which every speaker says every payload."""
    texts = list(payloads.values())
    teller = SampleSession(title=texts[0])
    for text in texts[::20]:
        named = {"type": "file", "mime": "text/plain", "filename": text, "url": "data:text/plain,x"}
        teller.prompt(text, named)
    teller.answer(error={"type": "api", "message": texts[1]})
    for text in texts:
        teller.part(type="text", text=text)
        teller.part(type="reasoning", text=text, time={"start": BEGUN, "end": BEGUN + 9})
    for text in texts[::3]:
        teller.call("python", {"code": text}, text)
        teller.call(text, {"path": text}, text, title=text, metadata={"diff": f"+{text}"})
    teller.events.append(TodoUpdated(todos=tuple(Todo(content=text) for text in texts)))
    store = MemoryStore()
    teller.write(store)
    return store


SAID = ".said, .row, .notice, .input, .output, .todo ul, nav ol, figcaption, .file, .muted"
"""Elements of our own HTML pages that hold untrusted text."""


@pytest.mark.parametrize("form", ["export", "share"])
def test_a_page_of_a_session(browser: Browser, tmp_path: Path, form: str) -> None:
    with browser.new_context() as context, watching() as watch:
        assert_harmless(context.new_page(), watch, tmp_path, form)


def assert_harmless(page: Page, watch: LeakMonitor, tmp_path: Path, form: str) -> None:
    """Write a session with every payload as a page, open it, and hold it to what such a page may do."""
    store = told(watch.payloads())
    path = tmp_path / "page.html"
    if form == "share":
        write_page(store, SESSION, path, {})
    else:
        export_session(store, SESSION, "html", path, cwd=tmp_path, environment={})
    # Without its own security policy, which would block what the page must not contain anyway.
    words = path.read_text(encoding="utf-8")
    head, _, rest = words.partition('<meta http-equiv="Content-Security-Policy"')
    path.write_text(head + rest.partition(">")[2], encoding="utf-8")
    watch.follow(page)

    page.goto(path.as_uri())

    harmless(page, watch, "body", SAID)
    photograph(page, f"drawn-{form}")


ORDINARY = """## Found

The mean is $\\bar x$, see [the paper](https://example.org), [the file](data/a.csv).

$$\\int_0^1 x^2\\,dx$$

| a | b |
|:--|--:|
| 1 | 2 |

- [x] done

```python
def f(): pass
```

![red](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==)

```mermaid
flowchart LR
  A[Read] --> B
```
"""


OPENED = """link => {
  const { commands } = window.jupyterapp;
  const { execute } = commands;
  const done = [];
  commands.execute = (name, { path }) => { done.push([name, path]); return Promise.resolve(); };
  link.click();
  commands.execute = execute;
  return done;
}"""
"""Clicks a link; returns the commands that JupyterLab would have executed."""


@pytest.mark.soak  # with each commit labextension/tests/views/dom/sanitizer.test.ts lets it through; this adds MathJax, links and diagrams
def test_what_is_ordinary_is_drawn_as_it_was(page: Page, lab: Lab) -> None:
    script = f"{VIEW}\nharness.script(says({ORDINARY!r}))\nview()"
    notebook = begin(page, lab, "drawn-ordinary", script, "%%agent\nGo")
    panel = open_panel(page)
    notebook.run(1)
    notebook.run(2)
    at_rest(panel)

    for shown in (
        page.locator(".jp-Notebook .plm-SegmentWidget"),
        panel,
        page.locator(".plm-View"),
    ):
        # Rows more than two screens away show only their text.
        shown.locator(".plm-Segment").last.scroll_into_view_if_needed()
        for seen in (
            "h2",
            "table td",
            "li input:disabled",
            "pre code span",
            "img[src^='data:image/png']",
        ):
            expect(shown.locator(CONTENT).locator(seen).first).to_be_visible()
        expect(shown.get_by_role("link", name="the paper")).to_have_attribute(
            "rel", re.compile("noopener")
        )
    for shown in (page.locator(".jp-Notebook .plm-SegmentWidget"), panel):
        maths = shown.locator("mjx-container")
        expect(maths).to_have_count(2)
        # MathJax writes a size there, so that formulas are as high as the text around them.
        expect(maths.first).to_have_attribute("style", re.compile("font-size"))
        assert shown.get_by_role("link", name="the file").evaluate(OPENED) == [
            ["rendermime:handle-local-link", "data/a.csv"]
        ]
        expect(shown.locator("img.plm-Diagram")).to_be_visible()
    expect(page.locator(".plm-View math")).to_have_count(2)
    photograph(page, "drawn-ordinary")
