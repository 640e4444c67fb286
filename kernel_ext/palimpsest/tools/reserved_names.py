"""Names of the agent's own tools and permissions, which no other tool may have.

A tool of somebody else's that was called ``read`` would be allowed as reading is, and one called
``external_directory`` would be answered by what was said about folders. Border: names only.
"""

import unicodedata

from palimpsest.tools.builtin import OWN_TOOLS

OTHER_NAMES = (
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "read_mcp_resource",
    "budget",
    "doom_loop",
    "external_directory",
    "private_network",
    "structuredoutput",
)
"""Names that are no tool's that comes with the package, but mean something of our own."""

OWN_NAMES = frozenset(
    {*OTHER_NAMES, *(one.name for one in OWN_TOOLS), *(one.permission for one in OWN_TOOLS)}
)


def is_own_name(name: str) -> bool:
    """Tell whether a name is, or reads like, one of the agent's own."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    return plain.strip("_-").replace("-", "_") in OWN_NAMES
