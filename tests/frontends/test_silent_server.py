"""A cell whose model server is down names the server, and `%agent models` and `status` still work."""

from pathlib import Path

import pytest
from tests.harness.kernel import Kernel

GONE = "http://127.0.0.1:9"
TOLD = f"The Ollama server at {GONE}, which OLLAMA_HOST names, does not answer. Start it, unset OLLAMA_HOST"


@pytest.mark.slow
def test_names_the_server_and_lists_what_else_there_is(tmp_path: Path) -> None:
    with Kernel(cwd=tmp_path, env={"OLLAMA_HOST": GONE}) as kernel:
        kernel.run("%load_ext palimpsest")
        asked = kernel.run("%agent What is 2+2?").stream("stderr")
        models = kernel.run("%agent models").markdown()
        status = kernel.run("%agent status").markdown()
        other = kernel.run("%agent -m rehearsal What is 2+2?").markdown()

    assert TOLD in asked
    assert TOLD in models
    assert "rehearsal/rehearsal" in models
    assert "Without -m no model answers, until the server that is named above does." in models
    assert "none, until a server that is configured says what it has" in status
    assert "rehearsal" in other
