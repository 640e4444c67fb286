"""A session is exported to another format, complete and redacted, without overwriting a file."""

import base64
import json
import warnings
from pathlib import Path
from typing import Any

import nbformat
import pytest
from tests.harness.sample_session import BEGUN, SampleSession, data_url, everything, picture
from tests.sample_size import thinned
from tests.session.sharing.test_share_page import ENVIRONMENT, KEY, PLACES, TRACES, VALUE
from tests.store.record_builders import SESSION

from palimpsest.session.interfaces.sharing_operations import FORMS, Exported
from palimpsest.session.sharing.exports import export_session, form_of
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.interface import Store
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.errors import NotFound, StorageFailed, UserError


def export(
    told: SampleSession, folder: Path, form: Any, path: str | None = None, **more: Any
) -> Exported:
    store = MemoryStore()
    told.write(store)
    return exported(store, folder, form, path, **more)


def exported(
    store: Store, folder: Path, form: Any, path: str | None = None, **more: Any
) -> Exported:
    return export_session(store, SESSION, form, path, cwd=folder, environment=ENVIRONMENT, **more)


def book(told: SampleSession, folder: Path, **more: Any) -> Any:
    made = export(told, folder, "ipynb", **more)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        notebook = nbformat.read(made.path, as_version=4)
        nbformat.validate(notebook)
    return notebook


def test_markdown_tells_the_whole_session(tmp_path: Path) -> None:
    made = export(everything(), tmp_path, "md")
    text = made.path.read_text(encoding="utf-8")

    assert made.path == tmp_path / "how-penguins-differ.md"
    assert made.bytes == made.path.stat().st_size
    for words in (
        "# How penguins differ\n",
        "- Cost: at least <span>&#36;</span>0.037",
        "Look at `penguins.csv`",
        "| Adelie | 152 | 189.9 |",
        "penguins = pd.read_csv('penguins.csv')",
        "+plt.scatter(x, y, s=4)",
        "Cleared for the model",
        "A summary of earlier messages",
        "*▤ sketch.png is not in this file.*",
        "*▤ figure 1.png is not in this file.*",
    ):
        assert words in text, words


def test_a_notebook_holds_calls_as_cells_with_their_outputs(tmp_path: Path) -> None:
    made = book(everything(), tmp_path)

    assert made.cells[0].source.startswith("# How penguins differ")
    (code,) = [cell for cell in made.cells if cell.cell_type == "code"]
    assert code.source.startswith("import pandas as pd\n")
    assert code.execution_count == 1
    assert [output.output_type for output in code.outputs] == ["execute_result", "display_data"]
    assert code.outputs[0].data["text/plain"] == "<Axes: >"
    assert code.outputs[1].data["image/png"].startswith("iVBOR")
    words = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert "Look at `penguins.csv`" in words
    assert "| Gentoo | 124 | 217.2 |" in words
    assert "![sketch.png](data:image/png;base64," in words
    assert made.metadata.palimpsest.session == SESSION


def test_outputs_of_a_cell_are_of_their_kinds(tmp_path: Path) -> None:
    session = SampleSession().prompt("Go").answer()
    session.call(
        "python",
        {"code": "one()"},
        "[stdout]\nhello\n[stderr]\nwarned\n[result]\n42\n[images]\nnone",
    )
    session.call("python", {"code": "two()"}, "without labels")
    session.call(
        "python",
        {"code": "three()"},
        "[error]\nTraceback (most recent call last):\n  File x\n\x1b[31mValueError\x1b[0m: no",
        attachments=[
            {"mime": "image/svg+xml", "url": data_url("image/svg+xml", b"<svg></svg>")},
            {"mime": "application/zip", "filename": "a.zip", "url": "blob:" + "0" * 64},
        ],
    )
    failed = {
        "status": "error",
        "input": {"code": "four()"},
        "error": "Stopped.",
        "time": {"start": 1},
    }
    failed["metadata"] = {"output": "half"}
    session.part(type="tool", call_id="c", tool="python", state=failed)

    cells = [cell for cell in book(session, tmp_path).cells if cell.cell_type == "code"]

    assert [[dict(output) for output in cell.outputs] for cell in cells] == [
        [
            {"output_type": "stream", "name": "stdout", "text": "hello\n"},
            {"output_type": "stream", "name": "stderr", "text": "warned\n"},
            {
                "output_type": "execute_result",
                "data": {"text/plain": "42"},
                "metadata": {},
                "execution_count": 1,
            },
        ],
        [{"output_type": "stream", "name": "stdout", "text": "without labels\n"}],
        [
            {
                "output_type": "error",
                "ename": "ValueError",
                "evalue": "no",
                "traceback": ["Traceback (most recent call last):", "  File x", "ValueError: no"],
            },
            {
                "output_type": "display_data",
                "data": {"text/plain": "<attachment>", "image/svg+xml": "<svg></svg>"},
                "metadata": {},
            },
            {
                "output_type": "display_data",
                "data": {"text/plain": "<a.zip: its content is gone>"},
                "metadata": {},
            },
        ],
        [
            {"output_type": "stream", "name": "stdout", "text": "half\n"},
            {
                "output_type": "error",
                "ename": "Error",
                "evalue": "Stopped.",
                "traceback": ["Stopped."],
            },
        ],
    ]


def test_prompts_can_be_cells_that_ask_again(tmp_path: Path) -> None:
    cells = book(everything(), tmp_path, prompts="cells").cells

    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    assert sources[0] == "%load_ext palimpsest"
    assert sources[1].startswith("%%agent\nLook at `penguins.csv`")
    assert sources[-1].startswith("%%agent\nAnd now draw it")


