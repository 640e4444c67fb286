"""What a JSON text builds is estimated before it is built, and too much of it is refused."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sample_size import thinned

from palimpsest.store import bounded_json
from palimpsest.store.bounded_json import BuildsTooMuch, BuiltSize, json_value

LENGTH = 600_000
ITEMS = (
    *("{}", "[]", "[[[[]]]]", "0", "1.5", "12345678901", '""', '"ab"', "true", "[1,1]"),
    *('{"":0}', '{"a":{}}', '{"a":[]}', '{"a":{"a":{"a":0}}}', '{"a":0,"b":0,"c":0}', '"\\""'),
    *('"\U0001f600a"', '"漢字"', '"\\ud83d\\ude00"', '"é"', '"a,b:c[d]{e}"', "1" * 4_000),
)
JSON = st.recursive(
    st.text(alphabet='[]{}"\\aäλ,:', max_size=8) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)


def built(content: bytes, piece: int = 1 << 18) -> int:
    """Return what a text is said to build, its decoded form left out."""
    size = BuiltSize(size_factor=1_000_000)
    size.read_bytes = len(content)
    for at in range(0, len(content), piece):
        size.add(content[at : at + piece])
    return size.built_bytes


def taken(content: bytes) -> int:
    """Return the memory that parsing a text takes at most."""
    tracemalloc.start()
    try:
        value = json.loads(content)
        peak = tracemalloc.get_traced_memory()[1]
        del value
    finally:
        tracemalloc.stop()
    return peak


def listed(item: str) -> bytes:
    return f"[{','.join([item] * (LENGTH // (len(item) + 1)))}]".encode()


TEXTS = [
    *(pytest.param(listed(item), id=item[:20]) for item in ITEMS),
    pytest.param(json.dumps({str(n): n for n in range(40_000)}).encode(), id="names"),
    pytest.param(json.dumps("a" * LENGTH + "\U0001f600").encode(), id="late escape"),
    pytest.param(json.dumps("\U0001f600" + "a" * LENGTH, ensure_ascii=False).encode(), id="wide"),
    pytest.param(json.dumps("a" * LENGTH).encode(), id="letter"),
]


@pytest.mark.parametrize("content", thinned(TEXTS, 5))
def test_the_estimate_is_not_far_below_what_parsing_takes(content: bytes) -> None:
    decoded = len(content) if content.isascii() else 4 * len(content)

    assert (built(content) + decoded) * 1.5 + 5_000 > taken(content)


@given(JSON, st.integers(1, 9))
def test_the_structure_counts_the_same_whatever_the_pieces(value: Any, piece: int) -> None:
    content = json.dumps([value], ensure_ascii=True).replace("\\u", "__").encode()

    # An empty object that a piece ends in counts as one that is not empty.
    more = built(content, piece) - built(content)
    assert 0 <= more <= 136 * content.count(b"{}")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(listed("{}"), id="objects"),
        pytest.param(b'["\\\\\\"",' + listed("{}")[1:], id="an escaped quote before"),
        pytest.param(b'["\\\\",' + listed("[]")[1:], id="an escaped backslash before"),
        pytest.param(('["\\"",' + listed("{}").decode()[1:]).encode("utf-16"), id="UTF-16"),
        pytest.param('["\U0001f600' + "a" * LENGTH + '"]', id="a wide text"),
        pytest.param(b"[" * LENGTH, id="no JSON at all"),
    ],
)
def test_what_would_build_too_much_is_refused_before_it_is_built(
    content: bytes | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_json, "MAX_BUILT_BYTES", 2_000_000)
    monkeypatch.setattr(bounded_json, "UNMEASURED_BYTES", 1_000)

    with pytest.raises(BuildsTooMuch, match=r"more than 2 MB of memory, .* left out\.$"):
        json_value(content)


def test_values_that_are_held_together_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_json, "MAX_BUILT_BYTES", 10_000)
    held = BuiltSize(size_factor=4)

    for _ in range(20):
        assert json_value('["' + "a" * 1_000 + '"]', held) == ["a" * 1_000]
    with pytest.raises(BuildsTooMuch):
        json_value("[" + ",".join(["[" + "{}," * 300 + "{}]"] * 20) + "]", held)


def test_what_is_nested_too_deeply_is_no_json() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        json_value("[" * 100_000 + "]" * 100_000)
