"""The store in memory keeps its promises."""

import pytest
from tests.store.conformance import StoreConformance

from palimpsest.store.log.memory_store import MemoryStore


class TestMemoryStore(StoreConformance):
    """Everything every store does."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        """Return a fresh store."""
        return MemoryStore("p")
