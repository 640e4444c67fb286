"""Without our labextension: ``session.view()``, live with a kernel and as text, and what else is drawn of a session."""

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    Lab,
    PageErrors,
    open_notebook,
    photograph,
    wait_until_drawn,
)
from tests.e2e.leak_monitor import AT_REST, LeakMonitor, harmless
from tests.e2e.running_notebook import VIEW, Notebook, begin
from tests.e2e.saved_notebooks import XSS
from tests.e2e.test_hostile_views import everywhere, sign, told
from tests.e2e.test_hostile_views import watch as watch
from tests.e2e.test_panel import AXE, VIOLATIONS
from tests.e2e.test_saved_answer import RUNS
from tests.store.record_builders import SESSION

from palimpsest.render.content.outline import Caps
from palimpsest.render.formats.html_fragment import render_excerpt
from palimpsest.render.formats.markdown import render_message
from palimpsest.session.sharing.exports import export_session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MATHS = (
    "Since $e^{i\\pi} = -1$:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\ndef f(): pass\n```"
)

LOOK = """() => {
  const styles = place => ['color', 'borderBottom', 'padding', 'margin', 'font'].map(
    name => getComputedStyle(document.querySelector(place))[name]
  );
  return ['.plm-ForkButton', '.plm-Saved-window td', '.plm-Saved-window .title'].map(styles);
}"""
"""Returns how a button of the panel and the drawing of a context window are styled."""


def scripted(page: Page, lab: Lab, name: str, *cells: str, answers: str) -> Notebook:
    """Open a notebook whose second cell shows the view, with a model that gives these answers."""
    return begin(page, lab, name, f"{VIEW}\nharness.script({answers})\nview()", *cells)


def shown(notebook: Notebook, cell: int = 1) -> Locator:
    return notebook.cell(cell).locator(".plm-View")


@pytest.mark.soak  # with each commit labextension/tests/widget/widget.test.tsx follows a session; this adds a JupyterLab without the extension
def test_follows_the_session_and_keeps_words_that_are_read_without_a_kernel(
    page: Page, bare: Lab, seen: PageErrors
) -> None:
    answers = f"says({MATHS!r}).calls('variables'), says('That is all.')"
    notebook = scripted(page, bare, "view-follows", "%%agent --yes\nGo on", answers=answers)
    notebook.run(1)
    expect(shown(notebook)).to_contain_text("Nothing was said in this session yet.")
    expect(page.locator(".plm-Segment .plm-Tool, .plm-SegmentWidget")).to_have_count(0)

    notebook.run(2)

    view = shown(notebook)
    expect(view).to_contain_text("That is all.")
    expect(view.locator("math")).to_have_count(1)
    expect(view.locator("table")).to_have_count(1)
    expect(view.locator(".hljs-keyword").first).to_have_text("def")
    expect(view.get_by_role("button", name="variables")).to_be_visible()
    # The text of the cell's output is there, hidden behind the view.
    expect(notebook.cell(1).locator(".plm-Saved-words")).to_be_hidden()
    view.get_by_role("button", name="variables").click()
    photograph(page, "view-light")
    breaks_no_rule(page)

    saved = notebook.save()
    [output] = saved["cells"][1]["outputs"]
    assert set(output["data"]) == {"text/html", "text/plain"}
    assert "That is all." in output["data"]["text/plain"]
    assert "widgets" not in saved["metadata"]
    assert seen.errors == []

    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    expect(view).to_contain_text("The kernel has ended")
    page.reload()
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    words = notebook.cell(1).locator(".plm-Saved-words")
    expect(words).to_be_visible()
    expect(words).to_contain_text("That is all.")
    expect(words).to_contain_text("2 model requests to test/scripted")
    expect(page.get_by_text("model not found")).to_have_count(0)
    words.locator("summary", has_text="variables").click()
    photograph(page, "view-saved")


@pytest.mark.soak  # with each commit tests/e2e/test_hostile_views.py has more of it; this adds a JupyterLab without the extension
def test_runs_nothing_of_a_model_a_tool_or_a_title(page: Page, bare: Lab, seen: PageErrors) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    code = f"print({XSS!r})"
    answers = f"thinks({XSS!r}).says({XSS!r}).calls('python', code={code!r}), says('Over.')"
    notebook = scripted(
        page, bare, "view-hostile", f"%%agent --yes\n{XSS.splitlines()[0]}", answers=answers
    )
    notebook.run(1)
    notebook.run(2)
    view = shown(notebook)
    expect(view).to_contain_text("Over.")
    closed = view.locator(".plm-Transcript button[aria-expanded='false']")
    while closed.count():
        closed.first.click()
    wait_until_drawn(page)
    photograph(page, "view-hostile")

    words = notebook.cell(1).locator(".plm-Saved-words")
    assert "ran" not in page.title().split()
    for drawn in (view, words):
        expect(drawn.locator(RUNS)).to_have_count(0)
        for link in drawn.locator("a").all():
            assert not (link.get_attribute("href") or "").startswith("javascript")
    notebook.save()
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.reload()
    expect(words).to_contain_text("Over.")
    wait_until_drawn(page)
    assert "ran" not in page.title().split()
    assert not [url for url in asked if "example.invalid" in url]
    assert not [error for error in seen.errors if "example.invalid" in error]


