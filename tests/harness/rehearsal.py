"""A harness for the rehearsal model, with real tools on a namespace and a folder.

``ask`` plays a whole turn as the loop does: reply, run the calls with the package's own tools, send the
results back, until the model answers with text.
"""

import ast
import asyncio
import contextlib
import io
import json
import traceback
import warnings
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.harness.open_notebook import CellCalls

from palimpsest.frontends.variables.variable_types import shape_of, type_name_of
from palimpsest.frontends.variables.variables import describe_variable as describe_variable
from palimpsest.rehearsal.reply_rules import RehearsalReply, reply
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.tools.tool import (
    NAMES_AND_TYPES,
    Abort,
    PythonOutcome,
    ShownVariables,
    ToolContext,
    VariableInfo,
)
from palimpsest.transcript.errors import PalimpsestError, PermissionDenied
from palimpsest.transcript.values import ToolSpec

MAX_STEPS = 14


@dataclass
class FakeShell:
    """The part of IPython's shell that the variable descriptions need."""

    user_ns: dict[str, Any]
    user_ns_hidden: dict[str, Any] = field(default_factory=dict)


@dataclass
class FakeKernel:
    """Runs code in a namespace, and describes its variables."""

    user_ns: dict[str, Any]

    async def run(
        self,
        code: str,
        *,
        call_id: str,  # noqa: ARG002
        abort: Abort,  # noqa: ARG002
        on_output: Callable[[str], None],  # noqa: ARG002
    ) -> PythonOutcome:
        """Run the code as a cell would."""
        printed, result, error = io.StringIO(), None, None
        try:
            tree = ast.parse(code)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            with contextlib.redirect_stdout(printed), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(tree, "cell", "exec"), self.user_ns)
                if last is not None:
                    value = eval(compile(ast.Expression(last.value), "cell", "eval"), self.user_ns)
                    result = None if value is None else repr(value)
        except BaseException:  # noqa: BLE001 - the traceback is the outcome
            error = traceback.format_exc()
        return PythonOutcome(printed.getvalue(), "", result, error)

    async def list(self, _shown: ShownVariables = NAMES_AND_TYPES) -> Sequence[VariableInfo]:
        """List the user's variables."""
        return [
            VariableInfo(name, type_name_of(value), shape_of(value))
            for name, value in sorted(self.user_ns.items())
            if not name.startswith("_") and type(value).__name__ != "module"
        ]

    async def description_of(self, name: str, max_chars: int = 4_000) -> str:
        """Describe one variable as the kernel does."""
        return describe_variable(FakeShell(self.user_ns), name, max_chars)


@dataclass
class PlayedTurn:
    """The texts and calls of a turn."""

    text: str
    calls: list[tuple[str, dict[str, Any]]]
    outputs: list[str]
    thoughts: list[str]

    @property
    def code(self) -> str:
        """All Python code of the turn."""
        return "\n".join(inputs["code"] for tool, inputs in self.calls if tool == "python")

    @property
    def tools(self) -> list[str]:
        """The tool names in the order of their calls."""
        return [tool for tool, _ in self.calls]


class RehearsalHarness:
    """A session with the rehearsal model."""

    def __init__(
        self,
        folder: Path,
        *,
        tools: Sequence[str] | None = None,
        refuse: Sequence[str] = (),
        cell_calls: CellCalls | None = None,
        **variables: Any,
    ) -> None:
        self.folder = folder
        self.refuse = refuse
        self.extra: dict[str, Any] = {}
        self.cell_calls = cell_calls
        self.namespace: dict[str, Any] = {"__builtins__": __builtins__, **variables}
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": "You are an agent."}]
        self.registry = Registry(builtin_tools())
        offered = [tool for tool in builtin_tools() if tools is None or tool.name in tools]
        self.tools = {tool.name: tool for tool in offered}
        self.specs: list[ToolSpec] = [self.registry.spec(tool) for tool in offered]

    def ask(self, prompt: str) -> PlayedTurn:
        """Send a prompt and play the turn to its end."""
        self.messages.append({"role": "user", "content": prompt})
        calls: list[tuple[str, dict[str, Any]]] = []
        outputs: list[str] = []
        thoughts: list[str] = []
        for _ in range(MAX_STEPS):
            answer = reply(tuple(self.messages), self.specs)
            thoughts.append(answer.reasoning)
            self.messages.append(as_message(answer, len(self.messages)))
            if not answer.tool_uses:
                return PlayedTurn(answer.text, calls, outputs, thoughts)
            for at, call in enumerate(answer.tool_uses):
                calls.append((call.tool, call.input))
                outputs.append(self.run(call.tool, call.input))
                self.messages.append(
                    {
                        "role": "tool",
                        "tool_call_id": f"c{len(self.messages) - 1 - at}_{at}",
                        "content": outputs[-1],
                    }
                )
        raise AssertionError(f"no answer after {MAX_STEPS} steps: {calls}")

    def run(self, name: str, given: dict[str, Any]) -> str:
        """Run one tool call as the processor does."""
        tool = self.tools[name]
        arguments = self.registry.validate(tool, given)
        if isinstance(arguments, str):
            return arguments
        return asyncio.run(self._run(tool, arguments, given))

    async def _run(self, tool: Any, arguments: Any, given: dict[str, Any]) -> str:
        kernel = FakeKernel(self.namespace)

        async def ask(permission: str, _patterns: Sequence[str], **_: Any) -> None:
            if permission in self.refuse:
                raise PermissionDenied("The user rejected this call.", stops_turn=True)

        context = ToolContext(
            session_id="ses_1",
            message_id="msg_1",
            call_id="call_1",
            agent="agent",
            abort=Abort(),
            messages=(),
            root=self.folder,
            cwd=self.folder,
            metadata=lambda _title, _metadata: None,
            ask=ask,
            python=kernel,
            namespace=kernel,
            extra_values=self.extra,
        )
        try:
            with contextlib.chdir(self.folder):
                outcome = await (
                    self._about_cells(tool.name, given) or tool.run(arguments, context)
                )
        except PalimpsestError as error:
            return str(error)
        return str(outcome.output)

    def _about_cells(self, name: str, given: dict[str, Any]) -> Awaitable[Any] | None:
        """Return the call of a tool about the open notebook, if one is open."""
        if self.cell_calls is None or name not in ("notebook", "cells"):
            return None
        if name == "notebook":
            return self.cell_calls.read(**given)
        return self.cell_calls.change(*given["changes"])


def as_message(answer: RehearsalReply, at: int) -> dict[str, Any]:
    """Return a reply as the assistant message of the next request."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.tool_uses:
        message["tool_calls"] = [
            {
                "id": f"c{at}_{number}",
                "type": "function",
                "function": {"name": call.tool, "arguments": json.dumps(call.input)},
            }
            for number, call in enumerate(answer.tool_uses)
        ]
    return message
