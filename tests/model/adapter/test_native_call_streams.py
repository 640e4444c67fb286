"""Calls streamed in Anthropic's and Gemini's own forms come out once, whole and in order, or not at all."""

import json
import operator
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.model.adapter.test_tool_call_joiner import Calls, cut
from tests.model.adapter_requests import asking_model
from tests.model.raw_server import answer, serving
from tests.sample_size import sample_size, seeds, thinned

from palimpsest.model.adapter.litellm_model import LOADER
from palimpsest.model.interface import ModelRequest, ToolCalled
from palimpsest.transcript.errors import ModelFailed
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec

Event = dict[str, Any]
Dialect = Callable[[Calls, random.Random], Iterator[Event]]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("both_ways")]

INPUTS: tuple[dict[str, Any], ...] = (
    {"path": "a.py", "lines": [1, 2]},
    {"code": 'print("{\\"x\\": 1}")\n', "n": 1.5},
    {"größe": {"ä": None, "b": [{}]}},
    {"x": "}{", "y": True},
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-test-0123456789")
    LOADER.wait_for_litellm(60)


def some_calls(chance: random.Random) -> Calls:
    number = chance.randrange(1, 4)
    return [
        (f"toolu_{n}", chance.choice(["read", "python"]), chance.choice(INPUTS))
        for n in range(number)
    ]


# Anthropic


def start(index: int, identifier: str, name: str, given: Any = None) -> Event:
    block = {"type": "tool_use", "id": identifier, "name": name, "input": given or {}}
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, text: str) -> Event:
    piece = {"type": "input_json_delta", "partial_json": text}
    return {"type": "content_block_delta", "index": index, "delta": piece}


