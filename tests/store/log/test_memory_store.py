"""The store in memory passes the tests of every store."""

import pytest
from tests.store.conformance import StoreConformance

from palimpsest.store.log.memory_store import MemoryStore


class TestMemoryStore(StoreConformance):
    """The tests of every store, in memory."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        """Return a new store."""
        return MemoryStore("p")
