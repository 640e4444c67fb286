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
    recording = _read(source, name)
    if recording is None:
        pytest.skip(f"no recording {source}/{name} in {folder()}")
    _check(source, name, recording)
    return recording


def recorded_cases(source: str, name: str) -> list[dict[str, Any]]:
    """Return the cases of a recording, to be tried one by one; none where the folder does not have it.

    A case with a field that no adapter reads fails alone: ``refuse_unknown`` says so in its test, not here, where
    pytest collects the others.
    """
    recording = _read(source, name) or {"cases": []}
    for case in recording["cases"]:
        try:
            _check(source, name, {**recording, "cases": [case]})
        except AssertionError as unknown:
            UNKNOWN.append((case, str(unknown)))
    found: list[dict[str, Any]] = recording["cases"]
    return found


UNKNOWN: list[tuple[dict[str, Any], str]] = []
"""The cases that hold a field which no adapter reads, and its name."""


def refuse_unknown(case: Any) -> None:
    """Fail where a case was recorded with a field that no adapter reads."""
    for one, words in UNKNOWN:
        assert one is not case, words


def _read(source: str, name: str) -> Any:
    path = folder() / source / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _check(source: str, name: str, recording: Any) -> None:
    known = KNOWN.get(SEED.sub("seed-era", f"{source}/{name}"), {})
    for place, fields in known.items():
        for found in _standing_at(recording, [*filter(None, place.split("."))]):
            only(found, *fields.split())


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
