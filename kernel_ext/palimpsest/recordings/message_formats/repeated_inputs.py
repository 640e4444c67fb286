"""Find what is new, changed or removed between requests that each record their whole input.

Traces record every request with all its messages. A message is recognised by its text, a result by its call, an
answer with calls by their ids. Messages that are missing from the next request were reduced: cleared, replaced by a
summary, or removed; the order of the messages decides which of these is reported.
"""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from palimpsest.recordings.reading.json_fields import fingerprint
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    GapRead,
    Media,
    MessagePart,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    Text,
    Thinking,
)
from palimpsest.transcript.values import Usage

EntryKey = tuple[str, ...]
"""What identifies an entry: its type (a role, ``calls`` or ``result``), then hashes of contents or ids of calls."""
Parts = tuple[MessagePart, ...]
NO_REQUEST_SENTENCE = "The request that made this answer is not in the recording."
CHANGED_SENTENCE = "A later request shows this message in another form, which is not kept."
LEFT_OUT_SENTENCE = (
    "The client left earlier messages out from here on, with nothing in their place."
)


@dataclass(frozen=True, slots=True)
class InputMessage:
    """One message of a request's input; its results belong to calls of earlier answers."""

    role: Literal["user", "assistant"]
    parts: Parts = ()
    results: tuple[ResultRead, ...] = ()
    shown_entries: list["_ShownEntry"] = field(default_factory=list, compare=False, repr=False)
    """The message's entries, computed once for all requests that repeat this value."""


@dataclass(frozen=True, slots=True)
class RecordedReduction:
    """Recorded facts about a reduction that the next request shows."""

    rule: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    usage: Usage | None = None
    model: str = ""
    written_by: str | None = None
    """Id of the session in the same recording whose last request wrote the summary."""


@dataclass(frozen=True, slots=True)
class _InputEntry:
    """A message, or one result, in the last request's input."""

    key: EntryKey
    message_id: str
    call_id: str = ""
    """For a result: the imported id of its call."""
    shown_hash: bytes = b""
    """For a result: the hash of its output as last sent."""
    whole_hash: bytes = b""
    """For a result: the hash of its output as first sent."""
    call_id_pairs: tuple[tuple[str, str], ...] = ()
    """An answer's calls: the recorded id and the imported id of each."""


@dataclass(frozen=True, slots=True)
class _ShownEntry:
    """A message, or one result, of the current request's input."""

    key: EntryKey
    message: InputMessage | None = None
    result: ResultRead | None = None
    shown_hash: bytes = b""


@dataclass(frozen=True, slots=True)
class _InputCounts:
    """Counts of the input's entries, calls and results up to a message."""

    entry_count: int = 0
    call_count: int = 0
    result_count: int = 0


@dataclass(slots=True)
class _ChangedRange:
    """The removed and the new entries between two entries that stayed."""

    removed_entries: Sequence[_InputEntry]
    new_entries: list[_ShownEntry]
    is_last: bool
    resulting_entries: list[_InputEntry] = field(default_factory=list)
    """The entries of the current input that take the place of these."""


@dataclass(frozen=True, slots=True)
class _CurrentRequest:
    """Facts about the current request that are needed to read its input."""

    created_ms: int | None
    reduction: RecordedReduction | None
    imported_call_ids: dict[str, str]
    """The imported ids of the calls so far, by their recorded ids."""


