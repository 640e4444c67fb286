"""List agents, commands, skills and models with their origins, and those that a prompt can choose."""

import asyncio
from collections.abc import Mapping
from typing import ClassVar, Literal

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.operation_base.operation import Form, Operation, OperationContext
from palimpsest.frontends.operation_text.command_output import (
    CommandOutput,
    OutputLines,
    TitledTable,
    table_output,
)
from palimpsest.frontends.protocol.choices import AgentChoice, Choices, ModelChoice
from palimpsest.render.safety.escaping import escape_inline, one_line
from palimpsest.session.definitions.agents import Agent, subagents_of
from palimpsest.session.definitions.command_files import CustomCommand
from palimpsest.tools.permission_rules.modes import MODE_MEANINGS, MODES
from palimpsest.tools.workflow.skill import Skill
from palimpsest.transcript.errors import ConfigError

AGENT_COLUMNS = ("agent", "answers", "model", "what it is for", "from")
COMMAND_COLUMNS = ("command", "goes to", "what it is for", "from")
SKILL_COLUMNS = ("skill", "when the model uses it", "from")
NO_COMMANDS = "There are no commands yet. Write a prompt into .palimpsest/commands/NAME.md, and %agent /NAME sends it."
NO_SKILLS = (
    "There are no skills yet. A skill is a folder .palimpsest/skills/NAME with a SKILL.md in it."
)
AGENT_HINT = "Begin a prompt with @NAME to hand it to an agent that works for others; --agent NAME lets another one answer."
MAX_DESCRIPTION_CHARS = 160
MAX_PROBLEM_CHARS = 400
NO_DEFAULT = "none, until a server that is configured says what it has: %agent models names it"
WHY_NO_DEFAULT = "Without -m no model answers, until the server that is named above does."
DefinitionKind = Literal["agents", "commands", "skills", "models"]
KIND_HELP = {
    "agents": "who can answer, and to whom work can be handed, with where they come from",
    "commands": "prompts of your own under a name: %agent /NAME sends one",
    "skills": "texts that the model loads for one kind of task",
    "models": "the models that can be used here",
}


class ListDefinitions(Operation):
    """List the agents, commands, skills or models that a prompt can name; reads changed files first."""

    type: Literal["definitions"] = "definitions"
    kind: DefinitionKind
    in_page: ClassVar[bool] = False
    forms = tuple(Form(kind, text, fixed_values={"kind": kind}) for kind, text in KIND_HELP.items())

    async def run(self, context: OperationContext) -> OutputLines:
        return await asyncio.to_thread(self._definition_lines, context.services)

    def _definition_lines(self, services: FrontendServices) -> OutputLines:
        if self.kind == "models":
            return model_lines(services)
        definitions = services.definitions
        definitions.refresh()
        problems = [one_line(problem, MAX_PROBLEM_CHARS) for problem in definitions.problems]
        match self.kind:
            case "agents":
                rows = _agent_rows(definitions.agents, definitions.default_agent)
                return [TitledTable("", AGENT_COLUMNS, rows), AGENT_HINT, *problems]
            case "commands":
                rows = _command_rows(definitions.commands)
                return [TitledTable("", COMMAND_COLUMNS, rows) if rows else NO_COMMANDS, *problems]
            case "skills":
                rows = _skill_rows(definitions.skills)
                return [TitledTable("", SKILL_COLUMNS, rows) if rows else NO_SKILLS, *problems]


class ListChoices(Operation):
    """List the models and agents that can answer here."""

    type: Literal["choices"] = "choices"

    async def run(self, context: OperationContext) -> Choices:
        return await asyncio.to_thread(choices_of, context.services)


def default_model(services: FrontendServices, fallback: str = NO_DEFAULT) -> str:
    """Return the default model; ``fallback`` where no configured server lists a model."""
    try:
        return services.default_model()
    except ConfigError:
        return fallback


def model_lines(services: FrontendServices) -> OutputLines:
    """Return the models as a table, and which one answers by default."""
    models, default_name = services.models(), default_model(services)
    if not models:
        return [f"The model is {default_name}. Choose another with -m provider/name."]
    hint = (
        f"Without -m the model is {default_name}." if default_name != NO_DEFAULT else WHY_NO_DEFAULT
    )
    table = table_output(("model", "window", "why it is here"), models)
    markdown = f"{table.markdown}\n\n{escape_inline(hint)}"
    return [CommandOutput(markdown, f"{table.plain_text}\n{hint}")]


def _agent_rows(agents: Mapping[str, Agent], default_agent: str) -> list[tuple[str, ...]]:
    """Return rows for the agents that a user can name, first those that can answer the user."""
    listed_agents = [agent for agent in agents.values() if not agent.hidden]
    listed_agents.sort(
        key=lambda agent: (not agent.answers, agent.name != default_agent, agent.name)
    )
    return [
        (
            f"{'* ' if agent.name == default_agent else ''}{agent.name}",
            _requesters_text(agent),
            agent.model or "",
            one_line(agent.description, MAX_DESCRIPTION_CHARS),
            agent.origin,
        )
        for agent in listed_agents
    ]


def _requesters_text(agent: Agent) -> str:
    if agent.mode == "all":
        return "you and other agents"
    return "you" if agent.answers else "other agents"


def _command_rows(commands: Mapping[str, CustomCommand]) -> list[tuple[str, ...]]:
    return [
        (
            f"/{command.name}{f' {command.arguments}' if command.arguments else ''}",
            command.agent or ("a task" if command.subtask else ""),
            one_line(command.description or command.template, MAX_DESCRIPTION_CHARS),
            command.origin,
        )
        for command in commands.values()
    ]


def _skill_rows(skills: Mapping[str, Skill]) -> list[tuple[str, ...]]:
    return [
        (skill.name, one_line(skill.description, MAX_DESCRIPTION_CHARS), skill.origin)
        for skill in skills.values()
    ]


def _definition_choices(
    definitions: Mapping[str, Agent | CustomCommand | Skill],
) -> tuple[AgentChoice, ...]:
    return tuple(
        AgentChoice(name=name, description=definition.description)
        for name, definition in definitions.items()
    )


def own_command_names(services: FrontendServices) -> frozenset[str]:
    """Return the names of the commands that the project and the settings define; reads their files."""
    services.definitions.refresh()
    return frozenset(services.definitions.commands)


def choices_of(services: FrontendServices) -> Choices:
    """Return the models, agents and commands that a prompt can use."""
    definitions, config, agents = services.definitions, services.config, services.agents()
    definitions.refresh()
    return Choices(
        models=tuple(
            ModelChoice(id=name, window=window, because=because)
            for name, window, because in services.models()
            # A row without a model's name reports a server that does not answer.
            if "/" in name
        ),
        agents=tuple(
            AgentChoice(name=name, description=description) for name, description in agents
        ),
        model=default_model(services, ""),
        agent=agents[0][0] if agents else "",
        commands=_definition_choices(definitions.commands),
        skills=_definition_choices(definitions.skills),
        subagents=_definition_choices(subagents_of(definitions.agents)),
        modes=tuple(AgentChoice(name=mode, description=MODE_MEANINGS[mode]) for mode in MODES),
        mode=config.value.mode,
        untrusted=tuple(setting.words for setting in config.untrusted_settings),
    )
