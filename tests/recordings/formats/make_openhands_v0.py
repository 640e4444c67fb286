"""Writes samples/openhands_v0.jsonl with the real values of openhands-ai 0.59.0 (Python 3.12); not run by the tests.

The events of one instance are invented; the program's own classes and serialization write them, and the line
is put together as its evaluations do. Two calls stem from one response, and one condensation was made.
"""

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

# Cloud stores, which are imported with the events and not used, need packages of their own.
for name in ("google_cloud", "s3"):
    sys.modules[f"openhands.storage.{name}"] = MagicMock()

from litellm import ModelResponse  # noqa: E402
from openhands.events.action import (  # noqa: E402
    CmdRunAction,
    MessageAction,
    NullAction,
)
from openhands.events.action.agent import CondensationAction  # noqa: E402
from openhands.events.action.message import SystemMessageAction  # noqa: E402
from openhands.events.event import Event, EventSource  # noqa: E402
from openhands.events.observation import CmdOutputMetadata, CmdOutputObservation  # noqa: E402
from openhands.events.serialization import event_to_dict  # noqa: E402
from openhands.events.tool import ToolCallMetadata  # noqa: E402
from openhands.llm.metrics import Metrics  # noqa: E402

TARGET = Path(__file__).parent / "samples" / "openhands_v0.jsonl"
MODEL = "anthropic/claude-sonnet-4-20250514"
TOOL = {
    "type": "function",
    "function": {"name": "execute_bash", "description": "Run.", "parameters": {"type": "object"}},
}


class Log:
    """Numbers events as the program's stream does."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.metrics = Metrics(model_name=MODEL)

    def add(self, event: Event, source: EventSource, **rest: Any) -> Event:
        event._id = len(self.events)
        event._source = source
        event._timestamp = f"2025-06-01T10:00:{len(self.events):02d}.000000"
        for name, value in rest.items():
            setattr(event, f"_{name}", value)
        self.events.append(event)
        return event

    def answer(self, name: str, *commands: str, finish: str = "") -> None:
        calls = [
            {
                "id": f"toolu_{name}_{n}",
                "type": "function",
                "function": {"name": "execute_bash", "arguments": json.dumps({"command": command})},
            }
            for n, command in enumerate(commands)
        ]
        number = len(self.metrics.token_usages) + 1
        response = ModelResponse(
            id=f"resp-{name}",
            model=MODEL.removeprefix("anthropic/"),
            choices=[
                {
                    "finish_reason": "tool_calls" if calls else "stop",
                    "message": {"role": "assistant", "content": finish or f"I do {name}.", "tool_calls": calls},
                }
            ],
            usage={"prompt_tokens": 1_000 * number, "completion_tokens": 20, "total_tokens": 1_000 * number + 20},
        )  # fmt: skip
        self.metrics.add_token_usage(
            1_000 * number, 20, 800 * (number - 1), 150, 200_000, response.id
        )
        made = [
            self.add(
                CmdRunAction(command=command, thought=f"I do {name}." if n == 0 else ""),
                EventSource.AGENT,
                tool_call_metadata=ToolCallMetadata(
                    function_name="execute_bash",
                    tool_call_id=f"toolu_{name}_{n}",
                    model_response=response,
                    total_calls_in_response=len(commands),
                ),
            )
            for n, command in enumerate(commands)
        ]
        for n, action in enumerate(made):
            self.add(
                CmdOutputObservation(
                    content=f"{commands[n]}: " + "text " * 60,
                    command=commands[n],
                    metadata=CmdOutputMetadata(exit_code=n),
                ),
                EventSource.AGENT,
                cause=action.id,
                tool_call_metadata=action.tool_call_metadata,
            )
        if finish:
            self.add(MessageAction(content=finish), EventSource.AGENT)  # has no metadata


def main() -> None:
    log = Log()
    log.add(SystemMessageAction(content="You are OpenHands.", tools=[TOOL]), EventSource.AGENT)
    log.add(MessageAction(content="Mend the program."), EventSource.USER)
    log.add(NullAction(), EventSource.ENVIRONMENT)
    log.answer("one", "ls", "cat a")
    log.answer("two", "make")
    log.add(
        CondensationAction(
            forgotten_event_ids=[3, 4, 5, 6], summary="The files were looked at.", summary_offset=2
        ),
        EventSource.AGENT,
    )
    log.answer("three", "make test")
    log.answer("four", finish="It is mended.")
    line = {
        "instance_id": "owner__name-1",
        "test_result": {"git_patch": ""},
        "instruction": "Mend the program.",
        "metadata": {"agent_class": "CodeActAgent", "llm_config": {"model": MODEL}},
        "history": [event_to_dict(event) for event in log.events],
        "metrics": {**log.metrics.get(), "condenser": []},
        "error": None,
    }
    TARGET.write_text(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
