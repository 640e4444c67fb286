"""Import a recording through the front door, and sum up what the session holds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.store.exchange.import_report import ImportReport
from palimpsest.store.interface import Store
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import Part, StepFinishPart, TextPart
from palimpsest.transcript.session_record.sessions import SessionInfo

NOW = 1_790_000_000_000


def now() -> int:
    return NOW


def import_file(path: Path, store: Store | None = None) -> tuple[Store, ImportReport]:
    """Import a recording; returns the store and the report."""
    store = store or MemoryStore()
    return store, REGISTRY.import_from(store, path, now)


@dataclass(frozen=True)
class UsageSums:
    """Figures of one session, from its journal alone."""

    requests: int
    """Requests with usage."""
    input: int
    cached: int
    written: int
    output: int
    reasoning: int
    peak: int
    cost: float | None


def sums_of(store: Store, session_id: str) -> UsageSums:
    """Add up the step-finish parts of a session."""
    ends = [part for part in parts_of(store, session_id) if isinstance(part, StepFinishPart)]
    costs = [end.cost for end in ends if end.cost is not None]
    return UsageSums(
        requests=len(ends),
        input=sum(end.tokens.prompt for end in ends),
        cached=sum(end.tokens.cache_read for end in ends),
        written=sum(end.tokens.cache_write for end in ends),
        output=sum(end.tokens.output for end in ends),
        reasoning=sum(end.tokens.reasoning for end in ends),
        peak=max((end.tokens.prompt for end in ends), default=0),
        cost=round(sum(costs), 4) if costs else None,
    )


def messages_of(store: Store, session_id: str) -> Sequence[Message]:
    return store.load(session_id).messages()


def parts_of(store: Store, session_id: str) -> list[Part]:
    return [part for message in messages_of(store, session_id) for part in message.parts]


def info_of(store: Store, session_id: str) -> SessionInfo:
    session = store.load(session_id).session
    assert session is not None
    return session


def facts_of(store: Store, session_id: str) -> dict[str, Any]:
    note: dict[str, Any] = (info_of(store, session_id).metadata or {})["imported"]
    return note


def kinds_of(store: Store, session_id: str) -> Counter[str]:
    """Count messages by role and parts by type; a call with its state."""
    counts: Counter[str] = Counter()
    for message in messages_of(store, session_id):
        counts[message.info.role] += 1
        for part in message.parts:
            counts[part.type if part.type != "tool" else f"tool {part.state.status}"] += 1
    return counts


def dialogue(store: Store, session_id: str) -> list[str]:
    """Return who said what: ``> `` before prompts, ``< `` before answers, ``= `` before summaries."""
    lines = []
    for message in messages_of(store, session_id):
        summary = isinstance(message.info, AssistantMessage) and message.info.summary
        mark = "=" if summary else ">" if message.info.role == "user" else "<"
        words = " ".join(part.text for part in message.parts if isinstance(part, TextPart))
        lines.append(f"{mark} {words}".rstrip())
    return lines
