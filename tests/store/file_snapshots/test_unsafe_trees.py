"""A planted snapshot restores nothing outside of the project."""

import json
from pathlib import Path

import pytest
from tests.sample_size import thinned

from palimpsest.store.file_snapshots.file_diffs import snapshot_diffs
from palimpsest.store.file_snapshots.file_restore import (
    perform_restores,
    plan_restores,
    wanted_file,
)
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.file_snapshots.trees import (
    Tree,
    TreeEntry,
    UnsafeTree,
    add_reachable,
    encode_root,
    encode_tree,
)
from palimpsest.tools.file_access.gitignore import ALWAYS_SKIPPED, GitignoreRules
from palimpsest.tools.file_access.paths import protection_of
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.strings.relative_paths import path_problem

CONTENT = b"#!/bin/sh\necho planted\n"

LEADING_OUT = [
    "../x", "..", ".", "", "a/../../x", "a//x", "/etc/x", "\0", "a\0b", "C:/x", "C:\\x", "\\\\host\\x",
    ".git", ".GIT", ".git/hooks/post-checkout", "sub/.git/config", ".palimpsest/x", ".Palimpsest",
    "git~1/config", ".git./config", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/config", ".venv/bin/x",
    ".ssh/authorized_keys",
]  # fmt: skip


def shots(root: Path) -> Snapshots:
    return Snapshots(
        root,
        root / ".palimpsest/snapshots",
        rules=GitignoreRules,
        excluded_folders=ALWAYS_SKIPPED,
        protection=protection_of,
    )


def planted(made: Snapshots, name: str, **more: TreeEntry) -> str:
    """Add a snapshot whose tree has one file with this name."""
    made.objects.begin_snapshot()
    file = TreeEntry("file", 0o755, made.objects.put(CONTENT), len(CONTENT))
    tree = made.objects.put(encode_tree({name: file, **more}))
    snapshot = made.objects.put(encode_root(tree, [], is_cut=False))
    made.objects.commit()
    return snapshot


def everything(root: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "snapshots" not in path.parts
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "deep/project"
    (made / ".git/hooks").mkdir(parents=True)
    (made / "a.txt").write_text("mine\n")
    return made


@pytest.mark.parametrize("name", thinned(LEADING_OUT, 2))
def test_a_tree_with_a_name_that_leads_out_is_refused_as_a_whole(root: Path, name: str) -> None:
    made = shots(root)

    with pytest.raises(UnsafeTree, match="is not used"):
        shots(root).snapshot_tree(
            planted(made, name, **{"a.txt": TreeEntry("file", 0o644, "0" * 64)})
        )


@pytest.mark.parametrize("name", thinned(LEADING_OUT, 3))
def test_no_move_leads_out_whoever_asks_for_it(root: Path, tmp_path: Path, name: str) -> None:
    made = shots(root)
    key = made.objects.put(CONTENT)
    made.objects.commit()
    before = everything(tmp_path)
    entries = {name: TreeEntry("file", 0o755, key, len(CONTENT))}

    for tree in (Tree("x", entries), Tree("x", {})):
        moves = plan_restores(made, [wanted_file(name, tree, None)])
        done = perform_restores(made, moves, overwrite=[name])
        assert [move.action for move in moves] == ["impossible"]
        assert done.files == ()

    assert everything(tmp_path) == before


def test_nothing_is_brought_back_through_a_link_of_the_same_snapshot(
    root: Path, tmp_path: Path
) -> None:
    made = shots(root)
    key = made.objects.put(CONTENT)
    made.objects.commit()
    outside = tmp_path / "outside"
    outside.mkdir()
    entries = {"door": TreeEntry("link", 0, str(outside)), "door/x": TreeEntry("file", 0o755, key)}
    tree = Tree("x", entries)

    done = perform_restores(
        made, plan_restores(made, [wanted_file(path, tree, None) for path in entries])
    )

    assert [path for path, _ in done.failed_paths] == ["door/x"]
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "name", [".env", "AGENTS.md", "conftest.py", "palimpsest.toml", "Makefile"]
)
def test_a_protected_file_of_another_kernels_snapshot_waits_to_be_named(
    root: Path, name: str
) -> None:
    made = shots(root)
    tree = made.snapshot_tree(planted(made, name))
    moves = plan_restores(made, [wanted_file(name, tree, None)])

    assert perform_restores(made, moves).kept_paths == (name,)
    assert not (root / name).exists()
    assert perform_restores(made, moves, overwrite=[name]).files == (name,)
    assert (root / name).read_bytes() == CONTENT


