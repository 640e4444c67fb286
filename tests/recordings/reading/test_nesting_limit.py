"""A document's bytes are passed on unchanged, up to a level of nesting."""

import io
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.recordings.reading.nesting_limit import NestedTooDeeply, NestingLimit
from palimpsest.recordings.reading.sources import is_too_deep

JSON = st.recursive(
    st.text(alphabet='[]{}"\\ä,:', max_size=8) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)


def passed_bytes(content: bytes, levels: int, size: int) -> bytes:
    file, content_read = NestingLimit(io.BytesIO(content).read, levels), b""
    while piece := file.read(size):
        content_read += piece
    return content_read


@given(
    JSON,
    st.integers(1, 7),
    st.integers(0, 6),
    st.sampled_from([json.dumps, partial(json.dumps, ensure_ascii=False)]),
)
def test_the_limit_is_that_of_the_value_whatever_the_pieces(
    value: Any, size: int, levels: int, dumps: Callable[[Any], str]
) -> None:
    content = dumps([value]).encode()

    if is_too_deep([value], levels) or levels == 0:
        with pytest.raises(NestedTooDeeply):
            passed_bytes(content, levels, size)
    else:
        assert passed_bytes(content, levels, size) == content
