"""Each name on a disk has one form as text, whatever the locale is, and is found again by it."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.transcript.strings.relative_paths import disk_name, path_problem, recorded_name

pytestmark = pytest.mark.skipif(os.name == "nt", reason="names are text there")
PIECES = [b"\\", b"x", b"ff", b"80", b"\xff", b"\xc3\xbc", b"/", b"a"]
NAMES = st.binary(min_size=1).filter(lambda one: b"\0" not in one) | st.lists(
    st.sampled_from(PIECES), min_size=1
).map(b"".join)


@given(NAMES)
def test_a_name_comes_back_byte_for_byte(name: bytes) -> None:
    text = recorded_name(os.fsdecode(name))

    text.encode()
    assert os.fsencode(disk_name(text)) == name


@given(NAMES, NAMES)
def test_no_two_names_have_one_form(one: bytes, other: bytes) -> None:
    same = recorded_name(os.fsdecode(one)) == recorded_name(os.fsdecode(other))
    assert same == (one == other)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.csv", "data.csv"),
        ("für.txt", "für.txt"),
        ("a\\b", "a\\b"),
        (os.fsdecode(b"bad-\xff.txt"), r"bad-\xff.txt"),
        (os.fsdecode(b"\xfe\\x"), r"\xfe\\x"),
        (r"literal\xff", r"literal\\xff"),
    ],
)
def test_only_what_is_no_utf_8_is_written_otherwise(name: str, text: str) -> None:
    assert recorded_name(name) == text


@pytest.mark.parametrize("path", [r"a\xc3\xbc", r".g\xe2\x80\x8bit/config", r"x\\y"])
def test_a_second_way_to_write_a_name_is_no_path(path: str) -> None:
    assert path_problem(path) == "it is no path"
    assert path_problem(r"bad-\xff/a.txt") is None
