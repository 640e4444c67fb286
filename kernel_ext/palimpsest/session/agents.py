"""Agents: a name for a prompt, a model, rules and a step limit."""

from collections.abc import Mapping
from typing import Any

from palimpsest.tools.modes import PLAN_DENIES
from palimpsest.tools.permissions import Rules
from palimpsest.transcript.base import Value
from palimpsest.transcript.errors import ConfigError

DEFAULT_STEPS = 100
"""Model requests in one turn; a turn that needs more has usually lost its way."""


class Agent(Value):
    """Who answers."""

    name: str
    description: str
    prompt: str | None = None
    """Replaces the header of the system prompt."""
    note: str | None = None
    """Added to the body of the system prompt."""
    model: str | None = None
    rules: Rules = ()
    steps: int = DEFAULT_STEPS


PLAN_NOTE = """\
You are in plan mode: look, think and propose, and change nothing. Read files, list, search and \
inspect variables; do not try to run code, write or edit. End with a numbered plan that the user \
can accept or change."""

BUILT_IN: dict[str, Agent] = {
    "build": Agent(name="build", description="Does the work, and asks before it changes anything."),
    "plan": Agent(
        name="plan",
        description="Looks and proposes; cannot run code, write or edit.",
        note=PLAN_NOTE,
        rules=PLAN_DENIES,
    ),
}


def known_agents(
    configured: Mapping[str, Mapping[str, Any]], rules: Mapping[str, Rules]
) -> dict[str, Agent]:
    """Return built-in agents with the configured ones laid over them, by name."""
    agents = dict(BUILT_IN)
    for name, given in configured.items():
        base = agents.get(name) or Agent(name=name, description=str(given.get("description", "")))
        update = {
            key: given[key]
            for key in ("description", "prompt", "model", "steps")
            if given.get(key) is not None
        }
        agents[name] = base.model_copy(update={**update, "rules": base.rules + rules.get(name, ())})
    return agents


def find_agent(name: str, agents: Mapping[str, Agent]) -> Agent:
    """Return an agent by name; raises ConfigError with the names there are."""
    if name not in agents:
        raise ConfigError(f"There is no agent {name!r}. Agents: {', '.join(sorted(agents))}.")
    return agents[name]
