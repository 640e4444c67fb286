"""The values of a file that defines an agent, a command or a skill, and of the folder that it lies in.

Border: ``project_definitions`` finds and reads the files; ``agent_files``, ``command_files`` and
``skill_files`` interpret them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.transcript.errors import ConfigError

if TYPE_CHECKING:
    from palimpsest.session.definitions.frontmatter import Document

TOOL_FOLDERS = (".agents", ".claude", ".opencode", ".palimpsest")
"""Lowest precedence first: where two define the same name, Palimpsest's own is used."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that may hold agents, commands and skills."""

    path: Path
    is_project: bool
    """Whether it came with the project, so that another person may have written it."""
    links_stay_within: Path | None = None
    """The folder out of which no link to its files may lead: the repository, or its parent; None for no limit."""

    @property
    def tool_folder(self) -> str:
        """Name of the folder's tool, such as ``.claude``."""
        return self.path.name if self.path.name in TOOL_FOLDERS else ".palimpsest"


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """A Markdown file that was read."""

    name: str
    """Its path below its folder, without the suffix: ``git/commit``."""
    path: Path
    origin: str
    """Its path as shown to the user."""
    folder: Folder
    document: "Document"
    digest: str = ""
    """A hash of path and content, by which the user's trust in the file is recorded."""


def text_field(fields: Mapping[str, object], name: str) -> str | None:
    """Return a text value of the frontmatter, or None; raises ConfigError for a value that is no text."""
    value = fields.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, bool | int | float):
        return str(value)
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be words, but it is {value!r:.60}")
    return " ".join(value.split()) if name == "description" else value.strip()
