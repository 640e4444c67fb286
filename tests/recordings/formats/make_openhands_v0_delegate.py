"""Writes samples/openhands_v0_delegate.jsonl with the real values of openhands-ai 0.59.0 (Python 3.12); not run by the tests.

The events are those that the program's controller puts into the stream when the agent hands a task to the browsing
agent: the action, the delegate's system prompt, its task as a message, what it does, and the observation.
"""

import json
import sys
from pathlib import Path

import make_openhands_v0 as plain
from litellm import ModelResponse
from openhands.events.action import MessageAction
from openhands.events.action.agent import AgentDelegateAction
from openhands.events.action.message import SystemMessageAction
from openhands.events.event import EventSource
from openhands.events.observation.delegate import AgentDelegateObservation
from openhands.events.serialization import event_to_dict
from openhands.events.tool import ToolCallMetadata

TARGET = Path(__file__).parent / "samples" / "openhands_v0_delegate.jsonl"


def delegates(log: plain.Log, task: str) -> ToolCallMetadata:
    call = {
        "id": "toolu_browse",
        "type": "function",
        "function": {"name": "delegate_to_browsing_agent", "arguments": json.dumps({"task": task})},
    }
    message = {"role": "assistant", "content": "I ask.", "tool_calls": [call]}
    number = len(log.metrics.token_usages) + 1
    response = ModelResponse(
        id="resp-browse",
        model=plain.MODEL.removeprefix("anthropic/"),
        choices=[{"finish_reason": "tool_calls", "message": message}],
        usage={"prompt_tokens": 1_000 * number, "completion_tokens": 20, "total_tokens": 20},
    )
    log.metrics.add_token_usage(1_000 * number, 20, 0, 150, 200_000, response.id)
    said = ToolCallMetadata(
        function_name="delegate_to_browsing_agent",
        tool_call_id="toolu_browse",
        model_response=response,
        total_calls_in_response=1,
    )
    log.add(
        AgentDelegateAction(agent="BrowsingAgent", inputs={"task": task}, thought="I ask."),
        EventSource.AGENT,
        tool_call_metadata=said,
    )
    return said


def main() -> None:
    log = plain.Log()
    log.add(
        SystemMessageAction(content="You are OpenHands.", tools=[plain.TOOL]), EventSource.AGENT
    )
    log.add(MessageAction(content="Find the release notes."), EventSource.USER)
    log.answer("look", "ls")
    said = delegates(log, "Read the page of releases.")
    log.add(SystemMessageAction(content="You browse.", tools=[]), EventSource.AGENT)
    log.add(MessageAction(content="TASK: Read the page of releases."), EventSource.USER)
    log.answer("browse-1", "curl page")
    log.answer("browse-2", finish="Version 2 is the newest.")
    log.add(
        AgentDelegateObservation(
            outputs={"content": "Version 2 is the newest."},
            content="Delegated agent finished with result:\n\nBrowsingAgent finishes task with content: Version 2 is the newest.",
        ),
        EventSource.AGENT,
        tool_call_metadata=said,
    )
    log.answer("check", "cat notes")
    log.answer("end", finish="Version 2.")
    line = {
        "instance_id": "owner__name-2",
        "test_result": {},
        "instruction": "Find the release notes.",
        "metadata": {"agent_class": "CodeActAgent", "llm_config": {"model": plain.MODEL}},
        "history": [event_to_dict(event) for event in log.events],
        "metrics": {**log.metrics.get(), "condenser": []},
        "error": None,
    }
    TARGET.write_text(json.dumps(line) + "\n")


if __name__ == "__main__":
    sys.exit(main())
