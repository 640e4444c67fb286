"""What holds for a recorded session as a whole: title, model, times, sums, origin and gaps."""

import json

from palimpsest.review.importing.message_parts import UNKNOWN, model_ref
from palimpsest.review.importing.recorded import Json, MessageRead, SessionBegin
from palimpsest.review.importing.recorded_names import RecordedNames
from palimpsest.store.interface import Store
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime, Spent
from palimpsest.transcript.timeline import NO_TOTALS
from palimpsest.transcript.values import Usage

MOST_GAPS = 200
"""Gaps that are named one by one in the session's metadata; the others are counted."""


class RecordingFacts:
    """The facts of one session, as far as it was read."""

    def __init__(
        self, begin: SessionBegin, names: RecordedNames, store: Store, *, now: int
    ) -> None:
        """``now`` is the session's time where the recording has none."""
        self.begin = begin
        self.names = names
        self.given_title = begin.title
        self.model = model_ref(begin.model)
        self.created = begin.created if begin.created is not None else now
        self.time = self.created
        """Time of the newest value, in milliseconds since 1970."""
        self.spent = Spent()
        self.totals = NO_TOTALS
        """What the recording tells of the whole."""
        self._gaps: list[Json] = []
        self._more_gaps = 0
        self._texts = _kept_texts(begin, store)

    @property
    def title(self) -> str:
        """The recorded title, else the beginning of the first prompt."""
        return self.given_title or f"A session of {self.begin.format}"

    def at(self, time: int | None) -> int:
        """Take the time of the next value; returns that of the value before where it has none."""
        if time is not None:
            self.time = time
        return self.time

    def asked_of(self, value: MessageRead) -> None:
        """Take the model and effort of the next message."""
        if not value.model and value.effort is None:
            return
        model = model_ref(value.model) if value.model else self.model
        effort = value.effort if value.effort is not None or value.model else model.variant
        self.model = model.model_copy(update={"variant": effort})

    def spend(self, usage: Usage, cost: float | None) -> Spent:
        """Add the usage of one request; returns what was added."""
        one = Spent(cost=cost, tokens=usage, unpriced=0 if cost is not None else 1)
        self.spent = self.spent.plus(one)
        return one

    def take_back(self, one: Spent) -> None:
        """Subtract the usage of a request that is reported anew."""
        counts = ("input", "output", "reasoning", "cache_read", "cache_write")
        tokens = self.spent.tokens
        rest = {name: getattr(tokens, name) - getattr(one.tokens, name) for name in counts}
        cost = self.spent.cost
        self.spent = Spent(
            cost=cost if cost is None else cost - (one.cost or 0.0),
            tokens=tokens.model_copy(update=rest),
            unpriced=self.spent.unpriced - one.unpriced,
        )

    def miss(self, gap: Json) -> None:
        """Note something that is not in the recording."""
        if len(self._gaps) < MOST_GAPS:
            self._gaps.append(gap)
        else:
            self._more_gaps += 1

    def session(self, project_id: str) -> SessionInfo:
        """Return the session's own record."""
        begin = self.begin
        return SessionInfo(
            id=self.names.session,
            project_id=project_id,
            directory=begin.directory,
            parent_id=None if begin.parent is None else self.names.other_session(begin.parent),
            title=self.title,
            version=begin.format_version,
            time=SessionTime(created=self.created, updated=max(self.time, self.created)),
            model=self.model if self.model.provider != UNKNOWN else None,
            cost=self.spent.cost,
            tokens=self.spent.tokens,
            unpriced=self.spent.unpriced or None,
        )

    def origin(self) -> Json:
        """Return what is known of the session's origin, for its metadata."""
        begin = self.begin
        said: Json = {
            "from": begin.format,
            "format_version": begin.format_version,
            "id": begin.id,
            "title": self.title,
            "window": begin.window,
            "parent_call": begin.parent_call,
            "gaps": list(self._gaps) or None,
            "more_gaps": self._more_gaps or None,
            "totals": {name: one for name, one in self.totals._asdict().items() if one is not None}
            or None,
            **self._texts,
        }
        if begin.branch_of is not None:
            said["branch_of"] = self.names.other_session(begin.branch_of)
        if begin.branch_at is not None:
            said["branch_at"] = self.names.message(begin.branch_at)
        return {name: one for name, one in said.items() if one not in (None, "")}


def _kept_texts(begin: SessionBegin, store: Store) -> Json:
    made: Json = {}
    if begin.system is not None:
        made["system"] = _kept(begin.system, "text/plain", store)
    if begin.tools is not None:
        specs = [one.model_dump(mode="json", exclude_none=True) for one in begin.tools]
        made["tools"] = _kept(json.dumps(specs, ensure_ascii=False), "application/json", store)
    return made


def _kept(text: str, mime: str, store: Store) -> Json:
    clean = scrub(text)
    ref = store.put_blob(clean.encode("utf-8", "surrogatepass"), mime)
    kept: Json = ref.model_copy(update={"chars": len(clean)}).model_dump(exclude_none=True)
    return kept
