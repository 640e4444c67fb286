"""Names of the agent's own tools and permissions, which no other tool may have.

A tool of somebody else's that was called ``read`` would be allowed as reading is, and one called
``external_directory`` would be answered by what was said about folders. Border: names only.
"""

import unicodedata

OWN_NAMES = frozenset(
    [
        "bash",
        "edit",
        "glob",
        "grep",
        "list",
        "python",
        "question",
        "read",
        "recall",
        "skill",
        "task",
        "todowrite",
        "variables",
        "webfetch",
        "write",
        "list_mcp_resources",
        "list_mcp_resource_templates",
        "read_mcp_resource",
        "budget",
        "doom_loop",
        "external_directory",
        "private_network",
    ]
)


def is_own_name(name: str) -> bool:
    """Tell whether a name is, or reads like, one of the agent's own."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    return plain.strip("_-").replace("-", "_") in OWN_NAMES
