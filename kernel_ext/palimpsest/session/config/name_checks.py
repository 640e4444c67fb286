"""Find settings that name something nonexistent: models, reasoning efforts, files.

Border: only looks whether files exist, and asks no server. A wrong value is kept, so that a prompt
that needs it fails with its name instead of silently using something else.
"""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

from palimpsest.model.catalog import model_check, model_info
from palimpsest.session.config.layer_merge import dotted
from palimpsest.session.config.settings import Config
from palimpsest.transcript.errors import ConfigError

SLIP = 0.8
"""Minimum similarity to a known provider's name for a name to count as a typing mistake."""


def wrong_names(value: Config, origins: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each setting that names something nonexistent."""
    for key, model in _models(value):
        try:
            model_info.parse(model)
            if model not in value.models and not model_info.holds_address(model):
                _check_provider(model)
        except ConfigError as problem:
            yield _sentence(origins, key, problem)
    for key, variant in _efforts(value):
        try:
            model_check.check_effort(variant)
        except ConfigError as problem:
            yield _sentence(origins, key, problem)
    for file in value.instructions:
        if "*" not in file and "?" not in file and not _is_there(file):
            yield _sentence(origins, "instructions", f"There is no file {file!r}.")


def _is_there(file: str) -> bool:
    """Return whether a file exists; False for a name that no disk accepts."""
    try:
        return Path(file).exists()
    except OSError:
        return False


def _check_provider(model: str) -> None:
    """Raise ConfigError for a misspelt provider; a name unlike all known ones may be a model of the user's."""
    ref = model_info.parse(model)
    known = model_check.providers()
    if ref.provider not in known and difflib.get_close_matches(ref.provider, known, 1, SLIP):
        raise ConfigError(model_check.no_provider(ref))


def _models(value: Config) -> Iterator[tuple[str, str]]:
    named = {
        "model": value.model,
        "small_model": value.small_model,
        "compaction.model": value.compaction.model,
    }
    named |= {dotted("agent", name, "model"): one.model for name, one in value.agent.items()}
    named |= {dotted("command", name, "model"): one.model for name, one in value.command.items()}
    yield from ((key, model) for key, model in named.items() if model)


def _efforts(value: Config) -> Iterator[tuple[str, str]]:
    named = {"variant": value.variant}
    named |= {dotted("agent", name, "variant"): one.variant for name, one in value.agent.items()}
    named |= {
        dotted("command", name, "variant"): one.variant for name, one in value.command.items()
    }
    yield from ((key, variant) for key, variant in named.items() if variant)


def _sentence(origins: Mapping[str, str], key: str, problem: object) -> str:
    return f"{origins.get(key) or origins.get(key.split('.')[0], 'settings')}: {key}: {problem}"
