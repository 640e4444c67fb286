"""Writes samples/otel_genai.json and .jsonl with opentelemetry-util-genai 1.3b0; not run by the tests.

The spans are made by the real handler of the semantic conventions: as OTLP JSON with the real encoder (whose
ids are turned into hexadecimal digits, as the collector writes them), and as the SDK prints them, one a line.
The agent's tool begins a subagent; its old result is cleared, and later its history is replaced by a summary.
"""

import base64
import json
import os
from pathlib import Path
from typing import Any

os.environ.update(
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="SPAN_ONLY",
    OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental",
)

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.genai.handler import get_telemetry_handler
from opentelemetry.util.genai.types import (
    FunctionToolDefinition,
    InputMessage,
    OutputMessage,
    ReasoningPart,
    TextPart,
    ToolCallRequestPart,
    ToolCallResponsePart,
)

TARGET = Path(__file__).parent / "samples"
MODEL = "claude-sonnet-4-5"
TOOL = FunctionToolDefinition(
    name="read", description="Read a file.", parameters={"type": "object", "properties": {}}
)


def says(role: str, *parts: object) -> InputMessage:
    return InputMessage(role=role, parts=list(parts))


def chat(
    handler: Any,
    system: str,
    messages: list[InputMessage],
    parts: list[Any],
    usage: tuple[int, int, int, int],
    finish: str = "stop",
) -> None:
    with handler.inference("anthropic", request_model=MODEL, conversation_id="conv-1") as request:
        request.input_messages = list(messages)
        request.output_messages = [
            OutputMessage(role="assistant", parts=parts, finish_reason=finish)
        ]
        request.system_instruction = [TextPart(content=system)]
        request.tool_definitions = [TOOL]
        request.response_model_name = f"{MODEL}-20250929"
        request.finish_reasons = [finish]
        (
            request.input_tokens,
            request.cache_read_input_tokens,
            request.cache_creation_input_tokens,
            request.output_tokens,
        ) = usage
    kept = [part for part in parts if not isinstance(part, ReasoningPart)]
    messages.append(says("assistant", *kept))


def main() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    handler = get_telemetry_handler(tracer_provider=provider)
    main_prompt, sub_prompt = "You are the lead.", "You count."
    lead = [says("user", TextPart(content="What do a and b hold?"))]
    with handler.invoke_local_agent(agent_name="lead", conversation_id="conv-1"):
        for number, name in enumerate("ab"):
            call = ToolCallRequestPart(id=f"call-{name}", name="read", arguments={"path": name})
            thought = ReasoningPart(content=f"I need {name}.")
            chat(
                handler, main_prompt, lead, [thought, TextPart(content=f"I read {name}."), call],
                (1_000 + 3_000 * number, 900 * number, 500, 40), "tool_calls",
            )  # fmt: skip
            with handler.tool("read", tool_type="function") as tool:
                tool.tool_call_id = call.id
                tool.arguments = call.arguments
                result = f"{name} holds " + f"{name} " * 800
                tool.tool_result = result
                if name == "b":
                    counter = [says("user", TextPart(content="Count b."))]
                    with handler.invoke_local_agent(agent_name="counter", conversation_id="conv-1"):
                        chat(
                            handler, sub_prompt, counter, [TextPart(content="800")], (300, 0, 0, 3)
                        )
            lead.append(says("tool", ToolCallResponsePart(id=call.id, response=result)))
        lead[2] = says("tool", ToolCallResponsePart(id="call-a", response="[cleared]"))
        chat(handler, main_prompt, lead, [TextPart(content="a and b.")], (3_500, 0, 3_000, 9))
        lead[:-1] = [says("user", TextPart(content="Summary: a and b were read."))]
        lead.append(says("user", TextPart(content="Which is longer?")))
        chat(handler, main_prompt, lead, [TextPart(content="Neither.")], (600, 0, 0, 2))
    spans = exporter.get_finished_spans()
    (TARGET / "otel_genai.jsonl").write_text(
        "".join(json.dumps(json.loads(span.to_json())) + "\n" for span in spans)
    )
    document = MessageToDict(encode_spans(spans))
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64decode(span[name]).hex()
    (TARGET / "otel_genai.json").write_text(json.dumps(document))


if __name__ == "__main__":
    main()
