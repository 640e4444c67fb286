"""Build a provider's request body from a history: with our writer, and then litellm's translation.

The fields around the messages come from one real request over HTTP; after that only the messages are
translated, by the same functions of litellm, which is a hundred times faster. ``test_strict_histories``
shows that both ways give the same body.
"""

import copy
import importlib
import json
from collections.abc import Iterable
from typing import Any

from tests.provider_rules import anthropic, gemini, mistral, openai
from tests.provider_rules.dialects import problems

from palimpsest.context.conversion.model_transform import transform
from palimpsest.context.conversion.part_conversion import cache_mark_positions, neutral_messages
from palimpsest.context.message_repair.rule_order import repaired_in_order
from palimpsest.context.presets import PRESETS
from palimpsest.context.request_assembly.projection import project
from palimpsest.context.request_assembly.turn_limit import with_turn_limit
from palimpsest.context.visible_messages import View
from palimpsest.model.adapter.litellm_model import LOADER, LitellmModel
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import says
from palimpsest.model.wire.provider_messages import (
    can_think,
    sendable_messages,
    to_provider,
    with_marks,
)
from palimpsest.testing import FaultServer, ReceivedRequest
from palimpsest.testing.dialects import WireFormat
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.errors import ModelFailed
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec

POLICY = PRESETS["palimpsest"]
SYSTEM = ("You are an agent in a notebook.", "Today is a day.")
READ = ToolSpec(
    name="read",
    description="Read a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
)
Body = dict[str, Any]


def head() -> NeutralMessages:
    """Return the system prompt."""
    return tuple(NeutralMessage(role="system", blocks=(TextBlock(text=text),)) for text in SYSTEM)


