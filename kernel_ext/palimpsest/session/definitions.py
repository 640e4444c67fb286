"""The agents and commands that are there without a project: built in, or a person's own files.

Border: names only; what a project may not put itself in the place of.
"""

from pathlib import Path

from palimpsest.session import agent_files, command_files
from palimpsest.session.agents import BUILT_IN
from palimpsest.session.config_files import Places
from palimpsest.session.folders import folders, read


def own_names(start: Path, places: Places) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the agents and of the commands that no project defines."""
    own = [one for one in folders(start, places) if not one.is_project]
    agents = {
        name
        for file in read(own, agent_files.KINDS, places.home, [], [])
        for name in (file.name, file.document.head.get("name"))
        if isinstance(name, str)
    }
    commands = {file.name for file in read(own, command_files.KINDS, places.home, [], [])}
    return frozenset(BUILT_IN) | agents, frozenset(commands)
