"""``%agent storage`` lists stored data that no session needs any more, and deletes it on request."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel

from palimpsest.frontends.operations.storage import NOTHING_UNNEEDED, sweep_text
from palimpsest.store.blobs.blob_sweep import DAY_SECONDS, Sweep, UnneededBlob

OLD = UnneededBlob("a" * 64, 1_500_000, 0.0, 0.0)
NEW = UnneededBlob("b" * 64, 640, 20 * 365 * DAY_SECONDS, 0.0)


def test_says_what_would_go_and_what_went() -> None:
    sweep = Sweep((OLD,), (NEW, NEW), 12)

    assert sweep_text(Sweep(needed_count=3), 7, None) == NOTHING_UNNEEDED
    assert sweep_text(sweep, 7, None).startswith(
        "1 kept text (1.5 MB) was not needed by any session for 7 days. %agent storage prune --yes deletes "
        "it, for good. 2 kept texts (1.3 kB) are no longer needed and kept for 7 days, until 19"
    )
    assert sweep_text(sweep, 7, (OLD,)).startswith("Deleted 1 kept text (1.5 MB). 2 kept texts")
    assert sweep_text(sweep, 7, None).endswith("12 others are needed by sessions and stay.")


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with Kernel(cwd=tmp_path) as kernel:
        assert kernel.client.run("%load_ext palimpsest").status == "ok"
        yield kernel


@pytest.mark.slow
def test_deletes_only_what_is_due_and_only_with_yes(kernel: Kernel, tmp_path: Path) -> None:
    client = kernel.client
    client.run("%agent status")
    blobs = tmp_path / ".palimpsest" / "blobs"
    lost = blobs / "aa" / ("a" * 64)
    lost.parent.mkdir()
    lost.write_text("what a dead kernel left")
    long_ago = time.time() - 30 * DAY_SECONDS
    os.utime(lost, (long_ago, long_ago))

    first = client.run("%agent storage")
    (blobs / "unneeded.json").write_text(f'{{"{"a" * 64}": {long_ago}}}')
    due = client.run("%agent storage")
    there = lost.exists()
    gone = client.run("%agent storage prune --yes")

    assert "1 kept text (23 bytes) is no longer needed and kept for 1 day" in first.markdown()
    assert "%agent storage prune --yes deletes it" in due.markdown()
    assert there
    assert "Deleted 1 kept text (23 bytes)." in gone.markdown()
    assert not lost.exists()
