"""The write and edit tools make the approved change, and nothing else."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.tools import ToolHarness
from tests.sample_size import sample_size

from palimpsest.tools.file_access.file_contents import TextFile
from palimpsest.tools.files.edit_matching import find_edit
from palimpsest.transcript.errors import NotFound, PermissionDenied, UserError
from palimpsest.transcript.values import Reply


async def test_write_creates_folders_and_says_how_many_lines(harness: ToolHarness) -> None:
    outcome = await harness.call("write", path="new/folder/a.py", content="x = 1\ny = 2\n")

    assert (harness.root / "new/folder/a.py").read_text() == "x = 1\ny = 2\n"
    assert outcome.output == "Created new/folder/a.py (2 lines)."
    outcome = await harness.call("write", path="b.py", content="x = 1\n")
    assert outcome.output == "Created b.py (1 line)."


async def test_the_question_shows_the_difference(harness: ToolHarness) -> None:
    harness.write("a.py", "x = 1\ny = 2\n")

    await harness.call("write", path="a.py", content="x = 1\ny = 3\n")

    [asked] = harness.user.asked
    assert asked.permission == "write"
    assert asked.patterns == ("a.py",)
    assert asked.diff == "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n"


async def test_a_rejected_write_leaves_the_file_alone(harness: ToolHarness) -> None:
    path = harness.write("a.py", "old\n")
    harness.user.reply = Reply(answer="reject")

    with pytest.raises(PermissionDenied):
        await harness.call("write", path="a.py", content="new\n")

    assert path.read_text() == "old\n"
    assert list(harness.root.iterdir()) == [path]


async def test_mode_and_line_ends_survive(harness: ToolHarness) -> None:
    path = harness.write("run.sh", b"#!/bin/sh\r\necho a\r\n")
    path.chmod(0o750)

    await harness.call("write", path="run.sh", content="#!/bin/sh\necho b\n")
    await harness.call("edit", path="run.sh", old="echo b\n", new="echo c\necho d\n")

    assert path.read_bytes() == b"#!/bin/sh\r\necho c\r\necho d\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


async def test_a_file_of_mixed_line_ends_keeps_them_where_nothing_changed(
    harness: ToolHarness,
) -> None:
    path = harness.write("a.txt", b"one\r\ntwo\nthree\r\nfour\nfive\n")

    await harness.call("edit", path="a.txt", old="four", new="4")

    assert path.read_bytes() == b"one\r\ntwo\nthree\r\n4\nfive\n"


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig"])
async def test_the_encoding_survives_an_edit(harness: ToolHarness, encoding: str) -> None:
    path = harness.write("a.txt", "größe = 1\nb = 2\n".encode(encoding))

    await harness.call("edit", path="a.txt", old="größe = 1", new="größe = 5")

    assert path.read_bytes() == "größe = 5\nb = 2\n".encode(encoding)


async def test_a_link_inside_the_project_stays_a_link(harness: ToolHarness) -> None:
    target = harness.write("real.txt", "a\n")
    (harness.root / "link.txt").symlink_to(target)

    await harness.call("write", path="link.txt", content="b\n")

    assert (harness.root / "link.txt").is_symlink()
    assert target.read_text() == "b\n"


async def test_writing_through_a_link_to_outside_asks_first(
    harness: ToolHarness, tmp_path: Path
) -> None:
    (harness.root / "door").symlink_to(tmp_path)
    harness.user.reply = Reply(answer="reject")

    with pytest.raises(PermissionDenied):
        await harness.call("write", path="door/a.txt", content="x")

    assert [asked.permission for asked in harness.user.asked] == ["external_directory"]
    assert not (tmp_path / "a.txt").exists()


async def test_an_open_notebook_is_left_to_its_page(harness: ToolHarness) -> None:
    harness.write("n.ipynb", "{}")

    with pytest.raises(UserError, match="may be open"):
        await harness.call("write", path="n.ipynb", content="{}")
    with pytest.raises(UserError, match="may be open"):
        await harness.call("edit", path="n.ipynb", old="{", new="[")
    await harness.call("write", path="other.ipynb", content="{}")


async def test_a_file_that_changed_meanwhile_is_not_overwritten(harness: ToolHarness) -> None:
    path = harness.write("a.txt", "old\n")
    ask = harness.user.__class__.__call__

    class Slow(harness.user.__class__):  # type: ignore[name-defined,misc]
        async def __call__(self, *args: object, **options: object) -> None:
            await ask(self, *args, **options)  # type: ignore[arg-type]
            path.write_text("saved by the user\n")

    harness.user = Slow()

    with pytest.raises(UserError, match="changed while"):
        await harness.call("write", path="a.txt", content="new\n")
    assert path.read_text() == "saved by the user\n"


async def test_edit_replaces_one_place_and_names_the_line(harness: ToolHarness) -> None:
    path = harness.write("a.py", "a = 1\nb = 2\nc = 3\n")

    outcome = await harness.call("edit", path="a.py", old="b = 2", new="b = 20")

    assert path.read_text() == "a = 1\nb = 20\nc = 3\n"
    assert outcome.output == "Edited a.py.\nReplaced line 2."


async def test_several_edits_are_applied_in_order(harness: ToolHarness) -> None:
    path = harness.write("a.py", "a\nb\n")

    await harness.call(
        "edit", path="a.py", edits=[{"old": "a", "new": "c"}, {"old": "c\nb", "new": "d"}]
    )

    assert path.read_text() == "d\n"


async def test_several_edits_are_all_applied_or_none(harness: ToolHarness) -> None:
    path = harness.write("a.py", "a\nb\n")

    with pytest.raises(UserError, match=r"Edit 2 of 2: old does not occur"):
        await harness.call(
            "edit", path="a.py", edits=[{"old": "a", "new": "c"}, {"old": "zzz", "new": "d"}]
        )

    assert path.read_text() == "a\nb\n"
    assert harness.user.asked == []


async def test_an_ambiguous_edit_names_the_lines(harness: ToolHarness) -> None:
    harness.write("a.py", "x\ny\nx\n")

    with pytest.raises(UserError, match=r"occurs 2 times in a\.py, at lines 1, 3"):
        await harness.call("edit", path="a.py", old="x", new="z")


async def test_replace_all_replaces_all(harness: ToolHarness) -> None:
    path = harness.write("a.py", "x\ny\nx\n")

    outcome = await harness.call("edit", path="a.py", old="x", new="z", replace_all=True)

    assert path.read_text() == "z\ny\nz\n"
    assert "2 places, at lines 1, 3" in outcome.output


async def test_a_missing_match_shows_the_closest_line(harness: ToolHarness) -> None:
    harness.write("a.py", "import os\ndef compute(total):\n    return total\n")

    with pytest.raises(UserError, match=r"line 2: 'def compute\(total\):'"):
        await harness.call("edit", path="a.py", old="def compute(totals):", new="x")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"old": "", "new": "x"}, "old is empty"),
        ({"old": "a", "new": "a"}, "are the same"),
        ({"old": "a"}, r"edits\.0\.new is missing"),
        ({}, "edits is missing"),
    ],
)
async def test_a_senseless_edit_gets_one_sentence(
    harness: ToolHarness, given: dict[str, str], message: str
) -> None:
    harness.write("a.py", "a\n")

    with pytest.raises(UserError, match=message):
        await harness.call("edit", path="a.py", **given)


async def test_editing_a_missing_file_names_close_ones(harness: ToolHarness) -> None:
    harness.write("model.py", "")

    with pytest.raises(NotFound, match=r"model\.py"):
        await harness.call("edit", path="models.py", old="a", new="b")


CODE = "def f(x):\n    if x:\n        return 1\n    return 2\n"


@pytest.mark.parametrize(
    ("old", "new", "how", "expected"),
    [
        ("return 1", "return 3", "exact", CODE.replace("return 1", "return 3")),
        (
            "    if x:  \n        return 1 ",
            "    if not x:\n        return 1",
            "trailing spaces",
            CODE.replace("if x", "if not x"),
        ),
        (
            "if x:\n    return 1",
            "if x:\n    y = 0\n    return 1",
            "indentation",
            CODE.replace("        return 1", "        y = 0\n        return 1"),
        ),
        (
            r"if x:\n        return 1",
            r"if x:\n        return 5",
            "escapes",
            CODE.replace("return 1", "return 5"),
        ),
        (
            "def f(x):\n    if x :\n        return 1;\n    return 2",
            "def f(x):\n    return 2",
            "small differences between its first and last lines",
            "def f(x):\n    return 2\n",
        ),
    ],
)
def test_tolerances_find_what_was_meant(old: str, new: str, how: str, expected: str) -> None:
    match = find_edit(CODE, old, new)

    assert match.tolerance == how
    [span] = match.spans
    assert CODE[: span.start] + span.new_text + CODE[span.end_index :] == expected


def test_the_first_tolerance_that_finds_anything_decides() -> None:
    match = find_edit("a \na\n", "a \n", "b\n")

    assert (match.tolerance, len(match.spans)) == ("exact", 1)


@given(
    st.lists(st.sampled_from(["a", "b", "", "\r\n", "\n", "ü"]), max_size=40).map("".join),
    st.integers(0, 40),
    st.integers(0, 5),
)
@settings(max_examples=sample_size(40, 6_000), deadline=None)
def test_replacing_a_span_by_itself_changes_no_byte_elsewhere(
    raw: str, start: int, size: int
) -> None:
    file = TextFile(raw)
    text = file.text
    start, end = min(start, len(text)), min(start + size, len(text))

    edited = file.with_spans([(start, end, "X")])

    assert edited.text == text[:start] + "X" + text[end:]
    head, tail = text[:start].count("\n"), text[end:].count("\n")
    ends = [part for part in raw.replace("\r\n", "\1").replace("\n", "\2") if part in "\1\2"]
    kept = [
        part for part in edited.raw_text.replace("\r\n", "\1").replace("\n", "\2") if part in "\1\2"
    ]
    assert kept == ends[:head] + (ends[len(ends) - tail :] if tail else [])


async def test_an_edit_that_the_encoding_has_no_letter_for_changes_nothing(
    harness: ToolHarness,
) -> None:
    data = "日本語 x\n".encode("shift-jis")
    path = harness.write("a.txt", data)

    with pytest.raises(UserError, match="'日' has no place in its encoding"):
        await harness.call("edit", path="a.txt", old="x", new="日")

    assert path.read_bytes() == data
    assert not harness.user.asked


async def test_a_file_that_is_written_whole_may_become_utf8(harness: ToolHarness) -> None:
    path = harness.write("a.txt", "größe\n".encode("latin-1"))

    await harness.call("write", path="a.txt", content="日\n")

    assert path.read_text(encoding="utf-8") == "日\n"


async def test_half_a_character_is_not_written(harness: ToolHarness) -> None:
    with pytest.raises(UserError, match="half of a character"):
        await harness.call("write", path="a.txt", content="a\ud800b")

    assert not (harness.root / "a.txt").exists()


async def test_a_byte_order_mark_is_not_doubled(harness: ToolHarness) -> None:
    path = harness.write("a.txt", b"\xef\xbb\xbfold\n")

    await harness.call("write", path="a.txt", content="\ufeffnew\n")

    assert path.read_bytes() == b"\xef\xbb\xbfnew\n"


@pytest.mark.parametrize("call", [("write", {"content": "x"}), ("edit", {"old": "a", "new": "b"})])
async def test_a_pipe_is_not_waited_for(
    harness: ToolHarness, call: tuple[str, dict[str, str]]
) -> None:
    os.mkfifo(harness.root / "pipe")

    with pytest.raises(UserError, match="pipe is neither a file nor a folder"):
        await harness.call(call[0], path="pipe", **call[1])


@pytest.mark.parametrize("call", [("write", {"content": "x"}), ("edit", {"old": "a", "new": "b"})])
async def test_a_file_that_fits_no_memory_is_not_loaded(
    harness: ToolHarness, call: tuple[str, dict[str, str]]
) -> None:
    os.truncate(harness.write("big.bin", b""), 10**11)

    with pytest.raises(UserError, match="100,000,000,000 bytes, too many to change as text"):
        await harness.call(call[0], path="big.bin", **call[1])
