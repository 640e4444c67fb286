"""The content blocks, usage and compaction marks of Claude Code's records as values of a recording."""

from collections.abc import Iterator

from palimpsest.review.importing.json_fields import JsonValue
from palimpsest.review.importing.recorded import CompactionRead, ResultRead
from palimpsest.transcript.provider_calls import result_error, result_text
from palimpsest.transcript.values import Usage, priced_tier

REASON_CHARS = 60


def compaction_of(record: JsonValue, node: str, head: str, writer: str | None) -> CompactionRead:
    """Return the compaction that a record marks, without its summary; ``writer`` is the session whose request wrote that."""
    told = record.at("compactMetadata")
    return CompactionRead(
        id=node,
        summary=None,
        keeps_from=head or None,
        created=record.moment("timestamp"),
        auto=told.get("trigger") != "manual",
        tokens_before=None if told.get("preTokens") is None else told.count("preTokens"),
        tokens_after=None if told.get("postTokens") is None else told.count("postTokens"),
        written_by=writer,
    )


def usage_of(value: JsonValue) -> Usage | None:
    """Return the usage of an answer; None where nothing was recorded."""
    if not value:
        return None
    written = value.tokens("cache_creation_input_tokens")
    kept = value.at("cache_creation")
    return Usage(
        input=value.tokens("input_tokens"),
        output=value.tokens("output_tokens"),
        cache_read=value.tokens("cache_read_input_tokens"),
        cache_write=written,
        cache_write_hour=min(written, kept.tokens("ephemeral_1h_input_tokens")) if kept else None,
        service_tier=priced_tier(value.get("service_tier")),
    )


def cache_miss_of(message: JsonValue) -> str:
    """Return the provider's own reason why it cached less than of the request before; empty where it told none.

    ``diagnostics.cache_miss_reason.type`` of an answer (platform.claude.com, "Cache diagnostics", 2026).
    """
    reason = message.at("diagnostics", "cache_miss_reason")
    return reason.text("type")[:REASON_CHARS]


def provider_results(message: JsonValue) -> Iterator[ResultRead]:
    """Yield the results, in an answer, of tools that the provider ran itself."""
    for block in message.objects("content"):
        if not block.text("type").endswith("_tool_result"):
            continue
        told = block.get("content")
        why = result_error(told)
        output = result_text(told) if why is None else why
        is_error = why is not None or block.get("is_error") is True
        yield ResultRead(block.text("tool_use_id"), output, is_error=is_error)