class RepeatedInputs:
    """Reads the messages of one session from the inputs of its requests."""

    def __init__(self, *, captured: bool = False) -> None:
        """With ``captured`` every input is whole and exact, as it was sent.

        Then contents that no captured request made, such as an answer from before the capture, become messages of the
        program, a message in another form is reported as changed, and missing messages are reported as left out.
        """
        self._is_captured = captured
        self._entries: list[_InputEntry] = []
        """The entries of the last request's input, with its answer."""
        self._messages: list[InputMessage] = []
        """The last request's messages."""
        self._counts_after: list[_InputCounts] = [_InputCounts()]
        """The counts after each message of the last request; first those before its first message."""
        self._call_id_counts: dict[str, int] = {}
        self._message_id_counts: dict[str, int] = {}
        self._newest_call_ids: dict[str, str] = {}
        """The imported id of the newest call, by its recorded id."""
        self._message_by_call: dict[str, str] = {}
        """The imported id of each call's message, by the call's imported id."""
        self._new_id_count = 0

    def changes_of_input(
        self,
        messages: Iterable[InputMessage],
        created_ms: int | None,
        reduction: RecordedReduction | None = None,
    ) -> Iterator[Recorded]:
        """Take the next request's input; yield how it differs from the earlier messages."""
        all_messages = list(messages)
        same_count = 0
        for message, earlier_message in zip(all_messages, self._messages, strict=False):
            if message is not earlier_message and message != earlier_message:
                break
            same_count += 1
        self._counts_after = self._counts_after[: same_count + 1]
        start_counts = self._counts_after[-1]
        entries = self._entries[: start_counts.entry_count]
        imported_call_ids = {
            recorded_id: imported_id
            for entry in entries
            for recorded_id, imported_id in entry.call_id_pairs
        }
        request = _CurrentRequest(created_ms, reduction, imported_call_ids)
        for stayed_entry, shown_entry, changed_range in self._match_entries(
            all_messages[same_count:], start_counts
        ):
            yield from self._apply_range(changed_range, request)
            entries += changed_range.resulting_entries
            if stayed_entry and shown_entry:
                imported_call_ids |= dict(stayed_entry.call_id_pairs)
                if (
                    shown_entry.result
                    and stayed_entry.call_id
                    and shown_entry.shown_hash != stayed_entry.shown_hash
                ):
                    is_restored = shown_entry.shown_hash == stayed_entry.whole_hash
                    yield ReducedRead(
                        stayed_entry.call_id,
                        "" if is_restored else shown_entry.result.output,
                        rule=reduction.rule if reduction else "",
                        restored=is_restored,
                    )
                    stayed_entry = replace(stayed_entry, shown_hash=shown_entry.shown_hash)
                entries.append(stayed_entry)
        self._entries, self._messages = entries, all_messages
        self._store_counts(all_messages[same_count:])

    def add_answer(self, answer: MessageRead) -> MessageRead:
        """Add the answer of the current request, and return it with ids that are unique in the session."""
        recorded_parts, _ = _with_call_ids(
            answer.parts, sum(len(entry.call_id_pairs) for entry in self._entries)
        )
        imported_id = _unused_id(answer.id, self._message_id_counts)
        entry, imported_parts = self._entry_of_answer(imported_id, recorded_parts)
        self._entries.append(entry)
        return replace(answer, id=imported_id, parts=imported_parts)

    def add_results(self, results: Iterable[ResultRead]) -> Iterator[ResultRead]:
        """Add the newest answer's results of calls that the provider ran; yield them with the imported ids of the calls."""
        for result in results:
            if call_id := self._newest_call_ids.get(result.call):
                output_hash = fingerprint(result.output)
                message_id = self._message_by_call[call_id]
                # An input shows the results of a message before its other contents.
                self._entries.insert(
                    -1,
                    _InputEntry(
                        ("result", result.call), message_id, call_id, output_hash, output_hash
                    ),
                )
                yield replace(result, call=call_id)

    def _store_counts(self, messages: Iterable[InputMessage]) -> None:
        """Store the counts after each message, up to the first message whose entries are not in the list."""
        numbered_entries = iter(
            enumerate(
                self._entries[self._counts_after[-1].entry_count :],
                self._counts_after[-1].entry_count + 1,
            )
        )
        for message in messages:
            last_counts = self._counts_after[-1]
            shown_entries = list(_shown_entries([message], last_counts))
            entries = [next(numbered_entries, (0, None)) for _ in shown_entries]
            if any(
                not entry or entry.key != shown_entry.key
                for (_, entry), shown_entry in zip(entries, shown_entries, strict=True)
            ):
                return
            self._counts_after.append(
                _InputCounts(
                    entries[-1][0] if entries else last_counts.entry_count,
                    last_counts.call_count + sum(isinstance(part, Call) for part in message.parts),
                    last_counts.result_count + len(message.results),
                )
            )

    def _match_entries(
        self, messages: Iterable[InputMessage], start_counts: _InputCounts
    ) -> Iterator[tuple[_InputEntry | None, _ShownEntry | None, _ChangedRange]]:
        """Yield each entry that stayed, as it was and is, with the changes before it; last the changes at the end."""
        earlier_entries = self._entries[start_counts.entry_count :]
        indexes_by_key: defaultdict[EntryKey, list[int]] = defaultdict(list)
        for index, entry in enumerate(earlier_entries):
            indexes_by_key[entry.key].append(index)
        next_index, new_entries = 0, list[_ShownEntry]()
        for shown_entry in _shown_entries(messages, start_counts):
            candidate_indexes = indexes_by_key.get(shown_entry.key, [])
            if (position := bisect_left(candidate_indexes, next_index)) == len(candidate_indexes):
                new_entries.append(shown_entry)
                continue
            index = candidate_indexes[position]
            changes = _ChangedRange(earlier_entries[next_index:index], new_entries, is_last=False)
            yield earlier_entries[index], shown_entry, changes
            next_index, new_entries = index + 1, []
        yield None, None, _ChangedRange(earlier_entries[next_index:], new_entries, is_last=True)

    def _apply_range(
        self, changed_range: _ChangedRange, request: _CurrentRequest
    ) -> Iterator[Recorded]:
        reduction = request.reduction
        removed_ids = tuple(
            dict.fromkeys(
                entry.message_id for entry in changed_range.removed_entries if not entry.call_id
            )
        )
        for entry in changed_range.removed_entries:
            if entry.call_id and entry.message_id not in removed_ids:
                yield ReducedRead(entry.call_id, "", rule=reduction.rule if reduction else "")
        new_entries = changed_range.new_entries
        first_user_entry = next((entry for entry in new_entries if entry.key[0] == "user"), None)
        if (
            removed_ids
            and self._is_captured
            and not reduction
            and _has_only_other_forms(changed_range)
        ):
            new_entries = []
            for removed_entry, new_entry in zip(
                changed_range.removed_entries, changed_range.new_entries, strict=True
            ):
                yield GapRead(CHANGED_SENTENCE, message=removed_entry.message_id)
                changed_range.resulting_entries.append(replace(removed_entry, key=new_entry.key))
        elif removed_ids and not reduction and self._is_reverted(changed_range, removed_ids):
            yield RemovedRead(removed_ids, request.created_ms)
        elif removed_ids and self._is_captured and first_user_entry is None:
            yield GapRead(LEFT_OUT_SENTENCE)
            yield RemovedRead(removed_ids, request.created_ms)
        elif removed_ids:
            new_entries = [entry for entry in new_entries if entry is not first_user_entry]
            summary_message = first_user_entry and first_user_entry.message
            recorded_reduction = reduction or RecordedReduction()
            compaction = CompactionRead(
                self._new_message_id("c"),
                _joined_text(summary_message.parts) if summary_message else "",
                replaced_messages=removed_ids,
                created=request.created_ms,
                tokens_before=recorded_reduction.tokens_before,
                tokens_after=recorded_reduction.tokens_after,
                usage=recorded_reduction.usage,
                model=recorded_reduction.model,
                written_by=recorded_reduction.written_by,
            )
            yield compaction
            if first_user_entry:
                changed_range.resulting_entries.append(
                    _InputEntry(first_user_entry.key, compaction.id)
                )
        for shown_entry in new_entries:
            yield from self._add_new_entry(shown_entry, changed_range.resulting_entries, request)

    def _is_reverted(self, changed_range: _ChangedRange, removed_ids: Sequence[str]) -> bool:
        """Return whether the user took back the last messages: a prompt and all after it, or an answer to retry."""
        if not changed_range.is_last or len(removed_ids) >= len(self._entries):
            return False
        entry_types = [entry.key[0] for entry in changed_range.removed_entries]
        return (
            entry_types[0] == "user"
            or not any(entry.key[0] == "user" for entry in changed_range.new_entries)
            or (self._is_captured and "user" not in entry_types)
        )

    def _add_new_entry(
        self,
        shown_entry: _ShownEntry,
        resulting_entries: list[_InputEntry],
        request: _CurrentRequest,
    ) -> Iterator[Recorded]:
        created_ms = request.created_ms
        if result := shown_entry.result:
            call_id = request.imported_call_ids.get(result.call) or self._newest_call_ids.get(
                result.call
            )
            if not call_id and self._is_captured:
                yield self._program_message(
                    shown_entry, (Text(result.output), *result.media), resulting_entries, request
                )
                return
            if not call_id:
                chars = len(result.output)
                yield GapRead("A result stood in a request without its call.", chars=chars)
                return
            message_id = self._message_by_call[call_id]
            resulting_entries.append(
                _InputEntry(
                    shown_entry.key,
                    message_id,
                    call_id,
                    shown_entry.shown_hash,
                    shown_entry.shown_hash,
                )
            )
            yield replace(result, call=call_id)
        elif shown_entry.message and shown_entry.message.role == "user":
            message = MessageRead(
                self._new_message_id("m"), "user", shown_entry.message.parts, created_ms
            )
            resulting_entries.append(_InputEntry(shown_entry.key, message.id))
            yield message
        elif shown_entry.message and self._is_captured:
            yield self._program_message(
                shown_entry, shown_entry.message.parts, resulting_entries, request
            )
        elif shown_entry.message:
            entry, parts = self._entry_of_answer(
                self._new_message_id("m"), shown_entry.message.parts
            )
            request.imported_call_ids.update(entry.call_id_pairs)
            resulting_entries.append(entry)
            yield MessageRead(entry.message_id, "assistant", parts, created_ms)
            yield GapRead(NO_REQUEST_SENTENCE, message=entry.message_id)

    def _program_message(
        self,
        shown_entry: _ShownEntry,
        parts: Parts,
        resulting_entries: list[_InputEntry],
        request: _CurrentRequest,
    ) -> MessageRead:
        """Return contents that no request of the session made as a message of the program; a call becomes text."""
        message_id = self._new_message_id("m")
        resulting_entries.append(_InputEntry(shown_entry.key, message_id))
        texts = tuple(map(_program_part, parts))
        return MessageRead(message_id, "user", texts, request.created_ms, by_program=True)

    def _entry_of_answer(self, message_id: str, recorded_parts: Parts) -> tuple[_InputEntry, Parts]:
        """Return the entry of an answer, and its parts with the ids of calls that are unique in the session."""
        imported_parts = tuple(
            replace(part, id=_unused_id(part.id, self._call_id_counts))
            if isinstance(part, Call)
            else part
            for part in recorded_parts
        )
        id_pairs = tuple(
            (part.id, imported_part.id)
            for part, imported_part in zip(recorded_parts, imported_parts, strict=True)
            if isinstance(part, Call) and isinstance(imported_part, Call)
        )
        for recorded_id, imported_id in id_pairs:
            self._newest_call_ids[recorded_id] = imported_id
            self._message_by_call[imported_id] = message_id
        return _InputEntry(
            _entry_key("assistant", recorded_parts), message_id, call_id_pairs=id_pairs
        ), imported_parts

    def _new_message_id(self, letter: str) -> str:
        self._new_id_count += 1
        return _unused_id(f"{letter}{self._new_id_count}", self._message_id_counts)


