"""The fixtures of the tests of models: what is played by script is compared with what is asked."""

from tests.model.conftest import keys, litellm

__all__ = ["keys", "litellm"]
