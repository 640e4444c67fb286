"""Shorten model requests for the log, and hold those of a session, with the items of the newest request expanded.

A request repeats its model, its policy and its tools, and a step adds two messages to hundreds. So a line has
``like``, the number of a request of the same segment that is written in full, and the fields that differ; a
request that could not be read back exactly is written in full. Only lines are shortened: readers of the log
receive full requests (``FullRequests``, ``NewestRequest``).

A request record has the number of items that it shares with the request before, and its further items; so the
newest request is expanded backwards, only as far as items are shared. A shortened line refers to another request
among the applied lines, since each segment and each checkpoint begins with a full request. A request for a title or
a turn summary is not part of this chain: it shares nothing, and is never the newest.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palimpsest.store.log_lines import load_line, seq_of
from palimpsest.store.session_state.message_list import Report, event_of
from palimpsest.transcript.context_values.decisions import BESIDE_PURPOSES, ContextItem, StepRequest
from palimpsest.transcript.session_record.events import StepRequested

LIKE_KEY = "like"
SHORTENED_MARK = f'"type":"step.requested","request":{{"{LIKE_KEY}":'.encode()
"""These bytes are in every shortened line, and in no other."""
MAX_BASE_USES = 100
"""Number of shortened requests after which a request is written in full, to limit the loss by a damaged line."""

SHARED_FIELDS = (
    "purpose", "model", "parameters", "policy", "policy_blob", "projection", "system", "tools",
)  # fmt: skip
SHARED_FACTS = ("estimator", "window", "reserve", "versions")
"""With ``SHARED_FIELDS``: what a shortened request leaves out where it equals the base request's."""
LETTER_OF_ROLE = {"system": "s", "user": "u", "assistant": "a", "tool": "t"}
ROLE_OF_LETTER = {letter: role for role, letter in LETTER_OF_ROLE.items()}
HEX_HASH_CHARS = 64
SHORT_HASH_CHARS = 43
ITEMS_COUNTED_FROM_END = 2
"""Number of a request's newest items among which a cache mark is counted from the end."""

Json = dict[str, Any]

BESIDE_PURPOSE_MARKS = tuple(f'"purpose":"{name}"'.encode() for name in sorted(BESIDE_PURPOSES))
MAX_PURPOSE_BYTES = 200
"""The purpose is within this many bytes of a line's beginning: it is the second field of a request."""


def shorten_request(request: Json, base_request: Json, base_seq: int) -> Json | None:
    """Return a request shortened to its differences from ``base_request``, or None where that would lose information.

    ``base_seq`` is the sequence number of ``base_request``, an earlier request.
    """
    lacks_field = any(name in base_request and name not in request for name in SHARED_FIELDS)
    if LIKE_KEY in request or lacks_field:
        return None
    try:
        short_request = {LIKE_KEY: base_seq} | _shortened_request(request, base_request)
        return short_request if expand_request(short_request, base_request) == request else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _shortened_request(request: Json, base_request: Json) -> Json:
    short_request = {
        name: value
        for name, value in request.items()
        if name not in SHARED_FIELDS or base_request.get(name) != value
    }
    facts = {
        name: value
        for name, value in request["facts"].items()
        if name not in SHARED_FACTS or base_request["facts"].get(name) != value
    }
    if facts.get("used_tokens") == request["tokens"]:
        del facts["used_tokens"]
    else:
        facts.setdefault("used_tokens", None)
    short_request["facts"] = facts
    if request["tokens"] == sum(request["kinds"].values()):
        del short_request["tokens"]
    if _marks_from_end(request) == _marks_from_end(base_request):
        del short_request["marks"]
    short_request["items"] = _item_rows(request["items"])
    short_request["sha256"] = _short_hash(request["sha256"])
    return short_request


def expand_request(short_request: Json, base_request: Json) -> Json:
    """Return the full request of a shortened one; raises ValueError if it is malformed."""
    try:
        return _filled_request(short_request, base_request)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"It is not written as requests are: {error!r}.") from error


def _filled_request(short_request: Json, base_request: Json) -> Json:
    request = {name: base_request[name] for name in SHARED_FIELDS if name in base_request}
    request |= short_request
    del request[LIKE_KEY]
    request["items"] = _item_objects(short_request["items"])
    request["sha256"] = _long_hash(short_request["sha256"])
    if "tokens" not in short_request:
        request["tokens"] = sum(request["kinds"].values())
    if "marks" not in short_request:
        count, marks = _item_count(request), _marks_from_end(base_request)
        request["marks"] = [mark if mark >= 0 else count + mark for mark in marks]
    base_facts = base_request["facts"]
    facts = {name: base_facts[name] for name in SHARED_FACTS if name in base_facts}
    facts |= {"used_tokens": request["tokens"]} | short_request["facts"]
    request["facts"] = {name: value for name, value in facts.items() if value is not None}
    return request


def _item_count(request: Json) -> int:
    return int(request["same"]) + len(request["items"])


def _marks_from_end(request: Json) -> list[int]:
    """Return the cache marks; marks of the newest items are negative, counted from the end."""
    count = _item_count(request)
    return [
        mark - count if mark >= count - ITEMS_COUNTED_FROM_END else mark
        for mark in request["marks"]
    ]


def _item_rows(items: Sequence[Json]) -> list[list[Any]]:
    """Return items as rows: role, message id (empty if as in the row above), hash, tokens, part ids."""
    rows: list[list[Any]] = []
    id_above = None
    for item in items:
        message_id = item.get("message_id")
        rows.append(
            [
                LETTER_OF_ROLE.get(item["role"], item["role"]),
                "" if rows and message_id == id_above else message_id,
                _short_hash(item["sha256"]),
                item["tokens"],
                *item["part_ids"],
            ]
        )
        id_above = message_id
    return rows


