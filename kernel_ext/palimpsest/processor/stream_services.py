"""The services that the stream processor uses: the journal, ids, a clock, blobs and truncation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.store.log.journal import Journal
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.values import BlobRef


@dataclass(frozen=True, slots=True)
class StreamServices:
    """The services for processing one step."""

    recorder: Journal
    ids: Ids
    clock: Callable[[], int]
    """Milliseconds since 1970."""
    keep_output: Callable[[str], tuple[str, BlobRef | None]]
    """Put a long output into a blob; returns what stays in the journal and the reference."""
    keep_attachment: Callable[[str], str]
    """Put a long ``data:`` url into a blob; returns the url to store."""
    truncate: Callable[[str, str, str, Mapping[str, Any]], Decision | None]
    """``(message id, part id, whole output)``: decides what the model will be shown of it."""
    clean: Callable[[str], str] = scrub
    """Redact secrets in an output, before it is stored, cut or counted."""
