"""A real session layer with a scripted model, loaded into a kernel's shell.

In a test kernel: ``from tests.harness.kernel_session import load; load(get_ipython(), answers...)``.
"""

import os
import random
import secrets
import socket
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.harness.services import services_of
from tests.waiting import eventually

from palimpsest import ipython_extension
from palimpsest.app.loaded_config import Config, ConfigFolders, LoadedConfig
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.frontends.cell_turn.services import ShownSettings
from palimpsest.frontends.frontend import Frontend
from palimpsest.frontends.inspector.inspections import Inspections
from palimpsest.frontends.kernel.main_thread import MainThread, main_loop_of
from palimpsest.frontends.kernel.python_runner import KernelPythonRunner
from palimpsest.frontends.kernel.quiet_reader import QuietReader
from palimpsest.frontends.magic.agent_magics import RunningCells
from palimpsest.frontends.user_cells.cell_recorder import CellRecorder
from palimpsest.model.script import ModelAnswer
from palimpsest.session.config.layer_merge import UntrustedSetting
from palimpsest.session.config.setting_files import LockedSettings
from palimpsest.session.definitions.agents import known_agents
from palimpsest.session.definitions.project_definitions import (
    DefinitionSources,
    ProjectDefinitions,
)
from palimpsest.session.engine import EngineThread
from palimpsest.session.extensions.hooks import HookRegistry
from palimpsest.session.open_sessions.workspace import Workspace
from palimpsest.session.prompts.hidden_variables import HiddenNames
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.interface import Owner
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.testing import ScriptedModel
from palimpsest.tools.file_access.gitignore import ALWAYS_SKIPPED, GitignoreRules
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.tools.tool import NotebookReader
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.values import ModelInfo, ModelRef, Price

INFO = ModelInfo(ref=ModelRef(provider="test", name="scripted"), window=100_000, output_limit=4_000)


class KernelHarness:
    """A minimal application for ``Frontend``: services with a scripted model."""

    def __init__(
        self,
        shell: Any,
        model: ScriptedModel,
        rules: Any = None,
        *,
        snapshots: bool = False,
        recorder: CellRecorder | None = None,
    ) -> None:
        self.model = model
        self.prepared: list[str | None] = []
        self.notebook_runs: NotebookReader | None = recorder
        self.frontend: Frontend | None = None
        self.engine = EngineThread()
        self.main_thread = MainThread(shell, lambda: self.engine.loop, main_loop_of(shell))
        root = Path.cwd()
        self.registry = Registry(builtin_tools(kernel=True))
        self.config: ShownSettings = LoadedConfig(Config())
        self.locked_settings = LockedSettings()
        self.hidden_names = HiddenNames(())
        self.hooks = HookRegistry(with_packages=False)
        self.servers = McpServers((), self.registry, {}, root)
        sources = DefinitionSources(root, ConfigFolders((), (), root))
        self.definitions = ProjectDefinitions(sources, lambda: DEFAULT_RULES)
        self.services = services_of(
            store=MemoryStore(),
            ids=Ids(lambda: time.time_ns() // 1_000_000, secrets.token_bytes),
            clock=lambda: time.time_ns() // 1_000_000,
            jitter=random.random,
            root=root,
            cwd=root,
            registry=self.registry,
            model=lambda _info: self.model,
            info=lambda _name, _variant: INFO,
            default_model=lambda: "test/scripted",
            count=lambda _name: lambda text: len(text) // 4,
            known_agents=known_agents({}, {}),
            default_agent="build",
            base_rules=DEFAULT_RULES if rules is None else rules,
            policy=preset_policy("palimpsest"),
            python=partial(KernelPythonRunner, self.main_thread),
            namespace=partial(KernelPythonRunner, self.main_thread),
            quiet_namespace=partial(QuietReader, self.main_thread),
            snapshots=make_snapshots(root) if snapshots else None,
            notebook=recorder,
        )
        owner = Owner(host=socket.gethostname(), pid=os.getpid(), kernel_id="test-kernel")
        self.workspace = Workspace(self.services, owner, project_id="prj_test")
        self.inspections = Inspections(
            self.services.store, self.workspace.journal_of, lambda _model: None, root
        )

    def wait_for_page(self) -> None:
        """Wait until a page can answer what the notebook's cells hold."""
        assert self.frontend is not None
        cells = self.frontend.channel.cells
        eventually(lambda: cells.clients(0.1))

    @property
    def trust_unwritten(self) -> str:
        return ""

    def trust(self) -> Sequence[UntrustedSetting]:
        return ()

    def distrust(self) -> bool:
        return False

    def models(self) -> Sequence[tuple[str, str, str]]:
        return ()

    def preload_model(self, model_id: str | None = None) -> None:
        """Note that a model was to be prepared."""
        self.prepared.append(model_id)

    def default_model(self) -> str:
        return "test/scripted"

    def check_model(self, name: str) -> None:
        if name == "nobody":
            raise ConfigError(f"There is no model {name!r}.")

    def agents(self) -> Sequence[tuple[str, str]]:
        return ()

    def price(self, _model: str) -> Price | None:
        return None

    def completion_values(self, _field: str) -> Sequence[str]:
        return ()

    def close(self) -> None:
        """Keep the engine for what a test looks at afterwards."""

    def script(self, *answers: ModelAnswer) -> None:
        """Replace the model by one with these answers."""
        self.model = ScriptedModel(*answers)


def make_snapshots(root: Path) -> Snapshots:
    """Return the file snapshots of a folder."""
    kept = root / ".palimpsest" / "snapshots"
    return Snapshots(root, kept, rules=GitignoreRules, excluded_folders=ALWAYS_SKIPPED)


def load(
    shell: Any,
    *answers: ModelAnswer,
    rules: Any = None,
    snapshots: bool = False,
    notebook: bool = False,
) -> KernelHarness:
    """Load the extension with a model that gives these answers; return the harness.

    With ``notebook`` the agent is told of the notebook's cells, from the first session on: a page may
    open one as soon as the extension is loaded.
    """
    made: list[KernelHarness] = []

    def build(shell: Any, cells: RunningCells, recorder: CellRecorder) -> Frontend:
        harness = KernelHarness(
            shell,
            ScriptedModel(*answers),
            rules,
            snapshots=snapshots,
            recorder=recorder if notebook else None,
        )
        made.append(harness)
        return Frontend(
            harness,
            harness.main_thread,
            shell=shell,
            running_cell_count=lambda: cells.running_count,
        )

    ipython_extension.load_ipython_extension(shell, build)
    extension = ipython_extension.extension_of(shell)
    assert extension is not None
    made[0].frontend = extension.front()
    return made[0]
