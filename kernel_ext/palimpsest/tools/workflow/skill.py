"""Hand the model a skill: the text that says how a kind of task is done, where it asked for it.

Border: which skills there are comes in; the tool asks, finds and words. Its output is protected
from pruning, since what it says holds for the rest of the session.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field

from palimpsest.tools.calls import key_redaction
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import UserError

SKILL = "skill"
MOST_CHARS = 40_000
"""Under what truncation would cut anyway, so that the note about the rest is not lost."""


@dataclass(frozen=True, slots=True)
class Skill:
    """How a kind of task is done."""

    name: str
    description: str
    """When to use it, in a sentence."""
    text: str
    folder: Path
    origin: str
    inside: bool = True
    """It is a folder of the project."""
    files: tuple[str, ...] = ()
    """What lies beside its text, relative to the folder."""


class SkillArguments(BaseModel):
    """Input of the skill tool."""

    name: str = Field(description="One of the skills that the system prompt lists.")


class SkillTool:
    """Returns the text of a skill."""

    name = SKILL
    description = (
        "Load a skill: instructions for one kind of task, with scripts and files of their own. The system prompt "
        "lists the skills; load one as soon as its task comes up, and follow it."
    )
    arguments: type[BaseModel] = SkillArguments
    concurrent = True
    permission = SKILL

    def __init__(self, skills: Callable[[], Mapping[str, Skill]]) -> None:
        self._skills = skills

    async def run(self, arguments: SkillArguments, context: ToolContext) -> ToolOutcome:
        """Ask where needed and return the text."""
        skills = self._skills()
        found = skills.get(arguments.name) or _by_lower(skills, arguments.name)
        if found is None:
            known = ", ".join(sorted(skills)) or "none"
            raise UserError(f"There is no skill {arguments.name!r}. Skills: {known}.")
        await context.ask(
            self.permission, [found.name], title=f"Use the skill {found.name}", always=[found.name]
        )
        text = key_redaction.for_context(context)(skill_text(found))
        return ToolOutcome(found.name, text, {"skill": found.name, "folder": str(found.folder)})


def skill_text(skill: Skill) -> str:
    """Write a skill for the model: its text, and what lies beside it."""
    text = skill.text
    if len(text) > MOST_CHARS:
        rest = len(text) - MOST_CHARS
        text = (
            f"{text[:MOST_CHARS].rstrip()}\n\n({rest:,} more characters follow in "
            f"{skill.folder / 'SKILL.md'}; read it from there if they are needed.)"
        )
    lines = [f"Skill {skill.name}, from {skill.folder}. Paths in it are relative to that folder."]
    if skill.files:
        lines.append(f"Files beside it: {', '.join(skill.files)}")
    return "\n".join(lines) + f"\n\n{text}"


def listed(skills: Mapping[str, Skill]) -> str:
    """List the skills for the system prompt; empty where there are none."""
    return "\n".join(
        f"- {skill.name}: {skill.description[:MOST_DESCRIPTION_CHARS]}" for skill in skills.values()
    )


MOST_DESCRIPTION_CHARS = 600
"""A longer one would be sent with every request."""


def _by_lower(skills: Mapping[str, Skill], name: str) -> Skill | None:
    wanted = name.strip().lower()
    return next((skill for known, skill in skills.items() if known.lower() == wanted), None)
