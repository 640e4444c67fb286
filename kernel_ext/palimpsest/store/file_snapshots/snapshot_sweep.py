"""Find the snapshots of files that no session names any more, and write the packs anew without them.

Every hash that a log names may be a snapshot; what it holds is needed. Packs that were used within
the given days stay, since the step that needs them may not be in a log yet.
"""

from palimpsest.store.blobs.blob_sweep import named_hashes
from palimpsest.store.blobs.packs import PackCleanup, PackedObjects, sweep_packs
from palimpsest.store.file_snapshots.trees import reachable
from palimpsest.store.project_folder.layout import Layout


def sweep_snapshots(layout: Layout, now: float, days: float, *, delete: bool) -> PackCleanup:
    """Say how much of the snapshots nothing needs, and with ``delete`` let it go."""
    if not layout.snapshots.is_dir():
        return PackCleanup()
    objects = PackedObjects(layout.snapshots)
    needed: set[str] = set()
    for sha256 in named_hashes(layout.sessions):
        if objects.holds(sha256):
            reachable(objects, sha256, needed)
    return sweep_packs(layout.snapshots, needed, now, days=days, delete=delete)
