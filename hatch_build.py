"""Put the built front end into the wheel when it is there.

The front end is built by make, never by this hook, so that installing from a clone, an sdist or a
wheel needs no Node. An editable install takes none of it: make links the built folder instead.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHARED = "share/jupyter/labextensions/jupyter-palimpsest"


class FrontEnd(BuildHookInterface[Any]):
    """Add ``labextension/dist`` and ``install.json`` to the wheel's shared data."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files of a build that exists."""
        built = Path(self.root) / "labextension" / "dist"
        if version == "editable" or not (built / "package.json").is_file():
            return
        shared = {
            str(built / name): f"{SHARED}/{name}" for name in ("package.json", "static", "schemas")
        }
        shared[str(built.parent / "install.json")] = f"{SHARED}/install.json"
        build_data["shared_data"] |= {
            source: to for source, to in shared.items() if Path(source).exists()
        }
