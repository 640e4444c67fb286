"""The figures of policies over pi's recording and over a long one made of it, and those kept of an earlier version.

``python -m tests.review.comparison.kept_figures`` keeps today's: only where a policy itself was changed.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.bench.bench_review import POLICIES, REQUESTS, repeat_recording
from tests.recordings.formats.sample_files import sample

from palimpsest.context_policies.registry import presets
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.session_review import SessionReview

KEPT = Path(__file__).with_name("kept_figures.json")
Figures = dict[str, dict[str, Any]]


def figures_of_pi(folder: Path, one_in: int = 1) -> Figures:
    """Return the figures of all presets, or of one in so many, over pi's recording."""
    names = dict.fromkeys((*POLICIES, "recorded", *(preset.preset for preset in presets())))
    with open_recording(sample("pi_large_session.jsonl", folder)) as recording:
        return _figures(recording[0], list(names)[::one_in])


def figures_of_long(folder: Path) -> Figures:
    """Return the figures of the measured policies over the long recording."""
    long = folder / "long.jsonl"
    enough = lambda _size, requests: requests >= REQUESTS  # noqa: E731
    repeat_recording(sample("pi_large_session.jsonl", folder), long, enough)
    with open_recording(long) as recording:
        return _figures(recording[0], [*POLICIES, "recorded"])


def kept() -> dict[str, Figures]:
    """Return the figures that were kept."""
    found: dict[str, Figures] = json.loads(KEPT.read_text("utf-8"))
    return found


def keep(folder: Path) -> None:
    """Keep the figures of this version."""
    found = {"pi": figures_of_pi(folder), "long": figures_of_long(folder)}
    rows = (
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(
            f"{json.dumps(label)}: {json.dumps(values)}" for label, values in those.items()
        )
        + "\n}"
        for name, those in found.items()
    )
    KEPT.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


def _figures(review: SessionReview, names: list[str]) -> Figures:
    found = review.compare(names).figures
    return {
        name: json.loads(json.dumps(asdict(figures)))
        for name, figures in zip(names, found, strict=True)
    }


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as made:
        keep(Path(made))
