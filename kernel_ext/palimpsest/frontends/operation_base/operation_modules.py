"""The names of the operation modules with their types and commands, so that only the needed module is imported.

Border: text only. ``operation_table.py`` imports the modules; ``palimpsest --help`` uses this list and imports none.
"""

from collections.abc import Mapping
from typing import NamedTuple


class OperationModule(NamedTuple):
    """A module of ``operations``, with its types and commands; a test compares this list with the modules."""

    name: str
    types: str
    """The types of its operations, separated by blanks, in order."""
    commands: Mapping[str, str] = {}
    """The help text of each of its commands of ``palimpsest``, by name."""


MODULES = (
    OperationModule("status", "status todo private replay config"),
    OperationModule("sessions", "sessions children open new title archive delete fork branches"),
    OperationModule("turns", "prompt queue steer cancel loop retry withdraw compact reply answer"),
    OperationModule("context", "context parts context-edit policy"),
    OperationModule("reverts", "revert review-cells why"),
    OperationModule("controls", "mode approvals budget trust-session trust"),
    OperationModule("step_mode", "step release another-summary older-summary"),
    OperationModule("definitions", "definitions choices"),
    OperationModule("extensions", "extensions"),
    OperationModule("storage", "storage"),
    OperationModule(
        "sharing",
        "share unshare export import stop-import",
        {"import": "Import recordings into a project."},
    ),
    OperationModule(
        "notes",
        "note notes",
        {"notes": "List, write and merge the notes of people on recorded sessions."},
    ),
    OperationModule(
        "lessons",
        "lessons",
        {"lessons": "List and copy the lessons, and show what a class predicted."},
    ),
    OperationModule("panel", "model agent open-inspector"),
    OperationModule(
        "page",
        "image close recreate-outputs mentions mention-preview attach prompt-history inspect",
    ),
    OperationModule(
        "recordings",
        "figures compare report",
        {
            "inspect": "Show what sessions contain, cost and wasted.",
            "compare": "Compare policies over one recording, or two recordings.",
            "report": "Write a session's inspector as one HTML file, without server and network.",
        },
    ),
)
"""The operation modules, in the order of the help text."""
