"""A whole session without a kernel: real workspace and journal, scripted or HTTP model."""

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from tests.harness.services import services_of
from tests.harness.step import Clock
from tests.waiting import LAST_RESORT_SECONDS
from tests.waiting import until as until

from palimpsest.context.presets import PRESETS
from palimpsest.model.interface import Model
from palimpsest.model.tokenizer import counter
from palimpsest.session.definitions.agents import BUILT_IN
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.open_sessions.workspace import Workspace
from palimpsest.store.interface import Store
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.tools.tool import Tool
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.session_record.events import Record, StepRequested
from palimpsest.transcript.values import ModelInfo, ModelRef

FEW = frozenset({"bash", "edit", "glob", "grep", "list", "read", "recall", "write"})


def tools(*, few: bool, kernel: bool = False) -> tuple[Tool, ...]:
    """Return the tools that need no kernel, or with ``few`` a fixed subset."""
    return tuple(tool for tool in builtin_tools(kernel=kernel) if not few or tool.name in FEW)


class SessionHarness:
    """Opens sessions of one project with one model.

    A test that sets the model's window gets the fixed subset of tools: a new tool would take tokens of it.
    """

    opened: ClassVar[list["SessionHarness"]] = []
    """All harnesses of one test, whose sessions are replayed when it has ended."""

    def __init__(
        self,
        root: Path,
        model: Model,
        *,
        store: Store | None = None,
        rules: Rules = DEFAULT_RULES,
        info: ModelInfo | None = None,
        kernel_id: str = "kernel-test",
        policy: str = "palimpsest",
        few: bool | None = None,
        kernel_tools: bool = False,
        **more: Any,
    ) -> None:
        self.opened.append(self)
        self.clock = Clock()
        self.store = store or MemoryStore()
        self._info = info
        self.services = services_of(
            store=self.store,
            ids=Ids(self.clock, secrets.token_bytes),
            clock=self.clock,
            jitter=lambda: 0.0,
            root=root,
            cwd=root,
            registry=Registry(
                tools(few=info is not None if few is None else few, kernel=kernel_tools)
            ),
            model=lambda _: model,
            info=self.info,
            default_model=lambda: "scripted/model",
            count=counter,
            known_agents=more.pop("known_agents", BUILT_IN),
            default_agent="build",
            base_rules=rules,
            policy=PRESETS[policy],
            **more,
        )
        self.workspace = Workspace(self.services, this_owner(kernel_id), project_id="project")

    def info(self, model_id: str, variant: str | None = None) -> ModelInfo:
        if "/" not in model_id:
            raise ConfigError(f"There is no model {model_id!r}.")
        provider, _, name = model_id.partition("/")
        ref = ModelRef(provider=provider, name=name, variant=variant)
        if self._info is not None:
            return self._info.model_copy(update={"ref": ref})
        return ModelInfo(ref=ref, window=100_000, output_limit=4_000)

    def narrow(self, info: ModelInfo) -> None:
        """Change the limits of every model from now on."""
        self._info = info

    async def session(self, notebook: str | None = "a.ipynb") -> LiveSession:
        session = await self.workspace.current(notebook)
        assert isinstance(session, LiveSession)
        return session

    async def records(self, session: LiveSession) -> Sequence[Record]:
        await session.journal.flush()
        return tuple(self.store.read(session.id))


async def ask(session: LiveSession, text: str, **options: Any) -> Answer:
    return await asyncio.wait_for(
        session.prompt(text, PromptOptions(**options)), LAST_RESORT_SECONDS
    )


def requested(records: Sequence[Record]) -> list[StepRequested]:
    return [record.event for record in records if isinstance(record.event, StepRequested)]
