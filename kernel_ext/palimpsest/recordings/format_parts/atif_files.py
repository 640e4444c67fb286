"""The documents of one ATIF recording: a trajectory, its continuations, and its subagents' trajectories.

A reference must name a file beside the trajectory: a path with a folder, a link, and a file without a trajectory
are reported and ignored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.sources import json_document
from palimpsest.transcript.errors import UserError

MAX_FILES = 1_000
"""Maximum files that are opened for one recording."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One ATIF document, with its name in reports."""

    value: JsonValue
    """The document's content."""
    path: Path
    place: str
    """The document's name in reports: the file's name, and the subagent in it."""


class TrajectoryFiles:
    """Opens the files of one recording, each once."""

    def __init__(self, path: Path, report: Report) -> None:
        self._folder = path.parent
        self._report = report
        self._opened_names = {path.name}

    def file_beside(self, name: str, place: str) -> Trajectory | None:
        """Return the trajectory in a file beside the first file; where there is none, report it and return None."""
        is_file_name = PurePosixPath(name).name == name and PureWindowsPath(name).name == name
        if not is_file_name or name in {"", ".", ".."} or not name.isprintable():
            self._report(place, f"It names {name!r:.80}, which is no file beside it; not opened.")
            return None
        if name in self._opened_names or len(self._opened_names) >= MAX_FILES:
            self._report(place, f"It names {name!r:.80} again, or too many files; not opened.")
            return None
        self._opened_names.add(name)
        try:
            value = json_document(self._folder / name, follow=False)
        except UserError:
            self._report(place, f"The file {name!r:.80} that it names cannot be read.")
            return None
        if not is_trajectory(value):
            self._report(place, f"The file {name!r:.80} that it names is no trajectory.")
            return None
        return Trajectory(value, self._folder / name, name)

    def chain(self, first_file: Trajectory) -> Iterator[Trajectory]:
        """Yield a trajectory and its continuations, in order."""
        trajectory: Trajectory | None = first_file
        while trajectory is not None:
            yield trajectory
            name = trajectory.value.text("continued_trajectory_ref")
            trajectory = self.file_beside(name, trajectory.place) if name else None


def is_trajectory(value: JsonValue) -> bool:
    """Return whether a value has the fields that every ATIF document has."""
    is_atif = value.text("schema_version").startswith("ATIF-v")
    return is_atif and isinstance(value.get("steps"), list)


def named_files(trajectory: JsonValue) -> Iterator[str]:
    """Yield the names of the files to which a trajectory, or a subagent's trajectory inside it, refers."""
    names = [trajectory.text("continued_trajectory_ref")]
    for step in trajectory.objects("steps"):
        for result in step.objects("observation", "results"):
            references = result.objects("subagent_trajectory_ref")
            names += [reference.text("trajectory_path") for reference in references]
    yield from (name for name in names if name)
    for subagent in trajectory.objects("subagent_trajectories"):
        yield from named_files(subagent)


def embedded_trajectories(trajectory: Trajectory, report: Report) -> dict[str, Trajectory]:
    """Return the subagents' trajectories inside a document, by their ids."""
    trajectories: dict[str, Trajectory] = {}
    for number, value in enumerate(trajectory.value.objects("subagent_trajectories"), 1):
        place = f"{trajectory.place}, subagent {number}"
        trajectory_id = value.text("trajectory_id") or value.text("session_id") or str(number)
        if not is_trajectory(value):
            report(place, "It is no trajectory and was left out.")
        elif trajectory_id in trajectories:
            report(place, "Another subagent has its id too; the first one was kept.")
        else:
            trajectories[trajectory_id] = Trajectory(value, trajectory.path, place)
    return trajectories
