"""Calls that a provider ran itself: their recorded values, and their results as text.

Such a call is a tool part whose metadata says so. The blocks in which the provider sent the call and its
result are stored unchanged with it (``native``), since only these can be sent back: they have encrypted
fields. Views, other providers and summaries show the text. Border: pure.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.transcript.parts import ToolPart

EXECUTED = "provider_executed"
"""Key in a tool part's metadata: the provider itself ran the call while it wrote the answer."""
NATIVE_KEY = "native"
"""Key in the metadata of a part or of a call's state: the provider's own blocks, as they came."""
DIALECT = "dialect"
"""Key in a part's metadata: the format of its blocks. ``openai``: the format has no place for such blocks; ``responses``:
the server accepts them back only together with the reasoning before them, and only while it stores both."""
RESPONSES = "responses"
CLIENT_ITEMS = frozenset(
    {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call"}
    | {"apply_patch_call", "tool_search_call"}
)
"""Types of items of OpenAI's Responses that end in ``_call`` and that the client has to run."""
AT_PROVIDER = "ran at the provider"
"""The remark shown with a call that the provider ran."""

CALL_TEXT = "[{tool} {where}: {given}]\n{result}"
NO_RESULT_TEXT = "(its result was not told)"
MAX_SENT_TEXT_CHARS = 8_000
"""Maximum characters of a call's result that are sent as text."""
HIDDEN_PREFIX = "encrypted"
"""Prefix of fields that only the provider can read."""
MAX_RESULT_CHARS = 60_000
"""Maximum characters of one result's text; the provider's own block is stored whole beside it."""


def is_provider_call(part: ToolPart) -> bool:
    """Return whether the provider ran this call itself."""
    return bool(part.metadata and part.metadata.get(EXECUTED))


def native_of(metadata: Mapping[str, Any] | None) -> tuple[dict[str, Any], ...]:
    """Return the provider's blocks that metadata holds, in order."""
    blocks = (metadata or {}).get(NATIVE_KEY)
    blocks = blocks if isinstance(blocks, list) else ()
    return tuple(item for item in blocks if isinstance(item, dict))


def call_blocks(part: ToolPart) -> tuple[dict[str, Any], ...]:
    """Return the provider's blocks of a call and its result."""
    return native_of(part.metadata) + native_of(getattr(part.state, "metadata", None))


def without_native(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return metadata without the provider's blocks, so that requests send the text instead."""
    return {name: value for name, value in (metadata or {}).items() if name != NATIVE_KEY}


def sent_result(part: ToolPart, result: str, *, is_same_provider: bool) -> str:
    """Return the text that a request sends for a call of the provider, besides its name and input; may be empty.

    ``is_same_provider`` is whether the request goes to the provider that ran the call, which is sent its own blocks.
    """
    if is_left_out(part, is_same_provider=is_same_provider):
        return ""
    blocks = call_blocks(part) if is_same_provider else ()
    if blocks:
        return json.dumps(blocks, ensure_ascii=False, default=str)
    return result[:MAX_SENT_TEXT_CHARS]


def is_left_out(part: ToolPart, *, is_same_provider: bool) -> bool:
    """Return whether requests omit a call: the format has no place for it, and the answer's text has its results."""
    return is_same_provider and (part.metadata or {}).get(DIALECT) == "openai"


def call_text(part: ToolPart, result: str) -> str:
    """Return a call and the first 8,000 characters of its result as text, for a model of another provider."""
    result = result[:MAX_SENT_TEXT_CHARS].strip() or NO_RESULT_TEXT
    input_json = json.dumps(part.state.input, ensure_ascii=False, default=str)
    return CALL_TEXT.format(tool=part.tool, where=AT_PROVIDER, given=input_json, result=result)


@dataclass(frozen=True, slots=True)
class ResponsesItem:
    """A call that ran at the provider, read from one item of OpenAI's Responses API."""

    tool: str
    input: dict[str, Any]
    output: str
    """The result as text; empty where the item does not contain it."""
    problem: str | None
    """Why the call failed; None where it did not fail."""
    sources: tuple[tuple[str, str], ...]
    """Address and title of each source."""


def responses_item(item: Mapping[str, Any]) -> ResponsesItem | None:
    """Return the call in an item of OpenAI's Responses; None where it is no call, or one for the client to run."""
    item_type = item.get("type")
    if not isinstance(item_type, str) or not item_type.endswith("_call"):
        return None
    if item_type in CLIENT_ITEMS:
        return None
    action = item.get("action")
    input_fields = {}
    if isinstance(action, dict):
        input_fields = {k: v for k, v in action.items() if k != "sources" and v is not None}
    input_fields |= {k: item[k] for k in ("queries", "code", "revised_prompt") if item.get(k)}
    input_fields |= _parsed_arguments(item.get("arguments"))
    output = next((item[key] for key in ("output", "outputs", "results") if item.get(key)), None)
    name = item.get("name")
    is_failed = item.get("status") == "failed" or bool(item.get("error"))
    sources = action.get("sources") if isinstance(action, dict) else None
    return ResponsesItem(
        tool=name if isinstance(name, str) and name else item_type.removesuffix("_call"),
        input=input_fields,
        output=result_text(output),
        problem=(result_text(item.get("error")) or "it failed") if is_failed else None,
        sources=_listed_sources(sources if isinstance(sources, list) else ()),
    )


def _parsed_arguments(arguments: Any) -> dict[str, Any]:
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    return {"arguments": arguments} if arguments else {}


def sources_text(sources: Iterable[tuple[str, str]]) -> str:
    """Return sources as a numbered list; each is an address and a title, which may be empty."""
    return "\n".join(
        f"{number}. {title}\n   {url}" if title and title != url else f"{number}. {url}"
        for number, (url, title) in enumerate(sources, 1)
    )


def result_error(content: Any) -> str | None:
    """Return the provider's error message for a failed tool; None where the tool returned."""
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, dict) and item.get("error_code"):
            message = item.get("error_message")
            return f"{item['error_code']}: {message}" if message else str(item["error_code"])
    return None


def result_text(content: Any) -> str:
    """Return the content of a provider's result as text, without encrypted fields."""
    text = _content_text(content).strip()
    return text if len(text) <= MAX_RESULT_CHARS else text[:MAX_RESULT_CHARS] + "\n…"


def _content_text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        sources = _listed_sources(content)
        if sources and len(sources) == len(content):
            return sources_text(sources)
        return "\n".join(text for item in content if (text := _content_text(item)))
    if not isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False, default=str)
    return _object_text(content)


