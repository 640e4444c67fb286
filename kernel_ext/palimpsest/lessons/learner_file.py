"""Keep what one learner predicted, asked and tried, as lines of JSON that are only added to.

Each line holds a digest of the line before it, so that a file that was edited afterwards is recognised. A folder that
cannot be written keeps the lesson going, in memory, with one sentence.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from palimpsest.lessons.prediction_kinds import PredictionKind
from palimpsest.store.disk import append_lines, read_small, storage_errors
from palimpsest.transcript.errors import StorageFailed, UserError

RESULTS_FOLDER = "lesson-results"
LEARNER_VARIABLES = ("PALIMPSEST_LEARNER", "JUPYTERHUB_USER", "USER", "LOGNAME", "USERNAME")
"""Variables of the environment that name the learner, the first that is set."""
MAX_FILE_BYTES = 4_000_000
MAX_NAME_CHARS = 60
LINE_VERSION = 1
DIGEST_CHARS = 16
NOT_KEPT_SENTENCE = (
    "{error} What you do in this lesson is kept until the kernel ends, and not in a file."
)

EventKind = Literal["prediction", "reveal", "hint", "check"]


class LearnerLine(BaseModel):
    """One thing that a learner did."""

    model_config = ConfigDict(extra="allow", frozen=True)

    v: int = LINE_VERSION
    lesson: int
    event: EventKind
    name: str
    """The prediction or the exercise."""
    value: Any = None
    """The predicted value, or the number of the hint."""
    passed: bool | None = None
    time: str = ""
    """When, in UTC, as ISO 8601."""
    previous: str = ""
    """Digest of the line before; empty in the first."""


class LearnerFile:
    """The results of one learner in one file.

    Responsibilities: read it, tolerant of damage; add lines; tell whether a line was changed afterwards.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[LearnerLine] = []
        self.altered_at: int | None = None
        """The number of the first line that does not follow the one before it, or cannot be read."""
        self.problem = ""
        """A sentence, where the file cannot be written."""
        self._digest = ""
        self.read()

    @property
    def learner(self) -> str:
        """The learner's name, as the file has it."""
        return self.path.stem

    def read(self) -> None:
        """Read the file, to which another lesson's kernel may have added lines; where it cannot be, ``problem`` says so."""
        if self.problem:
            return
        try:
            content = read_small(self.path, MAX_FILE_BYTES)
        except FileNotFoundError:
            content = b""
        except OSError as error:
            reason = error.strerror or "it is larger than any such file"
            self.problem = NOT_KEPT_SENTENCE.format(
                error=f"{str(self.path)!r} cannot be read: {reason}."
            )
            return
        self.lines, self.altered_at, self._digest = [], None, ""
        for number, raw_line in enumerate(content.splitlines(), start=1):
            line = _parsed_line(raw_line)
            if line is None or line.previous != self._digest:
                self.altered_at = self.altered_at or number
            if line is not None:
                self.lines.append(line)
            self._digest = _digest(raw_line)

    def add(self, line: LearnerLine) -> LearnerLine:
        """Add a line with the time, and return it; where the file cannot be written ``problem`` says so."""
        self.read()
        time_text = datetime.now(UTC).isoformat(timespec="seconds")
        line = line.model_copy(update={"time": time_text, "previous": self._digest})
        raw_line = json.dumps(line.model_dump(exclude_none=True), ensure_ascii=False).encode()
        self.lines.append(line)
        if not self.problem:
            try:
                with storage_errors(self.path):
                    self.path.parent.mkdir(exist_ok=True)
                append_lines(self.path, raw_line + b"\n", MAX_FILE_BYTES)
            except StorageFailed as error:
                self.problem = NOT_KEPT_SENTENCE.format(error=error)
        self._digest = _digest(raw_line)
        return line

    def events(self, lesson: int, event: EventKind, name: str = "") -> Sequence[LearnerLine]:
        """Return the lines of one kind, oldest first."""
        return [
            line
            for line in self.lines
            if line.lesson == lesson and line.event == event and name in ("", line.name)
        ]

    def prediction(self, lesson: int, name: str, kind: PredictionKind) -> LearnerLine | None:
        """Return the prediction that counts, which is the first with a valid value, as checked; or None."""
        for line in self.events(lesson, "prediction", name):
            with suppress(UserError):
                return line.model_copy(update={"value": kind.validated_value(line.value)})
        return None


def learner_name(environment: Mapping[str, str], given_name: str = "") -> str:
    """Return a learner's name as a file's name can have it; raises UserError for a given name without letters."""
    possible_names = (
        [given_name] if given_name else [environment.get(name, "") for name in LEARNER_VARIABLES]
    )
    name = next((name for name in possible_names if name.strip()), "learner")
    file_name = re.sub(r"[^\w.+@-]+", "-", name.strip())[:MAX_NAME_CHARS].strip("-.")
    if not file_name:
        raise UserError(f"{given_name!r:.40} is no name for a file; give letters or digits.")
    return file_name


def learner_file(folder: Path, learner: str) -> LearnerFile:
    """Return a learner's file below a folder, which need not exist yet."""
    return LearnerFile(folder / RESULTS_FOLDER / f"{learner}.jsonl")


def learner_files(folder: Path) -> list[LearnerFile]:
    """Return the files of all learners in a folder of results, or below a folder of a class; links are not followed."""
    paths = {*folder.glob("*.jsonl")}
    for pattern in (RESULTS_FOLDER, f"*/{RESULTS_FOLDER}", f"*/*/{RESULTS_FOLDER}"):
        paths |= set(folder.glob(f"{pattern}/*.jsonl"))
    return [LearnerFile(path) for path in sorted(paths) if not path.is_symlink() and path.is_file()]


def _parsed_line(raw_line: bytes) -> LearnerLine | None:
    try:
        return LearnerLine.model_validate_json(raw_line)
    except ValidationError:
        return None


def _digest(raw_line: bytes) -> str:
    return sha256(raw_line).hexdigest()[:DIGEST_CHARS]
