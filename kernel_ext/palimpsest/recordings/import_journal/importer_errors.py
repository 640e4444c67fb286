"""Write an importer's own errors with their tracebacks into the project's error log, and name the log's file."""

import errno
import os
import stat
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from palimpsest import __version__
from palimpsest.recordings.reading.importer import Recogniser
from palimpsest.store.disk import NOFOLLOW, temporary_folder, write_fully
from palimpsest.store.interface import Store
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.strings.disk_words import disk_reason
from palimpsest.transcript.visible_text import visible_line, visible_text

LOG_NAME = "errors.log"
MAX_LOG_BYTES = 1_000_000
"""Size in bytes above which the log is renamed to ``errors.log.1``, and a new log is begun."""
MAX_TRACEBACK_CHARS = 20_000
"""Maximum characters of one error's traceback that are logged, counted from the end."""
MAX_LINE_CHARS = 2_000
"""Maximum characters of each line of a traceback that are logged."""
MAX_TITLE_CHARS = 80
NONBLOCK = getattr(os, "O_NONBLOCK", 0)
"""A flag for opening the log: a named pipe in its place must not block."""
ENTRY_HEAD = "{at} Palimpsest {version}: the importer {name!r}, of {path!r}\n"
ERROR_SENTENCE = (
    "the importer of {title} has an error of its own ({kind}), and its traceback {where}."
)


def errors_folder(store: Store | None = None) -> Path:
    """Return the folder of the error log: the store's, else the current project's, else a temporary folder."""
    # Few imports meet an error, and a recording that is only looked at has no project.
    from palimpsest.store.log.jsonl_store import JsonlStore
    from palimpsest.store.project_folder.layout import FOLDER, find_project, foreign_folder_reason

    if isinstance(store, JsonlStore):
        return store.layout.root
    with suppress(OSError):
        project = find_project(Path.cwd())
        if (project / FOLDER).is_dir() and not foreign_folder_reason(project):
            return project / FOLDER
    return temporary_folder("palimpsest-errors-")


def log_importer_error(
    folder: Path, importer: Recogniser, source: Path, error: BaseException
) -> str:
    """Append an error to the log in a folder, and return a sentence for the user that names the log."""
    log_path = folder / LOG_NAME
    try:
        if log_path.is_file() and log_path.stat().st_size > MAX_LOG_BYTES:
            log_path.replace(log_path.with_name(f"{LOG_NAME}.1"))
        descriptor = os.open(
            log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NOFOLLOW | NONBLOCK, 0o600
        )
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "It is no file")
            write_fully(descriptor, _entry(importer, source, error).encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
        where = f"is in {str(log_path)!r}"
    except OSError as write_error:
        where = f"could not be written to {str(log_path)!r}: {disk_reason(write_error)}"
    return ERROR_SENTENCE.format(title=_title_of(importer), kind=type(error).__name__, where=where)


def _title_of(importer: Recogniser) -> str:
    return visible_line(str(getattr(importer, "title", type(importer).__name__)), MAX_TITLE_CHARS)


def _entry(importer: Recogniser, source: Path, error: BaseException) -> str:
    logged_at = datetime.now(UTC).isoformat(timespec="seconds")
    heading = ENTRY_HEAD.format(
        at=logged_at, version=__version__, name=_title_of(importer), path=str(source)
    )
    # A long message must not push the lines of code out of the log.
    lines = "".join(line[:MAX_LINE_CHARS] for line in traceback.format_exception(error))
    return visible_text(scrub(f"{heading}{lines[-MAX_TRACEBACK_CHARS:]}\n"))
