"""List agents, commands and skills, and where each came from, for the ``%agent`` subcommands.

Border: rows of text from values; ``frontends/subcommands/dispatch.py`` makes tables of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest.frontends.cell_turn.services import CellPlace
from palimpsest.frontends.subcommands.policy import PolicySection
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.definitions.command_files import CustomCommand
from palimpsest.session.definitions.project_definitions import ProjectDefinitions
from palimpsest.tools.workflow.skill import Skill

AGENT_HEAD = ("agent", "answers", "model", "what it is for", "from")
COMMAND_HEAD = ("command", "goes to", "what it is for", "from")
SKILL_HEAD = ("skill", "when the model uses it", "from")
NO_COMMANDS = "There are no commands yet. Write a prompt into .palimpsest/commands/NAME.md, and %agent /NAME sends it."
NO_SKILLS = (
    "There are no skills yet. A skill is a folder .palimpsest/skills/NAME with a SKILL.md in it."
)
NO_LIBRARY = "This kernel reads no agents, commands or skills from files."
NAMED = "Begin a prompt with @NAME to hand it to an agent that works for others; --agent NAME lets another one answer."
WORDS_CHARS = 160


class LibraryCommands:
    """Lists the project's agents, commands and skills; changed files are read again first."""

    def __init__(self, services: Any) -> None:
        self._services = services

    def agents(self, _argument: str, _place: CellPlace) -> list[str | PolicySection]:
        """List the agents."""
        definitions = self._definitions()
        if definitions is None:
            return [NO_LIBRARY]
        rows = agent_rows(definitions.agents, definitions.default_agent)
        return [PolicySection("", AGENT_HEAD, rows), NAMED, *wrong(definitions)]

    def commands(self, _argument: str, _place: CellPlace) -> list[str | PolicySection]:
        """List the commands."""
        definitions = self._definitions()
        if definitions is None:
            return [NO_LIBRARY]
        rows = command_rows(definitions.commands)
        told: list[str | PolicySection] = (
            [PolicySection("", COMMAND_HEAD, rows)] if rows else [NO_COMMANDS]
        )
        return [*told, *wrong(definitions)]

    def skills(self, _argument: str, _place: CellPlace) -> list[str | PolicySection]:
        """List the skills."""
        definitions = self._definitions()
        if definitions is None:
            return [NO_LIBRARY]
        rows = skill_rows(definitions.skills)
        told: list[str | PolicySection] = (
            [PolicySection("", SKILL_HEAD, rows)] if rows else [NO_SKILLS]
        )
        return [*told, *wrong(definitions)]

    def _definitions(self) -> ProjectDefinitions | None:
        definitions: ProjectDefinitions | None = getattr(self._services, "definitions", None)
        if definitions is not None:
            definitions.refresh()
        return definitions


def agent_rows(agents: Mapping[str, Agent], first: str) -> list[tuple[str, ...]]:
    """Return rows for the agents that a person can name, first those that can answer the person."""
    shown = [agent for agent in agents.values() if not agent.hidden]
    shown.sort(key=lambda agent: (not agent.answers, agent.name != first, agent.name))
    return [
        (
            f"{'* ' if agent.name == first else ''}{agent.name}",
            _answers(agent),
            agent.model or "",
            one_line(agent.description, WORDS_CHARS),
            agent.origin,
        )
        for agent in shown
    ]


def _answers(agent: Agent) -> str:
    if agent.mode == "all":
        return "you and other agents"
    return "you" if agent.answers else "other agents"


def command_rows(commands: Mapping[str, CustomCommand]) -> list[tuple[str, ...]]:
    """Return rows for the commands."""
    return [
        (
            f"/{one.name}{f' {one.arguments}' if one.arguments else ''}",
            one.agent or ("a task" if one.subtask else ""),
            one_line(one.description or one.template, WORDS_CHARS),
            one.origin,
        )
        for one in commands.values()
    ]


def skill_rows(skills: Mapping[str, Skill]) -> list[tuple[str, ...]]:
    """Return rows for the skills."""
    return [
        (one.name, one_line(one.description, WORDS_CHARS), one.origin) for one in skills.values()
    ]


def wrong(definitions: ProjectDefinitions) -> Sequence[str]:
    """Return what is wrong with files, one sentence each."""
    return [one_line(words, 400) for words in definitions.problems]
