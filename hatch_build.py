"""Put the lessons' notebooks and the built front end into the wheel, and addresses where one is published.

The front end is built by make, never by this hook, so that installing from a clone, an sdist or a
wheel needs no Node. An editable install takes none of it: make links the built folder instead.

``PALIMPSEST_REPOSITORY`` is the public address of the repository, such as
``https://github.com/owner/name``; whoever publishes a release sets it. The package then names its
source, docs and changes, and the README that an index shows has its pictures and pages from the
release's tag ``v<version>``. Without it there are no addresses, and the README is as it stands.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "PALIMPSEST_REPOSITORY"
RELATIVE_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)]+)\)")
SHARED = "share/jupyter/labextensions/jupyter-palimpsest"


NOT_BUILT = (
    "The front end is not built, so this package will have none: no panel, no views. "
    "Run `make front` in the clone first, and build or install again."
)
"""Builders show it; pip only with -v, so the kernel says it, too, when the package is loaded."""


class FrontEnd(BuildHookInterface[Any]):
    """Add to the wheel the lessons' notebooks, and ``labextension/dist`` and ``install.json`` as its shared data.

    An sdist has them where they lie.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the notebooks, and the files of a build that exists, or say that there is none."""
        if version != "editable" and self.target_name == "wheel":
            for path in Path(self.root, "notebooks").glob("0[1-9]-*.ipynb"):
                included = build_data.setdefault("force_include", {})
                included[str(path)] = f"palimpsest/lessons/notebooks/{path.name}"
        built = Path(self.root) / "labextension" / "dist"
        if not (built / "package.json").is_file():
            self.app.display_warning(NOT_BUILT)
            return
        if version == "editable" or self.target_name != "wheel":
            return
        shared = {
            str(built / name): f"{SHARED}/{name}" for name in ("package.json", "static", "schemas")
        }
        shared[str(built.parent / "install.json")] = f"{SHARED}/install.json"
        build_data["shared_data"] |= {
            source: to for source, to in shared.items() if Path(source).exists()
        }


class Addresses(MetadataHookInterface):
    """Say where the package's source, docs and pictures are, where that is known."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set ``readme`` and ``urls``; raises ``ValueError`` where the address is none."""
        address = os.environ.get(REPOSITORY, "").rstrip("/")
        if address and not address.startswith("https://"):
            message = f"{REPOSITORY} is {address!r}: it must begin with https://, such as https://github.com/owner/name."
            raise ValueError(message)
        words = Path(self.root, "README.md").read_text(encoding="utf-8")
        tag = f"v{metadata['version']}"
        metadata["urls"] = {}
        if address:
            words = with_addresses(words, address, tag)
            metadata["urls"] = {
                "Source": address,
                "Documentation": f"{address}/blob/{tag}/docs/index.md",
                "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": words}


def with_addresses(words: str, address: str, tag: str) -> str:
    """Return Markdown whose links into the repository, pictures too, work from anywhere."""
    return RELATIVE_LINK.sub(
        lambda link: (
            f"{link[1]}[{link[2]}]({address}/{'raw' if link[1] else 'blob'}/{tag}/{link[3]})"
        ),
        words,
    )
