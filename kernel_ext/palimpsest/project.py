"""The functions of the Python API about a project: sessions, agents, models, settings, storage, trust.

They do the same as ``%agent sessions``, ``--new``, ``import``, ``agents``, ``commands``, ``skills``, ``models``,
``config`` and ``storage`` (docs/api.md). Each is about the kernel's project, in a script about the current folder's.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from palimpsest.app.loaded_config import LoadedConfig
from palimpsest.app.wiring import App
from palimpsest.frontends.operation_base.operation import OperationContext
from palimpsest.ipython_extension import current_app
from palimpsest.public import session_object
from palimpsest.public.keyed_storage import KeyedStorage
from palimpsest.public.session_calls import operation_of
from palimpsest.public.session_object import Session
from palimpsest.session.config.layer_merge import UntrustedSetting
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.definitions.command_files import CustomCommand
from palimpsest.session.definitions.project_definitions import ProjectDefinitions
from palimpsest.session.interfaces.sharing_operations import Progress
from palimpsest.session.open_sessions.storage_cleanup import (
    Pruned,
    StorageUse,
    measure_storage,
    prune_storage,
)
from palimpsest.session.records.session_search import PAGE_SESSIONS, Page, Query
from palimpsest.store.exchange.import_report import ImportReport, ignore_progress
from palimpsest.store.exchange.keyed_view import KeyedView
from palimpsest.tools.workflow.skill import Skill


def new_session(
    title: str | None = None,
    *,
    parent: "Session | str | None" = None,
    permission: Mapping[str, Any] | str | None = None,
) -> Session:
    """Begin a new session for the notebook; it is the current one from now on.

    ``title`` is used instead of one that a model generates. ``permission`` holds rules in the form of the
    settings, for this session alone. A session with a ``parent`` (or its id) is a child like those of
    subagents: it has the parent's mode and at most its permissions, is listed among its children, and is
    not the notebook's current one. Raises NotFound and ConfigError.

    >>> import palimpsest
    >>> palimpsest.new_session().id == palimpsest.current_session().id
    True
    >>> careful = palimpsest.new_session("Only looking", permission={"edit": "deny", "bash": "ask"})
    >>> careful.title
    'Only looking'
    """
    app = current_app()
    app.preload_model()
    parent_id = parent if parent is None or isinstance(parent, str) else parent.id
    created = _run_operation("new", title=title, parent=parent_id, permission=permission)
    return Session(app, created.kernel_session)


def open_session(app: App | str | None = None, session_id: str | None = None) -> Session:
    """Open a session by id, or the notebook's current one.

    ``open_session("ses_...")`` is about the kernel's project, in a script about the current folder's; an ``App``
    before the id names another project. Raises NotFound.

    >>> import palimpsest
    >>> palimpsest.open_session(palimpsest.current_session().id).id[:4]
    'ses_'
    """
    if isinstance(app, App):
        return session_object.open_session(app, session_id)
    return session_object.open_session(current_app(), session_id if app is None else app)


def sessions(
    words: str = "",
    *,
    archived: bool | None = False,
    children: bool = False,
    limit: int = PAGE_SESSIONS,
    number: int = 1,
    cursor: str | None = None,
) -> Page:
    """List the sessions of the project, newest first; with ``words``, those that contain all of them.

    ``archived=True`` lists the archived sessions, None all; ``children`` includes those of subagents. A page
    has ``limit`` sessions: the first page, or page ``number``, or the page after ``cursor``.

    >>> import palimpsest
    >>> [found.id for found in palimpsest.sessions("hello").sessions] == [session.id]
    True
    """
    app = current_app()
    query = Query(
        words, archived=archived, children=children, limit=limit, number=number, cursor=cursor
    )
    return app.engine.submit(app.workspace.page(query)).result()


def import_session(path: str | Path, *, progress: Progress | None = None) -> ImportReport:
    """Import the sessions of a file or folder: of another agent, or exported ones (docs/import.md).

    Nothing in them is executed, and a second import of the same adds nothing. ``progress`` is called, on another
    thread, with the bytes that were read and with all bytes. Returns the imported sessions, and problems.

    >>> import palimpsest
    >>> [one.outcome for one in palimpsest.import_session(session.export("json")).sessions]
    ['same']
    """
    report = _run_operation("import", progress or ignore_progress, path=str(path))
    return ImportReport(report.imported, report.unreadable, report.notes)


def agents() -> tuple[Agent, ...]:
    """List the agents that can be named: those that answer prompts, and the subagents.

    Each has ``name``, ``description``, ``mode``, ``model`` and ``origin``. Definition files that changed
    are read again first.

    >>> import palimpsest
    >>> [agent.name for agent in palimpsest.agents() if agent.answers]
    ['build', 'plan']
    """
    return tuple(agent for agent in _definitions().agents.values() if not agent.hidden)


def commands() -> tuple[CustomCommand, ...]:
    """List the custom commands: stored prompts, sent by name, as in ``session.prompt("/tidy a.py")``.

    >>> import palimpsest
    >>> palimpsest.commands()
    ()
    """
    return tuple(_definitions().commands.values())


def skills() -> tuple[Skill, ...]:
    """List the skills: instructions that the model loads for one kind of task.

    >>> import palimpsest
    >>> palimpsest.skills()
    ()
    """
    return tuple(_definitions().skills.values())


def problems() -> tuple[str, ...]:
    """Return what is wrong in the files of agents, commands and skills, and which hooks cannot be loaded.

    >>> import palimpsest
    >>> palimpsest.problems()
    ()
    """
    app = current_app()
    app.engine.submit(app.hooks.load()).result()
    return (*_definitions().problems, *app.hooks.problems)


def models() -> tuple[tuple[str, str, str], ...]:
    """List the models that can be used here, as triples: id, context window, and why it is listed.

    >>> import palimpsest
    >>> "rehearsal/rules" in [name for name, window, because in palimpsest.models()]
    True
    """
    return tuple(current_app().models())


def config() -> LoadedConfig:
    """Return every setting and where it came from: ``rows()``, ``problems``, ``untrusted_settings``, ``value``.

    >>> import palimpsest
    >>> [row for row in palimpsest.config().rows() if row[0] == "share"]
    [('share', 'manual', 'built in')]
    """
    return current_app().config


def trust() -> tuple[UntrustedSetting, ...]:
    """Trust what this project's files say now about permissions; returns the settings that now apply.

    >>> import palimpsest
    >>> palimpsest.trust()
    ()
    """
    return tuple(_run_operation("trust").settings)


def distrust() -> bool:
    """Withdraw the trust in this project's files; false when they were not trusted.

    >>> import palimpsest
    >>> palimpsest.distrust()
    False
    """
    return not _run_operation("trust", trusted=False).late


def storage() -> StorageUse:
    """Measure the disk use of the project: sessions, long texts, snapshots, pages, and what is unused.

    >>> import palimpsest
    >>> palimpsest.storage().sizes.total > 0
    True
    """
    app = current_app()
    retention = app.config.value.retention
    return app.engine.submit(measure_storage(app.workspace, retention)).result()


def keyed_storage() -> KeyedStorage:
    """Return an object to read, write, update, remove and list sessions by key, as OpenCode's ``Storage``.

    Keys are ``["session", project, session]``, ``["message", session, message]``, ``["part", message, part]``,
    ``["session_diff", session]`` and ``["share", session]``; docs/storage.md lists what may be written.

    >>> import palimpsest
    >>> storage = palimpsest.keyed_storage()
    >>> storage.list(["session"]) == [("session", storage.project_id, session.id)]
    True
    """
    app = current_app()
    store = app.services.store
    return KeyedStorage(app, KeyedView(store, app.workspace.journal_of), store)


def prune(
    days: float | None = None, max_size: int | str | None = None, *, delete: bool = False
) -> Pruned:
    """Return which sessions and texts may be deleted, and with ``delete`` delete them for good.

    ``days`` counts since a session was last used, ``max_size`` is for the whole folder, in bytes or as
    ``"2GB"``; where neither is given, the limits of the settings apply.

    >>> import palimpsest
    >>> would = palimpsest.prune(days=90)
    >>> would.plan.due, would.sessions_gone
    ((), None)
    """
    app = current_app()
    coroutine = prune_storage(
        app.workspace,
        app.config.value.retention,
        days=days,
        max_size=max_size,
        delete=delete,
        locked_settings=app.locked_settings,
    )
    return app.engine.submit(coroutine).result()


def _run_operation(operation: str, progress: Progress | None = None, /, **arguments: Any) -> Any:
    """Carry out an operation and return its answer; raises UserError."""
    app = current_app()
    notebook = app.notebook()
    find_session = partial(app.workspace.open_or_current, notebook=notebook)
    context = OperationContext(app, find_session, notebook, progress=progress)
    return app.engine.submit(operation_of(operation, arguments).run(context)).result()


def _definitions() -> ProjectDefinitions:
    definitions = current_app().definitions
    definitions.refresh()
    return definitions
