"""Writes samples/openhands_subagents/ with the real writers, openhands-sdk and openhands-tools 1.58.2 (Python 3.12); not run by the tests.

A scripted model gives two tasks to subagents and resumes the first; the second gives one to a subagent of its own.
A scripted model is not registered, so its usage is put where the program keeps it.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ.update(OPENHANDS_SUPPRESS_BANNER="1", LITELLM_LOCAL_MODEL_COST_MAP="True")

from make_openhands import Counted, says
from openhands.sdk import Agent, Conversation, Tool
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.subagent import register_agent
from openhands.tools.task import TaskToolSet

HERE = Path(__file__).parent / "samples" / "openhands_subagents"
MODEL = "anthropic/claude-sonnet-4-5"


def gives(call: str, agent: str, prompt: str, resume: str | None = None) -> Message:
    arguments = {"prompt": prompt, "subagent_type": agent, "description": prompt, "resume": resume}
    made = MessageToolCall(
        id=call, name="task", arguments=json.dumps(arguments), origin="completion"
    )
    return Message(role="assistant", content=[TextContent(text="I hand it on.")], tool_calls=[made])


def agent_of(name: str, messages: list[Message]) -> tuple[Agent, Counted]:
    llm = Counted.from_messages(messages, model=MODEL, usage_id=name)
    return Agent(llm=llm, tools=[Tool(name=TaskToolSet.name)]), llm


def main() -> None:
    scripts = {
        "counter": {
            "counter": [says("There are 12 tests.")],
            "counter-resumed": [says("All of them pass.")],
        },
        "namer": {
            "namer": [gives("call_n1", "sorter", "Sort the modules"), says("a.py, then b.py.")]
        },
        "sorter": {"sorter": [says("a.py and b.py, sorted.")]},
    }
    llms: list[Counted] = []

    def factory(name: str) -> Callable[[object], Agent]:
        def make(_llm: object) -> Agent:
            usage = next(iter(scripts[name]))
            agent, llm = agent_of(usage, scripts[name].pop(usage))
            llms.append(llm)
            return agent

        return make

    for name in scripts:
        register_agent(name, factory(name), f"The {name}.")
    agent, llm = agent_of(
        "agent",
        [
            gives("call_1", "counter", "Count the tests"),
            gives("call_2", "namer", "Name the modules"),
            gives("call_3", "counter", "Do they pass?", resume="task_00000001"),
            says("12 tests, in two modules; they pass."),
        ],
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "work").mkdir()
        conversation = Conversation(
            agent=agent,
            workspace=f"{folder}/work",
            persistence_dir=f"{folder}/kept",
            visualizer=None,
        )
        conversation.send_message("Look at the tests and the modules.")
        conversation.run()
        conversation.close()
        kept = next(Path(folder, "kept").iterdir())
        shutil.rmtree(HERE, ignore_errors=True)
        shutil.copytree(kept, HERE, ignore=shutil.ignore_patterns("*.lock", ".*"))
    llms.append(llm)
    for path in HERE.rglob("base_state.json"):
        state = json.loads(path.read_text())
        events = "".join(
            event_file.read_text() for event_file in (path.parent / "events").iterdir()
        )
        for service in llms:
            if f'"llm_response_id":"{service.usage_id}-' in events:
                state["stats"]["usage_to_metrics"][service.usage_id] = service.metrics.model_dump(
                    mode="json"
                )
        path.write_text(json.dumps(state))
    for path in HERE.rglob("*.json"):
        path.write_text(re.sub(re.escape(folder), "/home/user", path.read_text()))


if __name__ == "__main__":
    sys.exit(main())
