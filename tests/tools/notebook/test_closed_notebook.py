"""Without a page the file of a closed notebook is changed, and nothing in it but what was asked for."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from tests.harness.open_notebook import PATH, CellCalls

from palimpsest.tools.file_access import file_contents
from palimpsest.transcript.errors import UserError

NOTEBOOK: dict[str, Any] = {
    "cells": [
        {
            "cell_type": "markdown",
            "id": "title",
            "metadata": {"slideshow": {"slide_type": "slide"}},
            "attachments": {"a.png": {"image/png": "AAAA"}},
            "source": ["# Größe\n", "![](attachment:a.png)"],
        },
        {
            "cell_type": "code",
            "execution_count": 7,
            "id": "load",
            "metadata": {"tags": ["keep"]},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["1\n"]}],
            "source": ["x = 1\n", "print(x)"],
        },
        {
            "cell_type": "code",
            "execution_count": 8,
            "id": "hidden",
            "metadata": {"tags": ["agent-hidden"]},
            "outputs": [],
            "source": ["KEY = 1"],
        },
    ],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@dataclass
class NotebookFile:
    """A notebook's file, and its text."""

    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    def write(self, text: str) -> None:
        self.path.write_text(text, "utf-8")


@pytest.fixture
def file(calls: CellCalls) -> NotebookFile:
    """A notebook's file, as Jupyter writes it, which a page showed and closed."""
    path = calls.tools.root / PATH
    path.write_text(json.dumps(NOTEBOOK, indent=1, ensure_ascii=False) + "\n", "utf-8")
    calls.tools.extra["notebook_file"] = path
    calls.notebook.is_open = False
    calls.notebook.is_closed = True
    return NotebookFile(path)


def inserted(source: str, **more: str) -> dict[str, str]:
    return {"action": "insert", "source": source, **more}


async def test_a_change_leaves_the_rest_of_the_file_as_it_was(
    calls: CellCalls, file: NotebookFile
) -> None:
    before = file.text.splitlines()
    await calls.read("7")
    outcome = await calls.change({"action": "edit", "cell": 7, "source": "x = 2\nprint(x)"})

    after = file.text
    changed = [line.strip() for line in after.splitlines() if line not in before]
    assert [line for line in changed if line != "],"] == [
        '"palimpsest": {',
        '"session": "ses_1",',
        '"message": "msg_1",',
        '"call": "call_1",',
        '"request": 1',
        '"x = 2\\n",',
    ]
    assert after.endswith("}\n")
    cell = json.loads(after)["cells"][1]
    assert cell["outputs"] == NOTEBOOK["cells"][1]["outputs"]
    assert cell["metadata"]["tags"] == ["keep"]
    assert cell["metadata"]["palimpsest"]["call"] == "call_1"
    assert outcome.output == "Changed a.ipynb:\n- edited cell [7] id=load"
    nbformat.validate(nbformat.read(file.path, 4))


async def test_cells_are_inserted_moved_and_deleted_in_the_file(
    calls: CellCalls, file: NotebookFile
) -> None:
    await calls.read()
    await calls.read("7")
    await calls.change(
        inserted("y = 1", after="top"),
        inserted("text", kind="markdown"),
        {"action": "move", "cell": 7, "after": "top"},
    )
    await calls.read("title")
    await calls.change({"action": "delete", "cell": "title"})

    notebook = nbformat.read(file.path, 4)
    nbformat.validate(notebook)
    assert [(cell.cell_type, cell.source) for cell in notebook.cells] == [
        ("code", "x = 1\nprint(x)"),
        ("code", "y = 1"),
        ("markdown", "text"),
        ("code", "KEY = 1"),
    ]
    assert calls.made[0].removed is not None
    assert calls.made[0].removed["attachments"] == NOTEBOOK["cells"][0]["attachments"]


async def test_a_notebook_that_may_be_open_is_refused_unless_the_setting_allows_it(
    calls: CellCalls, file: NotebookFile
) -> None:
    calls.notebook.is_closed = False
    before = file.text
    refusal = await calls.refusal(inserted("x"))

    assert "whether another editor has it open is not known" in refusal
    assert 'cells_without_page = "write"' in refusal
    assert file.text == before
    calls.tools.extra["cells_without_page"] = "write"
    await calls.change(inserted("x"))
    assert len(json.loads(file.text)["cells"]) == 4


