"""Names are what a person would look for: measured on 300 words drawn from recordings, labelled before the rules.

The words were drawn with a seed from the texts of four sessions (two of Claude Code, one of pi, one of SWE-agent): from
all words that hold a sign, a digit, a capital within or an error's ending. Each is labelled by hand as a path,
identifier, error, number, URL or as no name, with the reason.
"""

import gzip
import json
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from palimpsest.context.compaction.loss_report import earlier_names_of
from palimpsest.context.compaction.lost_names import NamesOf
from palimpsest.context.compaction.names import NAME_KINDS, kind_of_name, names_of, readable

DRAWN = Path(__file__).with_name("drawn_names.json.gz")


@cache
def drawn() -> tuple[dict[str, str], ...]:
    """Return the drawn words with the text around, the name that is meant, its kind and why."""
    rows: list[dict[str, str]] = json.loads(gzip.decompress(DRAWN.read_bytes()))["names"]
    return tuple(rows)


def _is_same(found: str, row: dict[str, str]) -> bool:
    """Return whether what was found is the drawn name: also its last part, or the path that it is a part of."""
    name = row["name"]
    ends = {name, name.rpartition(".")[2], name.strip("#/."), name.partition("@0")[0]}
    if found in ends or found.rpartition(".")[2] in ends or found.strip("#/.") in ends:
        return True
    return row["kind"] == "paths" and (found.endswith(name) or name.endswith(found))


def measured(names: NamesOf) -> tuple[float, float, Counter[str]]:
    """Return precision and recall over the drawn words, and what was missed by kind."""
    right = wrong = 0
    missed: Counter[str] = Counter()
    for row in drawn():
        found = [*names(row["text"])]
        if row["kind"]:
            kinds = {kind for kind, name in found if _is_same(name, row)}
            right += row["kind"] in kinds
            wrong += bool(kinds) and row["kind"] not in kinds
            missed[row["kind"]] += row["kind"] not in kinds
        else:
            word = row["drawn"]
            wrong += any(
                name == word or (name in word and 2 * len(name) >= len(word)) for _, name in found
            )
    names_there = sum(bool(row["kind"]) for row in drawn())
    return right / (right + wrong), right / names_there, missed


def test_nine_in_ten_found_names_are_names_and_eight_in_ten_names_are_found() -> None:
    precision, recall, missed = measured(names_of)

    assert len(drawn()) == 300
    assert precision >= 0.9, precision
    assert recall >= 0.8, (recall, missed)


def test_the_rules_before_were_worse() -> None:
    precision, recall, _ = measured(earlier_names_of)

    assert precision < 0.9
    assert recall < 0.8


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # The names of a tool's arguments, and its limits, are no names.
        (
            'Edit{"file_path": "/w/src/app.py", "old_string": "a", "replace_all": true, "timeout": 120000}',
            [("paths", "/w/src/app.py")],
        ),
        (
            'bash{"command": "run\\nKey build_all", "timeout_ms": 6000}',
            [("identifiers", "build_all")],
        ),
        # Escapes in a text are what they stand for.
        ("one\\nKey\\ttwo_three", [("identifiers", "two_three")]),
        ("when is_nil(user_id)", [("identifiers", "user_id")]),
        ("this.el.focus() and this.elName", [("identifiers", "elName")]),
        ("either/or, and/or, input/output", []),
        ("</div> text/html application/json", []),
        ("   244→  defp render_line(x)", [("identifiers", "render_line")]),
        ("src/a.py:12:5: E501 line too long", [("paths", "src/a.py"), ("errors", "E501")]),
        ("15:18:53.671 done in 0m12.17s", []),
        ("see https://example.org/a/b.py?x=1.", [("URLs", "https://example.org/a/b.py?x=1")]),
        (r"open C:\new\table_one.txt now", [("paths", r"C:\new\table_one.txt")]),
        (
            "KeyError: 'row_id' was raised",
            [("errors", "KeyError: 'row_id' was raised"), ("identifiers", "row_id")],
        ),
        ("toolu_01Cz2Pnv7qNcnK1ZiocxWhQX", [("identifiers", "toolu_01Cz2Pnv7qNcnK1ZiocxWhQX")]),
        (
            "version 1.27.0 of 14,210 rows, #657",
            [("numbers", "1.27.0"), ("numbers", "14,210"), ("numbers", "#657")],
        ),
        ("", []),
    ],
)
def test_what_is_a_name(text: str, names: list[tuple[str, str]]) -> None:
    assert [*names_of(text)] == names


def test_a_name_has_its_kind_also_alone() -> None:
    for text in ("src/a.py", "https://x.org/a", "parse_line", "KeyError", "14,210"):
        ((kind, name),) = names_of(text)
        assert (kind_of_name(name), name) == (kind, text)
        assert kind in NAME_KINDS


HOSTILE: dict[str, Any] = {
    "letters": "a" * 200_000,
    "dots": "a." * 100_000,
    "slashes": "a/" * 100_000,
    "dashes": "-a" * 100_000,
    "capitals": "aB" * 100_000,
    "underscores": "a_" * 100_000,
    "escapes": "\\n" * 100_000,
    "digits": "1," * 100_000,
    "base64": "QUJDRA+/" * 25_000,
    "windows": "C:\\" + "a\\" * 50_000,
    "json": "call" + "{" * 50_000,
    "lists": 'call{"a": ' + "[" * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_more_than_its_length(name: str) -> None:
    half, whole = HOSTILE[name][: len(HOSTILE[name]) // 4], HOSTILE[name]
    [*names_of(half[:100])]

    def cpu(text: str) -> float:
        began = time.process_time()
        for _ in names_of(text):
            pass
        return time.process_time() - began

    assert cpu(whole) < 16 * max(cpu(half), 0.02)


def test_a_call_reads_as_its_values() -> None:
    text, windows = readable('write{"path": "a.py", "lines": [1, "two"], "deep": {"x": "y"}}')

    assert (text, windows) == ("a.py\ntwo\ny", [])
