"""What a project's own file may say at once, and what waits until a person trusts it.

A project comes from somebody else more often than not. Its file may tighten: deny, and ask where
nothing was denied. What loosens or runs something (rules that allow, a freer mode, hooks, servers,
another spending limit, files read from outside) waits, until the person said once that this is
fine. That is kept in the user's own folder, bound to the file and to what it says: a changed file
asks again.

Border: sorts settings and keeps the answers; who is asked, and how, is decided above.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.render.escape import one_line
from palimpsest.transcript.errors import StorageFailed

FILE = "trusted.json"
MOST_KEPT = 1_000
"""Trusted files that are remembered; the oldest are forgotten first."""

NEEDS_TRUST = frozenset({"hooks", "mcp", "budget"})
"""Settings of a project's file that wait, whatever they say. A new one is one word here."""

TIGHT_MODES = frozenset({"plan"})


@dataclass(frozen=True, slots=True)
class Held:
    """A setting that waits for a person's trust."""

    origin: str
    key: str
    value: Any

    @property
    def words(self) -> str:
        """Say what would hold."""
        return (
            f"{self.key} = {one_line(json.dumps(self.value, ensure_ascii=False, default=str), 200)}"
        )


def digest_of(held: Sequence[Held]) -> str:
    """Return what makes a trusted file the same one; empty where nothing waits."""
    if not held:
        return ""
    said = [[one.origin, one.key, one.value] for one in held]
    return hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()


def sift(
    data: Mapping[str, Any], origin: str, base: Path, *, denied_below: bool
) -> tuple[dict[str, Any], list[Held]]:
    """Part a project's settings into those that hold at once and those that wait.

    ``denied_below`` says that a lower layer denies something: a question there would loosen.
    """
    held: list[Held] = []
    kept: dict[str, Any] = {}
    for key, value in data.items():
        if key in NEEDS_TRUST or (key == "mode" and value not in TIGHT_MODES):
            held.append(Held(origin, key, value))
        elif key == "permission":
            _permission(key, value, origin, kept, held, denied_below=denied_below)
        elif key == "agent" and isinstance(value, Mapping):
            kept[key] = {
                name: _agent(name, agent, origin, held, denied_below=denied_below)
                for name, agent in value.items()
            }
        elif key == "instructions" and isinstance(value, list):
            outside = [one for one in value if _is_outside(one, base)]
            kept[key] = [one for one in value if one not in outside]
            held += [Held(origin, key, outside)] if outside else []
        else:
            kept[key] = value
    return kept, held


def _agent(name: str, agent: Any, origin: str, held: list[Held], *, denied_below: bool) -> Any:
    if not isinstance(agent, Mapping) or "permission" not in agent:
        return agent
    kept = {key: value for key, value in agent.items() if key != "permission"}
    key = f"agent.{name}.permission"
    sifted: dict[str, Any] = {}
    _permission(key, agent["permission"], origin, sifted, held, denied_below=denied_below)
    return kept | ({"permission": sifted[key]} if key in sifted else {})


def _permission(
    key: str,
    table: Any,
    origin: str,
    kept: dict[str, Any],
    held: list[Held],
    *,
    denied_below: bool,
) -> None:
    tight = _tight(table, ("deny",) if denied_below else ("deny", "ask"))
    if tight != table:
        held.append(Held(origin, key, table))
    if tight:
        kept[key] = tight


def _tight(table: Any, actions: tuple[str, ...]) -> Any:
    """Return what of a table of rules only tightens; what is no rule stays, to be complained of."""
    if isinstance(table, str):
        return None if table not in actions and table in ("allow", "ask") else table
    if not isinstance(table, Mapping):
        return table
    found = {name: _tight(value, actions) for name, value in table.items()}
    return {name: value for name, value in found.items() if value is not None and value != {}}


def denies(table: Any) -> bool:
    """Tell whether a table of rules denies anything."""
    match table:
        case Mapping():
            return any(denies(value) for value in table.values())
        case list() | tuple():
            return any(denies(value) for value in table)
        case _:
            return bool(table == "deny")


def _is_outside(name: Any, base: Path) -> bool:
    if not isinstance(name, str):
        return False
    path = Path(name).expanduser() if name.startswith("~") else base / name
    try:
        return not path.resolve().is_relative_to(base.resolve())
    except (OSError, RuntimeError):
        return True


class Trust:
    """Which projects' settings a person trusted, kept in the user's own folder."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / FILE if folder is not None else None

    def has(self, digest: str) -> bool:
        """Tell whether these settings were trusted."""
        return bool(digest) and digest in self._read()

    def add(self, digest: str, files: Sequence[str]) -> None:
        """Trust settings from now on; raises StorageFailed."""
        known = self._read()
        known[digest] = {"files": list(files), "at": int(time.time())}
        self._write(dict(list(known.items())[-MOST_KEPT:]))

    def remove(self, digest: str) -> bool:
        """Trust settings no more; false when they were not trusted."""
        known = self._read()
        if known.pop(digest, None) is None:
            return False
        self._write(known)
        return True

    def _read(self) -> dict[str, Any]:
        try:
            data = json.loads(self._path.read_bytes()) if self._path is not None else {}
        except (OSError, ValueError):
            return {}  # nothing is trusted; the person is asked again
        found = data.get("trusted") if isinstance(data, dict) else None
        return found if isinstance(found, dict) else {}

    def _write(self, known: dict[str, Any]) -> None:
        path = self._path
        if path is None:
            raise StorageFailed("There is no folder of your own to keep this in.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(".new")
            draft.write_text(json.dumps({"version": 1, "trusted": known}, indent=1))
            draft.chmod(0o600)
            draft.replace(path)
        except OSError as error:
            raise StorageFailed(f"{path} cannot be written: {error.strerror}.") from None
