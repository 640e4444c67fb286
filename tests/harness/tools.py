"""A tool context for tests: real files and processes, and a user that answers questions by rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.session.permissions.asks import permission_refusal
from palimpsest.tools.permission_rules.permissions import Allowed, Denied, decide_call, from_config
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.tools.tool import (
    Abort,
    Namespace,
    NotebookReader,
    PythonRunner,
    ToolContext,
    ToolOutcome,
)
from palimpsest.transcript.errors import PermissionDenied, UserError
from palimpsest.transcript.messages import Message
from palimpsest.transcript.values import Reply, Rule


@dataclass(frozen=True)
class AskedPermission:
    """A permission question that reached the user."""

    permission: str
    patterns: tuple[str, ...]
    title: str
    always: tuple[str, ...]
    diff: str | None
    bound_to: str | None = None


@dataclass
class ScriptedUser:
    """A fake user who replies to permission questions by rules, and records them."""

    rules: Any = None
    approved: tuple[Rule, ...] = ()
    """What was answered with "always" before."""
    reply: Reply = field(default_factory=lambda: Reply(answer="once"))
    asked: list[AskedPermission] = field(default_factory=list)

    async def __call__(
        self,
        permission: str,
        patterns: Sequence[str],
        *,
        title: str = "",
        always: Sequence[str] = (),
        diff: str | None = None,
        other_patterns: Mapping[str, Sequence[str]] | None = None,
        bound_to: str | None = None,
    ) -> Reply | None:
        rules = (*DEFAULT_RULES, *from_config(self.rules or {}, home="/home/ada"))
        verdict = decide_call(permission, patterns, rules, self.approved)
        if isinstance(verdict, Denied):
            raise PermissionDenied(verdict.message, stops_turn=False)
        others = [
            decide_call(name, texts, rules, self.approved)
            for name, texts in (other_patterns or {}).items()
        ]
        if all(isinstance(decided, Allowed) for decided in (verdict, *others)):
            return None
        self.asked.append(
            AskedPermission(permission, tuple(patterns), title, tuple(always), diff, bound_to)
        )
        if self.reply.answer == "reject":
            raise permission_refusal(self.reply)
        return self.reply


@dataclass
class ToolHarness:
    """A project folder, and a way to call tools in it."""

    root: Path
    user: ScriptedUser = field(default_factory=ScriptedUser)
    abort: Abort = field(default_factory=Abort)
    shown: list[Mapping[str, Any]] = field(default_factory=list)
    python: PythonRunner | None = None
    namespace: Namespace | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    cwd: Path | None = None
    messages: tuple[Message, ...] = ()
    notebook: NotebookReader | None = None
    registry: Registry = field(default_factory=lambda: Registry(builtin_tools()))

    def context(self) -> ToolContext:
        return ToolContext(
            session_id="ses_1",
            message_id="msg_1",
            call_id="call_1",
            agent="build",
            abort=self.abort,
            messages=self.messages,
            root=self.root,
            cwd=self.cwd or self.root,
            metadata=lambda _title, metadata: self.shown.append(dict(metadata)),
            ask=self.user,
            python=self.python,
            namespace=self.namespace,
            notebook=self.notebook,
            extra_values=self.extra,
        )

    async def call(self, name: str, /, **given: Any) -> ToolOutcome:
        """Call a tool as the processor does: resolve, validate, run."""
        tool = self.registry.resolve(name)
        if isinstance(tool, str):
            raise UserError(tool)
        arguments = self.registry.validate(tool, given)
        if isinstance(arguments, str):
            raise UserError(arguments)
        return await tool.run(arguments, self.context())

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path
