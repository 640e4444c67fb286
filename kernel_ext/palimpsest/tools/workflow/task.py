"""The task tool: run a subagent on a task, in a child session.

Border: builds the task and formats its result; the ``SubagentRunner`` that runs the session is passed in.
The subagent's messages stay in its session, so this session's context contains only the result.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, Field

from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import ModelRef

TASK_NAME = "task"
MAX_SHOWN_CALLS = 12
"""Maximum tool calls of the subagent that the card lists; its session has all of them."""
MAX_TITLE_CHARS = 100

DESCRIPTION = (
    "Hand a piece of work to another agent and get its final message back; the person does not see that "
    "message, so tell what matters of it. It keeps what it reads out of this conversation. Several calls in one "
    "step run side by side. Not for reading one file or for what one call of another tool does."
)


@dataclass(frozen=True, slots=True)
class SubagentTask:
    """A task for a subagent."""

    description: str
    prompt: str
    agent: str
    task_id: str | None = None
    """Id of the child session to continue; None creates one."""
    model: ModelRef | None = None
    """The model chosen by the user; None uses the subagent's, or else the caller's."""


@dataclass(frozen=True, slots=True)
class SubagentResult:
    """The result of a subagent."""

    task_id: str
    text: str
    error: str | None = None
    """The reason for the subagent's failure, in a sentence; None where it did not fail."""
    was_stopped: bool = False
    """Whether the subagent was stopped together with the calling session."""
    metadata: Mapping[str, Any] | None = None
    """Values for users and front ends."""


class SubagentRunner(Protocol):
    """Runs subagents for one session.

    Contract: returns when the subagent has answered, failed or was stopped, and shows its progress in
    the running call's card meanwhile. Raises UserError with a sentence for the model if the task
    cannot be started. Setting the context's abort flag stops the subagent.
    """

    async def run(self, task: SubagentTask, context: ToolContext) -> SubagentResult:
        """Run the task and return its result."""


class TaskArguments(BaseModel):
    """Input of the task tool."""

    description: str = Field(description="Three to six words for the person who watches.")
    prompt: str = Field(
        description="The whole task: the agent sees nothing of this conversation. Say what to return."
    )
    agent: str = Field(description="Which agent does it.")
    task_id: str | None = Field(
        default=None, description="Of an earlier task, to go on with it; left out for a new one."
    )


class TaskTool:
    """The task tool, which runs subagents."""

    name = TASK_NAME
    arguments: type[BaseModel] = TaskArguments
    concurrent = True
    permission = TASK_NAME

    def __init__(self, agents: Callable[[], Sequence[tuple[str, str]]]) -> None:
        self._agents = agents
        agent_list = "\n".join(f"- {name}: {description}" for name, description in agents())
        self.description = f"{DESCRIPTION}\nAgents:\n{agent_list}"

    async def run(self, arguments: TaskArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission, run the subagent, and return its result; raises UserError if it failed."""
        runner: SubagentRunner | None = context.extra_values.get("subagent_runner")
        if runner is None:
            raise UserError("No other agent can work in this session. Do the task yourself.")
        if not arguments.prompt.strip():
            raise UserError("The prompt of a task is empty. Say what the agent is to do.")
        title = " ".join(arguments.description.split())[:MAX_TITLE_CHARS] or arguments.agent
        names = [name for name, _ in self._agents()]
        if names and arguments.agent not in names:
            raise UserError(
                f"There is no agent {arguments.agent!r} to hand work to. Agents: {', '.join(names)}."
            )
        if not context.extra_values.get("bypass_agent_check"):
            await context.ask(
                self.permission,
                [arguments.agent],
                title=f"{arguments.agent}: {title}",
                always=[arguments.agent],
            )
        task = SubagentTask(
            title,
            arguments.prompt,
            arguments.agent,
            arguments.task_id or None,
            context.extra_values.get("subagent_model"),
        )
        result = await runner.run(task, context)
        metadata = {"task": result.task_id, "agent": arguments.agent, **(result.metadata or {})}
        output = context.scrubber()(report_text(result, arguments.agent))
        if result.was_stopped:
            metadata["interrupted"] = True
        elif result.error is not None:
            context.metadata(title, metadata)
            raise UserError(output)
        return ToolOutcome(title, output, metadata)


def report_text(result: SubagentResult, agent: str) -> str:
    """Return the text about a result for the model."""
    if result.was_stopped:
        outcome = "was stopped before it was done"
    elif result.error is not None:
        outcome = f"failed: {result.error.rstrip('.')}"
    else:
        outcome = "is done"
    subject = f"Task {result.task_id} by the agent {agent}"
    heading = f"{subject} {outcome}. Its task_id goes on where it ended."
    text = result.text.strip()
    if result.error is not None or result.was_stopped:
        return f"{heading}\n\nIt had said:\n{text}" if text else heading
    return f"{heading}\n\n<result>\n{text or '(The agent said nothing.)'}\n</result>"
