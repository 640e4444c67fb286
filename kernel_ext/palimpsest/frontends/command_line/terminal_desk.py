"""Where operations are asked for on the command line: no application runs, and a large source shows how far it is read."""

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from palimpsest.frontends import terminal
from palimpsest.frontends.operations.operation import Desk
from palimpsest.home_paths import home_path
from palimpsest.session.sharing.import_place import ImportPlace
from palimpsest.transcript.errors import UserError

if TYPE_CHECKING:
    from palimpsest.frontends.cell_turn.services import FrontendServices

LARGE_BYTES = 5_000_000
"""Smaller sources are read before anybody could look."""
NO_APPLICATION = "It is about a session of a kernel, and on the command line there is none."


class _NoApplication:
    """Stands for the application; whatever an operation asks of it is refused."""

    def __getattr__(self, name: str) -> NoReturn:
        raise UserError(NO_APPLICATION)


async def _no_session(_identifier: str | None) -> NoReturn:
    raise UserError(NO_APPLICATION)


@contextmanager
def terminal_desk(given: Namespace) -> Iterator[Desk]:
    """Lend a desk to the command that is given; how far a source is read is shown on a terminal only."""
    shown = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown > 0.2 and total > LARGE_BYTES and sys.stderr.isatty():
            shown = now
            terminal.show_progress(f"{min(done / total, 1.0):4.0%} of {total / 1e6:,.0f} MB read ")

    imports = project_place(given.project) if given.form.in_project else None
    application = cast("FrontendServices", _NoApplication())
    try:
        yield Desk(application, _no_session, at_once=True, progress=progress, imports=imports)
    finally:
        if shown:
            terminal.end_progress()


def project_place(project: str | None) -> ImportPlace:
    """Return the project in a folder, else this folder's; raises UserError where it cannot be written."""
    from palimpsest.review.importers.built_in import REGISTRY
    from palimpsest.store.log.store_factory import find_project, open_store

    start = home_path(project) if project else find_project(Path.cwd())
    if not start.is_dir():
        raise UserError(
            f"There is no folder {str(start)!r}; --project names the folder of a project."
        )
    store, in_memory = open_store(start)
    if in_memory is not None:
        raise UserError(in_memory)
    return ImportPlace(store, start, Path(), _now, REGISTRY.import_from)


def _now() -> int:
    return time.time_ns() // 1_000_000
