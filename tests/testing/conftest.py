"""Fixtures for tests of scripted models, which compare the script with the received requests."""

from tests.model.conftest import keys

__all__ = ["keys"]