def _unused_id(base_id: str, use_counts: dict[str, int]) -> str:
    """Return an id that was not used yet, and count it as used."""
    free_id, number = base_id, use_counts.get(base_id, 0)
    while free_id in use_counts:
        number += 1
        free_id = f"{base_id}#{number}"
    use_counts[base_id] = max(number, 1)
    use_counts[free_id] = use_counts.get(free_id, 1)
    return free_id


def _shown_entries(
    messages: Iterable[InputMessage], start_counts: _InputCounts
) -> Iterator[_ShownEntry]:
    call_count, result_count = start_counts.call_count, start_counts.result_count
    for message in messages:
        if message.shown_entries:
            call_count += sum(isinstance(part, Call) for part in message.parts)
            result_count += len(message.results)
            yield from message.shown_entries
            continue
        entries = list[_ShownEntry]()
        for result in message.results:
            result_count += 1
            named_result = result if result.call else replace(result, call=f"call{result_count}")
            entries.append(
                _ShownEntry(
                    ("result", named_result.call),
                    result=named_result,
                    shown_hash=fingerprint(named_result.output),
                )
            )
        if message.parts:
            parts, call_count = _with_call_ids(message.parts, call_count)
            named_message = message if parts is message.parts else replace(message, parts=parts)
            entries.append(_ShownEntry(_entry_key(message.role, parts), named_message))
        if _has_all_ids(message):
            message.shown_entries.extend(entries)
        yield from entries


