"""Recordings of other agents, copied unchanged from public repositories (NOTICE names them).

``sample("pi_large_session.jsonl", tmp_path)`` returns a copy that the test may change; one that lies here with the
ending ``.xz`` is unpacked. Those that the lessons use lie in the package.
"""

import lzma
import shutil
from pathlib import Path

from palimpsest.lessons.lesson_files import ARCHIVE_ENDING, DATA_FOLDER, PACKED_ENDING, unpack

SAMPLES = Path(__file__).with_name("samples")


def sample(name: str, into: Path) -> Path:
    """Return a copy of a sample in a folder of the test."""
    if any(
        (DATA_FOLDER / f"{name}{ending}").exists() for ending in ("", PACKED_ENDING, ARCHIVE_ENDING)
    ):
        return unpack(name, into)
    target = into / Path(name).name
    packed = SAMPLES / f"{name}.xz"
    if packed.exists():
        target.write_bytes(lzma.decompress(packed.read_bytes()))
    elif (SAMPLES / name).is_dir():
        shutil.copytree(SAMPLES / name, target)
        for compressed in [*target.rglob("*.xz")]:
            compressed.with_suffix("").write_bytes(lzma.decompress(compressed.read_bytes()))
            compressed.unlink()
    else:
        shutil.copyfile(SAMPLES / name, target)
    return target
