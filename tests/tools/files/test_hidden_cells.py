"""Cells that the user keeps from the agent are shown by no tool that reads a notebook's file."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.tools import ToolHarness

from palimpsest.transcript.context_values.cell_runs import CellRun, NotebookRuns
from palimpsest.transcript.context_values.hidden_cells import (
    BrokenNotebook,
    HiddenRuns,
    without_hidden_cells,
)
from palimpsest.transcript.errors import UserError

TAG: dict[str, Any] = {"tags": ["agent-hidden"]}
PNG = "iVBORw0KGgo-HUSH-PICTURE"


def cell(source: Any, kind: str = "code", **more: Any) -> dict[str, Any]:
    made = {"cell_type": kind, "id": "a1", "metadata": {}, "source": source}
    outputs = {"outputs": [], "execution_count": 1} if kind == "code" else {}
    return {**made, **outputs, **more}


def hush(**more: Any) -> dict[str, Any]:
    """Return a hidden cell of which each text begins with HUSH."""
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["HUSH-printed\n"]},
        {"output_type": "display_data", "data": {"image/png": PNG}, "metadata": {}},
        {"output_type": "error", "ename": "HUSH-Error", "evalue": "", "traceback": ["HUSH-line"]},
    ]
    return {**cell(["HUSH-one\n", "HUSH-two"], metadata=TAG, outputs=outputs), **more}


def notebook(*cells: dict[str, Any], **more: Any) -> str:
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, **more}, indent=1)


OPEN = cell("open_one = 1")
KINDS: dict[str, tuple[str, str]] = {
    "a cell of code": ("n.ipynb", notebook(OPEN, hush())),
    "Markdown with an attachment": (
        "n.ipynb",
        notebook(OPEN, hush(cell_type="markdown", attachments={"x.png": {"image/png": PNG}})),
    ),
    "a raw cell": ("n.ipynb", notebook(OPEN, hush(cell_type="raw"))),
    "a name in capitals": ("N.IPYNB", notebook(OPEN, hush())),
    "a copy with another name": ("n.json", notebook(OPEN, hush())),
    "a copy without a suffix": ("copy", "\ufeff" + notebook(OPEN, hush())),
    "a backup": ("n.ipynb.bak", notebook(OPEN, hush())),
    "a checkpoint": (".ipynb_checkpoints/n-checkpoint.ipynb", notebook(OPEN, hush())),
    "a tag in capitals": ("n.ipynb", notebook(OPEN, hush(metadata={"tags": ["Agent-Hidden"]}))),
    "a tag with blanks": ("n.ipynb", notebook(OPEN, hush(metadata={"tags": [" agent-hidden "]}))),
    "tags as one text": ("n.ipynb", notebook(OPEN, hush(metadata={"tags": "x, agent-hidden"}))),
    "tags of JupyterLab": ("n.ipynb", notebook(OPEN, hush(metadata={"jupyter": TAG}))),
    "tags beside the metadata": ("n.ipynb", notebook(OPEN, {**hush(), "metadata": {}, **TAG})),
    "an escaped tag": (
        "n.ipynb",
        notebook(OPEN, hush()).replace("agent-hidden", "\\u0061gent\\u002dhidden"),
    ),
    "an escaped key": ("n.ipynb", notebook(OPEN, hush()).replace('"tags"', '"\\u0074ags"')),
    "one line": ("n.ipynb", json.dumps(json.loads(notebook(OPEN, hush())))),
    "format 3": (
        "n.ipynb",
        json.dumps(
            {
                "nbformat": 3,
                "worksheets": [
                    {
                        "cells": [
                            {"cell_type": "code", "input": "open_one = 1", "metadata": {}},
                            {**hush(), "input": "HUSH-input", "prompt_number": 1},
                        ]
                    }
                ],
            },
            indent=1,
        ),
    ),
    "cells within cells": (
        "n.ipynb",
        notebook(cell("open_one = 1", metadata={}, cells=[hush(), hush()]), hush()),
    ),
    "a list of cells": ("cells.json", json.dumps([OPEN, hush()], indent=1)),
    "the state of a widget": (
        "n.json",
        notebook(OPEN, hush(), metadata={"widgets": {"state": {"a": "HUSH-state"}}}),
    ),
    "braces in texts": ("n.ipynb", notebook(cell('open_one = 1 # "}]{[\\"'), hush(id='"}]'))),
}
UNTOLD = ("HUSH", "Hush", "hush")


async def everything(harness: ToolHarness, name: str) -> str:
    """Return what all tools that read files tell of one."""
    read = await harness.call("read", path=name)
    told = [read.output, str(read.metadata), str(read.attachments)]
    for pattern in ("HUSH", "(?i)hush", ".*", "^.*H.SH.*$"):
        found = await harness.call("grep", pattern=pattern, path=name)
        told += [found.output.replace(pattern, ""), str(found.metadata)]
    return "\n".join(told)


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_of_a_hidden_cell_is_told(harness: ToolHarness, kind: str) -> None:
    name, text = KINDS[kind]
    harness.write(name, text)

    told = await everything(harness, name)

    assert not [phrase for phrase in UNTOLD if phrase in told]
    assert "open_one = 1" in told


@pytest.mark.parametrize("kind", KINDS)
async def test_a_search_of_the_project_counts_no_hidden_line(
    harness: ToolHarness, kind: str
) -> None:
    name, text = KINDS[kind]
    harness.write(name, text)

    found = await harness.call("grep", pattern="HUSH")

    assert found.metadata == {"count": 0, "files": 0}
    assert found.output == "No line matches 'HUSH' in the project."


async def test_lines_after_a_hidden_cell_keep_their_numbers(harness: ToolHarness) -> None:
    text = notebook(hush(), OPEN)
    harness.write("n.ipynb", text)

    found = await harness.call("grep", pattern="open_one")

    number = 1 + next(at for at, line in enumerate(text.split("\n")) if "open_one" in line)
    assert f"  {number}: " in found.output


async def test_read_says_how_many_cells_are_kept(harness: ToolHarness) -> None:
    harness.write("n.ipynb", notebook(hush(), OPEN, hush()))

    read = await harness.call("read", path="n.ipynb")

    assert read.output == (
        "1: --- cell 2 (code, id a1)\n2: open_one = 1\n3: (2 cells are kept from you by the user.)"
    )


@pytest.mark.parametrize("cut", [1, 40, 400])
async def test_a_broken_notebook_with_a_hidden_cell_is_not_shown(
    harness: ToolHarness, cut: int
) -> None:
    text = notebook(OPEN, hush(), OPEN)
    for name, data in (
        ("n.ipynb", text[:-cut]),
        ("n.json", text[:-cut]),
        ("m.ipynb", text + "]"),
        ("w.ipynb", text.encode("utf-32")),
    ):
        harness.write(name, data)

        with pytest.raises(UserError, match="broken notebook"):
            await harness.call("read", path=name)
        found = await harness.call("grep", pattern="HUSH", path=name)
        assert "HUSH-" not in found.output
        assert found.metadata["count"] == 0


async def test_what_is_no_notebook_is_shown_as_it_is(harness: ToolHarness) -> None:
    harness.write("tags.md", 'Give the cell the tag `agent-hidden`: {"cells": [{"tags": ...}]}.\n')
    harness.write("data.json", '{"tags": ["agent-hidden"], "rows": [1]}\n')
    harness.write("broken.ipynb", '{"cells": [')

    for name in ("tags.md", "data.json"):
        assert "agent-hidden" in (await harness.call("read", path=name)).output
    assert (await harness.call("read", path="broken.ipynb")).output == '1: {"cells": ['


@pytest.mark.parametrize("name", ["other.ipynb", "other.json"])
async def test_a_notebook_with_hidden_cells_is_not_changed(harness: ToolHarness, name: str) -> None:
    harness.extra["open_notebooks"] = ()
    text = notebook(OPEN, hush())
    path = harness.write(name, text)

    with pytest.raises(UserError, match="keeps from you, so it is not changed") as replaced:
        await harness.call("write", path=name, content="{}")
    with pytest.raises(UserError, match="keeps from you") as edited:
        await harness.call("edit", path=name, old="HUSH-on", new="x")

    assert path.stat().st_size == len(text)
    assert not harness.user.asked, "no difference is shown"
    assert "HUSH" not in f"{replaced.value} {edited.value}"


class Recorded:
    """What a kernel recorded (tools.tool.NotebookReader)."""

    kernel = "k"

    def __init__(self, *runs: CellRun) -> None:
        self._runs = NotebookRuns(runs)

    def recorded_runs(self) -> NotebookRuns:
        return self._runs

    async def page(self, wanted: object, seconds: float) -> None:
        del wanted, seconds


@pytest.mark.parametrize(
    ("saved", "cell_id"), [({"id": "b2"}, "b2"), ({}, "b2"), ({}, None), ({"id": "c3"}, None)]
)
async def test_a_cell_that_ran_as_private_is_hidden_in_the_file_too(
    harness: ToolHarness,
    saved: dict[str, str],
    cell_id: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    private = {"cell_type": "code", "metadata": {}, "source": "HUSH = 1", "outputs": [], **saved}
    harness.write("n.ipynb", notebook(OPEN, private))
    run = CellRun(1, 1, source="HUSH = 1", cell_id=cell_id, hidden="private")
    context = harness.context()
    object.__setattr__(context, "notebook", Recorded(run))
    monkeypatch.setattr(harness, "context", lambda: context)

    assert "HUSH" not in await everything(harness, "n.ipynb")


LEAF = st.none() | st.integers() | st.text(max_size=8) | st.sampled_from(['"', "}", "\\", "cells"])
VALUE = st.recursive(
    LEAF,
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=6), one, max_size=3),
)


@given(
    st.lists(st.tuples(st.booleans(), VALUE, VALUE), max_size=5),
    st.sampled_from([None, 1]),
    st.sampled_from(["utf-8", "ascii"]),
)
def test_hidden_cells_go_and_all_others_stay(
    cells: list[tuple[bool, Any, Any]], indent: int | None, letters: str
) -> None:
    """A notebook without its hidden cells holds none of their text, and all of the others', on the same lines."""
    made = [
        cell(
            [f"HUSH-{at}" if hidden else f"open-{at}"],
            metadata=TAG if hidden else {"x": held},
            y=more,
        )
        for at, (hidden, held, more) in enumerate(cells)
    ]
    text = json.dumps(
        {"cells": made, "nbformat": 4}, indent=indent, ensure_ascii=letters == "ascii"
    )

    visible = without_hidden_cells(text, "n.ipynb")

    assert "HUSH-" not in visible.text
    assert visible.hidden_count == sum(hidden for hidden, _, _ in cells)
    assert visible.text.count("\n") == text.count("\n")
    for at, (hidden, _, _) in enumerate(cells):
        assert (f"open-{at}" in visible.text) is not hidden


def test_ids_are_compared_as_a_whole() -> None:
    text = notebook(cell("mine", id="a12"), cell("theirs", id="a1"))

    visible = without_hidden_cells(text, "n.ipynb", HiddenRuns(ids=frozenset({"a1"})))

    assert "mine" in visible.text
    assert "theirs" not in visible.text
    with pytest.raises(BrokenNotebook):
        without_hidden_cells(text[:-3], "n.ipynb", HiddenRuns(ids=frozenset({"a1"})))
