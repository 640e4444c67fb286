"""Protocols of the application and the pages, as a front end uses them."""

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
    from palimpsest.review.recorded_sessions.session_answers import SessionAnswers
    from palimpsest.review.session_review import SessionReview
    from palimpsest.review.timeline_view.view_queries import ViewAnswer, ViewQuery
    from palimpsest.session.open_sessions.workspace import Workspace


class ShownSettings(Protocol):
    """The merged settings, with sentences about them for the user; ``app/loaded_config.py`` implements it."""

    @property
    def value(self) -> Config:
        """The settings."""

    @property
    def origins(self) -> Mapping[str, str]:
        """Origin by dotted setting name; a missing name has its built-in value."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about wrong settings."""

    @property
    def untrusted_settings(self) -> tuple[UntrustedSetting, ...]:
        """Settings that need the user's trust."""

    def rows(self) -> Sequence[tuple[str, str, str]]:
        """Return every setting as name, value and origin."""

    def remarks(self) -> Sequence[tuple[str, tuple[str, ...]]]:
        """Return titles with sentences: wrong settings, unused ones, those that need trust."""


class FrontendServices(Protocol):
    """The services of the application that the front end needs; ``app`` implements them."""

    services: Services
    registry: Registry
    definitions: ProjectDefinitions
    hooks: HookRegistry
    servers: McpServers
    locked_settings: LockedSettings
    hidden_names: HiddenNames
    notebook_runs: NotebookReader | None
    """Reads which cells the user ran in this kernel."""

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
        """Return the models that can be used now as rows: id, window, and why each is listed."""

    def preload_model(self, model_id: str | None = None) -> None:
        """Begin to import the modules of a model; None means the model that will probably answer."""

    def default_model(self) -> str:
        """Return the id of the default model."""

    def check_model(self, name: str) -> None:
        """Raise ConfigError for a model that cannot answer here."""

    def agents(self) -> Sequence[tuple[str, str]]:
        """Return names and descriptions of the agents, with the default one first."""

    def price(self, model: str) -> Price | None:
        """Return the price of a model; None where it is unknown."""

    def completion_values(self, kind: str) -> Sequence[str]:
        """Return the values that completion offers for an option, such as ``model``."""

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
        """Answers inspectors' questions; created at the first use."""


class InspectorAnswers(Protocol):
    """Answers inspectors' questions; ``frontends/inspector/inspections.py`` implements it.

    Contract: called on the engine's loop; an error that the user can fix is part of the answer and never raised.
    """

    def answers(self, session_id: str) -> "SessionAnswers":
        """Return a new object that answers questions about one session of the project."""

    async def review(self, session_id: str, path: str | None = None) -> "SessionReview":
        """Return the newest review of a session of the project, or of a recording; raises UserError."""

    async def answer_session(
        self, session_id: str, query: "ViewQuery", asker: str = ""
    ) -> "ViewAnswer":
        """Answer a question about a session of the project; ``asker`` identifies the inspector that asks."""

    async def answer_recording(
        self, path: str, session_id: str, query: "ViewQuery", asker: str = ""
    ) -> "ViewAnswer":
        """Answer a question about a session of a recording, its first one where ``session_id`` is empty."""


class Pages(Protocol):
    """The browser pages connected to this kernel; ``frontends/page_channel/channel.py`` implements it."""

    def is_watched(self, session_id: str) -> bool:
        """Return whether a page watches the session now."""

    def may_answer(self, session_id: str) -> bool:
        """Return whether a page can answer a question now; pings the page where that is unknown."""

    def adopt(self, session: KernelSession) -> None:
        """Make a session the notebook's current one."""

    def insert_cells(self, sources: Sequence[str], below_id: str | None) -> bool:
        """Insert new cells below the cell with an id, through a page; returns False where no page can."""
