"""Writes samples/openhands_v1/ with the real writer, openhands-sdk 1.58.2 (Python 3.12); not run by the tests.

A scripted model calls a tool three times, answers, and is asked again; the real summarising condenser
shortens the history once. The model's usage is scripted, too.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.update(OPENHANDS_SUPPRESS_BANNER="1", LITELLM_LOCAL_MODEL_COST_MAP="True")

from litellm.types.utils import Choices, ModelResponse
from litellm.types.utils import Message as LiteMessage
from openhands.sdk import Agent, Conversation, LLMSummarizingCondenser, TextContent
from openhands.sdk.llm import LLMResponse, Message, MessageToolCall
from openhands.sdk.llm.utils.metrics import MetricsSnapshot
from openhands.sdk.testing import TestLLM

HERE = Path(__file__).parent / "samples" / "openhands_v1"


class Counted(TestLLM):
    """A scripted model that reports usage as a provider does."""

    def completion(self, messages: list[Message], **rest: Any) -> LLMResponse:
        response = super().completion(messages, **rest)
        number = len(self.metrics.token_usages) + 1
        name = f"{self.usage_id}-{number}"
        self.metrics.add_token_usage(
            prompt_tokens=1_000 * number,
            completion_tokens=50,
            cache_read_tokens=900 * (number - 1),
            cache_write_tokens=100,
            context_window=200_000,
            response_id=name,
            reasoning_tokens=10,
        )
        self.metrics.add_cost(0.001 * number)
        raw = ModelResponse(id=name, choices=[Choices(message=LiteMessage(content=""))])
        return LLMResponse(
            message=response.message,
            metrics=MetricsSnapshot(model_name=self.model),
            raw_response=raw,
        )


def thinks(number: int) -> Message:
    return Message(
        role="assistant",
        content=[TextContent(text=f"Step {number}.")],
        tool_calls=[
            MessageToolCall(
                id=f"call_{number}{letter}",
                name="think",
                arguments='{"thought": "' + f"{number}{letter} " * 40 + '"}',
                origin="completion",
            )
            for letter in ("ab" if number == 1 else "a")
        ],
    )


def says(text: str) -> Message:
    return Message(role="assistant", content=[TextContent(text=text)])


def main() -> None:
    llm = Counted.from_messages(
        [*(thinks(number) for number in range(1, 5)), says("Done."), says("It was easy.")],
        model="anthropic/claude-sonnet-4-5",
        usage_id="agent",
    )
    writer = Counted.from_messages(
        [says("The user greets. Thoughts 1 and 2 were had.")] * 3,
        model="anthropic/claude-sonnet-4-5",
        usage_id="condenser",
    )
    condenser = LLMSummarizingCondenser(llm=writer, max_size=10, keep_first=2)
    agent = Agent(llm=llm, tools=[], condenser=condenser)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "work").mkdir()
        conversation = Conversation(
            agent=agent,
            workspace=f"{folder}/work",
            persistence_dir=f"{folder}/kept",
            visualizer=None,
        )
        conversation.send_message("Think it over, please.")
        conversation.run()
        conversation.send_message("Was it hard?")
        conversation.run()
        # A scripted model is not registered, so its usage is put where the program keeps it.
        conversation.state.stats.usage_to_metrics.update(
            agent=llm.metrics, condenser=writer.metrics
        )
        conversation.state._save_base_state(conversation.state._fs)
        conversation.close()
        kept = next(Path(folder, "kept").iterdir())
        shutil.rmtree(HERE, ignore_errors=True)
        shutil.copytree(kept, HERE, ignore=shutil.ignore_patterns("*.lock"))
    for path in HERE.rglob("*.json"):
        path.write_text(path.read_text().replace(folder, "/home/user"))


if __name__ == "__main__":
    sys.exit(main())
