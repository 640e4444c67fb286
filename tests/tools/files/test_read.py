"""The read tool shows the content of a file, and how to see the rest."""

import base64
import json
import os
from pathlib import Path

import pytest
from tests.harness.tools import ToolHarness
from tests.model.valid_bodies import PNG

from palimpsest.tools.files.read_tool import notebook_text
from palimpsest.transcript.errors import UserError


async def test_numbers_the_lines(harness: ToolHarness) -> None:
    harness.write("a.txt", "one\ntwo\n")

    outcome = await harness.call("read", path="a.txt")

    assert outcome.output == "1: one\n2: two"
    assert outcome.title == "a.txt"


async def test_starts_and_stops_where_told_and_says_how_to_go_on(harness: ToolHarness) -> None:
    harness.write("a.txt", "".join(f"line {n}\n" for n in range(1, 101)))

    outcome = await harness.call("read", path="a.txt", offset=10, limit=2)

    assert outcome.output == (
        "10: line 10\n11: line 11\n(Lines 12 to 100 follow; read on with offset=12.)"
    )


async def test_shows_two_thousand_lines_at_once(harness: ToolHarness) -> None:
    harness.write("a.txt", "x\n" * 2_001)

    lines = (await harness.call("read", path="a.txt")).output.split("\n")

    assert lines[-2:] == ["2000: x", "(Lines 2001 to 2001 follow; read on with offset=2001.)"]


async def test_shows_fifty_kilobytes_at_once(harness: ToolHarness) -> None:
    harness.write("a.txt", ("é" * 100 + "\n") * 1_000)

    outcome = await harness.call("read", path="a.txt")

    assert 49_000 < len(outcome.output.encode()) < 50_100
    assert outcome.metadata["truncated"]


async def test_cuts_long_lines(harness: ToolHarness) -> None:
    harness.write("a.txt", "x" * 5_000)

    outcome = await harness.call("read", path="a.txt")

    assert outcome.output.endswith("x... (3000 more characters in this line)")


async def test_an_offset_past_the_end_is_refused(harness: ToolHarness) -> None:
    harness.write("a.txt", "one\n")

    with pytest.raises(UserError, match="ends at line 1"):
        await harness.call("read", path="a.txt", offset=5)


async def test_an_empty_file_is_called_empty(harness: ToolHarness) -> None:
    harness.write("a.txt", "")

    assert (await harness.call("read", path="a.txt")).output == "a.txt is empty."


async def test_an_image_is_attached(harness: ToolHarness) -> None:
    data = base64.b64decode(PNG)
    harness.write("plot.png", data)

    outcome = await harness.call("read", path="plot.png")

    [image] = outcome.attachments
    assert (image.mime, image.filename) == ("image/png", "plot.png")
    assert base64.b64decode(image.url.removeprefix("data:image/png;base64,")) == data


async def test_a_binary_file_is_refused_with_what_to_do(harness: ToolHarness) -> None:
    harness.write("model.bin", bytes(range(256)) * 10)

    with pytest.raises(UserError, match="python tool"):
        await harness.call("read", path="model.bin")


async def test_other_encodings_are_read(harness: ToolHarness) -> None:
    harness.write("utf16.txt", "grün\n".encode("utf-16"))
    harness.write("latin.txt", "grün\n".encode("latin-1"))
    harness.write("bom.txt", b"\xef\xbb\xbfgr\xc3\xbcn\n")

    outputs = [
        (await harness.call("read", path=f"{n}.txt")).output for n in ("utf16", "latin", "bom")
    ]

    assert outputs == ["1: grün"] * 3


async def test_a_folder_is_listed(harness: ToolHarness) -> None:
    harness.write("d/b.txt", "")
    harness.write("d/sub/c.txt", "")

    assert (await harness.call("read", path="d")).output == "Folder d:\nsub/\nb.txt"


async def test_a_notebook_is_shown_cell_by_cell(harness: ToolHarness) -> None:
    image = {"output_type": "display_data", "data": {"image/png": "A" * 9_000, "text/plain": "<F>"}}
    cell = {"cell_type": "code", "id": "c1", "source": ["x = 1\n", "x"], "outputs": [image]}
    harness.write("n.ipynb", json.dumps({"cells": [cell], "nbformat": 4}))

    output = (await harness.call("read", path="n.ipynb")).output

    assert output.split("\n") == [
        "1: --- cell 1 (code, id c1)",
        "2: x = 1",
        "3: x",
        "4: --- output",
        "5: [image/png] <F>",
    ]


async def test_a_pipe_is_not_opened(harness: ToolHarness) -> None:
    os.mkfifo(harness.root / "pipe")

    with pytest.raises(UserError, match="neither a file nor a folder"):
        await harness.call("read", path="pipe")


async def test_keys_of_this_kernel_are_not_shown(harness: ToolHarness) -> None:
    harness.extra["environment"] = {"OPENAI_API_KEY": "my-very-own-key-123"}
    harness.write("notes.txt", "key = my-very-own-key-123\n")

    outcome = await harness.call("read", path="notes.txt")

    assert outcome.output == "1: key = [redacted]"


async def test_relative_paths_start_in_the_working_folder(harness: ToolHarness) -> None:
    harness.write("sub/a.txt", "here\n")
    harness.cwd = harness.root / "sub"

    outcome = await harness.call("read", path="a.txt")

    assert (outcome.title, outcome.output) == ("sub/a.txt", "1: here")


async def test_an_unreadable_file_is_a_sentence(harness: ToolHarness) -> None:
    path = harness.write("a.txt", "x")
    path.unlink()
    path.symlink_to(Path("a.txt"))

    with pytest.raises(UserError, match=r"a\.txt"):
        await harness.call("read", path="a.txt")


def test_a_notebook_nested_without_end_is_shown_as_text() -> None:
    text = "[" * 100_000

    assert notebook_text(text) == text