def test_json_comes_back_as_the_same_session(tmp_path: Path) -> None:
    store = MemoryStore()
    everything().write(store)
    made = exported(store, tmp_path, "json")
    elsewhere = MemoryStore()

    report = import_sessions(elsewhere, made.path, lambda: BEGUN)

    assert report.problems == ()
    assert elsewhere.load(SESSION).messages() == store.load(SESSION).messages()
    assert elsewhere.load(SESSION).decisions == store.load(SESSION).decisions
    assert elsewhere.load(SESSION).todos == store.load(SESSION).todos


def test_a_folder_in_opencode_s_layout_comes_back_too(tmp_path: Path) -> None:
    made = export(everything(), tmp_path, "opencode", "out")
    elsewhere = MemoryStore()

    report = import_sessions(elsewhere, made.path, lambda: BEGUN)

    assert report.problems == ()
    assert len(elsewhere.load(SESSION).messages()) == 7
    assert len(elsewhere.load(SESSION).todos) == 4


@pytest.mark.parametrize("form", ["md", "ipynb", "html"])
@pytest.mark.parametrize("place", thinned(PLACES, 2))
def test_nothing_secret_is_exported_for_reading(tmp_path: Path, place: str, form: str) -> None:
    session = SampleSession()
    PLACES[place](session)

    text = export(session, tmp_path, form).path.read_text(encoding="utf-8")

    assert not any(trace in text for trace in TRACES)


@pytest.mark.parametrize("form", ["json", "opencode", "atif"])
@pytest.mark.parametrize("place", thinned(PLACES, 2, 1))
def test_no_key_is_exported_for_programs(tmp_path: Path, place: str, form: str) -> None:
    session = SampleSession()
    PLACES[place](session)
    session.prompt("A trajectory has at least one step.")

    path = export(session, tmp_path, form).path
    files = [path] if path.is_file() else path.rglob("*.json")

    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    urls = [piece.partition('"')[0] for piece in text.split(";base64,")[1:]]
    whole = [text, *(base64.b64decode(url).decode("latin-1") for url in urls)]
    assert not any(KEY in text or VALUE in text for text in whole)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_written_over(tmp_path: Path, form: Any) -> None:
    first = export(everything(), tmp_path, form).path
    second = export(everything(), tmp_path, form).path

    assert second != first
    assert second.name.startswith("how-penguins-differ")
    with pytest.raises(UserError, match="there already"):
        export(everything(), tmp_path, form, str(first))


def test_the_ending_of_a_name_says_the_form(tmp_path: Path) -> None:
    assert export(everything(), tmp_path, None, "a.ipynb").form == "ipynb"
    assert export(everything(), tmp_path, None, "a").form == "md"
    assert [form_of(word) for word in ("Markdown", ".HTML", "notebook", "pdf")] == [
        "md",
        "html",
        "ipynb",
        None,
    ]


def test_places_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "project" / ".palimpsest").mkdir(parents=True)
    project = tmp_path / "project"

    for path, words in (
        ("nowhere/a.md", "no folder"),
        (".palimpsest/a.md", "record of the sessions"),
        ("../a.md", "outside the project"),
        ("/etc/a.md", "outside the project"),
    ):
        with pytest.raises(UserError, match=words):
            export(everything(), project, "md", path, outer_folder=project)
    assert export(everything(), project, "md", "../a.md").path == tmp_path / "a.md"
    assert export(everything(), project, "md", str(tmp_path)).path.parent == tmp_path
    with pytest.raises(NotFound):
        exported(MemoryStore(), project, "md")


def test_a_file_that_cannot_be_finished_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> Any:
        yield "some"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("palimpsest.session.sharing.exports._markdown_pieces", full)

    with pytest.raises(StorageFailed, match="The disk is full"):
        export(everything(), tmp_path, "md")
    assert list(tmp_path.iterdir()) == []


def test_a_title_of_any_signs_makes_a_name(tmp_path: Path) -> None:
    for title, name in (
        ("../../etc/passwd", "etc-passwd.md"),
        ("企鵝 & Größe", "企鵝-größe.md"),
        ("///", f"{SESSION}.md"),
        ("x" * 200, "x" * 60 + ".md"),
    ):
        assert export(SampleSession(title=title), tmp_path, "md").path == tmp_path / name


def test_a_picture_that_is_too_much_for_a_page_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.session.sharing.share_page.MAX_ATTACHMENT_BYTES", 10)
    told = (
        SampleSession()
        .answer()
        .call(
            "python",
            {"code": "x"},
            "",
            attachments=[{"mime": "image/png", "url": data_url("image/png", picture())}],
        )
    )

    (cell,) = [cell for cell in book(told, tmp_path).cells if cell.cell_type == "code"]

    assert "too many for this page" in json.dumps(cell.outputs)


@pytest.mark.parametrize("path", ["a\0b.md", "a" * 5_000 + ".md", "a/" * 3_000 + "b.md"])
def test_a_path_that_no_disk_can_hold_gets_a_sentence(tmp_path: Path, path: str) -> None:
    with pytest.raises(UserError) as refused:
        export(everything(), tmp_path, "md", path)

    assert len(str(refused.value)) < 500


def test_a_picture_that_a_tool_read_stands_in_the_notebook(tmp_path: Path) -> None:
    url = data_url("image/png", picture())
    session = SampleSession().prompt("Look.").answer()
    red = {"mime": "image/png", "url": url, "filename": "red.png"}
    session.call("read", {"path": "red.png"}, "red.png is attached.", attachments=[red])

    made = book(session, tmp_path)

    assert f"![red.png]({url})" in [cell.source for cell in made.cells]