def _has_all_ids(message: InputMessage) -> bool:
    return all(result.call for result in message.results) and all(
        part.id for part in message.parts if isinstance(part, Call)
    )


def _with_call_ids(parts: Parts, earlier_call_count: int) -> tuple[Parts, int]:
    """Return the parts with an id for each call that was recorded without an id, and the number of calls so far."""
    call_count = sum(isinstance(part, Call) for part in parts)
    if all(part.id for part in parts if isinstance(part, Call)):
        return parts, earlier_call_count + call_count
    named_parts: list[MessagePart] = []
    for part in parts:
        if isinstance(part, Call):
            earlier_call_count += 1
            named_parts.append(part if part.id else replace(part, id=f"call{earlier_call_count}"))
        else:
            named_parts.append(part)
    return tuple(named_parts), earlier_call_count


def _entry_key(role: str, parts: Parts) -> EntryKey:
    if role == "assistant" and (calls := [part.id for part in parts if isinstance(part, Call)]):
        return ("calls", *calls)
    media = [
        fingerprint(file.data or file.name or "").hex() for file in parts if isinstance(file, Media)
    ]
    return (role, fingerprint(_joined_text(parts)).hex(), *media)


def _has_only_other_forms(changed_range: _ChangedRange) -> bool:
    """Return whether each removed message of the user has a new one in its place, so that only its form changed."""
    keys = [entry.key for entry in changed_range.removed_entries]
    keys += [entry.key for entry in changed_range.new_entries]
    return (
        not changed_range.is_last
        and len(changed_range.removed_entries) == len(changed_range.new_entries)
        and all(key[0] == "user" for key in keys)
    )


def _program_part(part: MessagePart) -> Text | Thinking | Media:
    match part:
        case Text():
            return replace(part, synthetic=True)
        case Call():
            input_json = json.dumps(part.input, ensure_ascii=False)
            return Text(f"{part.tool} {input_json}", synthetic=True)
        case _:
            return part


def _joined_text(parts: Iterable[object]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text)).strip()
