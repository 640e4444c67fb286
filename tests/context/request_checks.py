"""Check a written request twice: against the rules of its server, and of the model's chat template.

The checks are the project's strict validators (tests/provider_rules). A server with OpenAI's interface is
checked by OpenAI's rules, without the additional fields that it documents. A template behind a gateway is
checked as the model's own interface would: the gateway may translate, and then needs a request from which a
valid one can be made.
"""

import copy
import re
from typing import Any

from tests.context.request_paths import POLICY, READ, SYSTEM, RequestPath, head
from tests.provider_rules import gemini, mistral, openai

from palimpsest.context.conversion.model_transform import transform
from palimpsest.context.conversion.part_conversion import cache_mark_positions
from palimpsest.context.message_repair.rule_order import repaired_in_order
from palimpsest.context.request_assembly.projection import project
from palimpsest.context.request_assembly.turn_limit import with_turn_limit
from palimpsest.context.visible_messages import View
from palimpsest.model.wire.provider_messages import sendable_messages, to_provider, with_marks
from palimpsest.model.wire.tool_call_text import uninterpreted_text
from palimpsest.transcript.context_values.neutral_messages import NeutralMessages
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo, ModelRef

Body = dict[str, Any]

BESIDE = ("cache_control", "copilot_cache_control", "reasoning_content")
"""Fields that OpenAI does not know, and that the servers which receive them document."""
FUNCTION = {
    "name": READ.name,
    "description": READ.description,
    "parameters": READ.parameters,
}
CHAT_TOOL = {"type": "function", "function": FUNCTION}


class _Interface(RequestPath):
    """The path to a provider's own interface; the fields around the messages are given, not recorded."""

    def __init__(self, dialect: Any, name: str, around: Body) -> None:
        super().__init__(dialect, name)
        self._around = {True: around, False: around}


ANTHROPIC = _Interface(
    "anthropic",
    "claude-sonnet-4-5",
    {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1_000,
        "tools": [{"name": READ.name, "input_schema": READ.parameters}],
    },
)
GEMINI_TOOLS = {"tools": [{"functionDeclarations": [FUNCTION]}]}
GEMINI = _Interface("gemini", "gemini-2.5-pro", GEMINI_TOOLS)
GEMINI_WITH_IDS = _Interface("gemini", "gemini-3-pro-preview", GEMINI_TOOLS)


def ref_of(model_id: str) -> ModelRef:
    """Return the reference of a model from its full id."""
    provider, _, name = model_id.partition("/")
    return ModelRef(provider=provider, name=name)


def info_of(ref: ModelRef) -> ModelInfo:
    """Return the info of a model with every capability."""
    return ModelInfo(ref=ref, window=200_000, output_limit=8_000, vision=True, reasoning=True)


def written_session(view: View, model: ModelInfo) -> list[Body]:
    """Return the messages that the model would receive of a session, under the default policy."""
    projection = project(view, system=SYSTEM, tools=(READ,), model=model, policy=POLICY, count=len)
    return _written(projection.messages, model)


def written_history(history: NeutralMessages, model: ModelInfo) -> list[Body]:
    """Return the messages that the model would receive of a flat history."""
    flat = repaired_in_order(
        history,
        lambda messages: with_turn_limit(messages, None, POLICY.limit),
        POLICY.hygiene.rule,
        profile(model.ref),
    )
    return _written(transform(head() + flat, model, POLICY.transform), model)


def _written(messages: NeutralMessages, model: ModelInfo) -> list[Body]:
    sent = to_provider(messages, model)
    marked = with_marks(sent, cache_mark_positions([message["role"] for message in sent], model))
    return copy.deepcopy(list(sendable_messages(marked, model)))


def judged(messages: list[Body], wire: str, family: str, name: str = "") -> list[str]:
    """Return the problems for which the server, or the template, would refuse the messages."""
    return [
        *(f"wire {wire}: {problem}" for problem in _by_wire(messages, wire, family, name)),
        *(f"family {family}: {problem}" for problem in _by_family(messages, wire, family)),
    ]


def _by_wire(messages: list[Body], wire: str, family: str, name: str) -> list[str]:
    match wire:
        case "anthropic":
            return ANTHROPIC.problems(messages)
        case "gemini":
            return _gemini(name).problems(messages)
        case "mistral":
            return mistral.problems(_chat(messages))
        case "bedrock" | "proxy" if family == "anthropic":
            # litellm translates to Anthropic's format, so Anthropic's validator applies.
            return ANTHROPIC.problems(messages)
        case _:
            return openai.problems(_chat([_plain(message) for message in messages]))


def _by_family(messages: list[Body], wire: str, family: str) -> list[str]:
    match family:
        case "anthropic":
            return ANTHROPIC.problems(messages)
        case "mistral":
            # The name beside a result belongs to the wire format, and so do cache marks.
            return mistral.problems(_chat([_plain(message) for message in messages]))
        case "gemini" if wire != "gemini":
            # For Gemini litellm parses values out of a result's text; a gateway need not.
            return GEMINI_WITH_IDS.problems([_unread(message) for message in messages])
        case _:
            return []


def _unread(message: Body) -> Body:
    if message["role"] != "tool" or not isinstance(message["content"], str):
        return message
    return {**message, "content": uninterpreted_text(message["content"])}


def _gemini(name: str) -> RequestPath:
    version = re.search(r"gemini-(\d+)", name)
    return GEMINI_WITH_IDS if version and int(version[1]) >= 3 else GEMINI


def _chat(messages: list[Body]) -> Body:
    return {"model": "some-model", "messages": messages, "tools": [CHAT_TOOL]}


def _plain(message: Body) -> Body:
    bare = {name: value for name, value in message.items() if name not in BESIDE}
    if isinstance(bare.get("content"), list):
        bare["content"] = [
            {name: value for name, value in block.items() if name not in BESIDE}
            for block in bare["content"]
        ]
    return bare


def schema_problems(schema: Body) -> list[str]:
    """Return the problems for which Gemini would refuse the schema of a tool's input."""
    return gemini.schema(schema, "parameters")
