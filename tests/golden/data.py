"""Load the recorded behaviour of other agents, with which ours is compared.

``load("opencode", "permission")`` reads from the folder that PALIMPSEST_GOLDEN names, else from the copy in
this folder, unpacked once into the system's temporary folder. A test is skipped when its recording is
missing.
"""

import hashlib
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.golden.known_fields import KNOWN

COPY = Path(__file__).with_name("data.tar.xz")
SEED = re.compile(r"seed-era-[\d.]+")


@cache
def folder() -> Path:
    """Return the folder that holds ``opencode/`` and, where recorded, others."""
    named = os.environ.get("PALIMPSEST_GOLDEN")
    return Path(named) if named else _unpacked(COPY)


def _unpacked(archive: Path) -> Path:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    user = os.getuid() if hasattr(os, "getuid") else 0
    kept = Path(tempfile.gettempdir()) / f"palimpsest-golden-{user}-{digest}"
    if not kept.is_dir():
        # Several test processes may unpack at once; the first rename wins and the others are the same.
        fresh = Path(tempfile.mkdtemp(prefix="palimpsest-golden-"))
        with tarfile.open(archive) as tar:
            tar.extractall(fresh, filter="data")
        try:
            fresh.rename(kept)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
    return kept


def only(fields: Mapping[str, Any] | None, *known: str) -> Mapping[str, Any]:
    """Return the fields of a recorded object; an unknown field fails the test with its name."""
    unknown = sorted(set(fields or {}) - set(known))
    assert not unknown, f"recorded, and read by no adapter: {', '.join(unknown)}"
    return fields or {}


def load(source: str, name: str) -> Any:
    """Return one recording, or skip the test when the folder does not have it."""
    path = folder() / source / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"no recording {source}/{name} in {folder()}")
    recording = json.loads(path.read_text(encoding="utf-8"))
    known = KNOWN.get(SEED.sub("seed-era", f"{source}/{name}"), {})
    for place, fields in known.items():
        for found in _standing_at(recording, [*filter(None, place.split("."))]):
            only(found, *fields.split())
    return recording


def _standing_at(value: Any, place: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings at a dotted path, and those of lists one by one."""
    if isinstance(value, list):
        for one in value:
            yield from _standing_at(one, place)
    elif isinstance(value, dict) and "$undefined" not in value:
        if not place:
            yield value
        elif place[0] == "*":
            for one in value.values():
                yield from _standing_at(one, place[1:])
        else:
            yield from _standing_at(value.get(place[0]), place[1:])
