"""The files that come with the package for lessons: recordings, unpacked when they are opened, and notebooks."""

import atexit
import csv
import lzma
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from palimpsest.lessons.lesson_plan import SESSION_MARK, LessonPlan
from palimpsest.render.reports.table import ReportTable, TableColumn
from palimpsest.review.session_review import SessionReview
from palimpsest.store.disk import storage_errors, temporary_folder
from palimpsest.transcript.errors import NotFound

DATA = Path(__file__).with_name("data")
PACKED_ENDING = ".xz"
ARCHIVE_ENDING = ".zip"
"""The ending of a folder that is packed as one file: a project of our own, whose hidden files no build leaves out."""
PACKAGE = Path(__file__).parents[1]
NOTEBOOKS = (PACKAGE / "lessons" / "notebooks", PACKAGE.parents[1] / "notebooks")
"""Where the notebooks lie: in an installed package, and in a clone."""
NO_NOTEBOOKS = (
    "The lessons' notebooks are not in this installation; install jupyter-palimpsest from a wheel."
)

Opener = Callable[[Path, str], SessionReview]
"""A function that opens a session of a recording by its id, or the first one without an id."""


class OpenedSessions(Mapping[str, SessionReview]):
    """The recorded sessions of a lesson by their names, and its tables; each is opened at its first use."""

    def __init__(self, plan: LessonPlan, opener: Opener) -> None:
        self._plan = plan
        self._opener = opener
        self._reviews: dict[str, SessionReview] = {}
        self._tables: dict[str, ReportTable] = {}

    def __repr__(self) -> str:
        return f"<OpenedSessions {', '.join(self._plan.recordings)}>"

    def __getitem__(self, name: str) -> SessionReview:
        """Return a session by its name; raises NotFound with all names."""
        if name not in self._reviews:
            recording = self._file_named(name, self._plan.recordings, "recording")
            file, _, session = recording.partition(SESSION_MARK)
            self._reviews[name] = self._opener(recording_path(file), session)
        return self._reviews[name]

    def __contains__(self, name: object) -> bool:
        return name in self._plan.recordings

    def __iter__(self) -> Iterator[str]:
        return iter(self._plan.recordings)

    def __len__(self) -> int:
        return len(self._plan.recordings)

    def table(self, name: str) -> ReportTable:
        """Return a table of the lesson by its name; raises NotFound with all names."""
        if name not in self._tables:
            file = self._file_named(name, self._plan.tables, "table")
            self._tables[name] = csv_table(name, recording_path(file))
        return self._tables[name]

    def _file_named(self, name: str, files: Mapping[str, str], thing: str) -> str:
        if name not in files:
            known, number = ", ".join(files) or "none", self._plan.number
            raise NotFound(f"Lesson {number} has no {thing} {name!r:.40}; there is {known}.")
        return files[name]


def csv_table(title: str, path: Path) -> ReportTable:
    """Return a file with comma-separated values as a table; numbers become numbers."""
    with storage_errors(path), path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    columns = tuple(TableColumn(name, name) for name in names)
    return ReportTable(title, columns, tuple(tuple(map(_cell, row)) for row in rows))


def _cell(text: str) -> int | float | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def recording_path(name: str) -> Path:
    """Return the path of a file of ``data``, or of one in a folder of it, unpacked into a folder that is removed at the end."""
    target = _unpacked_folder() / name
    if not target.exists():
        unpack(name.partition("/")[0], _unpacked_folder())
    return target


def unpack(name: str, into: Path) -> Path:
    """Copy a file or a folder of ``data`` into a folder, unpacked, and return its path."""
    source, target = DATA / name, into / name
    packed, archive = DATA / f"{name}{PACKED_ENDING}", DATA / f"{name}{ARCHIVE_ENDING}"
    if archive.is_file():
        with storage_errors(target), zipfile.ZipFile(archive) as files:
            files.extractall(target)
    elif source.is_dir():
        for path in sorted(source.rglob("*")):
            if path.is_file():
                _unpack_file(path, target / path.relative_to(source))
    else:
        path = packed if packed.is_file() else source
        _unpack_file(path, into / path.name)
    return target


def _unpack_file(path: Path, target: Path) -> None:
    with storage_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == PACKED_ENDING:
            target.with_suffix("").write_bytes(lzma.decompress(path.read_bytes()))
        else:
            shutil.copyfile(path, target)


def notebook_path(plan: LessonPlan) -> Path:
    """Return the path of a lesson's notebook; raises NotFound in an installation without notebooks."""
    for folder in NOTEBOOKS:
        path = folder / f"{plan.notebook}.ipynb"
        if path.is_file():
            return path
    raise NotFound(NO_NOTEBOOKS)


@cache
def _unpacked_folder() -> Path:
    folder = temporary_folder("palimpsest-lessons-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
