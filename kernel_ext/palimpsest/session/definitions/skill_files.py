"""Read skills: folders with a ``SKILL.md`` of instructions for a kind of task.

Border: finds and reads them; the ``skill`` tool returns one to the model, the system prompt lists them.
"""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from palimpsest.session.definitions.definition_files import DefinitionFile, text_field
from palimpsest.session.definitions.definition_trust import DefinitionTrust
from palimpsest.tools.workflow.skill import Skill
from palimpsest.transcript.errors import ConfigError

SKILL_FOLDERS = ("skill", "skills")
SKILL_FILE_NAME = "SKILL.md"
MAX_FILE_NAMES = 50
"""Maximum number of names of a skill's other files that the model is given."""
MAX_FILES_EXAMINED = 5_000
"""Maximum number of files in a skill's folder that are looked at for their names."""


def read_skills(
    files: Iterable[DefinitionFile], problems: list[str], trust: DefinitionTrust | None = None
) -> dict[str, Skill]:
    """Return the skills by name; errors are added to ``problems``, untrusted replacements to ``trust``."""
    skills: dict[str, Skill] = {}
    trust = trust or DefinitionTrust()
    for file in files:
        if file.path.name != SKILL_FILE_NAME:
            continue
        try:
            skill = _skill_from_file(file)
        except ConfigError as error:
            problems.append(f"{file.origin} is left out: {str(error).rstrip('.')}.")
            continue
        earlier_skill = skills.get(skill.name)
        is_defined_outside = earlier_skill is not None and not earlier_skill.is_in_project
        if not trust.hold_back_replacement(
            file, f"skill.{skill.name}", is_defined_outside=is_defined_outside
        ):
            skills[skill.name] = skill
    return dict(sorted(skills.items()))


def _skill_from_file(file: DefinitionFile) -> Skill:
    fields = file.document.fields
    description = text_field(fields, "description")
    if not description:
        raise ConfigError(
            "its head has no description, by which the model knows when to use it; add "
            "'description: ...' between two lines of --- at its top"
        )
    if not file.document.body:
        raise ConfigError("it holds no text below its head")
    name = text_field(fields, "name") or file.path.parent.name
    return Skill(
        name=name,
        description=description,
        text=file.document.body,
        folder=file.path.parent,
        origin=file.origin,
        is_in_project=file.folder.is_project,
        files=tuple(skill_file_names(file.path.parent, file.folder.links_stay_within)),
    )


def skill_file_names(folder: Path, outer_folder: Path | None = None) -> list[str]:
    """Return the names of the files of a skill besides its text, two folders deep.

    ``outer_folder`` is the folder that a link among them must not lead out of.
    """
    names: list[str] = []
    for pattern in ("*", "*/*"):
        for path in sorted(islice(folder.glob(pattern), MAX_FILES_EXAMINED)):
            if (
                path.name == SKILL_FILE_NAME
                or path.name.startswith(".")
                or not _is_inside(path, outer_folder)
            ):
                continue
            names.append(path.relative_to(folder).as_posix())
            if len(names) >= MAX_FILE_NAMES:
                return names
    return names


def _is_inside(path: Path, outer_folder: Path | None) -> bool:
    try:
        is_inside = outer_folder is None or path.resolve().is_relative_to(outer_folder.resolve())
        return is_inside and path.is_file()
    except (OSError, RuntimeError):
        return False
