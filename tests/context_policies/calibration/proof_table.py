"""How well each recorded sample is reproduced, as a table.

``python -m tests.context_policies.calibration.proof_table [FILE_OR_FOLDER ...]`` prints it, for the samples of the importers and what is named.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.recordings.formats.sample_files import SAMPLES, sample

from palimpsest.render.reports.table import ReportTable, TableColumn
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.errors import UserError

COLUMNS = (
    TableColumn("recording", "recording"),
    TableColumn("requests", "requests", "count"),
    TableColumn("reproduced", "reproduced", "count"),
    TableColumn("taken", "taken", "count"),
    TableColumn("cost", "replayed", "usd"),
    TableColumn("reported_cost", "reported", "usd"),
    TableColumn("apart", "apart, %", "decimal"),
    TableColumn("holds", "holds"),
    TableColumn("reasons", "why not"),
)


def proof_table(named: list[Path], folder: Path) -> ReportTable:
    """Return a row for each session with reported usage."""
    rows = []
    for name, review in _reviews(named, folder):
        proof = review.proof()
        apart = proof.money_apart
        if proof.rows:
            rows.append(
                (
                    name,
                    proof.requests,
                    proof.reproduced,
                    proof.taken_losses,
                    proof.cost,
                    proof.reported_cost,
                    None if apart is None else 100 * apart,
                    "-" if proof.is_reliable is None else str(proof.is_reliable),
                    " ".join(proof.reasons),
                )
            )
    return ReportTable("Replayed as recorded", COLUMNS, tuple(rows))


def _reviews(named: list[Path], folder: Path) -> Iterator[tuple[str, SessionReview]]:
    own = sorted(file.name for file in SAMPLES.iterdir())
    for number, name in enumerate(own):
        into = folder / str(number)
        into.mkdir()
        yield from _sessions(name, sample(name.removesuffix(".xz"), into))
    for path in named:
        yield from _sessions(path.name, path)


def _sessions(name: str, path: Path) -> Iterator[tuple[str, SessionReview]]:
    try:
        recording = open_recording(path)
    except UserError:
        return
    with recording:
        for number, review in enumerate(recording, 1):
            yield f"{name} {number}", review


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        sys.stdout.write(
            f"{proof_table([Path(argument) for argument in sys.argv[1:]], Path(made)).text}\n"
        )