def breaks_no_rule(page: Page) -> None:
    """Have axe look at the view, and at the words that are behind it."""
    page.add_script_tag(path=str(AXE))
    assert page.evaluate(VIOLATIONS, [".plm-View"]) == []
    saved = page.add_style_tag(
        content=".plm-Widget { display: none } .plm-Saved-words { display: block !important }"
    )
    assert page.evaluate(VIOLATIONS, [".plm-Saved-words"]) == []
    saved.evaluate("style => style.remove()")


def plain(lab: Lab, name: str, payloads: dict[str, str]) -> Path:
    """Write a notebook for front ends without our extension: an export, a cell's Markdown, a view's HTML."""
    store = told(payloads)
    path = lab.folder / name
    export_session(store, SESSION, "ipynb", path, cwd=lab.folder, environment={})
    made = nbformat.read(path, as_version=4)
    whole = Caps(
        bytes_per_call=10**6,
        max_lines=10**6,
        read_only_lines=10**6,
        bytes_per_turn=10**8,
        bytes_per_text=10**8,
    )
    story = [one.message() for one in everywhere(payloads)]
    view = render_excerpt(story, "x", css_class="plm-view-none", caps=whole, max_chars=10**8)
    forms = [{"text/markdown": render_message(one, caps=whole)} for one in story]
    for data in [*forms, {"text/html": view}]:
        output = nbformat.v4.new_output("display_data", data)
        made.cells.append(nbformat.v4.new_code_cell("1", execution_count=1, outputs=[output]))
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, path)
    return path


DRAWN_BY_LAB = ".jp-RenderedMarkdown, .plm-Saved-words .said, .plm-Saved-words .row"


# In an untrusted notebook JupyterLab itself shows less.
@pytest.mark.soak  # with each commit tests/render/formats lets no payload come alive in Markdown and HTML; this adds JupyterLab's own drawing of it
@pytest.mark.parametrize("trusted", [False, True])
def test_without_our_extension(page: Page, bare: Lab, watch: LeakMonitor, *, trusted: bool) -> None:
    path = plain(bare, f"drawn-plain-{trusted}.ipynb", watch.sixth(1))
    if trusted:
        sign(bare.folder.parent, path)
    watch.follow(page)

    open_notebook(page, bare, path.name)
    page.evaluate(AT_REST)

    harmless(page, watch, ".jp-Notebook", DRAWN_BY_LAB)
    photograph(page, f"drawn-plain-{trusted}")


PREVIEW = """path => window.jupyterapp.commands.execute(
  'docmanager:open', { path, factory: 'Markdown Preview' }
)"""


@pytest.mark.soak  # with each commit tests/render/formats lets no payload come alive in Markdown; this adds JupyterLab's viewer of documents
@pytest.mark.usefixtures("own_page")
def test_exported_markdown_as_a_document(page: Page, bare: Lab, watch: LeakMonitor) -> None:
    path = bare.folder / "drawn.md"
    export_session(told(watch.sixth(2)), SESSION, "md", path, cwd=bare.folder, environment={})
    watch.follow(page)

    nbformat.write(nbformat.v4.new_notebook(), bare.folder / "drawn-beside.ipynb")
    page.goto(bare.page_of("drawn-beside.ipynb").replace("/doc/", "/lab/"))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.evaluate(PREVIEW, path.name)
    page.locator(".jp-MarkdownViewer").wait_for()
    page.evaluate(AT_REST)

    harmless(page, watch, ".jp-MarkdownViewer", ".jp-RenderedMarkdown")


@pytest.mark.soak  # with each commit labextension/tests/widget/stylesheetOrder.test.ts has the order that decides it; this adds the look itself
def test_changes_nothing_of_the_look_of_what_stands_beside_it(page: Page, lab: Lab) -> None:
    script = f"{VIEW}\nharness.script(says('That is all.'))"
    cells = ("%%agent\nGo on", "%agent context", "view()")
    notebook = begin(page, lab, "view-look", script, *cells)
    page.evaluate("window.jupyterapp.commands.execute('jupyter-palimpsest:open-panel')")
    for cell in (1, 2, 3):
        notebook.run(cell)
    expect(page.locator(".plm-ForkButton").first).to_be_visible()
    before = page.evaluate(LOOK)

    notebook.run(4)

    expect(shown(notebook, 4)).to_be_visible()
    assert page.evaluate(LOOK) == before