def _item_objects(rows: Sequence[Sequence[Any]]) -> list[Json]:
    items: list[Json] = []
    id_above = None
    for role, message_id, sha256, tokens, *part_ids in rows:
        id_above = item_message_id = id_above if message_id == "" else message_id
        item = {"role": ROLE_OF_LETTER.get(role, role)}
        if item_message_id is not None:
            item["message_id"] = item_message_id
        items.append(item | {"part_ids": part_ids, "sha256": _long_hash(sha256), "tokens": tokens})
    return items


def _short_hash(sha256: str) -> str:
    """Return a hash as 43 characters of base64 instead of 64 hex digits."""
    if len(sha256) != HEX_HASH_CHARS:
        return sha256
    try:
        return base64.urlsafe_b64encode(bytes.fromhex(sha256)).decode("ascii").rstrip("=")
    except ValueError:
        return sha256


def _long_hash(short_hash: str) -> str:
    if len(short_hash) != SHORT_HASH_CHARS:
        return short_hash
    try:
        return base64.urlsafe_b64decode(short_hash + "=").hex()
    except binascii.Error:
        return short_hash


class FullRequests:
    """Expands the shortened requests of one segment, whose lines may be read in any order."""

    def __init__(self, find_record: Callable[[int], Mapping[str, Any] | None]) -> None:
        self._find_record = find_record
        """Returns the record with a sequence number as it is in the segment, or None."""
        self._requests_by_seq: dict[int, Json] = {}

    def filled_record(self, data: Json) -> Json:
        """Return a record with its request in full; raises ValueError if the base request is missing."""
        request = data.get("request")
        if not isinstance(request, dict):
            return data
        base_seq = request.get(LIKE_KEY)
        if base_seq is None:
            seq = data.get("seq")
            self._requests_by_seq = {seq: request} if isinstance(seq, int) else {}
            return data
        if not isinstance(base_seq, int) or base_seq not in self._requests_by_seq:
            record = self._find_record(base_seq) if isinstance(base_seq, int) else None
            base_request = (record or {}).get("request")
            if not isinstance(base_request, dict) or LIKE_KEY in base_request:
                raise ValueError(f"It is like request {base_seq!r:.20}, which cannot be read.")
            self._requests_by_seq = {base_seq: base_request}
        return {**data, "request": expand_request(request, self._requests_by_seq[base_seq])}


class NewestRequest:
    """Holds the newest request, and those before it that its items may share."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._newest_request: StepRequest | None = None
        self._newest_items: tuple[ContextItem, ...] = ()
        self._unread_requests: list[StepRequest | bytes] = []
        self._lines_by_seq: dict[int, bytes] = {}
        """Lines of full requests, to which shortened lines may refer, by sequence number."""
        self._full_requests = FullRequests(self._full_record)

    def put(self, request: StepRequest) -> None:
        """Add a request."""
        if request.purpose not in BESIDE_PURPOSES:
            self._unread_requests.append(request)

    def put_line(self, line: bytes) -> None:
        """Add a request's line, to be parsed later."""
        if any(mark in line[:MAX_PURPOSE_BYTES] for mark in BESIDE_PURPOSE_MARKS):
            return
        self._unread_requests.append(line)
        if SHORTENED_MARK not in line:
            seq = seq_of(line)
            if seq is not None:
                self._lines_by_seq[seq] = line

    @property
    def newest_request(self) -> StepRequest | None:
        """The newest request, as it was journaled."""
        while self._unread_requests:
            request = self._parse_unread(len(self._unread_requests) - 1)
            if request is not None:
                return request
            self._unread_requests.pop()
        return self._newest_request

    @property
    def newest_items(self) -> tuple[ContextItem, ...]:
        """All items of the newest request."""
        newest_request = self.newest_request
        if self._unread_requests:
            self._newest_items = self._items_of_newest()
            self._newest_request = newest_request
            self._unread_requests.clear()
            self._lines_by_seq = dict(list(self._lines_by_seq.items())[-1:])
        return self._newest_items

    def expanded_request(self) -> StepRequest | None:
        """Return the newest request with all its items expanded."""
        items, request = self.newest_items, self.newest_request
        return None if request is None else request.model_copy(update={"same": 0, "items": items})

    def _items_of_newest(self) -> tuple[ContextItem, ...]:
        item_lists: list[tuple[ContextItem, ...]] = []
        shared_count: int | None = None
        for index in range(len(self._unread_requests) - 1, -1, -1):
            request = self._parse_unread(index)
            if request is None:
                continue
            end = None if shared_count is None else max(0, shared_count - request.same)
            item_lists.append(request.items[:end])
            shared_count = request.same if shared_count is None else min(shared_count, request.same)
            if shared_count == 0:
                break
        if shared_count:
            item_lists.append(self._newest_items[:shared_count])
        return tuple(item for items in reversed(item_lists) for item in items)

    def _parse_unread(self, index: int) -> StepRequest | None:
        entry = self._unread_requests[index]
        if isinstance(entry, StepRequest):
            return entry
        if SHORTENED_MARK in entry:
            request = self._parse_short_line(entry)
        else:
            event = event_of(entry, self._report)
            request = event.request if isinstance(event, StepRequested) else None
        if request is not None:
            self._unread_requests[index] = request
        return request

    def _parse_short_line(self, line: bytes) -> StepRequest | None:
        """Parse a shortened line; None when it cannot be read, which is reported."""
        try:
            data = self._full_requests.filled_record(load_line(line) or {})
            return StepRequest.model_validate(data.get("request"))
        except ValueError as problem:
            self._report(line, str(problem))
            return None

    def _full_record(self, seq: int) -> dict[str, Any] | None:
        line = self._lines_by_seq.get(seq)
        return None if line is None else load_line(line)
