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

DATA_FOLDER = Path(__file__).with_name("data")
PACKED_ENDING = ".xz"
ARCHIVE_ENDING = ".zip"
"""The ending of a folder that is packed as one file: a project of our own, whose hidden files no build leaves out."""
PACKAGE_FOLDER = Path(__file__).parents[1]
NOTEBOOK_FOLDERS = (
    PACKAGE_FOLDER / "lessons" / "notebooks",
    PACKAGE_FOLDER.parents[1] / "notebooks",
)
"""Where the notebooks lie: in an installed package, and in a clone."""
NO_NOTEBOOKS_SENTENCE = (
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
            file_name, _, session_id = recording.partition(SESSION_MARK)
            self._reviews[name] = self._opener(recording_path(file_name), session_id)
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
            file_name = self._file_named(name, self._plan.tables, "table")
            self._tables[name] = csv_table(name, recording_path(file_name))
        return self._tables[name]

    def _file_named(self, name: str, file_by_name: Mapping[str, str], noun: str) -> str:
        if name not in file_by_name:
            known_names, number = ", ".join(file_by_name) or "none", self._plan.number
            raise NotFound(f"Lesson {number} has no {noun} {name!r:.40}; there is {known_names}.")
        return file_by_name[name]


def csv_table(title: str, path: Path) -> ReportTable:
    """Return a file with comma-separated values as a table; numbers become numbers."""
    with storage_errors(path), path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    columns = tuple(TableColumn(name, name) for name in names)
    return ReportTable(title, columns, tuple(tuple(map(_cell, row)) for row in rows))


def _cell(text: str) -> int | float | str:
    for number_type in (int, float):
        try:
            return number_type(text)
        except ValueError:
            continue
    return text


def recording_path(name: str) -> Path:
    """Return the path of a file of ``data``, or of one in a folder of it, unpacked into a folder that is removed at the end."""
    target = _unpacked_folder() / name
    if not target.exists():
        unpack(name.partition("/")[0], _unpacked_folder())
    return target


def unpack(name: str, into_folder: Path) -> Path:
    """Copy a file or a folder of ``data`` into a folder, unpacked, and return its path."""
    source, target = DATA_FOLDER / name, into_folder / name
    packed_file, archive_file = (
        DATA_FOLDER / f"{name}{PACKED_ENDING}",
        DATA_FOLDER / f"{name}{ARCHIVE_ENDING}",
    )
    if archive_file.is_file():
        with storage_errors(target), zipfile.ZipFile(archive_file) as files:
            files.extractall(target)
    elif source.is_dir():
        for path in sorted(source.rglob("*")):
            if path.is_file():
                _unpack_file(path, target / path.relative_to(source))
    else:
        path = packed_file if packed_file.is_file() else source
        _unpack_file(path, into_folder / path.name)
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
    for folder in NOTEBOOK_FOLDERS:
        path = folder / f"{plan.notebook}.ipynb"
        if path.is_file():
            return path
    raise NotFound(NO_NOTEBOOKS_SENTENCE)


@cache
def _unpacked_folder() -> Path:
    folder = temporary_folder("palimpsest-lessons-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
