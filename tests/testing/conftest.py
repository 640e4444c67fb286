"""Fixtures for tests of scripted models, which compare the script with the received requests."""

from tests.model.conftest import keys, litellm

__all__ = ["keys", "litellm"]
