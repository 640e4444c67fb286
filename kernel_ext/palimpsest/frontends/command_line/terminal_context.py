"""The context of operations on the command line: without an application, with progress on the terminal."""

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from palimpsest.frontends import terminal
from palimpsest.frontends.operation_base.operation import OperationContext
from palimpsest.home_paths import home_path
from palimpsest.transcript.errors import UserError

if TYPE_CHECKING:
    from palimpsest.frontends.cell_turn.services import FrontendServices
    from palimpsest.session.sharing.import_place import ImportPlace

MIN_PROGRESS_SECONDS = 0.2
MIN_PROGRESS_BYTES = 5_000_000
"""Minimum size of a source whose progress is shown; smaller ones are read at once."""
NO_APPLICATION = "It is about a session of a kernel, and on the command line there is none."


class _NoApplication:
    """Replaces the application; each access to it raises UserError."""

    def __getattr__(self, name: str) -> NoReturn:
        raise UserError(NO_APPLICATION)


async def _no_session(_identifier: str | None) -> NoReturn:
    raise UserError(NO_APPLICATION)


@contextmanager
def terminal_context(arguments: Namespace) -> Iterator[OperationContext]:
    """Yield the context of the parsed command; progress is shown only where standard error is a terminal."""
    shown_at = 0.0
    is_shown = sys.stderr is not None and sys.stderr.isatty()

    def progress(read_bytes: int, total_bytes: int) -> None:
        nonlocal shown_at
        if (
            is_shown
            and total_bytes > MIN_PROGRESS_BYTES
            and (now := time.monotonic()) - shown_at > MIN_PROGRESS_SECONDS
        ):
            shown_at = now
            terminal.show_progress(
                f"{min(read_bytes / total_bytes, 1.0):4.0%} of {total_bytes / 1e6:,.0f} MB read "
            )

    import_place = project_place(arguments.project) if arguments.form.in_project else None
    application = cast("FrontendServices", _NoApplication())
    try:
        yield OperationContext(
            application,
            _no_session,
            is_synchronous=True,
            progress=progress,
            import_place=import_place,
        )
    finally:
        if shown_at:
            terminal.end_progress()


def project_place(project: str | None) -> "ImportPlace":
    """Return the project of a folder, or of the current folder; raises UserError where it cannot be written."""
    from palimpsest.recordings.formats.built_in import REGISTRY
    from palimpsest.session.sharing.import_place import ImportPlace
    from palimpsest.store.log.store_factory import find_project, open_store

    start_folder = home_path(project) if project else find_project(Path.cwd())
    if not start_folder.is_dir():
        raise UserError(
            f"There is no folder {str(start_folder)!r}; --project names the folder of a project."
        )
    store, memory_warning = open_store(start_folder)
    if memory_warning is not None:
        raise UserError(memory_warning)
    return ImportPlace(
        store, start_folder, Path(), lambda: time.time_ns() // 1_000_000, REGISTRY.import_from
    )
