"""Items of a large document are the same whether ijson reads them or, where it is not installed, the standard library."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.recordings.reading import sources
from palimpsest.recordings.reading.sources import json_items
from palimpsest.store import bounded_json
from palimpsest.transcript.errors import UserError

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 62), 1 << 62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["item", "a", "messages", "ü"]), inner, max_size=4)
    ),
    max_leaves=12,
)
DOCUMENTS = (
    st.fixed_dictionaries({"messages": VALUES | st.lists(VALUES), "info": VALUES, "v": VALUES})
    | st.lists(VALUES)
    | VALUES
)
PREFIXES = ("item", "v", "info.a", "messages.item", "messages.item.a")
WRITTEN: tuple[dict[str, Any], ...] = ({}, {"indent": 1, "ensure_ascii": False})
Read = tuple[list[Any] | str, list[tuple[str, str]]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Read]:
    path = tmp_path_factory.mktemp("documents") / "document.json"

    def read_items(content: bytes, prefix: str, *, ijson: bool, **options: bool) -> Read:
        path.write_bytes(content)
        reported: list[tuple[str, str]] = []
        with pytest.MonkeyPatch.context() as patch:
            if not ijson:
                patch.setattr(sources, "optional_module", lambda _name: None)
            items = json_items(path, prefix, lambda *problem: reported.append(problem), **options)
            return [*items], reported

    return read_items


def both(read: Callable[..., Read], content: bytes, prefix: str, **options: bool) -> Read:
    """Return what both ways read, which is the same."""
    values = read(content, prefix, ijson=True, **options)
    assert read(content, prefix, ijson=False, **options) == values
    return values


@given(DOCUMENTS, st.sampled_from(PREFIXES), st.sampled_from(WRITTEN))
def test_any_document_has_the_same_items(
    read: Callable[..., Read], document: Any, prefix: str, written: dict[str, Any]
) -> None:
    _, reported = both(read, json.dumps(document, **written).encode(), prefix)

    assert reported == []


@given(DOCUMENTS, st.sampled_from(PREFIXES), st.floats(0, 1))
def test_one_that_breaks_off_is_read_up_to_there(
    read: Callable[..., Read], document: Any, prefix: str, share: float
) -> None:
    content = json.dumps(document, ensure_ascii=False).encode()

    both(read, content[: int(len(content) * share)], prefix)


def test_what_is_broken_too_deep_or_too_large_is_reported_alike(
    read: Callable[..., Read], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = b'{"messages": [1, {"a": 2}, '
    deep = before + b"[" * 200 + b"]" * 200 + b"]}"
    nested_late = b"[" + b'"x", ' * 40_000 + b"[" * 200 + b"]" * 200 + b"]"
    builds = b"[" + b"[{}]," * 20_000 + b"1]"

    assert both(read, before + b"3]} 4", "messages.item")[0] == [1, {"a": 2}, 3]
    assert both(read, before + b"NaN]}", "messages.item")[0] == [1, {"a": 2}]
    assert both(read, before + b'"\xff"]}', "messages.item")[0] == [1, {"a": 2}]
    assert "nested too deeply" in both(read, deep, "messages.item")[1][0][1]
    assert len(both(read, nested_late, "item")[0]) > 10_000
    monkeypatch.setattr(bounded_json, "MAX_BUILT_BYTES", 1_000_000)
    assert "too large" in both(read, builds, "item", share_limit=True)[1][0][1]


def test_a_document_that_is_too_long_to_be_held_names_the_package(
    read: Callable[..., Read], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_DOCUMENT_BYTES", 100_000)

    with pytest.raises(
        UserError, match=r"larger than .* MB and needs a package: pip install ijson"
    ):
        read(b"[" + b" " * 200_000 + b"]", "item", ijson=False)
