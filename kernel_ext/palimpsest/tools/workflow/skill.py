"""The skill tool: return a skill's instructions for one kind of task to the model.

Border: the skills are passed in; the tool asks for permission and returns the text. Its output is
protected from pruning, since the instructions apply for the rest of the session.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field

from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import UserError

SKILL_NAME = "skill"
MAX_DESCRIPTION_CHARS = 600
"""Maximum characters of a skill's description, which is sent with every request."""
MAX_TEXT_CHARS = 40_000
"""Maximum characters of a skill's text, below the truncation limit, so that the note about the rest is not cut."""


@dataclass(frozen=True, slots=True)
class Skill:
    """Instructions for one kind of task."""

    name: str
    description: str
    """When to use the skill, in a sentence."""
    text: str
    folder: Path
    origin: str
    is_in_project: bool = True
    """Whether the skill's folder is in the project."""
    files: tuple[str, ...] = ()
    """Other files of the skill, relative to its folder."""


class SkillArguments(BaseModel):
    """Input of the skill tool."""

    name: str = Field(description="One of the skills that the system prompt lists.")


class SkillTool:
    """The skill tool, which returns the text of a skill."""

    name = SKILL_NAME
    description = (
        "Load a skill: instructions for one kind of task, with scripts and files of their own. The system prompt "
        "lists the skills; load one as soon as its task comes up, and follow it."
    )
    arguments: type[BaseModel] = SkillArguments
    concurrent = True
    permission = SKILL_NAME

    def __init__(self, skills: Callable[[], Mapping[str, Skill]]) -> None:
        self._skills = skills

    async def run(self, arguments: SkillArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission and return the skill's text."""
        skills = self._skills()
        skill = skills.get(arguments.name) or _find_ignoring_case(skills, arguments.name)
        if skill is None:
            known_names = ", ".join(sorted(skills)) or "none"
            raise UserError(f"There is no skill {arguments.name!r}. Skills: {known_names}.")
        await context.ask(
            self.permission, [skill.name], title=f"Use the skill {skill.name}", always=[skill.name]
        )
        text = context.scrubber()(skill_text(skill))
        return ToolOutcome(skill.name, text, {"skill": skill.name, "folder": str(skill.folder)})


def skill_text(skill: Skill) -> str:
    """Return a skill as text for the model: its folder, the names of its files, and its instructions."""
    text = skill.text
    if len(text) > MAX_TEXT_CHARS:
        omitted_chars = len(text) - MAX_TEXT_CHARS
        text = (
            f"{text[:MAX_TEXT_CHARS].rstrip()}\n\n({omitted_chars:,} more characters follow in "
            f"{skill.folder / 'SKILL.md'}; read it from there if they are needed.)"
        )
    lines = [f"Skill {skill.name}, from {skill.folder}. Paths in it are relative to that folder."]
    if skill.files:
        lines.append(f"Files beside it: {', '.join(skill.files)}")
    return "\n".join(lines) + f"\n\n{text}"


def skill_list(skills: Mapping[str, Skill]) -> str:
    """Return the list of skills for the system prompt; empty if there are none."""
    return "\n".join(
        f"- {skill.name}: {skill.description[:MAX_DESCRIPTION_CHARS]}" for skill in skills.values()
    )


def _find_ignoring_case(skills: Mapping[str, Skill], name: str) -> Skill | None:
    lower_name = name.strip().lower()
    return next(
        (skill for skill_name, skill in skills.items() if skill_name.lower() == lower_name), None
    )