def test_what_this_kernel_kept_is_brought_back_without_more_ado(root: Path) -> None:
    (root / "pyproject.toml").write_text("before")
    made = shots(root)
    tree = made.snapshot_tree(made.take_snapshot())
    (root / "pyproject.toml").write_text("by the agent")
    left = made.snapshot_tree(made.take_snapshot()).get("pyproject.toml")

    done = perform_restores(made, plan_restores(made, [wanted_file("pyproject.toml", tree, left)]))

    assert done.files == ("pyproject.toml",)


@pytest.mark.parametrize("name", [".env", "tls/server.key", "credentials.json"])
def test_the_lines_of_a_file_of_keys_are_counted_and_not_shown(root: Path, name: str) -> None:
    made = shots(root)
    before = made.take_snapshot()
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("CANARY\n")
    (root / "b.txt").write_text("shown\n")

    found = {diff.file: diff for diff in snapshot_diffs(made, before, made.take_snapshot())}

    assert "+shown" in (found["b.txt"].patch or "")
    assert "CANARY" not in str(found)
    assert (found[name].additions, found[name].patch) == (1, None)
    assert "keys" in (found[name].note or "")


def test_no_file_comes_back_that_runs_as_its_owner(root: Path) -> None:
    made = shots(root)
    key = made.objects.put(CONTENT)
    made.objects.commit()
    tree = Tree("x", {"tool": TreeEntry("file", 0o6755, key, len(CONTENT))})

    perform_restores(made, plan_restores(made, [wanted_file("tool", tree, None)]))

    assert (root / "tool").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("name", ["a.txt", "sub/b c.py", ".gitignore", "..a", "a..", "C:x", "ä/ö"])
def test_other_names_are_good(name: str) -> None:
    assert path_problem(name, ALWAYS_SKIPPED) is None


FILE = ["file", 420, "0" * 64, 3]
NO_TREES: list[tuple[object, object]] = [
    ([], {"a": FILE}), ("x", {"a": FILE}), (7, {"a": FILE}), ({}, {"a": FILE}), ({"tree": None}, {"a": FILE}),
    ({"tree": "T", "ignored": 3, "cut": []}, {"a": FILE}), ("T", []), ("T", "x"), ("T", None), ("T", {"a": 5}),
    ("T", {"a": []}), ("T", {"a": ["file"]}), ("T", {"a": [1, 2, 3, 4]}), ("T", {"a": [*FILE, 5]}),
    ("T", {"a": ["door", 420, "0" * 64, 3]}), ("T", {"a": ["file", "rwx", "0" * 64, 3]}),
    ("T", {"a": ["file", 420, None, 3]}), ("T", {"a": ["folder", 0, "../../x", 0]}), ("T", {"a": {"kind": "file"}}),
    ("T", {"a": ["file", 10**400, "0" * 64, -3]}),
]  # fmt: skip


@pytest.mark.parametrize(("head", "body"), NO_TREES)
def test_what_is_no_tree_is_refused_in_a_sentence(root: Path, head: object, body: object) -> None:
    made = shots(root)
    made.objects.begin_snapshot()
    tree = made.objects.put(json.dumps(body).encode())
    wrapped = {"v": 1, "tree": tree, "ignored": [], "cut": False}
    if isinstance(head, dict):
        wrapped = head | ({"tree": tree} if head.get("tree") == "T" else {})
    snapshot = made.objects.put(
        json.dumps(wrapped if head == "T" or isinstance(head, dict) else head).encode()
    )
    made.objects.commit()

    with pytest.raises(NotFound):
        made.snapshot_tree(snapshot)
    needed: set[str] = set()
    add_reachable(made.objects, snapshot, needed)
    assert snapshot in needed


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b""])
def test_bytes_that_are_no_tree_are_refused_in_a_sentence(root: Path, content: bytes) -> None:
    made = shots(root)
    made.objects.begin_snapshot()
    snapshot = made.objects.put(encode_root(made.objects.put(content), [], is_cut=False))
    made.objects.commit()

    with pytest.raises(NotFound):
        made.snapshot_tree(snapshot)
    add_reachable(made.objects, snapshot, set())


def test_a_tree_that_unfolds_without_end_is_refused_at_once(root: Path) -> None:
    made = shots(root)
    made.objects.begin_snapshot()
    inner = made.objects.put(
        encode_tree({"a": TreeEntry("file", 420, made.objects.put(CONTENT), 3)})
    )
    names = [f"folder-{number}" for number in range(200)]
    for _ in range(40):
        inner = made.objects.put(encode_tree({n: TreeEntry("folder", 0, inner) for n in names}))
    snapshot = made.objects.put(encode_root(inner, [], is_cut=False))
    made.objects.commit()

    with pytest.raises(UnsafeTree, match="more"):
        made.snapshot_tree(snapshot)