class RequestPath:
    """Builds and checks the request bodies for one model of one provider."""

    def __init__(self, dialect: WireFormat, name: str, **more: Any) -> None:
        self.dialect = dialect
        ref = ModelRef(provider=dialect, name=name, variant=more.pop("variant", None))
        fields = {"window": 200_000, "output_limit": 8_000, "vision": True, **more}
        self.info = ModelInfo(ref=ref, **fields)
        self._around: dict[bool, Body] = {}
        """The body's fields beside the messages, with and without thinking."""

    def __repr__(self) -> str:
        sight = "" if self.info.vision else ", blind"
        return f"{self.info.ref.id}{sight}{', thinking' if self.info.ref.variant else ''}"

    def repaired(self, history: NeutralMessages, turns: int | None = None) -> list[Body]:
        """Return the messages of a flat history after the default policy, limited to ``turns``."""
        flat = repaired_in_order(
            history,
            lambda messages: with_turn_limit(messages, turns, POLICY.limit),
            POLICY.hygiene.rule,
            profile(self.info.ref),
        )
        return self._marked(transform(head() + flat, self.info, POLICY.transform))

    def unrepaired(self, history: NeutralMessages) -> list[Body]:
        """Return the messages of a flat history without repair, only in the provider's format."""
        return self._marked(head() + history)

    def projected(self, view: View) -> list[Body]:
        """Return the messages of a session after the projection."""
        projection = project(
            view,
            system=SYSTEM,
            tools=(READ,),
            model=self.info,
            policy=POLICY,
            count=lambda text: len(text) // 4,
        )
        return self._marked(projection.messages)

    def unprojected(self, view: View) -> list[Body]:
        """Return the messages of a session that were converted, and otherwise left as they are."""
        return self._marked(head() + neutral_messages(view.messages, self.info.ref, POLICY.convert))

    def _marked(self, messages: NeutralMessages) -> list[Body]:
        sent = to_provider(messages, self.info)
        marked = with_marks(
            sent, cache_mark_positions([message["role"] for message in sent], self.info)
        )
        return copy.deepcopy(list(sendable_messages(marked, self.info)))

    def problems(self, messages: list[Body]) -> list[str]:
        """Return the problems for which the provider, or litellm itself, would refuse the messages."""
        try:
            body = self.body(messages)
        except Exception as error:  # noqa: BLE001 - whatever litellm says, nothing was sent
            return [f"{type(error).__name__}: {error}"[:300]]
        match self.dialect:
            case "openai":
                return openai.problems(body)
            case "anthropic":
                return anthropic.problems(body)
            case "gemini":
                return gemini.problems(body, self.info.ref.name)
            case "mistral":
                return mistral.problems(body)

    def body(self, messages: list[Body]) -> Body:
        """Return the body, translated by litellm's own functions."""
        around = copy.deepcopy(self._around[can_think(messages, self.info)])
        utils = _litellm_module("utils")
        messages = utils.validate_and_fix_openai_messages(copy.deepcopy(messages))
        if self.dialect != "gemini":
            messages = utils._remove_thought_signatures_from_messages(messages, "__thought__")
        made: Body = getattr(self, f"_{self.dialect}")(messages, around)
        # The body is sent as JSON, so it must survive serialisation.
        return json.loads(json.dumps(around | made))  # type: ignore[no-any-return]

    def _openai(self, messages: list[Body], around: Body) -> Body:
        config = _litellm_module("llms.openai.chat.gpt_transformation")
        return self._chat(config.OpenAIGPTConfig(), messages, around)

    def _mistral(self, messages: list[Body], around: Body) -> Body:
        config = _litellm_module("llms.mistral.chat.transformation")
        return self._chat(config.MistralConfig(), messages, around)

    def _anthropic(self, messages: list[Body], around: Body) -> Body:
        config = _litellm_module("llms.anthropic.chat.transformation")
        around.pop("system", None)
        return self._chat(config.AnthropicConfig(), messages, around)

    def _chat(self, config: Any, messages: list[Body], around: Body) -> Body:
        options = {k: v for k, v in around.items() if k not in {"model", "messages"}}
        made: Body = config.transform_request(
            model=self.info.ref.name,
            messages=messages,
            optional_params=options,
            litellm_params={"custom_llm_provider": self.dialect},
            headers={},
        )
        return made

    def _gemini(self, messages: list[Body], _around: Body) -> Body:
        config = _litellm_module("llms.vertex_ai.gemini.transformation")
        made: Body = config.transform_request_body(
            messages=messages,
            model=self.info.ref.name,
            optional_params={},
            custom_llm_provider="gemini",
            litellm_params={},
            cached_content=None,
        )
        return made

    async def learn(self) -> None:
        """Record the fields around the messages from real requests."""
        for can, history in ((True, (hello(),)), (False, (hello(), *_looked()))):
            (asked,) = await self.sent([to_provider((*head(), *history), self.info)])
            self._around[can] = {
                k: v for k, v in asked.body.items() if k not in {"messages", "contents"}
            }

    async def sent(
        self, requests: Iterable[Iterable[Body]], tools: tuple[ToolSpec, ...] = (READ,)
    ) -> list[ReceivedRequest]:
        """Send requests through the adapter to a strict fault server, and return the requests it received."""
        asked = list(requests)
        async with FaultServer(*(says("Hi.") for _ in asked), check=problems) as server:
            base = server.base(self.dialect)
            info = self.info.model_copy(update={"api_base": base})
            for messages in asked:
                await _send(ModelRequest(model=info, messages=tuple(messages), tools=tools))
            return server.requests


def hello() -> NeutralMessage:
    """Return a short question."""
    return NeutralMessage(role="user", blocks=(TextBlock(text="Hello."),))


def _looked() -> NeutralMessages:
    """Return a call without thinking before it, and its result."""
    call = CallBlock(call_id="abcdefghi", tool="read", input={})
    result = ResultBlock(call_id="abcdefghi", tool="read", text="one")
    return (
        NeutralMessage(role="assistant", blocks=(call,)),
        NeutralMessage(role="tool", blocks=(result,)),
    )


async def _send(request: ModelRequest) -> None:
    try:
        async for _ in LitellmModel().stream(request):
            pass
    except ModelFailed:
        # The server recorded the refusal.
        pass


def _litellm_module(name: str) -> Any:
    """Import a module of litellm as the product does: whoever is first in a process sets litellm up for all."""
    LOADER.wait_for_litellm()
    return importlib.import_module(f"litellm.{name}")
