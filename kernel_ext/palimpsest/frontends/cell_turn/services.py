"""Protocols of what a front end needs from the application and from pages."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from palimpsest.session.config.layer_merge import UntrustedSetting
from palimpsest.session.config.setting_files import LockedSettings
from palimpsest.session.config.settings import Config
from palimpsest.session.definitions.project_definitions import ProjectDefinitions
from palimpsest.session.engine import EngineThread
from palimpsest.session.extensions.hooks import HookRegistry
from palimpsest.session.interfaces.services import Services
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.prompts.hidden_variables import HiddenNames
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.registration.registry import Registry
from palimpsest.tools.tool import NotebookReader
from palimpsest.transcript.values import Price

if TYPE_CHECKING:
    from palimpsest.review.recordings.session_answers import SessionAnswers
    from palimpsest.review.timeline_view.view_queries import ViewAnswer, ViewQuery
    from palimpsest.session.open_sessions.workspace import Workspace


class ShownSettings(Protocol):
    """The merged settings, and what a person is told of them; ``app/loaded_config.py`` implements it."""

    @property
    def value(self) -> Config:
        """The settings."""

    @property
    def origins(self) -> Mapping[str, str]:
        """Origin by dotted setting name; what is not in it is built in."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong."""

    @property
    def held(self) -> tuple[UntrustedSetting, ...]:
        """Settings that need the user's trust."""

    def rows(self) -> Sequence[tuple[str, str, str]]:
        """Return every setting as name, value and origin."""

    def remarks(self) -> Sequence[tuple[str, tuple[str, ...]]]:
        """Return titles with sentences: what is wrong, what is not used, what needs trust."""


class FrontendServices(Protocol):
    """What the front end needs from the application; ``app`` implements it."""

    services: Services
    registry: Registry
    definitions: ProjectDefinitions
    hooks: HookRegistry
    servers: McpServers
    locked_settings: LockedSettings
    hidden_names: HiddenNames
    notebook_runs: NotebookReader | None
    """What the user's cells ran in this kernel."""

    @property
    def config(self) -> ShownSettings:
        """The settings."""

    @property
    def trust_unwritten(self) -> str:
        """Why trust in the project's files ends with this kernel; empty where it is stored."""

    def trust(self) -> Sequence[UntrustedSetting]:
        """Trust the project's files as they are now; returns the settings that take effect by that."""

    def distrust(self) -> bool:
        """Revoke trust in the project's files; returns False when it was not trusted."""

    def models(self) -> Sequence[tuple[str, str, str]]:
        """Return the models that can be used now as rows: id, window, and why it is listed."""

    def preload_model(self, model_id: str | None = None) -> None:
        """Begin to import what a model needs, or the one that will probably answer."""

    def default_model(self) -> str:
        """Return the id of the model that answers when none is named."""

    def check_model(self, name: str) -> None:
        """Raise ConfigError for a model that cannot answer here."""

    def agents(self) -> Sequence[tuple[str, str]]:
        """Return names and descriptions of the agents, with the default one first."""

    def price(self, model: str) -> Price | None:
        """Return what a model costs; None where that is not known."""

    def known(self, field: str) -> Sequence[str]:
        """Return values that an option may take, for completion."""

    def close(self) -> None:
        """Close every session and end the engine."""

    @property
    def engine(self) -> EngineThread:
        """The engine's thread."""

    @property
    def workspace(self) -> "Workspace":
        """The project's sessions."""

    @property
    def inspections(self) -> "InspectorAnswers":
        """Answers inspectors' questions; made when it is first asked."""


class InspectorAnswers(Protocol):
    """What answers inspectors' questions; ``frontends/inspector/inspections.py`` implements it.

    Contract: called on the engine's loop; never raises for what a person can mend.
    """

    def answers(self, session: str) -> "SessionAnswers":
        """Return what answers the questions about a session of the project; nothing is kept."""

    async def answer_session(
        self, session: str, query: "ViewQuery", asker: str = ""
    ) -> "ViewAnswer":
        """Answer a question about a session of the project."""

    async def answer_recording(
        self, path: str, session: str, query: "ViewQuery", asker: str = ""
    ) -> "ViewAnswer":
        """Answer a question about a session of a recording, its first one where ``session`` is empty."""


class Pages(Protocol):
    """The browser pages connected to this kernel; ``frontends/page_channel/channel.py`` implements it."""

    def fresh(self, session_id: str) -> bool:
        """Tell whether a page watches the session now."""

    def present(self, session_id: str) -> bool:
        """Tell whether a page can answer a question now; pings it where that is not known."""

    def adopt(self, session: KernelSession) -> None:
        """Make a session the one that the notebook continues."""

    def insert_cells(self, sources: Sequence[str], below: str | None) -> bool:
        """Have a page insert new cells below a cell; false where no page can."""
