"""Find compressed files below a folder that may be recordings, to report them; they are not read."""

from collections.abc import Collection, Iterator
from pathlib import Path

PACKED_SUFFIXES = frozenset({".gz", ".xz", ".bz2", ".zst", ".zip"})
"""Endings of compressed files: a recording in one is ``session.jsonl.gz``."""
PASSED_OVER = "It is compressed and was passed over: unpack it, and import what comes out."
MAX_FILES = 10_000
"""Maximum files of one folder that are considered."""


def compressed_files(folder: Path, endings: Collection[str], depth: int) -> Iterator[Path]:
    """Yield the compressed files below a folder whose inner names have a recording's ending; links are not followed."""
    try:
        paths = sorted(path for path, _ in zip(folder.iterdir(), range(MAX_FILES), strict=False))
    except OSError:
        return
    for path in paths:
        if path.is_symlink():
            continue
        if path.suffix in PACKED_SUFFIXES and Path(path.stem).suffix in endings and path.is_file():
            yield path
        elif depth > 1 and not path.name.startswith(".") and path.is_dir():
            yield from compressed_files(path, endings, depth - 1)
