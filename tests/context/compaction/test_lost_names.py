"""A name is lost that neither the summary nor a text beside it holds; words are compared."""

import pytest

from palimpsest.context.compaction.lost_names import lost_names, names_of

TEXT = "parse_line in src/parser.py raised ValueError: bad row, 3 rows of 4096."


def test_names_are_found_by_kind_and_short_ones_are_not_names() -> None:
    assert [*names_of(TEXT)] == [
        ("paths", "src/parser.py"),
        ("errors", "ValueError: bad row, 3 rows of 4096"),
        ("identifiers", "parse_line"),
        ("numbers", "4096"),
    ]
    assert [*names_of("123 a_b")] == []


@pytest.mark.parametrize(
    ("summary", "beside", "lost"),
    [
        ("", (), ["src/parser.py", "parse_line", "4096"]),
        ("It is src/parser.py.", (), ["parse_line", "4096"]),
        ("", ("the file src/parser.py", "4096 rows"), ["parse_line"]),
        # A word that only begins alike is another one.
        ("", ("parse_line_two",), ["src/parser.py", "parse_line", "4096"]),
    ],
)
def test_what_stands_in_the_summary_or_beside_it_is_kept(
    summary: str, beside: tuple[str, ...], lost: list[str]
) -> None:
    found = lost_names(["parse_line in src/parser.py has 4096 rows"], summary, beside)

    assert found.counts_by_kind == {"paths": 1, "identifiers": 1, "numbers": 1}
    assert [*found.kind_by_name] == lost
    assert found.names_of_kind("paths") == tuple(name for name in lost if "/" in name)


def test_a_name_counts_once_and_of_nothing_nothing_is_lost() -> None:
    twice = lost_names(["a_name", "a_name again"], "", ())
    assert (twice.counts_by_kind, twice.names_of_kind("identifiers")) == (
        {"identifiers": 1},
        ("a_name",),
    )
    assert lost_names([], "", ()).counts_by_kind == {}
