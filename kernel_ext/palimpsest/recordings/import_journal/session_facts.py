"""Collect facts about a recorded session as a whole: title, model, times, sums, origin and gaps."""

import json

from palimpsest.recordings.import_journal.derived_ids import DerivedIds
from palimpsest.recordings.import_journal.message_parts import UNKNOWN_NAME, model_ref
from palimpsest.recordings.reading.recorded import Json, MessageRead, SentRead, SessionBegin
from palimpsest.store.interface import Store
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime, Spent
from palimpsest.transcript.timeline import NO_TOTALS
from palimpsest.transcript.values import Usage

MAX_GAPS = 200
"""Maximum gaps that are listed in the session's metadata; the others are counted."""


class RecordingFacts:
    """The facts of one session, from the values read so far."""

    def __init__(
        self, begin: SessionBegin, derived_ids: DerivedIds, store: Store, *, now_ms: int
    ) -> None:
        """``now_ms`` is the session's time where the recording has none."""
        self.begin = begin
        self.derived_ids = derived_ids
        self.title_so_far = begin.title
        self.model = model_ref(begin.model)
        self.created_ms = begin.created if begin.created is not None else now_ms
        self.time_ms = self.created_ms
        """Time of the newest value, in milliseconds since 1970."""
        self.spent = Spent()
        self.totals = NO_TOTALS
        """The totals that the recording states for the whole session."""
        self._gaps: list[Json] = []
        self._unlisted_gap_count = 0
        self._store = store
        self._begin_refs = _store_begin_texts(begin, store)
        """References to the blobs of the system prompt and tools that the session began with."""
        self._sent_refs: Json = {}
        """References to the blobs of the newest captured system prompt and tools."""

    @property
    def title(self) -> str:
        """The recorded title, else one from the first prompt, else one from the recording's format."""
        return self.title_so_far or f"A session of {self.begin.format}"

    def advance_time(self, time_ms: int | None) -> int:
        """Set the time to that of the next value, and return it; a value without a time does not change it."""
        if time_ms is not None:
            self.time_ms = time_ms
        return self.time_ms

    def set_model(self, value: MessageRead) -> None:
        """Set the model and effort to those of the next message."""
        if not value.model and value.effort is None:
            return
        if value.model:
            self.model = model_ref(value.model, value.effort)
        elif value.effort != self.model.variant:
            self.model = self.model.model_copy(update={"variant": value.effort})

    def store_sent_parts(self, sent_parts: SentRead | None) -> Json | None:
        """Store what was captured of a request, and return the references and cache marks for its answer's metadata."""
        if sent_parts is None:
            return None
        if sent_parts.system is not None:
            blocks = json.dumps(sent_parts.system, ensure_ascii=False)
            self._sent_refs["system"] = _store_text(blocks, "application/json", self._store)
        if sent_parts.tools is not None:
            self._sent_refs["tools"] = _store_text(
                sent_parts.tools, "application/json", self._store
            )
        mark_fields = [[mark.place, mark.lifetime, mark.block] for mark in sent_parts.cache_marks]
        return {**self._sent_refs, "marks": mark_fields}

    def add_usage(self, usage: Usage, cost: float | None) -> Spent:
        """Add the usage of one request, and return the added amount."""
        added = Spent(cost=cost, tokens=usage, unpriced=0 if cost is not None else 1)
        self.spent = self.spent.plus(added)
        return added

    def subtract_usage(self, replaced: Spent) -> None:
        """Subtract an earlier report of a request's usage, which a later report replaces."""
        token_fields = ("input", "output", "reasoning", "cache_read", "cache_write")
        tokens = self.spent.tokens
        remaining = {
            field: getattr(tokens, field) - getattr(replaced.tokens, field)
            for field in token_fields
        }
        cost = self.spent.cost
        self.spent = Spent(
            cost=cost if cost is None else cost - (replaced.cost or 0.0),
            tokens=tokens.model_copy(update=remaining),
            unpriced=self.spent.unpriced - replaced.unpriced,
        )

    def add_gap(self, gap: Json) -> None:
        """Add a gap in the recording; of more than the maximum, only the number is stored."""
        if len(self._gaps) < MAX_GAPS:
            self._gaps.append(gap)
        else:
            self._unlisted_gap_count += 1

    def session_info(self, project_id: str) -> SessionInfo:
        """Return the session's own record."""
        begin = self.begin
        return SessionInfo(
            id=self.derived_ids.session_id,
            project_id=project_id,
            directory=begin.directory,
            parent_id=self.derived_ids.other_session_id(begin.parent),
            title=self.title,
            version=begin.format_version,
            time=SessionTime(created=self.created_ms, updated=max(self.time_ms, self.created_ms)),
            model=self.model if self.model.provider != UNKNOWN_NAME else None,
            cost=self.spent.cost,
            tokens=self.spent.tokens,
            unpriced=self.spent.unpriced or None,
        )

    def origin(self) -> Json:
        """Return the known facts about the session's origin, for its metadata."""
        begin, totals = self.begin, self.totals._asdict().items()
        origin_fields: Json = {
            "from": begin.format,
            "format_version": begin.format_version,
            "id": begin.id,
            "title": self.title,
            "window": begin.window,
            "permissions": begin.permissions,
            "parent_call": begin.parent_call,
            "gaps": list(self._gaps) or None,
            "more_gaps": self._unlisted_gap_count or None,
            "totals": {name: total for name, total in totals if total is not None} or None,
            **self._begin_refs,
            "branch_of": self.derived_ids.other_session_id(begin.branch_of),
            "branch_at": None
            if begin.branch_at is None
            else self.derived_ids.message_id(begin.branch_at),
        }
        return {name: value for name, value in origin_fields.items() if value not in (None, "")}


def _store_begin_texts(begin: SessionBegin, store: Store) -> Json:
    """Store the system prompt and tools that a session began with, and return the references to their blobs."""
    refs: Json = {}
    if begin.system is not None:
        refs["system"] = _store_text(begin.system, "text/plain", store)
    if begin.tools is not None:
        specs = [tool.model_dump(mode="json", exclude_none=True) for tool in begin.tools]
        refs["tools"] = _store_text(
            json.dumps(specs, ensure_ascii=False), "application/json", store
        )
    return refs


def _store_text(text: str, mime: str, store: Store) -> Json:
    """Store a text without its secrets, and return the reference to its blob."""
    scrubbed_text = scrub(text)
    ref = store.put_blob(scrubbed_text.encode("utf-8", "surrogatepass"), mime)
    stored_ref: Json = ref.model_copy(update={"chars": len(scrubbed_text)}).model_dump(
        exclude_none=True
    )
    return stored_ref
