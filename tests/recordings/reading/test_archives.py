"""Zip files of strangers are read in memory, within limits."""

import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from palimpsest.recordings.reading import archives
from palimpsest.recordings.reading.archives import opened_archive
from palimpsest.transcript.errors import UserError


def packed(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


def values(path: Path, *names: str) -> tuple[list[Any], list[str]]:
    """Return the values of members, and what was reported of them."""
    reports: list[str] = []
    with opened_archive(path, lambda place, what: reports.append(f"{place}: {what}")) as archive:
        return [archive.read_json(name) for name in names], reports


def test_members_are_read_and_others_are_reported(tmp_path: Path) -> None:
    deep = b"[" * 150 + b"]" * 150
    path = packed(tmp_path / "a.zip", good=b'{"a": 1}', broken=b"{", deep=deep)

    assert values(path, "good", "broken", "deep", "missing") == (
        [{"a": 1}, None, None, None],
        [
            "broken: It is no JSON and was left out.",
            "deep: It is nested too deeply and was left out.",
        ],
    )


def test_a_large_member_that_is_packed_too_well_is_left_out(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.zip", bomb=b'"' + b"a" * 20_000_000 + b'"', small=b"1")

    assert values(path, "bomb", "small") == (
        [None, 1],
        ["bomb: It would unpack to more than is believed, and was left out."],
    )


def test_all_members_together_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "a.zip", one=b"[1, 2, 3]", two=b"[1, 2, 3]")
    with opened_archive(path, lambda *_: None) as archive:
        archive.remaining_bytes = 12

        assert archive.read_json("one") == [1, 2, 3]
        assert archive.read_json("two") is None

    monkeypatch.setattr(archives, "MAX_MEMBERS", 1)
    with pytest.raises(UserError, match="holds more than 1 files"):
        values(path)


def test_a_size_that_the_archive_tells_wrongly_is_no_more_than_a_report(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.zip", one=b'"' + b"a" * 5_000 + b'"')
    content = path.read_bytes()
    path.write_bytes(content.replace(struct.pack("<L", 5_002), struct.pack("<L", 10)))

    found, reports = values(path, "one")

    assert found == [None]
    assert len(reports) == 1
