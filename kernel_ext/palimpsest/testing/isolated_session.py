"""Open a session that knows nothing of the person who runs the test.

It works in a folder of its own and reads no settings, keys, agents or skills of a user, so that a
test gives the same result on every machine. An administrator's locked settings hold here, too.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palimpsest.model.interface import Model
from palimpsest.transcript.errors import ConfigError

if TYPE_CHECKING:
    from palimpsest.public.session_object import Session

SCRIPTED = "scripted/model"
SETTINGS: Mapping[str, Any] = {"titles": False}
"""A title is a request of its own, which would take an answer out of the script."""
SCRIPTED_SETTINGS: Mapping[str, Any] = {
    "model": SCRIPTED,
    "models": {SCRIPTED: {"window": 200_000, "output": 8_000}},
}
REHEARSAL_SETTINGS: Mapping[str, Any] = {"model": "rehearsal/rules"}

OPTION = "option: "
"""What a problem begins with that is one of a call's own settings."""
KEPT_VARIABLES = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "COMSPEC",
)
"""What commands need to run; keys, proxies and settings of the person stay outside."""


@contextmanager
def isolated_session(
    model: Model | None = None,
    *,
    folder: str | Path | None = None,
    tools: Iterable[Callable[..., Any]] = (),
    settings: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> "Iterator[Session]":
    """Open a new session for the length of a ``with`` block, without a kernel.

    Args:
        model: What answers every request, such as a ``ScriptedModel``. None takes the model that
            ``settings`` names, and the rehearsal model where they name none.
        folder: The project; what is written there stays. None makes one that is removed at the end.
        tools: Functions that are offered as tools, as by ``palimpsest.tool``.
        settings: Settings by their names in docs/config.md, tables as mappings. They go over
            ``titles = false`` and, with ``model``, a window of 200,000 and answers of at most 8,000
            tokens for ``scripted/model``.
        environment: Variables that the session sees beside ``PATH``, the language and the folder
            for temporary files.

    Raises ``ConfigError`` where settings make no sense, ``UserError`` where a tool cannot be one.
    """
    # Here, since the application takes a second to import, which a test of the wire need not wait for.
    from palimpsest.app.wiring import App
    from palimpsest.public.session_object import open_session

    given = SCRIPTED_SETTINGS if model is not None else REHEARSAL_SETTINGS
    with tempfile.TemporaryDirectory(prefix="palimpsest-", ignore_cleanup_errors=True) as made:
        home = Path(made, "home")
        start = Path(folder) if folder is not None else Path(made, "project")
        home.mkdir()
        # Without it, a folder further up that holds sessions would be the project.
        start.mkdir(parents=True, exist_ok=True)
        (start / ".palimpsest").mkdir(mode=0o700, exist_ok=True)
        app = App(
            start=start,
            environment={**_environment(home), **(environment or {})},
            overrides={**SETTINGS, **given, **(settings or {})},
            model=None if model is None else lambda _: model,
        )
        try:
            _refuse(app.config.problems)
            for function in tools:
                app.registry.add(function)
            yield open_session(app)
        finally:
            app.close()


def _refuse(problems: Iterable[str]) -> None:
    """Raise for what is wrong in the settings of a call: a person is told, a test would go on without."""
    wrong = [one.removeprefix(OPTION) for one in problems if one.startswith(OPTION)]
    if wrong:
        raise ConfigError(f"Mend the settings of isolated_session: {' '.join(wrong)}")


def _environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    folders = {
        "HOME": home,
        "USERPROFILE": home,
        "APPDATA": home / "appdata",
        "XDG_CONFIG_HOME": home / "config",
        "XDG_CACHE_HOME": home / "cache",
        "JUPYTER_CONFIG_DIR": home / "jupyter",
    }
    return {**kept, **{name: str(path) for name, path in folders.items()}}
