"""The list of the modules of operations, with the words that each brings, so that one is found without the others.

Border: words alone. ``operation_table.py`` imports the modules; ``palimpsest --help`` is made of this list and imports none.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Listed(NamedTuple):
    """A module beside this one, and what it brings; a test compares the two."""

    module: str
    types: str
    """The types of its operations, in order."""
    commands: Mapping[str, str] = {}
    """Its commands of ``palimpsest``: the names of the forms for the terminal, and what each does."""


MODULES = (
    Listed("status", "status todo private replay config"),
    Listed("sessions", "sessions children open new title archive delete fork branches"),
    Listed("turns", "prompt queue steer cancel loop retry withdraw compact reply answer"),
    Listed("context", "context parts context-edit policy"),
    Listed("reverts", "revert"),
    Listed("controls", "mode approvals budget trust-session trust"),
    Listed("step_mode", "step release another-summary older-summary"),
    Listed("definitions", "definitions choices"),
    Listed("extensions", "extensions"),
    Listed("storage", "storage"),
    Listed(
        "sharing",
        "share unshare export import stop-import",
        {"import": "Import recordings into a project."},
    ),
    Listed("panel", "model agent open-inspector"),
    Listed(
        "page",
        "image close recreate-outputs mentions mention-preview attach prompt-history inspect",
    ),
    Listed(
        "recordings",
        "figures compare report",
        {
            "inspect": "Say what sessions hold, cost and lost.",
            "compare": "Compare policies over one recording, or two recordings.",
            "report": "Write a session's inspector as one HTML file, without server and network.",
        },
    ),
)
"""In the order of the help text."""
