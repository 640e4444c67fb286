"""A test session whose agent calls subagents: a harness with definitions in Markdown files."""

from pathlib import Path
from typing import Any

from tests.harness.session import SessionHarness

from palimpsest.session.config.setting_files import ConfigFolders
from palimpsest.session.definitions.project_definitions import (
    DefinitionSources,
    ProjectDefinitions,
    register_definitions,
)
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def definitions(root: Path, rules: Rules = DEFAULT_RULES, **more: Any) -> ProjectDefinitions:
    """Return the definitions of a project, without this machine's home folder."""
    home = root.parent / "nobody"
    more.setdefault("trusts", lambda _digest: True)
    return ProjectDefinitions(
        DefinitionSources(root, ConfigFolders((), (), home), **more), lambda: rules
    )


def make_subagent_harness(
    root: Path, model: Any, *, rules: Rules = DEFAULT_RULES, **more: Any
) -> SessionHarness:
    """Return a harness with the agents, commands and skills of its folder."""
    found = definitions(root, rules)
    harness = SessionHarness(
        root, model, rules=rules, definitions=found, known_agents=found.agents, **more
    )
    register_definitions(harness.services.agents.registry, found)
    return harness


def open_children(harness: SessionHarness, session: LiveSession) -> list[LiveSession]:
    """Return the open child sessions of a session."""
    opened = harness.workspace._open_sessions.values()
    found = [one for one in opened if isinstance(one, LiveSession) and one.read_only]
    return [one for one in found if one.snapshot().session.parent_id == session.id]  # type: ignore[union-attr]


async def children(harness: SessionHarness, session: LiveSession) -> list[LiveSession]:
    """Open all child sessions of a session, oldest first."""
    opened = [
        await harness.workspace.open(child.id)
        for child in await harness.workspace.children(session.id)
    ]
    return [one for one in opened if isinstance(one, LiveSession)]
