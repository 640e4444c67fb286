"""Convert the content blocks, usage and compaction marks of Claude Code's records into recorded values."""

from collections.abc import Iterator

from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import CompactionRead, ResultRead
from palimpsest.transcript.provider_calls import result_error, result_text
from palimpsest.transcript.values import Usage, priced_tier

REASON_CHARS = 60


def compaction_of(record: JsonValue, node: str, head: str, writer: str | None) -> CompactionRead:
    """Return the compaction that a record marks, without its summary, which the session ``writer`` wrote."""
    metadata = record.at("compactMetadata")
    return CompactionRead(
        id=node,
        summary=None,
        keeps_from=head or None,
        created=record.moment("timestamp"),
        auto=metadata.get("trigger") != "manual",
        tokens_before=None if metadata.get("preTokens") is None else metadata.count("preTokens"),
        tokens_after=None if metadata.get("postTokens") is None else metadata.count("postTokens"),
        written_by=writer,
    )


def usage_of(value: JsonValue) -> Usage | None:
    """Return the usage of an answer; None where nothing was recorded."""
    if not value:
        return None
    written_tokens = value.tokens("cache_creation_input_tokens")
    cache_writes = value.at("cache_creation")
    return Usage(
        input=value.tokens("input_tokens"),
        output=value.tokens("output_tokens"),
        cache_read=value.tokens("cache_read_input_tokens"),
        cache_write=written_tokens,
        cache_write_hour=min(written_tokens, cache_writes.tokens("ephemeral_1h_input_tokens"))
        if cache_writes
        else None,
        service_tier=priced_tier(value.get("service_tier")),
    )


def cache_miss_of(message: JsonValue) -> str:
    """Return the provider's own reason for a cache miss; empty where it gave none.

    It is ``diagnostics.cache_miss_reason.type`` of an answer (platform.claude.com, "Cache diagnostics", 2026).
    """
    reason = message.at("diagnostics", "cache_miss_reason")
    return reason.text("type")[:REASON_CHARS]


def provider_results(message: JsonValue) -> Iterator[ResultRead]:
    """Yield the results, in an answer, of tools that the provider ran itself."""
    for block in message.objects("content"):
        if not block.text("type").endswith("_tool_result"):
            continue
        content = block.get("content")
        error = result_error(content)
        output = result_text(content) if error is None else error
        is_error = error is not None or block.get("is_error") is True
        yield ResultRead(block.text("tool_use_id"), output, is_error=is_error)
