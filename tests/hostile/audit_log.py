"""Read the log of ``audit/sitecustomize.py``: the files of a folder that were opened or looked for."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from tests.hostile.clone import HostileClone

STARTS = {"subprocess.Popen", "os.posix_spawn", "os.exec", "os.system"}
SECRET = (".aws", "private", ".ssh")
"""Folders of the user's home that must not be opened."""
MADE_HERE = (
    ".palimpsest/sessions/", ".palimpsest/blobs/", ".palimpsest/snapshots/", ".palimpsest/share/", ".palimpsest/.",
    "kernel-", "kept.md", ".git/",
)  # fmt: skip
"""Files that the kernel and the product write themselves, and git's own."""


@dataclass
class AuditFindings:
    """The files and programs that an audited kernel used."""

    outside: set[str] = field(default_factory=set)
    """The user's private files that were opened."""
    unplanted: set[str] = field(default_factory=set)
    """Files in the folder that were read or looked for and that ``HostileClone`` does not write."""
    started: set[str] = field(default_factory=set)
    """Started programs."""


def read_audit(audit: Path, planted: HostileClone, there: set[str]) -> AuditFindings:
    """Return the findings of an audit log; ``there`` lists further files of the folder."""
    known = planted.files | there
    # Walking a folder by descriptors logs bare names, and each folder may have a .gitignore.
    parts = {part for one in known for part in Path(one).parts}
    parts |= set(planted.folder.parts) | set(planted.home.parts)
    findings = AuditFindings()
    for line in audit.read_text(errors="replace").splitlines():
        event, name, *rest = line.split("\t")
        if event in STARTS:
            findings.started.add(name.rpartition("/")[2])
        elif not event.startswith("socket"):
            _sort(findings, planted, event, name, is_write=rest == ["write"])
    findings.unplanted = {
        one
        for one in findings.unplanted
        if one not in known and Path(one).name not in parts and not _is_made_here(one)
    }
    return findings


def _sort(
    told: AuditFindings, planted: HostileClone, event: str, name: str, *, is_write: bool
) -> None:
    absolute = os.path.join(planted.folder, name)  # noqa: PTH118  as the kernel would
    real = os.path.realpath(absolute)
    if event != "look" and real.startswith(tuple(str(planted.home / one) for one in SECRET)):
        told.outside.add(real)
    relative = os.path.relpath(os.path.normpath(absolute), planted.folder)
    if event in ("open", "look") and not is_write and not relative.startswith(".."):
        told.unplanted.add(relative)


def _is_made_here(relative: str) -> bool:
    made = relative == "." or relative.startswith(MADE_HERE) or "__pycache__" in relative
    return made or "*" in relative  # a pattern of the settings is looked for literally first
