"""Whatever stands in a recording, its import ends with sessions or one sentence, and a second one adds nothing."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.sample_size import thinned

from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.transcript.errors import UserError

RECORDINGS = (
    "pi_version_3.jsonl",
    "claude_code/compaction_session.jsonl",
    "claude_code/cc1df109.jsonl",
    "codex_rollout.jsonl",
)
WRONG: tuple[Any, ...] = (
    *(None, True, -1, 10**30, 1e400, 3.5, "x", "", "\ud800", [], {}, [[]], [{}], {"a": {}}),
    ["a", 1, None],
)
SHARES = (0.005, 0.02, 0.08)
"""How much of a recording is replaced, in values."""
SEEDS = 12


def spoiled(value: Any, chance: random.Random, share: float) -> Any:
    """Return JSON in which some values have another type, and some are gone."""
    if chance.random() < share:
        return chance.choice(WRONG)
    if isinstance(value, dict):
        kept = {name: inner for name, inner in value.items() if chance.random() > share / 2}
        return {name: spoiled(inner, chance, share) for name, inner in kept.items()}
    if isinstance(value, list):
        return [spoiled(inner, chance, share) for inner in value]
    return value


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(RECORDINGS, 3))
def test_values_of_any_type_cost_only_themselves(tmp_path: Path, name: str) -> None:
    path = sample(name, tmp_path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for seed in range(SEEDS):
        chance = random.Random(seed)
        wrong = [spoiled(record, chance, SHARES[seed % 3]) for record in lines]
        if seed % 2:
            chance.shuffle(wrong)
            wrong[0] = lines[0]
        path.write_text("\n".join(json.dumps(value) for value in wrong), encoding="utf-8")
        (folder := tmp_path / str(seed)).mkdir()
        store = JsonlStore(open_project_folder(folder))
        report, sentence = None, "."
        try:
            _, report = import_file(path, store)
        except UserError as refused:
            sentence = str(refused)
        assert sentence.endswith("."), seed
        if report is None:
            continue

        assert all(problem.what.endswith(".") for problem in report.problems), seed
        assert not [problem for problem in report.problems if "error of its own" in problem.what], (
            seed
        )
        for session in store.list():
            json.dumps(store.load(session.id).summary())
        again = import_file(path, store)[1]
        assert {session.outcome for session in again.sessions} <= {"same"}, seed


def test_a_path_in_a_recording_is_never_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("do not read")
    path = sample("pi_version_3.jsonl", tmp_path)
    header, *rest = path.read_text(encoding="utf-8").splitlines()
    begin = json.loads(header) | {"parentSession": str(secret), "cwd": str(tmp_path)}
    path.write_text("\n".join([json.dumps(begin), *rest]), encoding="utf-8")
    (folder := tmp_path / "project").mkdir()

    import_file(path, JsonlStore(open_project_folder(folder)))

    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"do not read" not in written
