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
from collections.abc import Callable, Iterator, Mapping
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


def recorded_cases(
    source: str, name: str, chosen: Callable[[dict[str, Any]], bool] = lambda _: True
) -> list[Any]:
    """Return the chosen cases of a recording as parameters of a test; none where the folder does not have it.

    A case that cannot be read fails alone: it has a field that no adapter reads, or lacks one that ``chosen`` or its name
    needs. So does a file that cannot be read, as one case. ``refuse_unreadable`` says so in their tests, not here,
    where pytest collects the others.
    """
    try:
        recording = _read(source, name) or {"cases": []}
        cases: list[dict[str, Any]] = [*recording["cases"]]
    except (AssertionError, KeyError, TypeError) as problem:
        words = f"The recording {source}/{name} cannot be read: {problem!r}"
        return [pytest.param(_unreadable({}, words), id="unreadable")]
    found = []
    for number, case in enumerate(cases):
        try:
            _check(source, name, {**recording, "cases": [case]})
            if chosen(case):
                found.append(pytest.param(case, id=case["name"]))
        except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as problem:
            words = f"Case {number} of the recording {source}/{name} cannot be read: {problem!r}"
            found.append(
                pytest.param(_unreadable({"case": case}, words), id=f"unreadable-{number}")
            )
    return found


UNREADABLE: list[tuple[dict[str, Any], str]] = []
"""The cases that cannot be read, and what is wrong with each."""


def _unreadable(case: dict[str, Any], words: str) -> dict[str, Any]:
    UNREADABLE.append((case, words))
    return case


def refuse_unreadable(case: Any) -> None:
    """Fail where a case cannot be read, with what is wrong with it."""
    for one, words in UNREADABLE:
        assert one is not case, words


def _read(source: str, name: str) -> Any:
    path = folder() / source / f"{name}.json"
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        message = f"{path} is no JSON: {problem}"
        raise AssertionError(message) from None


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
