"""No words of others run, ask, float or command, in any view: one list of payloads against all of them."""

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary
from playwright.sync_api import Page, expect
from tests.e2e.hostile import AT_REST, Watch, harmless, watching
from tests.e2e.lab import Lab, open_notebook, photograph
from tests.e2e.live import begin
from tests.e2e.segments import Story, segment, write
from tests.e2e.test_panel import at_rest, open_panel
from tests.e2e.test_view import VIEW

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.usefixtures("patient")]

CONTENT = ".plm-Rendered .jp-RenderedHTMLCommon, .plm-Rendered .jp-RenderedText"
"""Where our views let a host draw what others wrote; all else is text of React's."""
SEGMENTS = ".jp-Notebook .plm-Segment"


@pytest.fixture
def watch() -> Iterator[Watch]:
    """A server that nobody may ask."""
    with watching() as watch:
        yield watch


def everywhere(payloads: dict[str, str]) -> list[Story]:
    """Tell every payload in every place where words of others stand."""
    said, worked, odd = Story(), Story(), Story()
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
    """Trust a notebook as the server does when a person says so."""
    notary = NotebookNotary(data_dir=str(home / "data"))
    notary.sign(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("trusted", [False, True])
def test_a_saved_notebook(page: Page, lab: Lab, watch: Watch, *, trusted: bool) -> None:
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
room.script(
    answer.calls('python', code={code!r}).calls('todowrite', todos={todos!r}),
    says('Well.').calls(texts[0], path=texts[1]).calls('read', path=texts[2]),
    says('Over.'),
)"""


def test_the_live_cell_the_panel_and_the_view(page: Page, lab: Lab, watch: Watch) -> None:
    payloads = watch.payloads()
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
