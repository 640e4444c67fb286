"""The content blocks, usage and compaction marks of Claude Code's records as values of a recording."""

from collections.abc import Iterator
from typing import Any

from palimpsest.review.importing.json_fields import count, mapping, mappings, moment, text, tokens
from palimpsest.review.importing.recorded import CompactionRead, Json, ResultRead
from palimpsest.transcript.provider_calls import result_error, result_text
from palimpsest.transcript.values import Usage, priced_tier

REASON_CHARS = 60


def compaction_of(record: Json, summary: str | None) -> CompactionRead:
    """Return the compaction that a record marks; ``writer`` in it is the session whose request wrote the summary."""
    told = mapping(record.get("compactMetadata"))
    before, after = told.get("preTokens"), told.get("postTokens")
    return CompactionRead(
        id=text(record.get("node")),
        summary=summary,
        keeps_from=text(record.get("head")) or None,
        created=moment(record.get("timestamp")),
        auto=told.get("trigger") != "manual",
        tokens_before=count(before) if before is not None else None,
        tokens_after=count(after) if after is not None else None,
        written_by=text(record.get("writer")) or None,
    )


def usage_of(value: Json) -> Usage | None:
    """Return the usage of an answer; None where nothing was recorded."""
    if not value:
        return None
    written = tokens(value, "cache_creation_input_tokens")
    kept = mapping(value.get("cache_creation"))
    return Usage(
        input=tokens(value, "input_tokens"),
        output=tokens(value, "output_tokens"),
        cache_read=tokens(value, "cache_read_input_tokens"),
        cache_write=written,
        cache_write_hour=min(written, tokens(kept, "ephemeral_1h_input_tokens")) if kept else None,
        service_tier=priced_tier(value.get("service_tier")),
    )


def cache_miss_of(message: Json) -> str:
    """Return the provider's own reason why it cached less than of the request before; empty where it told none.

    ``diagnostics.cache_miss_reason.type`` of an answer (platform.claude.com, "Cache diagnostics", 2026).
    """
    reason = mapping(mapping(message.get("diagnostics")).get("cache_miss_reason"))
    return text(reason.get("type"))[:REASON_CHARS]


def provider_results(content: Any) -> Iterator[ResultRead]:
    """Yield the results, in an answer, of tools that the provider ran itself."""
    for block in mappings(content):
        if not text(block.get("type")).endswith("_tool_result"):
            continue
        told = block.get("content")
        why = result_error(told)
        output = result_text(told) if why is None else why
        is_error = why is not None or block.get("is_error") is True
        yield ResultRead(text(block.get("tool_use_id")), output, is_error=is_error)
