"""What a person always allows in this project: kept in a small file, listed, taken back.

The file lies in the project's ``.palimpsest``, where anybody who sends a project could plant one.
So each line carries a seal made with a key of this user, as Jupyter seals notebooks: what another
person wrote is neither used nor touched. A file that cannot be read is set aside, not lost.

Border: files only; whether a call may run is decided by ``tools.permissions``.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from palimpsest.tools.permissions import Rules
from palimpsest.transcript.errors import StorageFailed
from palimpsest.transcript.values import Rule

try:
    import fcntl
except ImportError:  # Windows: the atomic replacement alone has to do
    fcntl = None  # type: ignore[assignment]

FILE = "permissions.json"
KEY_FILE = "approvals.key"
VERSION = 1
BROKEN = (
    "What is always allowed in this project could not be read from {path} ({reason}), so it is asked "
    "again; the file is kept, and set aside as {aside} when the next answer is written."
)
UNWRITTEN = "It holds for this session only, because {path} cannot be written: {reason}."


@dataclass(frozen=True, slots=True)
class Approval:
    """Something that is always allowed, since when, and by which session."""

    rule: Rule
    at: int
    """Milliseconds since 1970."""
    session_id: str


class Approvals:
    """The rules that a person approved for a project.

    Responsibilities: read what this user sealed, whichever kernel wrote it; write atomically, one
    kernel at a time; say what is wrong in one sentence.
    """

    def __init__(self, folder: Path | None = None, keys: Path | None = None) -> None:
        self._path = folder / FILE if folder is not None else None
        self._keys = keys
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._entries: list[dict[str, Any]] = []
        self._approved: tuple[Approval, ...] = ()
        self._key: bytes | None = None
        self.problem = ""
        """What is wrong with the file, in one sentence; empty when nothing is."""

    @property
    def kept(self) -> bool:
        """Whether there is a place to keep them."""
        return self._path is not None and self._keys is not None

    def rules(self) -> Rules:
        """Return the rules that hold now."""
        return tuple(one.rule for one in self.list())

    def list(self) -> tuple[Approval, ...]:
        """Return what is always allowed, in the order in which it was said."""
        with self._lock:
            self._read()
            return self._approved

    def add(self, rules: Rules, session_id: str, now: int) -> None:
        """Keep rules; raises StorageFailed with a sentence when they cannot be kept."""
        known = self.rules()
        new = [rule for rule in rules if rule not in known]
        if new:
            self._change(lambda: self._entries.extend(self._entry(r, session_id, now) for r in new))

    def remove(self, rule: Rule) -> bool:
        """Take a rule back; false when it is not there. Raises StorageFailed."""
        if rule not in self.rules():
            return False

        def without() -> None:
            self._entries = [one for one in self._entries if self._rule(one) != rule]

        self._change(without)
        return True

    # How it is done

    def _change(self, change: Callable[[], object]) -> None:
        """Read what another kernel wrote meanwhile, change it, and write it whole."""
        path = self._path
        if path is None or self._keys is None:
            raise StorageFailed(UNWRITTEN.format(path="the project", reason="it is kept in memory"))
        try:
            with self._lock, _alone(path):
                self._seen = None
                self._read()
                if self.problem:
                    path.rename(_aside(path))
                    self.problem = ""
                change()
                _write(path, {"version": VERSION, "always": self._entries})
                self._seen = None
                self._read()
        except OSError as error:
            self._seen = None
            reason = error.strerror or str(error)
            raise StorageFailed(UNWRITTEN.format(path=path, reason=reason)) from None

    def _read(self) -> None:
        """Read the file if it is another than the one that was read last."""
        if self._path is None:
            return
        try:
            status = self._path.stat()
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
            if seen == self._seen:
                return
            self._entries, self.problem = _entries(self._path.read_bytes()), ""
            self._seen = seen
        except FileNotFoundError:
            self._entries, self.problem, self._seen = [], "", None
        except (OSError, ValueError) as error:
            self._entries, self._seen = [], None
            reason = getattr(error, "strerror", None) or str(error)
            aside = _aside(self._path).name
            self.problem = BROKEN.format(path=self._path, reason=reason, aside=aside)
        found = [self._approval(one) for one in self._entries]
        self._approved = tuple(one for one in found if one is not None)

    def _approval(self, entry: dict[str, Any]) -> Approval | None:
        rule, key = self._rule(entry), self._secret(create=False)
        if rule is None or key is None:
            return None
        if not hmac.compare_digest(str(entry.get("seal", "")), _seal(rule, key)):
            return None
        at = entry.get("at")
        return Approval(rule, at if isinstance(at, int) else 0, str(entry.get("session", "")))

    def _rule(self, entry: dict[str, Any]) -> Rule | None:
        try:
            rule = Rule.model_validate(
                {name: entry.get(name) for name in ("permission", "pattern")} | {"action": "allow"}
            )
        except ValidationError:
            return None
        return rule

    def _entry(self, rule: Rule, session_id: str, now: int) -> dict[str, Any]:
        key = self._secret(create=True)
        assert key is not None
        return {
            "permission": rule.permission,
            "pattern": rule.pattern,
            "at": now,
            "session": session_id,
            "seal": _seal(rule, key),
        }

    def _secret(self, *, create: bool) -> bytes | None:
        """Return this user's key; it is made when something is sealed for the first time."""
        if self._key is None and self._keys is not None:
            path = self._keys / KEY_FILE
            if create and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileExistsError):
                    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                    with os.fdopen(file, "wb") as made:
                        made.write(secrets.token_hex(32).encode())
            with contextlib.suppress(OSError):
                self._key = path.read_bytes().strip() or None
            if create and self._key is None:
                raise OSError(0, f"the key in {path} cannot be read")
        return self._key


def _entries(content: bytes) -> list[dict[str, Any]]:
    data = json.loads(content)
    always = data.get("always") if isinstance(data, dict) else None
    if not isinstance(always, list) or not all(isinstance(one, dict) for one in always):
        raise ValueError("it is no list of rules")
    return always


def _seal(rule: Rule, key: bytes) -> str:
    words = json.dumps([rule.permission, rule.pattern, rule.action])
    return hmac.new(key, words.encode(), hashlib.sha256).hexdigest()


def _aside(path: Path) -> Path:
    """Return a free name for a file that cannot be read."""
    number = 1
    while (found := path.with_name(f"{path.name}.broken-{number}")).exists():
        number += 1
    return found


def _write(path: Path, data: dict[str, Any]) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            draft.chmod(0o600)
            json.dump(data, file, indent=1, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other kernels from writing meanwhile."""
    with path.with_name(f".{path.name}.lock").open("a") as file:
        # Some network homes know no locks; there the atomic replacement alone has to do.
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_EX)
        yield
