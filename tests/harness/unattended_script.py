"""A loopback model server that keeps failing in one way, and an unattended script that uses it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from palimpsest.app.wiring import App
from palimpsest.model.script import ModelAnswer, calls, fails, says
from palimpsest.public.session_object import Session, open_session
from palimpsest.testing import FaultServer

MODEL = "openai/gpt-test"
MANY = 130
"""More answers than the limit of requests in a turn."""


def always(*answers: ModelAnswer) -> list[ModelAnswer]:
    """Return a script that repeats these answers."""
    return list(answers) * (MANY // len(answers))


def writes_anew(number: int) -> ModelAnswer:
    """Return a new call that needs a permission."""
    return calls("write", path=f"{number}.txt", content="x").reports(input=1_000)


def summary_fails() -> tuple[list[ModelAnswer], dict[str, int]]:
    """Return answers of which the summary fails, and limits that need a summary."""
    refused = [fails(400, message="no")] * MANY
    return [says("word " * 14_000).in_pieces(4_000), *refused], {"window": 24_000}


def settings(server: FaultServer, **more: Any) -> dict[str, Any]:
    """Return settings with the server's model."""
    model = {"api_base": server.openai_base, "window": 100_000, "output": 2_000}
    chosen = {"model": MODEL, "titles": False, "models": {MODEL: model | more.pop("limits", {})}}
    return {**chosen, **more}


def as_text(given: dict[str, Any]) -> str:
    """Return settings as JSON, for PALIMPSEST_CONFIG_CONTENT."""
    return json.dumps(given)


@contextmanager
def script(
    folder: Path, *answers: ModelAnswer, **given: Any
) -> Iterator[tuple[Session, FaultServer]]:
    """Open a session as a script does, with a server that gives these answers."""
    with FaultServer(*answers) as server:
        app = App(
            start=folder,
            environment={"OPENAI_API_KEY": "sk-test-openai"},
            overrides=settings(server, **given),
        )
        try:
            yield open_session(app), server
        finally:
            app.close()


def ends(session: Session) -> list[str | None]:
    """Return what stopped each assistant message, as another kernel would read it from the log."""
    session._flush()
    records = session._kernel_session.records_after(0, ("message.updated",))
    infos = {r.event.info.id: r.event.info for r in records}
    return [info.stopped_by for info in infos.values() if info.role == "assistant"]
