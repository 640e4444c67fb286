"""An extension module that IPython loads when ``%agent`` is first used."""

from typing import Any

from tests.harness.kernel_session import load

from palimpsest.model.script import says


def load_ipython_extension(shell: Any) -> None:
    """Load the magics with a model that always gives the same answer."""
    load(shell, *[says("So lazy.")] * 5)
