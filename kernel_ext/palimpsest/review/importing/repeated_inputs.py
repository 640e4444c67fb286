"""Find out what is new, what changed and what is gone between requests that each record their whole input.

Traces record every request with all its messages. A message is recognised again by what it says, a result by
its call, an answer with calls by their ids. What was there before and is not any more was reduced: cleared,
replaced by a summary, or taken back; which of these is told as far as the order of the messages tells it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from palimpsest.review.importing.json_fields import fingerprint
from palimpsest.review.importing.recorded import (
    Call,
    CompactionRead,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    Text,
    Thinking,
)
from palimpsest.transcript.values import Usage

Key = tuple[str, ...]
Parts = tuple[Text | Thinking | Media | Call, ...]
ANSWER_NOT_RECORDED = "The request that made this answer is not in the recording."


@dataclass(frozen=True, slots=True)
class InputMessage:
    """One message of a request's input; the results in it belong to calls of answers before it."""

    role: Literal["user", "assistant"]
    parts: Parts = ()
    results: tuple[ResultRead, ...] = ()
    shown: list["_ShownEntry"] = field(default_factory=list, compare=False, repr=False)
    """Worked out once for all requests that repeat this value."""


@dataclass(frozen=True, slots=True)
class RecordedReduction:
    """What the recording says about a reduction that the next request shows."""

    rule: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    usage: Usage | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class _InputEntry:
    """A message, or one result, that the last request showed."""

    key: Key
    message: str
    call: str = ""
    shown: bytes = b""
    whole: bytes = b""
    calls: tuple[tuple[str, str], ...] = ()
    """Of an answer: the ids of its calls as recorded, and as they are told."""


@dataclass(frozen=True, slots=True)
class _ShownEntry:
    """A message, or one result, of the input at hand."""

    key: Key
    message: InputMessage | None = None
    result: ResultRead | None = None
    digest: bytes = b""


@dataclass(frozen=True, slots=True)
class _InputPlace:
    """How much the input had shown up to a message."""

    entries: int = 0
    calls: int = 0
    results: int = 0


