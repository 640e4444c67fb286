"""Every function that writes to a disk tells what the disk refuses, or names the one that does.

A new writer that is in neither group fails here: let it write by ``store/disk.py`` within ``storage_errors``, handle
OSError in its own body, or add it to ``TOLD_BY`` with the function above it that does.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "kernel_ext" / "palimpsest"

METHODS = {"write_text", "write_bytes", "mkdir", "rename", "symlink_to", "hardlink_to"}
OF_OS = {"replace", "rename", "link", "symlink", "mkdir", "makedirs", "truncate", "ftruncate"}
OURS = {"create_file", "scratch_file", "write_atomically", "write_fully", "temporary_folder"}
CALLS = re.compile(rf"\b(?:open|tempfile|shutil|{'|'.join(METHODS | OF_OS | OURS)})\b")
"""A word of each call for which ``writes`` is true."""
WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT"}
HANDLERS = {"storage_errors", "suppress", "ignore_full_disk"}
ERRORS = {"OSError", "Exception", "BaseException"}

TOLD_BY = {
    "lessons/lesson_files.py::_unpacked_folder": "store/disk.py::temporary_folder",
    "review/recorded_sessions/recording.py::_import_into_folder": "store/disk.py::temporary_folder",
    "review/review_files/review_file.py::make_room": "review/review_files/review_file.py::store_review",
    "session/permissions/approved_code.py::_append_line": "session/permissions/approved_code.py::add",
    "session/permissions/approved_code.py::_shorten_file": "session/permissions/approved_code.py::add",
    "session/permissions/grants.py::_write_file": "session/permissions/grants.py::_write_changes",
    "session/permissions/grants.py::locked_file": "session/permissions/grants.py::_write_changes",
    "session/sharing/exports.py::_write_file": "session/sharing/exports.py::export_session",
    "session/sharing/share_page.py::write_page": "session/sharing/share_page.py::make_page",
    "store/blobs/blob_storage.py::commit": "store/file_snapshots/snapshots.py::take_snapshot",
    "store/blobs/blob_storage.py::write_pack": "store/file_snapshots/snapshots.py::take_snapshot",
    "store/blobs/blob_sweep.py::_delete_unless_stored_again": "session/open_sessions/workspace.py::_sweep_texts",
    "store/exchange/json_export.py::_write": "session/sharing/exports.py::export_session",
    "store/exchange/plain_database.py::opened_database": "store/disk.py::temporary_folder",
    "store/file_snapshots/file_restore.py::_restore_file": "store/file_snapshots/file_restore.py::perform_restores",
    "store/log/jsonl_store.py::_write_fork": "store/log/jsonl_store.py::fork",
    "store/log/kept_index.py::keep_index": "store/log/jsonl_store.py::keep_index",
    "store/log/jsonl_store.py::_remove_folder": "store/log/jsonl_store.py::delete",
    "store/log/segment_start.py::begin_segment": "store/log/jsonl_store.py::acquire",
    "store/log/segment_writer.py::__init__": "store/log/jsonl_store.py::acquire",
    "store/log/segment_writer.py::reopened_descriptor": "store/log/segment_writer.py::_reopen_if_replaced",
    "store/project_folder/layout.py::_make_folders": "store/log/store_factory.py::open_store",
    "store/project_folder/layout.py::_create_folder": "store/log/store_factory.py::open_store",
    "store/project_folder/layout.py::_check_writable": "store/log/store_factory.py::open_store",
    "store/project_folder/layout.py::make": "session/permissions/grants.py::_write_changes",
    "store/project_folder/layout_file.py::write_layout": "store/log/store_factory.py::open_store",
    "store/project_folder/lease.py::create": "store/log/jsonl_store.py::acquire",
    "store/project_folder/lease.py::write": "store/log/jsonl_store.py::acquire",
    "store/project_folder/migration_run.py::_make_folder": "store/project_folder/migration_run.py::migrate",
    "store/project_folder/migration_run.py::_move_into_copy": "store/project_folder/migration_run.py::migrate",
    "store/project_folder/migration_run.py::_copy_entry": "store/project_folder/migration_run.py::migrate",
    "tools/file_access/file_contents.py::open_folder_of": "tools/files/write_tools.py::_write_if_unchanged",
    "tools/file_access/file_contents.py::_open_folder": "tools/files/write_tools.py::_write_if_unchanged",
    "tools/file_access/file_contents.py::replace_resolved_file": "tools/files/write_tools.py::_write_if_unchanged",
}
"""A function that writes and raises OSError, and the one above it that tells a person."""

NO_DISK = {
    "frontends/page_channel/channel.py::_rename": "it tells the workspace a notebook's new name",
    "store/disk.py::create_file": "it is what the others write by",
    "store/disk.py::scratch_file": "it is what the others write by",
    "store/disk.py::write_atomically": "it is what the others write by",
    "testing/isolated_session.py::isolated_session": "a test's own folder for temporary files",
    "tools/execution/shell_runner.py::main": "it opens /dev/null",
    "tools/mcp/watchdog.py::main": "it opens /dev/null",
}


@cache
def functions() -> dict[str, list[ast.AST]]:
    """Return the functions of files that may write, and of those who tell it; those of one name in a file together."""
    by_name: dict[str, list[ast.AST]] = {}
    named = {place.partition("::")[0] for place in TOLD_BY.values()}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if path.relative_to(PACKAGE).as_posix() not in named and not CALLS.search(source):
            continue  # no call in it can be one that writes
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{path.relative_to(PACKAGE).as_posix()}::{node.name}"
                by_name.setdefault(name, []).append(node)
    return by_name


def writes(call: ast.Call) -> bool:
    """Return whether a call may write to a disk."""
    called = call.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    of = called.value.id if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) else ""  # fmt: skip
    if name == "open" and of == "os":
        flags = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
        return bool(flags & WRITING_FLAGS)
    if name == "open":
        values = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
        values += [
            keyword.value.value for keyword in call.keywords
            if keyword.arg == "mode" and isinstance(keyword.value, ast.Constant)
        ]  # fmt: skip
        return any(isinstance(v, str) and set(v) <= set("rwaxbt+") and set(v) & set("wax+") for v in values)  # fmt: skip
    if of == "os":
        return name in OF_OS
    if of in {"tempfile", "shutil"}:
        return name.startswith(("mk", "Temporary", "Named", "Spooled", "copy", "move"))
    return name in METHODS | OURS


def told(function: ast.AST) -> bool:
    """Return whether a function handles what a disk refuses."""
    for node in ast.walk(function):
        if isinstance(node, ast.ExceptHandler):
            types = [node.type] if not isinstance(node.type, ast.Tuple) else node.type.elts
            if any(getattr(kind, "id", "") in ERRORS for kind in types):
                return True
        if isinstance(node, ast.With | ast.AsyncWith):
            calls = [item.context_expr for item in node.items]
            if any(isinstance(call, ast.Call) and getattr(call.func, "id", "") in HANDLERS for call in calls):  # fmt: skip
                return True
    return False


@cache
def writers() -> list[str]:
    """Return the functions that write, in the order of their names.

    It parses the whole package, which takes seconds: a test asks for it, not the module, which each
    process of the tests imports.
    """
    return sorted(
        name
        for name, found in functions().items()
        if any(
            isinstance(part, ast.Call) and writes(part) for node in found for part in ast.walk(node)
        )
    )


def test_a_writer_is_found_by_each_way_to_write() -> None:
    for code in (
        "p.open('w')", "open(p, mode='ab')", "os.open(p, os.O_WRONLY)", "p.write_text('')", "os.replace(a, b)",
        "shutil.copyfile(a, b)", "tempfile.mkdtemp()", "write_atomically(p, b'')", "p.mkdir()",
    ):  # fmt: skip
        assert writes(ast.parse(code).body[0].value), code  # type: ignore[attr-defined]
    for code in ("p.open('rb')", "open(p)", "os.open(p, os.O_RDONLY)", "text.replace('a', 'b')"):
        assert not writes(ast.parse(code).body[0].value), code  # type: ignore[attr-defined]


def problems_of(name: str) -> Iterator[str]:
    """Yield what is wrong about who tells what the disk refuses to a writer."""
    teller = TOLD_BY.get(name, name)
    if teller not in functions():
        yield f"{name} names {teller}, which is not there"
    elif not all(map(told, functions()[teller])):
        yield f"{teller} lets through what the disk refuses to {name}"


def test_what_a_disk_refuses_is_told() -> None:
    names = [name for name in writers() if name not in NO_DISK]

    assert len(names) > len(TOLD_BY)
    assert [sentence for name in names for sentence in problems_of(name)] == []


def test_the_tables_name_writers_only() -> None:
    assert sorted({*TOLD_BY, *NO_DISK} - set(writers())) == []
