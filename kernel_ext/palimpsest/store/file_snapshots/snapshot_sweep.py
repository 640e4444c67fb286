"""Find the file snapshots that no session refers to any more, and rewrite the packs without them.

Every hash in a log may be a snapshot, whose objects are then needed. Packs that were used within the
given days are kept, since the step that needs them may not be in a log yet.
"""

from palimpsest.store.blobs.blob_storage import PackCleanup, PackedObjects, sweep_packs
from palimpsest.store.blobs.blob_sweep import named_hashes
from palimpsest.store.file_snapshots.trees import add_reachable
from palimpsest.store.project_folder.layout import Layout


def sweep_snapshots(layout: Layout, now: float, days: float, *, delete: bool) -> PackCleanup:
    """Return the unused bytes of the snapshots, and with ``delete`` delete them."""
    if not layout.snapshots.is_dir():
        return PackCleanup()
    objects = PackedObjects(layout.snapshots)
    needed_hashes: set[str] = set()
    for sha256 in named_hashes(layout.sessions):
        if objects.is_in_pack(sha256):
            add_reachable(objects, sha256, needed_hashes)
    return sweep_packs(layout.snapshots, needed_hashes, now, days=days, delete=delete)
