"""The permission modes of a session: ask, plan, accept edits, bypass.

Border: pure. A mode answers permission questions in advance, or denies calls. Like "always", no mode
overrides a deny; none answers a doom loop or a spending limit, and only ``bypass`` answers for the files
of ``tools/file_access/paths.py``. What a mode denies follows from the table of tools
(``tools/registration/builtin_tools.py``).
"""

from typing import Literal, get_args

from palimpsest.tools.permission_rules.permissions import Rules, rules_of
from palimpsest.transcript.errors import ConfigError

Mode = Literal["ask", "plan", "accept-edits", "bypass"]

MODES: tuple[Mode, ...] = get_args(Mode)

MODE_MEANINGS: dict[Mode, str] = {
    "ask": "what changes something asks first",
    "plan": "looks and proposes; cannot run code, write, edit or change cells",
    "accept-edits": "files and cells are edited without asking; code and commands still ask",
    "bypass": "nothing asks; what a rule denies stays denied",
}

CELL_ACTIONS = ("insert", "edit", "move", "delete")
"""What is done with cells other than running them, as the patterns of the permission ``cells`` begin."""

MODE_APPROVALS: dict[Mode, Rules] = {
    "ask": (),
    "plan": (),
    "accept-edits": (
        *(rule for name in ("edit", "write") for rule in rules_of(name, "allow")),
        *rules_of("cells", "allow", [f"{action} *" for action in CELL_ACTIONS]),
    ),
    "bypass": (*rules_of("*", "allow"), *rules_of("doom_loop", "ask"), *rules_of("budget", "ask")),
}
"""The rules that a mode approves, as after an "always" of the user."""


def mode_of(mode_name: str) -> Mode:
    """Return the mode of a name; raises ConfigError that lists the modes for an unknown one."""
    normalized = mode_name.strip().lower().replace("_", "-").replace(" ", "-")
    for mode in MODES:
        if mode == normalized:
            return mode
    raise ConfigError(f"There is no permission mode {mode_name!r}. Modes: {', '.join(MODES)}.")