def _listed_sources(items: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    """Return address and title of each item that has an address."""
    return tuple(
        (item["url"], _source_title(item))
        for item in items
        if isinstance(item, dict) and isinstance(item.get("url"), str)
    )


def _source_title(source: Mapping[str, Any]) -> str:
    title, age = source.get("title"), source.get("page_age")
    text = title if isinstance(title, str) else ""
    return f"{text} ({age})" if text and isinstance(age, str) and age else text


def _object_text(content: Mapping[str, Any]) -> str:
    """Return an object's text: the output of a command, the text of a document, else its JSON."""
    for name in ("text", "logs"):
        if isinstance(content.get(name), str):
            return str(content[name])
    if any(name in content for name in ("stdout", "stderr", "return_code")):
        code = content.get("return_code")
        exit_lines = [f"[exit code {code}]"] if code not in (None, 0) else []
        printed_texts = [str(content[name]) for name in ("stdout", "stderr") if content.get(name)]
        files = [_content_text(item) for item in content.get("content") or ()]
        return "\n".join([*printed_texts, *files, *exit_lines]) or "(no output)"
    source = content.get("source")
    if isinstance(source, dict):
        is_text = source.get("type") == "text" and isinstance(source.get("data"), str)
        text = str(source["data"]) if is_text else f"({source.get('media_type') or 'a document'})"
        return f"{content['title']}\n{text}" if content.get("title") else text
    if isinstance(content.get("url"), str) and "content" in content:
        return f"{content['url']}\n{_content_text(content['content'])}"
    names = content.get("tool_references")
    if isinstance(names, list):
        return ", ".join(
            str(reference.get("tool_name")) for reference in names if isinstance(reference, dict)
        )
    fields = {k: v for k, v in content.items() if not k.startswith(HIDDEN_PREFIX) and k != "type"}
    return json.dumps(fields, ensure_ascii=False, default=str) if fields else ""