@dataclass(slots=True)
class _InputGap:
    """What is gone and what is new between two entries that stayed."""

    gone: Sequence[_InputEntry]
    new: list[_ShownEntry]
    last: bool
    entries: list[_InputEntry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _NextInput:
    """The request whose input is told."""

    created: int | None
    reduction: RecordedReduction | None
    known: dict[str, str]
    """The calls before a message by their ids as recorded, as they are told."""


class RepeatedInputs:
    """Tells the messages of one session from the inputs of its requests."""

    def __init__(self) -> None:
        self._live: list[_InputEntry] = []
        self._input: list[InputMessage] = []
        """The last request's messages."""
        self._places: list[_InputPlace] = [_InputPlace()]
        """Before the first message of the last request, and after each."""
        self._calls: dict[str, int] = {}
        self._answers: dict[str, int] = {}
        self._latest: dict[str, str] = {}
        """The last call that was told, by its recorded id."""
        self._owners: dict[str, str] = {}
        """The message that made a call."""
        self._count = 0

    def input(
        self,
        messages: Iterable[InputMessage],
        created: int | None,
        reduction: RecordedReduction | None = None,
    ) -> Iterator[Recorded]:
        """Yield what the input of the next request adds to, or takes from, what is known."""
        told = list(messages)
        same = 0
        for one, before in zip(told, self._input, strict=False):
            if one is not before and one != before:
                break
            same += 1
        self._places = self._places[: same + 1]
        start = self._places[-1]
        live = self._live[: start.entries]
        known = {name: own for entry in live for name, own in entry.calls}
        step = _NextInput(created, reduction, known)
        for stayed, shown, gap in self._aligned(told[same:], start):
            yield from self._bridged(gap, step)
            live += gap.entries
            if stayed and shown:
                known |= dict(stayed.calls)
                if shown.result and shown.digest != stayed.shown:
                    restored = shown.digest == stayed.whole
                    yield ReducedRead(
                        stayed.call,
                        "" if restored else shown.result.output,
                        rule=reduction.rule if reduction else "",
                        restored=restored,
                    )
                    stayed = replace(stayed, shown=shown.digest)
                live.append(stayed)
        self._live, self._input = live, told
        self._note_places(told[same:])

    def answer(self, answer: MessageRead) -> MessageRead:
        """Take in the answer of the request whose input was told last; it and its calls get ids of their own."""
        recorded, _ = _numbered(answer.parts, sum(len(one.calls) for one in self._live))
        told = tuple(self._own_call(one) if isinstance(one, Call) else one for one in recorded)
        name = _unused(answer.id, self._answers)
        self._live.append(self._answered(name, recorded, told))
        return replace(answer, id=name, parts=told)

    def _note_places(self, messages: Iterable[InputMessage]) -> None:
        """Note where each message ends among the entries; a message that left none ends the list."""
        keys = iter(enumerate(self._live[self._places[-1].entries :], self._places[-1].entries + 1))
        for message in messages:
            last = self._places[-1]
            shown = list(_entries([message], last))
            found = [next(keys, (0, None)) for _ in shown]
            if any(
                not entry or entry.key != one.key
                for (_, entry), one in zip(found, shown, strict=True)
            ):
                return
            self._places.append(
                _InputPlace(
                    found[-1][0] if found else last.entries,
                    last.calls + sum(isinstance(one, Call) for one in message.parts),
                    last.results + len(message.results),
                )
            )

    def _aligned(
        self, messages: Iterable[InputMessage], start: _InputPlace
    ) -> Iterator[tuple[_InputEntry | None, _ShownEntry | None, _InputGap]]:
        before = self._live[start.entries :]
        places: defaultdict[Key, list[int]] = defaultdict(list)
        for place, entry in enumerate(before):
            places[entry.key].append(place)
        at, new = 0, list[_ShownEntry]()
        for shown in _entries(messages, start):
            found = places.get(shown.key, [])
            if (n := bisect_left(found, at)) == len(found):
                new.append(shown)
                continue
            yield before[found[n]], shown, _InputGap(before[at : found[n]], new, last=False)
            at, new = found[n] + 1, []
        yield None, None, _InputGap(before[at:], new, last=True)

    def _bridged(self, gap: _InputGap, step: _NextInput) -> Iterator[Recorded]:
        reduction = step.reduction
        gone = tuple(dict.fromkeys(one.message for one in gap.gone if not one.call))
        for one in gap.gone:
            if one.call and one.message not in gone:
                yield ReducedRead(one.call, "", rule=reduction.rule if reduction else "")
        new = gap.new
        if gone and not reduction and _is_taken_back(gap, gap.last and len(gone) < len(self._live)):
            yield RemovedRead(gone, step.created)
        elif gone:
            first = next((one for one in new if one.key[0] == "user"), None)
            new = [one for one in new if one is not first]
            summary = _words(first.message.parts) if first and first.message else ""
            about = reduction or RecordedReduction()
            told = CompactionRead(
                self._next("c"),
                summary,
                replaced=gone,
                created=step.created,
                tokens_before=about.tokens_before,
                tokens_after=about.tokens_after,
                usage=about.usage,
                model=about.model,
            )
            yield told
            if first:
                gap.entries.append(_InputEntry(first.key, told.id))
        for shown in new:
            yield from self._told(shown, gap.entries, step)

    def _told(
        self, shown: _ShownEntry, entries: list[_InputEntry], step: _NextInput
    ) -> Iterator[Recorded]:
        created = step.created
        if result := shown.result:
            call = step.known.get(result.call) or self._latest.get(result.call)
            if not call:
                chars = len(result.output)
                yield GapRead("A result stood in a request without its call.", chars=chars)
                return
            owner = self._owners[call]
            entries.append(_InputEntry(shown.key, owner, call, shown.digest, shown.digest))
            yield replace(result, call=call)
        elif shown.message and shown.message.role == "user":
            told = MessageRead(self._next("m"), "user", shown.message.parts, created)
            entries.append(_InputEntry(shown.key, told.id))
            yield told
        elif shown.message:
            parts = tuple(
                self._own_call(one) if isinstance(one, Call) else one for one in shown.message.parts
            )
            entry = self._answered(self._next("m"), shown.message.parts, parts)
            step.known.update(entry.calls)
            entries.append(entry)
            yield MessageRead(entry.message, "assistant", parts, created)
            yield GapRead(ANSWER_NOT_RECORDED, message=entry.message)

    def _answered(self, message: str, recorded: Parts, told: Parts) -> _InputEntry:
        ids = tuple(
            (one.id, other.id)
            for one, other in zip(recorded, told, strict=True)
            if isinstance(one, Call) and isinstance(other, Call)
        )
        for name, own in ids:
            self._latest[name] = own
            self._owners[own] = message
        return _InputEntry(_key("assistant", recorded), message, calls=ids)

    def _own_call(self, call: Call) -> Call:
        return replace(call, id=_unused(call.id, self._calls))

    def _next(self, letter: str) -> str:
        self._count += 1
        return _unused(f"{letter}{self._count}", self._answers)


def _unused(name: str, used: dict[str, int]) -> str:
    """Return a name that was not used yet, and count it as used."""
    found, n = name, used.get(name, 0)
    while found in used:
        n += 1
        found = f"{name}#{n}"
    used[name] = max(n, 1)
    used[found] = used.get(found, 1)
    return found


def _entries(messages: Iterable[InputMessage], start: _InputPlace) -> Iterator[_ShownEntry]:
    calls, results = start.calls, start.results
    for message in messages:
        if message.shown:
            calls += sum(isinstance(one, Call) for one in message.parts)
            results += len(message.results)
            yield from message.shown
            continue
        found = list[_ShownEntry]()
        for result in message.results:
            results += 1
            named = result if result.call else replace(result, call=f"call{results}")
            found.append(
                _ShownEntry(("result", named.call), result=named, digest=fingerprint(named.output))
            )
        if message.parts:
            parts, calls = _numbered(message.parts, calls)
            told = message if parts is message.parts else replace(message, parts=parts)
            found.append(_ShownEntry(_key(message.role, parts), told))
        if _has_all_ids(message):
            message.shown.extend(found)
        yield from found


def _has_all_ids(message: InputMessage) -> bool:
    return all(one.call for one in message.results) and all(
        one.id for one in message.parts if isinstance(one, Call)
    )


def _numbered(parts: Parts, calls: int) -> tuple[Parts, int]:
    """Give calls that were recorded without an id their number among the calls as one."""
    made = sum(isinstance(one, Call) for one in parts)
    if all(one.id for one in parts if isinstance(one, Call)):
        return parts, calls + made
    told: list[Text | Thinking | Media | Call] = []
    for one in parts:
        if isinstance(one, Call):
            calls += 1
            told.append(one if one.id else replace(one, id=f"call{calls}"))
        else:
            told.append(one)
    return tuple(told), calls


def _key(role: str, parts: Parts) -> Key:
    if role == "assistant" and (calls := [one.id for one in parts if isinstance(one, Call)]):
        return ("calls", *calls)
    media = [
        fingerprint(one.data or one.name or "").hex() for one in parts if isinstance(one, Media)
    ]
    return (role, fingerprint(_words(parts)).hex(), *media)


def _is_taken_back(gap: _InputGap, tail: bool) -> bool:  # noqa: FBT001
    """Return whether a person took the last messages back: all from a question on, or an answer for a new try."""
    begins = gap.gone[0].key[0]
    return tail and (begins == "user" or not any(one.key[0] == "user" for one in gap.new))


def _words(parts: Iterable[object]) -> str:
    return "\n".join(one.text for one in parts if isinstance(one, Text)).strip()
