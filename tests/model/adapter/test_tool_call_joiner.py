"""Streamed tool calls are joined as they were meant, in every dialect that servers speak."""

import json
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace as Piece
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sample_size import thinned

from palimpsest.model.adapter.tool_call_joiner import StreamedCalls

Calls = list[tuple[str, str, dict[str, Any]]]
"""Id, name and input of each call."""
Dialect = Callable[[Calls, random.Random], Iterator[Piece]]

NAMES = ["python", "read", "write_file", "t", "web-fetch", "tool"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
INPUTS = st.dictionaries(st.text(min_size=1, max_size=6), VALUES, min_size=1, max_size=4)
CALLS = st.lists(st.tuples(st.sampled_from(NAMES), INPUTS), min_size=1, max_size=4)


def piece(
    index: int | None, identifier: str | None = None, name: str | None = None, arguments: Any = None
) -> Piece:
    return Piece(index=index, id=identifier, function=Piece(name=name, arguments=arguments))


def cut(text: str, chance: random.Random) -> list[str]:
    """Return the pieces of a text, cut anywhere."""
    places = sorted(chance.sample(range(1, len(text)), min(len(text) - 1, chance.randrange(6))))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def interleaved(streams: list[list[Piece]], chance: random.Random) -> Iterator[Piece]:
    """Yield the pieces of several calls mixed, each call's in its order, first pieces in the order of the calls."""
    waiting = [list(stream) for stream in streams]
    for stream in waiting:
        yield stream.pop(0)
    while left := [stream for stream in waiting if stream]:
        yield chance.choice(left).pop(0)


def by_index(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """OpenAI: id and name at the beginning, then the index alone."""
    yield from interleaved(
        [
            [piece(n, i, name, ""), *(piece(n, None, None, p) for p in cut(json.dumps(v), chance))]
            for n, (i, name, v) in enumerate(calls)
        ],
        chance,
    )


def by_id(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """Index 0 for all, and the id on all pieces."""
    yield from interleaved(
        [
            [piece(0, i, name, ""), *(piece(0, i, None, p) for p in cut(json.dumps(v), chance))]
            for i, name, v in calls
        ],
        chance,
    )


def by_id_and_name(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """No index, id and name on all pieces."""
    yield from interleaved(
        [[piece(None, i, name, p) for p in cut(json.dumps(v), chance)] for i, name, v in calls],
        chance,
    )


def counted_on(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """Each piece has an index of its own, and only the first one of a call an id."""
    number = 0
    for i, name, value in calls:
        yield piece(number, i, name, "")
        for text in cut(json.dumps(value), chance):
            number += 1
            yield piece(number, None, None, text)
        number += 1


def id_of_each_chunk(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """A new id in each chunk, and the name only in the first one of a call."""
    for n, (i, name, value) in enumerate(calls):
        yield piece(n, i, name, "")
        for k, text in enumerate(cut(json.dumps(value), chance)):
            yield piece(n, f"{i}-{k}", None, text)


def cumulative(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """Each chunk holds all of the input that was written so far."""
    for n, (i, name, value) in enumerate(calls):
        told = ""
        for text in cut(json.dumps(value), chance):
            told += text
            yield piece(n, i, name, told)


def again(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """The whole calls come again in the last chunk."""
    yield from by_index(calls, chance)
    for n, (i, name, value) in enumerate(calls):
        yield piece(n, i, name, json.dumps(value))


def empty_first(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """An empty input stands for the one that is to come."""
    for n, (i, name, value) in enumerate(calls):
        yield piece(n, i, name, "{}")
        for text in cut(json.dumps(value), chance):
            yield piece(n, None, None, text)


def names_in_pieces(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """The name comes in pieces before the input."""
    for n, (i, name, value) in enumerate(calls):
        for k, text in enumerate(cut(name, chance)):
            yield piece(n, i if k == 0 else None, text, None)
        for text in cut(json.dumps(value), chance):
            yield piece(n, None, None, text)


def names_so_far(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """Each chunk holds all of the name that was written so far."""
    for n, (i, name, value) in enumerate(calls):
        told = ""
        for text in cut(name, chance):
            told += text
            yield piece(n, i, told, None)
        for text in cut(json.dumps(value), chance):
            yield piece(n, i, name, text)


def no_ids(calls: Calls, chance: random.Random) -> Iterator[Piece]:
    """Index and name, but no id."""
    for n, (_, name, value) in enumerate(calls):
        yield piece(n, None, name, None)
        for text in cut(json.dumps(value), chance):
            yield piece(n, None, None, text)


def objects(calls: Calls, _chance: random.Random) -> Iterator[Piece]:
    """The input is an object and no text; index 0 for all."""
    for i, name, value in calls:
        yield piece(0, i, name, value)


DIALECTS: list[Dialect] = [
    by_index, by_id, by_id_and_name, counted_on, id_of_each_chunk, cumulative, again, empty_first, names_in_pieces,
    names_so_far, no_ids, objects,
]  # fmt: skip


@pytest.mark.parametrize("dialect", thinned(DIALECTS, 2), ids=lambda one: str(one.__name__))
@given(told=CALLS, seed=st.integers(0, 2**32))
def test_a_call_is_what_was_written(
    dialect: Dialect, told: list[tuple[str, dict[str, Any]]], seed: int
) -> None:
    calls = [(f"call-{n}", name, value) for n, (name, value) in enumerate(told)]
    joined = StreamedCalls()

    for piece in dialect(calls, random.Random(seed)):
        joined.add_piece(piece)

    found = [call.complete_call() for call in joined.calls]
    assert [(call.tool, call.input, call.problem) for call in found] == [
        (name, value, None) for _, name, value in calls
    ]
    if dialect is not no_ids:
        assert [call.id for call in found] == [identifier for identifier, _, _ in calls]


def test_calls_without_id_and_index_are_told_apart_when_the_one_before_is_complete() -> None:
    joined = StreamedCalls()
    for name, value in (("read", "a"), ("read", "b"), ("list", "b")):
        joined.add_piece(piece(0, None, name, {"path": value}))

    assert [(call.tool, call.complete_call().input["path"]) for call in joined.calls] == [
        ("read", "a"),
        ("read", "b"),
        ("list", "b"),
    ]


def test_an_input_that_holds_itself_is_no_repetition() -> None:
    """``{"a":`` and ``{"a":1}}`` are two pieces of one input, although the second begins with the first."""
    joined = StreamedCalls()
    for text in ('{"a":', '{"a":1}}'):
        joined.add_piece(piece(0, "c", "t", text))

    assert joined.calls[0].complete_call().input == {"a": {"a": 1}}


@pytest.mark.parametrize(
    "pieces", [['{"x": 1', '{"y": 2}'], ['{"x": 1}', '{"x": 2}'], ['{"x"', ": "]]
)
def test_what_makes_no_one_input_stays_a_problem(pieces: list[str]) -> None:
    """Nothing runs on a guess: two different inputs, or half of one, are none."""
    joined = StreamedCalls()
    for text in pieces:
        joined.add_piece(piece(0, "c", "t", text))
    called = joined.calls[0].complete_call()

    assert (called.input, called.raw) == ({}, "".join(pieces))
    assert called.problem
