"""A notebook's file says whether it is the notebook of a session, within limits, or it says nothing."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from palimpsest.session.open_sessions.notebook_identity import (
    NotebookFile,
    RecordedPrompt,
    SessionMarks,
    is_recognised,
    notebook_verdict,
    read_notebook,
)

MIME = "application/vnd.palimpsest.segment+json"
ASKED = SessionMarks(
    "ses_1",
    (
        RecordedPrompt("msg_1", "c1", "What is in the file?"),
        RecordedPrompt("msg_2", "c2", "Draw the islands."),
    ),
    frozenset({"c7"}),
    prompted_at_ms=1_000,
)


def file(
    changed: int = 2_000, turns: dict[str, set[str]] | None = None, **cells: str
) -> NotebookFile:
    return NotebookFile(changed, dict(cells), list(cells.values()), turns or {})


def old_format(*sources: str, turns: dict[str, set[str]] | None = None) -> NotebookFile:
    return NotebookFile(2_000, {}, list(sources), turns or {})


def saved(path: Path, *cells: dict[str, Any], **more: Any) -> NotebookFile | None:
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, **more}))
    return read_notebook(path)


def test_cells_sources_and_saved_answers_are_read(tmp_path: Path) -> None:
    data = {
        MIME: {"session": "ses_1", "turn": "msg_1", "messages": [{"id": "x"}]},
        "text/plain": "A",
    }
    first = {"id": "c1", "source": ["%%agent\n", "Draw."], "outputs": [{"data": data}]}
    second = {"source": "1 + 1", "id": "c2", "metadata": {"id": "no", "cells": [{"id": "no"}]}}

    notebook = saved(tmp_path / "a.ipynb", first, second)

    assert notebook is not None
    assert notebook.cells == {"c1": "%%agent\nDraw.", "c2": "1 + 1"}
    assert notebook.answered_turn_ids == {"ses_1": {"msg_1"}}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (file(c1="anything"), "same"),
        (file(c7="a cell that was told"), "same"),
        (file(x="%%agent\nDraw the islands."), "same"),
        (file(x="y", turns={"ses_1": {"msg_2"}}), "same"),
        (file(x="y", turns={"ses_2": {"msg_2"}}), "other"),
        (file(x="y"), "other"),
        (file(changed=1_000, x="y"), "unknown"),  # not saved since the prompt
        (file(), "unknown"),
        (old_format("1 + 1"), "unknown"),
    ],
)
def test_a_file_that_has_the_name_is_judged(found: NotebookFile, said: str) -> None:
    assert notebook_verdict(found, ASKED) == said


@pytest.mark.parametrize(
    ("found", "is_its"),
    [
        (file(c1="%%agent\nx", c2="y"), True),
        (file(c1="x", c7="y"), True),
        (file(c1="%%agent\nWhat is in the file?"), False),  # one cell of three
        (file(c7="x", c8="y"), False),  # a template has these cells, too
        (file(x="y", turns={"ses_1": {"msg_1"}}), False),
        (file(x="y", turns={"ses_1": {"msg_1", "msg_2"}}), True),
        (old_format("What is in the file?", "%agent Draw the islands."), True),
        (old_format("%agent Draw the islands."), False),
        (file(x="y"), False),
    ],
)
def test_a_file_of_another_name_must_show_more(found: NotebookFile, is_its: bool) -> None:  # noqa: FBT001
    assert is_recognised(found, ASKED) == is_its


def test_a_session_with_one_prompt_is_recognised_by_two_signs() -> None:
    marks = SessionMarks("ses_1", ASKED.prompts[:1], frozenset(), prompted_at_ms=1_000)

    assert is_recognised(file(c1="%%agent\nWhat is in the file?"), marks)
    assert is_recognised(file(c1="x", turns={"ses_1": {"msg_1"}}), marks)
    assert not is_recognised(file(c1="x"), marks)
    assert not is_recognised(file(x="What is in the file?"), marks)


def test_a_session_that_was_asked_in_the_panel_is_recognised_by_its_cells() -> None:
    marks = SessionMarks("ses_1", (), frozenset({"c1", "c2", "c3"}), prompted_at_ms=1_000)

    assert is_recognised(file(c1="x", c3="y"), marks)
    assert not is_recognised(file(c1="x"), marks)
    assert notebook_verdict(file(x="y"), marks) == "other"


def test_a_session_without_marks_is_known_by_its_name_alone() -> None:
    marks = SessionMarks("ses_1", prompted_at_ms=1_000)

    assert notebook_verdict(file(x="y"), marks) == "unknown"
    assert not is_recognised(file(x="y"), marks)


@pytest.mark.soak  # with each commit tests/frontends/test_moved_notebooks.py has a file that is none; this adds hostile and large ones
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"cells": 3}',
        b'{"metadata": {}}',
        b"\xff\xfe",
        b"[" * 1_000_000,
        b'{"cells":' * 200_000,
        b'{"cells": [' + b"{}," * 6_000 + b"{}]}",
        b'{"cells": [{"outputs": [' + b"1," * 1_100_000 + b"1]}]}",
    ],
)
def test_a_file_that_is_no_notebook_or_too_large_says_nothing(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "a.ipynb"
    path.write_bytes(content)

    assert read_notebook(path) is None


@pytest.mark.parametrize("what", ["pipe", "folder", "nothing", "huge"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.ipynb"
    match what:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "huge":
            with path.open("wb") as file:
                file.truncate(20 << 30)
        case _:
            pass

    assert read_notebook(path) is None
