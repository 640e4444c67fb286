"""What a person always allows in this project and its sessions: listed, added, taken back.

It lies among the grants, outside the project. Up to version 0.x it lay in the project, in
``permissions.json`` with a seal; a seal can be carried to another project, so what stands there
holds no more and is only shown.

Border: rules in words of grants; whether a call may run is decided by ``tools.permissions``.
"""

import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from palimpsest.render.safety.escaping import one_line
from palimpsest.session.permissions.grants import Grant, Grants
from palimpsest.session.permissions.recorded_claims import granted_rules, rule_as_dict
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.transcript.values import Rule

FILE = "permissions.json"
KEY = "allow"
LARGEST_FILE = 1_000_000
MOST_NAMED = 5
EARLIER = (
    "{path} of an earlier version names {names}. It holds no more, because a file in the project allows "
    "nothing: answer always, and it is kept outside."
)


@dataclass(frozen=True, slots=True)
class Approval:
    """Something that is always allowed, since when, and by which session."""

    rule: Rule
    at: int
    """Milliseconds since 1970."""
    session_id: str


class Approvals:
    """The rules that a person approved for a project."""

    def __init__(self, grants: Grants | None = None, folder: Path | None = None) -> None:
        self.grants = grants or Grants()
        self._file = folder / FILE if folder is not None else None
        """Where an earlier version kept them."""

    @property
    def problem(self) -> str:
        """What is wrong with what is kept, in one sentence; empty when nothing is."""
        return self.grants.problem

    def rules(self) -> Rules:
        """Return the rules that hold now in every session."""
        return self.of(None)

    def of(self, session_id: str | None) -> Rules:
        """Return the rules that hold now in a session, or in every one."""
        return granted_rules(one.value for one in self.grants.list(session_id, KEY))

    def list(self) -> tuple[Approval, ...]:
        """Return what is always allowed in the project, in the order in which it was said."""
        return tuple(
            Approval(rule, one.at, _said_in(one))
            for one in self.grants.list(None, KEY)
            for rule in granted_rules([one.value])
        )

    def add(self, rules: Rules, session_id: str) -> None:
        """Allow rules in every session of the project."""
        made = [
            self.grants.made(KEY, rule_as_dict(rule) | {"said_in": session_id}, None)
            for rule in rules
            if rule not in self.rules()
        ]
        self.grants.add(*made)

    def add_to(self, rules: Rules, session_id: str) -> None:
        """Allow rules in one session."""
        self.grants.add(*(self.grants.made(KEY, rule_as_dict(rule), session_id) for rule in rules))

    def lend(self, rules: Rules, session_id: str) -> None:
        """Allow rules in one session as long as this kernel runs."""
        allowed = [rule for rule in rules if rule.action == "allow"]
        self.grants.lend(*(Grant(KEY, rule_as_dict(rule), session_id) for rule in allowed))

    def remove(self, rule: Rule, session_id: str | None = None) -> bool:
        """Take a rule back; false when it is not there."""
        gone = [
            self.grants.drop(session_id, KEY, one.value)
            for one in self.grants.list(session_id, KEY)
            if rule in granted_rules([one.value])
        ]
        return any(gone)

    @property
    def earlier(self) -> str:
        """Say what an earlier version kept in the project, in one sentence; empty for nothing."""
        names = _names(self._file) if self._file is not None else []
        if not names:
            return ""
        named = ", ".join(names[:MOST_NAMED])
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return EARLIER.format(path=self._file, names=named + more)


def _said_in(one: Grant) -> str:
    return str(one.value.get("said_in") or "") if isinstance(one.value, dict) else ""


def _names(path: Path) -> list[str]:
    """Return what stands in a file of an earlier version, each in a few words."""
    with suppress(OSError, ValueError, RecursionError, AttributeError, TypeError):
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(path, flags), "rb") as file:  # noqa: PTH123  # by its descriptor
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return []
            always = json.loads(file.read(LARGEST_FILE)).get("always")
        return [
            one_line(f"{one.get('permission')}: {one.get('pattern')}", 80)
            for one in always
            if isinstance(one, dict)
        ]
    return []
