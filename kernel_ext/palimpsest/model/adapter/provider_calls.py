"""Read the calls that a provider ran itself from its own chunks, before litellm translates them.

litellm cannot represent them: it turns some into tool calls, loses the results of others, the order of blocks
and all citations. So each chunk is read here before it is translated; a provider's own blocks become our
events, are stored unchanged, and are withheld from litellm. Mere citations become a call of the provider's
search with the sources as its result. Formats: Anthropic's Messages, Gemini's, OpenAI's Chat
Completions with the fields of xAI, Groq, OpenRouter and Perplexity, and OpenAI's Responses.
"""

import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from palimpsest.model.adapter.responses_calls import event_type_of
from palimpsest.model.adapter.usage import dicts_of, nested_field
from palimpsest.model.interface import (
    StreamEvent,
    ToolCalled,
    ToolErred,
    ToolInputDelta,
    ToolInputEnded,
    ToolInputStarted,
    ToolReturned,
)
from palimpsest.transcript.provider_calls import (
    DIALECT,
    NATIVE_KEY,
    RESPONSES,
    responses_item,
    result_error,
    result_text,
    sources_text,
)

Json = dict[str, Any]

DEFAULT_SEARCH_TOOL = "web_search"
"""Name of the tool to which sources without a call are attributed."""
GOOGLE_SEARCH = "google_search"
URL_CONTEXT = "url_context"
CODE_EXECUTION = "code_execution"
ADDED_FIELDS = frozenset({"annotations", "citations", "executed_tools"})
"""Fields that servers add to the deltas of OpenAI's chunks."""
FAILED_OUTPUT = "The provider could not run it: {why}"