def stop(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


PING: Event = {"type": "ping"}


def as_documented(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """One block after another, an empty delta first, and pings between."""
    for n, (i, name, value) in enumerate(calls):
        yield start(n, i, name)
        yield delta(n, "")
        for text in cut(json.dumps(value), chance):
            yield delta(n, text)
            yield PING
        yield stop(n)


def interleaved_blocks(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """All blocks begin, and their deltas come mixed."""
    waiting = []
    for n, (i, name, value) in enumerate(calls):
        yield start(n, i, name)
        waiting.append((n, cut(json.dumps(value), chance)))
    while left := [entry for entry in waiting if entry[1]]:
        n, pieces = chance.choice(left)
        yield delta(n, pieces.pop(0))
    for n in range(len(calls)):
        yield stop(n)


def same_index(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """Every block has index 0."""
    for i, name, value in calls:
        yield start(0, i, name)
        for text in cut(json.dumps(value), chance):
            yield delta(0, text)
        yield stop(0)


def without_stops(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """No block is stopped."""
    yield from (
        event for event in as_documented(calls, chance) if event["type"] != "content_block_stop"
    )


def in_the_start(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """The whole input is in the start of its block."""
    for n, (i, name, value) in enumerate(calls):
        yield start(n, i, name, value)
        yield stop(n)


def in_start_and_deltas(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """The whole input is in the start of its block, and again in its deltas."""
    for n, (i, name, value) in enumerate(calls):
        yield start(n, i, name, value)
        for text in cut(json.dumps(value), chance):
            yield delta(n, text)
        yield stop(n)


def after_the_stop(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """The deltas come after the stop of their block."""
    for n, (i, name, value) in enumerate(calls):
        yield start(n, i, name)
        yield stop(n)
        for text in cut(json.dumps(value), chance):
            yield delta(n, text)


def after_text(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """Text stands before the calls, so that they begin at index 1."""
    text = {"type": "text", "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": text}
    said = {"type": "text_delta", "text": "I look."}
    yield {"type": "content_block_delta", "index": 0, "delta": said}
    yield stop(0)
    for event in as_documented(calls, chance):
        yield {**event, "index": event["index"] + 1} if "index" in event else event


ANTHROPIC: list[Dialect] = [
    as_documented, interleaved_blocks, same_index, without_stops, in_the_start, in_start_and_deltas, after_the_stop,
    after_text,
]  # fmt: skip


def anthropic_body(events: list[Event], *, ended: bool = True) -> str:
    usage = {"input_tokens": 9, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": []}
    begin = {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
    finish = {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use"},
        "usage": {"output_tokens": 9},
    }
    tail = [finish, {"type": "message_stop"}] if ended else []
    told = [begin, *events, *tail]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in told)


# Gemini


def part(name: str, value: Any, **more: Any) -> Event:
    return {"functionCall": {"name": name, "args": value}, **more}


def chunk_each(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """Each call in a chunk of its own, without an id."""
    for _, name, value in calls:
        yield {"parts": [part(name, value)]}


def one_chunk(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """All calls, and a text before them, in one chunk."""
    yield {"parts": [{"text": "I look."}, *(part(name, value) for _, name, value in calls)]}


def signed(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """The first call has a signature."""
    for n, (_, name, value) in enumerate(calls):
        yield {"parts": [part(name, value, **({} if n else {"thoughtSignature": "c2ln"}))]}


def with_ids(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """Each call with an id of the server."""
    for i, name, value in calls:
        yield {"parts": [{"functionCall": {"id": i, "name": name, "args": value}}]}


def cumulative_with_ids(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """Each chunk has all calls so far, known by their ids."""
    deltas = []
    for i, name, value in calls:
        deltas.append({"functionCall": {"id": i, "name": name, "args": value}})
        yield {"parts": list(deltas)}


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of an input that are neither lists nor objects, and their paths."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(
                inner, f"{path}['{name}']" if not name.isalnum() else f"{path}.{name}"
            )
    elif isinstance(value, list) and value:
        for at, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{at}]")
    else:
        yield path, value


def argument_pieces(value: Any, chance: random.Random) -> Iterator[Event]:
    """Yield the pieces in which an input comes; each text is cut anywhere, and its last piece says that it ends."""
    for path, leaf in leaves(value, "$"):
        if isinstance(leaf, str):
            texts = cut(leaf, chance) if len(leaf) > 1 else [leaf]
            for text in texts:
                yield {"jsonPath": path, "stringValue": text, "willContinue": True}
            yield {"jsonPath": path, "stringValue": ""}
        elif leaf is None:
            yield {"jsonPath": path, "nullValue": "NULL_VALUE"}
        else:
            kind = "boolValue" if isinstance(leaf, bool) else "numberValue"
            yield {"jsonPath": path, kind: leaf}


def without_empty(calls: Calls) -> Calls:
    """Replace empty lists and objects, for which pieces have no form."""
    return [
        (i, name, {"größe": {"ä": None, "b": [{"c": 1}]}} if "größe" in value else value)
        for i, name, value in calls
    ]


def in_pieces(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """As Google documents it: the name first, one piece a chunk, and an empty call at the end."""
    for _, name, value in calls:
        yield {"parts": [{"functionCall": {"name": name, "willContinue": True}}]}
        for piece in argument_pieces(value, chance):
            yield {"parts": [{"functionCall": {"partialArgs": [piece], "willContinue": True}}]}
        yield {"parts": [{"functionCall": {}}]}


def pieces_together(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """All pieces in the chunk that names the call and ends it."""
    for _, name, value in calls:
        pieces = list(argument_pieces(value, chance))
        yield {"parts": [{"functionCall": {"name": name, "partialArgs": pieces}}]}


def ids_and_mixed(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """Calls with ids, whose pieces come mixed."""
    waiting = []
    for i, name, value in calls:
        yield {"parts": [{"functionCall": {"id": i, "name": name, "willContinue": True}}]}
        waiting.append((i, list(argument_pieces(value, chance))))
    while left := [entry for entry in waiting if entry[1]]:
        i, pieces = chance.choice(left)
        call = {"id": i, "partialArgs": [pieces.pop(0)], "willContinue": True}
        yield {"parts": [{"functionCall": call}]}
    yield {"parts": [{"functionCall": {"id": i}} for i, _, _ in calls]}


def no_last_piece(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """The next name, or the end of the answer, ends a call."""
    yield from (
        content
        for content in in_pieces(calls, chance)
        if content["parts"] != [{"functionCall": {}}]
    )


GEMINI: list[Dialect] = [chunk_each, one_chunk, signed, with_ids, cumulative_with_ids]
GEMINI_PIECES: list[Dialect] = [in_pieces, pieces_together, ids_and_mixed, no_last_piece]


def gemini_body(contents: list[Event], finish: str | None = "STOP") -> str:
    chunks: list[Event] = [
        {"candidates": [{"content": {"role": "model", **content}, "index": 0}]}
        for content in contents
    ]
    if finish is not None:
        last = {"content": {"role": "model", "parts": []}, "finishReason": finish, "index": 0}
        chunks.append({"candidates": [last], "usageMetadata": {"promptTokenCount": 9}})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)


async def called(provider: str, body: str) -> list[ToolCalled]:
    """Return the calls of an answer with these bytes."""
    specs = tuple(
        ToolSpec(name=name, description="d", parameters={"type": "object", "properties": {}})
        for name in ("read", "python")
    )
    async with serving(answer(body, kind="text/event-stream")) as place:
        base = f"http://{place}" + ("" if provider == "anthropic" else "/v1beta")
        info = ModelInfo(
            ref=ModelRef(provider=provider, name="test"),
            window=9_000,
            output_limit=99,
            api_base=base,
        )
        request = ModelRequest(
            model=info, messages=({"role": "user", "content": "go"},), tools=specs
        )
        return [
            event async for event in asking_model().stream(request) if isinstance(event, ToolCalled)
        ]


@pytest.mark.parametrize("seed", thinned(seeds(2, 60), 2))
@pytest.mark.parametrize("dialect", ANTHROPIC, ids=lambda one: str(one.__name__))
async def test_anthropic_calls_are_what_was_written(dialect: Dialect, seed: int) -> None:
    chance = random.Random(seed)
    calls = some_calls(chance)

    tool_calls = await called("anthropic", anthropic_body(list(dialect(calls, chance))))

    assert [(call.id, call.tool, call.input, call.problem) for call in tool_calls] == [
        (i, name, value, None) for i, name, value in calls
    ]


@pytest.mark.parametrize("seed", thinned(seeds(2, 60), 2))
@pytest.mark.parametrize("dialect", GEMINI, ids=lambda one: str(one.__name__))
async def test_gemini_calls_are_what_was_written(dialect: Dialect, seed: int) -> None:
    chance = random.Random(seed)
    calls = some_calls(chance)

    tool_calls = await called("gemini", gemini_body(list(dialect(calls, chance))))

    assert [(call.tool, call.input, call.problem) for call in tool_calls] == [
        (name, value, None) for _, name, value in calls
    ]


@pytest.mark.parametrize("seed", thinned(seeds(2, 60), 2))
@pytest.mark.parametrize("dialect", GEMINI_PIECES, ids=lambda one: str(one.__name__))
async def test_gemini_calls_in_pieces_are_what_was_written(dialect: Dialect, seed: int) -> None:
    chance = random.Random(seed)
    calls = without_empty(some_calls(chance))

    tool_calls = await called("gemini", gemini_body(list(dialect(calls, chance))))

    # Without ids, calls that go on at the same time are told apart by their ends only.
    key = operator.itemgetter(0) if dialect is ids_and_mixed else None
    told = [
        (json.dumps(call.input, sort_keys=True), call.tool, call.problem) for call in tool_calls
    ]
    wrote = [(json.dumps(value, sort_keys=True), name, None) for _, name, value in calls]
    assert (sorted(told, key=key) if key else told) == (sorted(wrote, key=key) if key else wrote)


NAMED: Event = {"functionCall": {"name": "read", "willContinue": True}}


def piece_of(path: str, *, goes_on: bool = True, **value: Any) -> Event:
    told = {"jsonPath": path, **value}
    return {"functionCall": {"partialArgs": [told], "willContinue": goes_on}}


@pytest.mark.parametrize(
    "parts",
    [
        [NAMED, piece_of("$.a", stringValue="half", willContinue=True)],
        [NAMED, piece_of("$.a", stringValue="half", willContinue=True, goes_on=False)],
        [NAMED, piece_of("$..a", numberValue=1)],
        [NAMED, piece_of("$.a[*]", numberValue=1)],
        [NAMED, piece_of("a", numberValue=1)],
        [NAMED, piece_of("$", numberValue=1)],
        [NAMED, piece_of("$[0]", numberValue=1)],
        [NAMED, piece_of("$.a[99999999]", numberValue=1)],
        [NAMED, piece_of("$.a[999999]", numberValue=1)],
        [NAMED, piece_of("$.a", numberValue=1), piece_of("$.a.b", numberValue=1)],
        [NAMED, piece_of("$" + ".a" * 1_000, numberValue=1)],
        [NAMED, {"functionCall": {"partialArgs": ["x"]}}],
        [NAMED, {"functionCall": {"partialArgs": [{"stringValue": "x"}]}}],
    ],
)
async def test_an_input_in_pieces_without_an_end_or_a_place_runs_nothing(
    parts: list[Event],
) -> None:
    with pytest.raises(ModelFailed) as failed:
        await called("gemini", gemini_body([{"parts": [part]} for part in parts]))

    assert "read did not come to an end" in failed.value.error.message


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([NAMED, {"functionCall": {}}], {}),
        ([NAMED], {}),
        ([NAMED, {"functionCall": {"args": {"a": 1}}}], {"a": 1}),
        ([NAMED, piece_of("$.a", numberValue=1), {"functionCall": {"args": {"a": 2}}}], {"a": 2}),
        (
            [NAMED, piece_of("$['a.b'][\"it's\"]", boolValue=True, goes_on=False)],
            {"a.b": {"it's": True}},
        ),
        ([NAMED, piece_of("$.a[1]", stringValue="x", goes_on=False)], {"a": [None, "x"]}),
        (
            [
                NAMED,
                piece_of("$.a", stringValue="x", willContinue=True),
                piece_of("$.a", goes_on=False),
            ],
            {"a": "x"},
        ),
    ],
)
async def test_pieces_make_the_input_that_they_tell(parts: list[Event], expected: Any) -> None:
    calls = await called("gemini", gemini_body([{"parts": [part]} for part in parts]))

    assert [(call.tool, call.input, call.problem) for call in calls] == [("read", expected, None)]


@pytest.mark.parametrize("args", [{}, {"args": None}, {"args": {}}])
async def test_a_call_of_gemini_without_input_has_an_empty_one(args: dict[str, Any]) -> None:
    body = gemini_body([{"parts": [{"functionCall": {"name": "read", **args}}]}])

    assert [(call.tool, call.input) for call in await called("gemini", body)] == [("read", {})]


@pytest.mark.parametrize("dialect", ANTHROPIC, ids=lambda one: str(one.__name__))
async def test_no_call_of_an_answer_that_was_cut_is_run(dialect: Dialect) -> None:
    chance = random.Random(1)
    events = list(dialect(some_calls(chance), chance))
    for length in range(len(events), 0, -sample_size(3, 1)):  # whole but for its end, first
        with pytest.raises(ModelFailed):
            await called("anthropic", anthropic_body(events[:length], ended=False))


async def test_no_call_of_gemini_is_run_without_a_real_end() -> None:
    chance = random.Random(1)
    contents = list(chunk_each(some_calls(chance), chance))
    pieces = list(in_pieces(without_empty(some_calls(chance)), chance))
    for finish in (None, "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"):
        for told in (contents, pieces):
            with pytest.raises(ModelFailed):
                await called("gemini", gemini_body(told, finish))
