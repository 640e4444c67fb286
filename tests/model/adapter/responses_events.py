"""Write the streams of OpenAI's Responses as servers send them: the documented form, and what other servers make of it."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.model.adapter.test_tool_call_joiner import Calls, cut

Event = dict[str, Any]
Dialect = Callable[[Calls, random.Random], Iterator[Event]]

USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 14,
}


def item(n: int, identifier: str, name: str, given: str, status: str = "in_progress") -> Event:
    """Return the item of a call, the ``n``-th of the answer."""
    return {
        "id": f"fc_{n}",
        "type": "function_call",
        "call_id": identifier,
        "name": name,
        "arguments": given,
        "status": status,
    }


def added(n: int, one: Event) -> Event:
    return {"type": "response.output_item.added", "output_index": n, "item": one}


def done(n: int, one: Event) -> Event:
    return {"type": "response.output_item.done", "output_index": n, "item": one}


def delta(n: int, text: str) -> Event:
    return {
        "type": "response.function_call_arguments.delta",
        "item_id": f"fc_{n}",
        "output_index": n,
        "delta": text,
    }


def arguments_done(n: int, text: str) -> Event:
    return {
        "type": "response.function_call_arguments.done",
        "item_id": f"fc_{n}",
        "output_index": n,
        "arguments": text,
    }


def said(n: int, text: str) -> Event:
    return {
        "type": "response.output_text.delta",
        "item_id": f"msg_{n}",
        "output_index": n,
        "content_index": 0,
        "delta": text,
        "logprobs": [],
    }


def message(n: int, text: str) -> Event:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": f"msg_{n}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def ends(n: int, identifier: str, name: str, text: str) -> Iterator[Event]:
    yield arguments_done(n, text)
    yield done(n, item(n, identifier, name, text, "completed"))


def as_documented(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """One item after another: added, deltas, the input done, the item done."""
    for n, (i, name, value) in enumerate(calls):
        text = json.dumps(value)
        yield added(n, item(n, i, name, ""))
        for piece in cut(text, chance):
            yield delta(n, piece)
        yield from ends(n, i, name, text)


def interleaved_items(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """All items are added, and their deltas come mixed."""
    waiting = []
    for n, (i, name, value) in enumerate(calls):
        yield added(n, item(n, i, name, ""))
        waiting.append((n, cut(json.dumps(value), chance)))
    while left := [entry for entry in waiting if entry[1]]:
        n, pieces = chance.choice(left)
        yield delta(n, pieces.pop(0))
    for n, (i, name, value) in enumerate(calls):
        yield from ends(n, i, name, json.dumps(value))


def without_deltas(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """The input comes at the end of the item only."""
    for n, (i, name, value) in enumerate(calls):
        yield added(n, item(n, i, name, ""))
        yield from ends(n, i, name, json.dumps(value))


def items_done_only(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """Nothing announces an item; it comes when it is done."""
    for n, (i, name, value) in enumerate(calls):
        yield done(n, item(n, i, name, json.dumps(value), "completed"))


def arguments_done_only(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """The input is done, and no event says that the item is."""
    for n, (i, name, value) in enumerate(calls):
        yield added(n, item(n, i, name, ""))
        yield arguments_done(n, json.dumps(value))


def in_the_start(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """The whole input is in the item that is added, and again in the one that is done."""
    for n, (i, name, value) in enumerate(calls):
        yield added(n, item(n, i, name, json.dumps(value)))
        yield from ends(n, i, name, json.dumps(value))


def in_start_and_deltas(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """The whole input is in the item that is added, and again in deltas."""
    for n, (i, name, value) in enumerate(calls):
        text = json.dumps(value)
        yield added(n, item(n, i, name, text))
        for piece in cut(text, chance):
            yield delta(n, piece)
        yield from ends(n, i, name, text)


def cumulative(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """Each delta holds all of the input that was written so far."""
    for n, (i, name, value) in enumerate(calls):
        told, text = "", json.dumps(value)
        yield added(n, item(n, i, name, ""))
        for piece in cut(text, chance):
            told += piece
            yield delta(n, told)
        yield from ends(n, i, name, text)


def everything_again(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """All events come a second time."""
    events = list(as_documented(calls, chance))
    yield from events
    yield from events


def added_again(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """An item is added again when it is done."""
    for n, (i, name, value) in enumerate(calls):
        text = json.dumps(value)
        yield added(n, item(n, i, name, ""))
        for piece in cut(text, chance):
            yield delta(n, piece)
        yield added(n, item(n, i, name, text))
        yield from ends(n, i, name, text)


def same_index(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """Every item has index 0, and is known by its id."""
    for event in interleaved_items(calls, chance):
        yield {**event, "output_index": 0}


def without_index(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """No event has an index."""
    for event in interleaved_items(calls, chance):
        yield {name: value for name, value in event.items() if name != "output_index"}


def after_reasoning(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """A reasoning item and a text stand before the calls, so that they begin at index 2."""
    thought = {"id": "rs_0", "type": "reasoning", "summary": []}
    yield added(0, thought)
    yield done(0, thought)
    yield added(1, {**message(1, ""), "content": [], "status": "in_progress"})
    yield said(1, "I look.")
    yield done(1, message(1, "I look."))
    for event in as_documented(calls, chance):
        yield {**event, "output_index": event["output_index"] + 2}


def empty_deltas(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """Empty deltas stand before and after each piece."""
    for event in as_documented(calls, chance):
        if event["type"].endswith(".delta"):
            yield {**event, "delta": ""}
        yield event


def done_before_deltas(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """The item is done before its deltas come."""
    for n, (i, name, value) in enumerate(calls):
        text = json.dumps(value)
        yield added(n, item(n, i, name, ""))
        yield done(n, item(n, i, name, text, "completed"))
        for piece in cut(text, chance):
            yield delta(n, piece)


def in_the_end_only(_calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """No event tells the calls but the one that ends the answer."""
    yield from ()


def ids_of_each_event(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """Every event has another id for the same item, as behind some gateways; the index is right."""
    for number, event in enumerate(interleaved_items(calls, chance)):
        if "item" in event:
            yield {**event, "item": {**event["item"], "id": f"x{number}"}}
        else:
            yield {**event, "item_id": f"y{number}"}


def objects(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """The input is an object and no text."""
    for n, (i, name, value) in enumerate(calls):
        yield done(n, {**item(n, i, name, "", "completed"), "arguments": value})


def names_at_the_end(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """The item that is added has no name."""
    for event in interleaved_items(calls, chance):
        is_added = event["type"] == "response.output_item.added"
        yield {**event, "item": {**event["item"], "name": ""}} if is_added else event


def deltas_before_items(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """The deltas come before anything announces their item."""
    for n, (i, name, value) in enumerate(calls):
        for piece in cut(json.dumps(value), chance):
            yield delta(n, piece)
        yield added(n, item(n, i, name, ""))
        yield done(n, item(n, i, name, json.dumps(value), "completed"))


def wrong_deltas(calls: Calls, _chance: random.Random) -> Iterator[Event]:
    """The deltas are not what the item says in the end, which counts."""
    for n, (i, name, value) in enumerate(calls):
        yield added(n, item(n, i, name, ""))
        yield delta(n, '{"lost": ')
        yield from ends(n, i, name, json.dumps(value))


def deltas_only(calls: Calls, chance: random.Random) -> Iterator[Event]:
    """Nothing says that an input or its item is done."""
    for event in interleaved_items(calls, chance):
        if not event["type"].endswith(".done"):
            yield event


DIALECTS: list[Dialect] = [
    as_documented, interleaved_items, without_deltas, items_done_only, arguments_done_only, in_the_start,
    in_start_and_deltas, cumulative, everything_again, added_again, same_index, without_index, after_reasoning,
    empty_deltas, done_before_deltas, in_the_end_only, ids_of_each_event, objects, names_at_the_end,
    deltas_before_items, wrong_deltas, deltas_only,
]  # fmt: skip


def response(status: str, output: list[Event], **more: Any) -> Event:
    """Return a response as its events hold it."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "test",
        "status": status,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "usage": None,
        **more,
    }


def body(
    events: list[Event],
    output: list[Event] | None = None,
    *,
    end: str | None = "completed",
    **more: Any,
) -> str:
    """Return the bytes of an answer; ``output`` is what its end tells, ``end`` None where the stream broke off."""
    told = [{"type": "response.created", "response": response("in_progress", [])}, *events]
    if end is not None:
        last = response(end, output or [], **({"usage": USAGE} | more))
        told.append({"type": f"response.{end}", "response": last})
    return "".join(
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': n})}\n\n"
        for n, event in enumerate(told)
    )


def items(calls: Calls) -> list[Event]:
    """Return the calls as the end of an answer tells them."""
    return [
        item(n, i, name, json.dumps(value), "completed") for n, (i, name, value) in enumerate(calls)
    ]