async def test_a_hidden_cell_of_the_file_stays_hidden(calls: CellCalls, file: NotebookFile) -> None:
    refusal = await calls.refusal({"action": "edit", "cell": "8", "source": "x"})

    assert refusal.startswith("There is no cell '8' that you may read.")
    assert "KEY" not in refusal
    assert "KEY = 1" in file.text


async def test_a_cell_is_not_run_without_a_page(calls: CellCalls, file: NotebookFile) -> None:
    await calls.read("7")
    outcome = await calls.change({"action": "run", "cell": 7})

    assert outcome.output.startswith("cell [7] was not run: No open page shows a.ipynb")
    assert file.text.count("palimpsest") == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("x = 1", "x = 9"),
        lambda text: text + " ",
    ],
    ids=["in a cell", "only in its form"],
)
async def test_a_file_that_changes_before_it_is_written_is_left_alone(
    calls: CellCalls, file: NotebookFile, change: Any
) -> None:
    ask = calls.tools.user

    class Saving(type(ask)):  # type: ignore[misc]
        async def __call__(self, permission: str, *given: object, **more: object) -> Any:
            if permission == "cells":
                file.write(change(file.text))
            return await super().__call__(permission, *given, **more)

    calls.tools.user = Saving()
    with pytest.raises(UserError, match=r"a\.ipynb was changed on the disk meanwhile, so nothing"):
        await calls.change(inserted("new"))
    assert "new" not in file.text


@pytest.mark.parametrize(
    ("form", "kept"),
    [
        ({"indent": 2}, '\n  "nbformat": 4'),
        ({"indent": "\t"}, '\n\t"nbformat": 4'),
        ({}, '"nbformat": 4, "nbformat_minor": 5}'),
        ({"indent": 1, "ensure_ascii": True}, "Gr\\u00f6\\u00dfe"),
    ],
    ids=["two blanks", "tabs", "one line", "escapes"],
)
async def test_the_form_of_the_file_is_kept(
    calls: CellCalls, file: NotebookFile, form: dict[str, Any], kept: str
) -> None:
    text = json.dumps(NOTEBOOK, **{"ensure_ascii": False, **form})
    file.write(text)
    await calls.change(inserted("# ä"))

    assert kept in file.text
    assert not file.text.endswith("\n")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{not json", "a.ipynb cannot be read as a notebook"),
        ('{"cells": {}, "nbformat": 4}', "a.ipynb cannot be read as a notebook"),
        ('{"cells": [1], "nbformat": 4}', "a.ipynb cannot be read as a notebook"),
        # Such as JSON in another encoding, which would be written in this one.
        ("\x00{\x00}", "a.ipynb cannot be read as a notebook"),
        ('{"cells": [{"cell_type": "raw"}], "nbformat": 4}', "a.ipynb is of an older notebook"),
        ('{"cells": [], "nbformat": 3}', "a.ipynb is of an older notebook format"),
    ],
)
async def test_a_file_that_is_no_notebook_is_left_alone(
    calls: CellCalls, file: NotebookFile, text: str, sentence: str
) -> None:
    file.write(text)

    assert (await calls.refusal(inserted("x"))).startswith(sentence)
    assert file.text == text


async def test_a_locked_cell_of_the_file_is_left_alone(
    calls: CellCalls, file: NotebookFile
) -> None:
    notebook = json.loads(file.text)
    notebook["cells"][1]["metadata"]["editable"] = False
    file.write(json.dumps(notebook))
    await calls.read("7")

    with pytest.raises(UserError, match=r"cell \[7\] is locked by its metadata"):
        await calls.change({"action": "edit", "cell": 7, "source": "x"})


async def test_a_full_disk_leaves_the_file_whole(
    calls: CellCalls, file: NotebookFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.text

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file_contents.os, "replace", full)
    with pytest.raises(UserError, match=r"The disk is full: a\.ipynb cannot be written"):
        await calls.change(inserted("x"))
    assert file.text == before