class ProviderCalls:
    """The calls of one answer that its provider ran, in the order in which they came."""

    def __init__(self) -> None:
        self._events: list[StreamEvent] = []
        self._ended_texts: list[Json] = []
        self._block: Json | None = None
        """Anthropic's block that is being streamed: a provider's call, or a text."""
        self._text_pieces: list[str] = []
        """The pieces of that block's text or input so far."""
        self._open_calls: dict[str, str] = {}
        """Tools of the calls whose results have not come, by id."""
        self._finished_ids: set[str] = set()
        """Ids of calls whose results Anthropic sent, and of items of Responses, since some servers repeat them."""
        self._announced_ids: set[str] = set()
        """Ids of items of Responses that were announced."""
        self._events_after_text: list[StreamEvent] = []
        """Events that came after the text of the newest chunk; the text is emitted first."""
        self._sources: dict[str, str] = {}
        """Titles of cited sources, by their addresses."""
        self._queries: list[str] = []
        self._urls: dict[str, str] = {}
        """Statuses of pages that Gemini fetched, by their addresses."""
        self._search_tool = DEFAULT_SEARCH_TOOL
        self._code_call_id = ""
        self._executed_tool_indexes: set[str] = set()

    def take_events(self) -> list[StreamEvent]:
        """Return the events since the last call."""
        events, self._events, self._events_after_text = self._events, self._events_after_text, []
        return events

    def take_texts(self) -> list[Json]:
        """Return the text blocks that ended since the last call, as Anthropic sent them."""
        texts, self._ended_texts = self._ended_texts, []
        return texts

    def read_chunk(self, chunk: Any) -> Any:
        """Read a provider's chunk; returns it for litellm to translate, or None where litellm must not see it."""
        if not isinstance(chunk, dict):
            self._read_openai(chunk)
            return chunk
        event_type = event_type_of(chunk)
        if event_type.startswith("content_block_"):
            return None if self._read_anthropic(event_type, chunk) else chunk
        if event_type.startswith("response."):
            self._read_responses(event_type, chunk)
        elif isinstance(chunk.get("candidates"), list):
            self._read_gemini(chunk)
        elif isinstance(chunk.get("choices"), list):
            self._read_openai(chunk)
        return chunk

    def end_calls(self, call_ids: Iterable[str] = ()) -> None:
        """End the open calls at the real end of an answer; a result that did not arrive is not reported.

        ``call_ids`` are calls that turned out to be the provider's, by id.
        """
        self._events, self._events_after_text = self._events + self._events_after_text, []
        self._open_calls |= dict.fromkeys(call_ids, DEFAULT_SEARCH_TOOL)
        sources = sources_text(self._sources.items())
        searches = [call_id for call_id, tool in self._open_calls.items() if "search" in tool]
        if self._sources and not searches:
            inputs: Json = {"queries": self._queries} if self._queries else {}
            searches = [self._add_call("", self._search_tool, inputs, "openai")]
        for open_call_id in list(self._open_calls):
            self._add_result(open_call_id, sources if open_call_id in searches[-1:] else "")
        if self._urls:
            call_id = self._add_call("", URL_CONTEXT, {"urls": list(self._urls)}, "openai")
            statuses = [f"{url}: {status}" for url, status in self._urls.items()]
            self._add_result(call_id, "\n".join(statuses))

    # Shared by all formats

    def _add_call(
        self,
        call_id: str,
        tool: str,
        inputs: Json,
        dialect: str,
        native_block: Json | None = None,
        *,
        is_begun: bool = False,
    ) -> str:
        call_id = call_id or f"provider_{uuid4().hex}"
        metadata: Json = {DIALECT: dialect} | (
            {NATIVE_KEY: [native_block]} if native_block is not None else {}
        )
        if not is_begun:
            self._events.append(ToolInputStarted(call_id, tool, provider_executed=True))
        self._events.append(
            ToolCalled(call_id, tool, inputs, provider_executed=True, metadata=metadata)
        )
        self._open_calls[call_id] = tool
        return call_id

    def _add_result(self, call_id: str, text: str, native_block: Json | None = None) -> None:
        tool = self._open_calls.pop(call_id, "")
        metadata = {NATIVE_KEY: [native_block]} if native_block is not None else {}
        outcome = {"title": tool, "output": text, "metadata": metadata}
        self._events.append(ToolReturned(call_id, outcome))

    def _add_failure(self, call_id: str, error: str, native_block: Json | None = None) -> None:
        self._open_calls.pop(call_id, None)
        metadata = {NATIVE_KEY: [native_block]} if native_block is not None else {}
        message = FAILED_OUTPUT.format(why=error)
        self._events.append(ToolErred(call_id, message, metadata=metadata))

    def _cite(self, url: Any, title: Any = "") -> None:
        if isinstance(url, str) and url:
            known_title = self._sources.get(url, "")
            self._sources[url] = (title if isinstance(title, str) else "") or known_title

    # Anthropic

    def _read_anthropic(self, event_type: str, chunk: Json) -> bool:
        """Read an event of a block; returns whether the block is a provider's own call or result."""
        block = chunk.get("content_block")
        if event_type == "content_block_start" and isinstance(block, dict):
            return self._begin_block(block)
        if self._block is None:
            return False
        is_text = self._block.get("type") == "text"
        if event_type == "content_block_delta":
            self._add_input(chunk.get("delta") or {}, is_text=is_text)
        elif event_type == "content_block_stop":
            self._end_block(is_text=is_text)
        return not is_text

    def _begin_block(self, block: Json) -> bool:
        block_type = str(block.get("type") or "")
        if self._block is not None and "id" in self._block:
            self._end_block(is_text=False)  # some proxies leave out the end of a block
        self._block, self._text_pieces = None, []
        if block_type == "text":
            self._block, self._text_pieces = dict(block), [block.get("text") or ""]
        elif block_type.endswith("_tool_use") and isinstance(block.get("id"), str):
            self._block = dict(block)
            tool = str(block.get("name") or block_type)
            self._events.append(ToolInputStarted(block["id"], tool, provider_executed=True))
            return True
        elif block_type.endswith("_tool_result") and isinstance(block.get("tool_use_id"), str):
            self._block = dict(block)
            self._read_result(block_type, block["tool_use_id"], block)
            return True
        return False

    def _add_input(self, delta: Json, *, is_text: bool) -> None:
        block = self._block or {}
        if is_text:
            text = delta.get("text") or ""
            if not isinstance(text, str):
                raise TypeError("A piece of a text is no text.")
            self._text_pieces.append(text)
            if delta.get("citation") is not None:
                block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        elif isinstance(delta.get("partial_json"), str) and "id" in block:
            self._text_pieces.append(delta["partial_json"])
            self._events.append(ToolInputDelta(block["id"], delta["partial_json"]))

    def _end_block(self, *, is_text: bool) -> None:
        block, self._block = self._block or {}, None
        if is_text:
            self._ended_texts.append({**block, "text": "".join(self._text_pieces)})
        elif "id" in block:
            parsed_input = _parsed_object("".join(self._text_pieces))
            block["input"] = block.get("input") or {} if parsed_input is None else parsed_input
            tool = str(block.get("name") or block["type"])
            metadata = {DIALECT: "anthropic", NATIVE_KEY: [block]}
            call = ToolCalled(
                block["id"], tool, block["input"], provider_executed=True, metadata=metadata
            )
            self._events += [ToolInputEnded(block["id"]), call]
            self._open_calls[block["id"]] = tool

    def _read_result(self, block_type: str, call_id: str, block: Json) -> None:
        if call_id in self._finished_ids:
            return
        self._finished_ids.add(call_id)
        if call_id not in self._open_calls:
            # The call is in the answer before, which ended because of another call.
            metadata = {DIALECT: "anthropic", NATIVE_KEY: []}
            tool = block_type.removesuffix("_tool_result")
            self._events += [
                ToolInputStarted(call_id, tool, provider_executed=True),
                ToolCalled(call_id, tool, {}, provider_executed=True, metadata=metadata),
            ]
        content = block.get("content")
        error = result_error(content)
        if error is None and block.get("is_error"):
            error = result_text(content)
        if error is None:
            self._add_result(call_id, result_text(content), block)
        else:
            self._add_failure(call_id, error, block)

    # Gemini

    def _read_gemini(self, chunk: Json) -> None:
        for candidate in dicts_of(chunk.get("candidates"))[:1]:
            content = candidate.get("content")
            parts = content.get("parts") if isinstance(content, dict) else None
            events_before, self._events = self._events, []
            for part in dicts_of(parts):
                self._read_gemini_part(part)
            are_run_by_google = [_is_run_by_google(part) for part in dicts_of(parts)]
            # Calls that Google ran, after other content in the same chunk.
            if are_run_by_google and are_run_by_google[-1] and not are_run_by_google[0]:
                self._events, self._events_after_text = events_before, self._events
            else:
                self._events = events_before + self._events
            if isinstance(content, dict) and isinstance(parts, list):
                content["parts"] = [part for part in parts if not _is_run_by_google(part)]
            grounding = candidate.get("groundingMetadata")
            if isinstance(grounding, dict):
                self._search_tool = GOOGLE_SEARCH
                queries = grounding.get("webSearchQueries")
                for query in queries if isinstance(queries, list) else ():
                    if query not in self._queries:
                        self._queries.append(str(query))
                for source in dicts_of(grounding.get("groundingChunks")):
                    first_object = next((v for v in source.values() if isinstance(v, dict)), {})
                    self._cite(first_object.get("uri"), first_object.get("title"))
            for page in dicts_of(nested_field(candidate, "urlContextMetadata", "urlMetadata")):
                status = str(page.get("urlRetrievalStatus") or "")
                url = str(page.get("retrievedUrl"))
                self._urls[url] = status.removeprefix("URL_RETRIEVAL_STATUS_")

    def _read_gemini_part(self, part: Json) -> None:
        code, result = part.get("executableCode"), part.get("codeExecutionResult")
        tool_call, tool_response = part.get("toolCall"), part.get("toolResponse")
        if isinstance(code, dict):
            inputs: Json = {"code": str(code.get("code") or "")}
            self._code_call_id = self._add_call("", CODE_EXECUTION, inputs, "gemini", part)
        elif isinstance(result, dict):
            call_id = self._code_call_id or self._add_call("", CODE_EXECUTION, {}, "gemini")
            self._code_call_id = ""
            output = str(result.get("output") or "")
            if result.get("outcome") in {"OUTCOME_OK", None}:
                self._add_result(call_id, output or "(no output)", part)
            else:
                self._add_failure(call_id, output or str(result["outcome"]), part)
        elif isinstance(tool_call, dict):
            inputs = tool_call["args"] if isinstance(tool_call.get("args"), dict) else {}
            tool = str(tool_call.get("toolType") or "tool").lower()
            self._add_call(str(tool_call.get("id") or ""), tool, inputs, "gemini", part)
        elif isinstance(tool_response, dict):
            call_id = str(tool_response.get("id") or next(reversed(self._open_calls), ""))
            if call_id in self._open_calls:
                self._add_result(call_id, result_text(tool_response.get("response")), part)

    # OpenAI's formats

    def _read_openai(self, chunk: Any) -> None:
        """Read the fields that servers add to OpenAI's chunks: citations, annotations, executed tools."""
        for name in ("citations", "search_results"):
            self._cite_all(nested_field(chunk, name))
        choices = nested_field(chunk, "choices")
        first_choice = choices[0] if isinstance(choices, list) and choices else None
        for field_name in ("delta", "message"):
            message = nested_field(first_choice, field_name)
            if message is None or (isinstance(message, dict) and ADDED_FIELDS.isdisjoint(message)):
                continue
            self._cite_all(nested_field(message, "annotations"))
            self._cite_all(nested_field(message, "citations"))
            for tool in _as_list(nested_field(message, "executed_tools")):
                self._read_executed_tool(tool)

    def _cite_all(self, citations: Any) -> None:
        for citation in _as_list(citations):
            if isinstance(citation, str):
                self._cite(citation)
                continue
            inner = nested_field(citation, "url_citation") or citation
            self._cite(nested_field(inner, "url"), nested_field(inner, "title"))

    def _read_executed_tool(self, item: Any) -> None:
        """Read a tool run of Groq's, which is sent again once it has an output."""
        index = f"{nested_field(item, 'index')}"
        output = nested_field(item, "output")
        if output is None or index in self._executed_tool_indexes:
            return
        self._executed_tool_indexes.add(index)
        inputs = _parsed_object(str(nested_field(item, "arguments") or ""))
        tool = str(nested_field(item, "name") or nested_field(item, "type") or "tool")
        call_id = self._add_call("", tool, inputs or {}, "openai")
        results = result_text(_plain_sources(nested_field(item, "search_results", "results")))
        self._add_result(call_id, "\n\n".join(filter(None, (result_text(output), results))))

    def _read_responses(self, event_type: str, chunk: Json) -> None:
        if event_type == "response.output_text.annotation.added":
            self._cite_all([chunk.get("annotation")])
        elif event_type == "response.output_item.added":
            self._announce_item(chunk.get("item"))
        elif event_type == "response.output_item.done":
            self._read_item(chunk.get("item"))
        elif event_type in {"response.completed", "response.incomplete"}:
            # The end of an answer repeats its items; some servers send them only there.
            for item in dicts_of(nested_field(chunk, "response", "output")):
                self._read_item(item)

    def _announce_item(self, item: Any) -> None:
        known_item = responses_item(item) if isinstance(item, dict) else None
        item_id = str(item.get("id") or "") if known_item is not None else ""
        if known_item is not None and item_id and item_id not in self._announced_ids:
            self._announced_ids.add(item_id)
            tool = known_item.tool
            self._events.append(ToolInputStarted(item_id, tool, provider_executed=True))

    def _read_item(self, item: Any) -> None:
        known_item = responses_item(item) if isinstance(item, dict) else None
        if known_item is None:
            return
        item_id = str(item.get("id") or "")
        # Without an id, an item repeated at the end of an answer is recognised by its content.
        finished_id = item_id or json.dumps(item, sort_keys=True, default=str)
        if finished_id in self._finished_ids:
            return
        self._finished_ids.add(finished_id)
        is_begun = item_id in self._announced_ids
        call_id = self._add_call(
            item_id, known_item.tool, known_item.input, RESPONSES, is_begun=is_begun
        )
        for url, title in known_item.sources:
            self._cite(url, title)
        if known_item.problem is not None:
            self._add_failure(call_id, known_item.problem)
        elif known_item.output:
            self._add_result(call_id, known_item.output)


def _plain_sources(sources: Any) -> list[Json]:
    """Return sources with their addresses and titles only."""
    pairs = (
        (nested_field(source, "url"), nested_field(source, "title")) for source in _as_list(sources)
    )
    return [{"url": url, "title": title} for url, title in pairs if isinstance(url, str)]


def _is_run_by_google(part: Any) -> bool:
    names = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse")
    return isinstance(part, dict) and any(name in part for name in names)


def _parsed_object(text: str) -> Json | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _as_list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else ()
