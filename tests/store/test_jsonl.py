"""The store on disk keeps its promises."""

from pathlib import Path

import pytest
from tests.store.conformance import StoreConformance

from palimpsest.store.jsonl import JsonlStore
from palimpsest.store.layout import prepare


class TestJsonlStore(StoreConformance):
    """Everything every store does."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> JsonlStore:
        """Return a fresh store."""
        return JsonlStore(prepare(tmp_path), heartbeat_seconds=0.02, watch_seconds=0.1)
