"""Open a session for a test that is isolated from the user's settings and environment.

It works in a folder of its own and reads no settings, keys, agents or skills of a user, so that a
test gives the same result on every machine. An administrator's locked settings apply here, too.
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

SCRIPTED_MODEL = "scripted/model"
DEFAULT_SETTINGS: Mapping[str, Any] = {"titles": False}
"""No titles: generating one is a request of its own, which would use up a scripted answer."""
SCRIPTED_SETTINGS: Mapping[str, Any] = {
    "model": SCRIPTED_MODEL,
    "models": {SCRIPTED_MODEL: {"window": 200_000, "output": 8_000}},
}
REHEARSAL_SETTINGS: Mapping[str, Any] = {"model": "rehearsal/rules"}

OPTION_PREFIX = "option: "
"""Prefix of configuration problems that are about settings passed to the application."""
KEPT_VARIABLES = (
    "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "COMSPEC",
)  # fmt: skip
"""Environment variables that commands need; the user's keys, proxies and settings are not passed on."""


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
        model: The model that answers every request, such as a ``ScriptedModel``. None uses the model that
            ``settings`` names, or else the rehearsal model.
        folder: The project's folder; what is written there stays. None creates one that is removed at
            the end.
        tools: Functions that are offered as tools, as by ``palimpsest.tool``.
        settings: Settings by their names in docs/config.md, tables as mappings. They override
            ``titles = false`` and, with ``model``, a window of 200,000 and answers of at most 8,000
            tokens for ``scripted/model``.
        environment: Environment variables of the session in addition to ``PATH``, the language and the
            folder for temporary files.

    Raises ``ConfigError`` for invalid settings, ``UserError`` for a function that cannot be a tool.
    """
    # Imported here: the application takes a second to import, which tests without a session do not need.
    from palimpsest.app.wiring import App
    from palimpsest.public.session_object import open_session

    model_settings = SCRIPTED_SETTINGS if model is not None else REHEARSAL_SETTINGS
    with tempfile.TemporaryDirectory(
        prefix="palimpsest-", ignore_cleanup_errors=True
    ) as temporary_folder:
        home = Path(temporary_folder, "home")
        start_folder = Path(folder) if folder is not None else Path(temporary_folder, "project")
        home.mkdir()
        # Without it, a parent folder with sessions would be the project.
        start_folder.mkdir(parents=True, exist_ok=True)
        (start_folder / ".palimpsest").mkdir(mode=0o700, exist_ok=True)
        app = App(
            start=start_folder,
            environment={**_environment(home), **(environment or {})},
            overrides={**DEFAULT_SETTINGS, **model_settings, **(settings or {})},
            model=None if model is None else lambda _: model,
        )
        try:
            # Problems in the passed settings would otherwise only be reported.
            problems = [
                p.removeprefix(OPTION_PREFIX)
                for p in app.config.problems
                if p.startswith(OPTION_PREFIX)
            ]
            if problems:
                raise ConfigError(f"Mend the settings of isolated_session: {' '.join(problems)}")
            for function in tools:
                app.registry.add(function)
            yield open_session(app)
        finally:
            app.close()


def _environment(home: Path) -> dict[str, str]:
    variables = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    folders = {
        "HOME": home,
        "USERPROFILE": home,
        "APPDATA": home / "appdata",
        "XDG_CONFIG_HOME": home / "config",
        "XDG_CACHE_HOME": home / "cache",
        "JUPYTER_CONFIG_DIR": home / "jupyter",
    }
    return {**variables, **{name: str(path) for name, path in folders.items()}}
