"""Find settings that name something nonexistent: models, reasoning efforts, files.

Border: only looks whether files exist, and asks no server. A wrong value is kept, so that a prompt
that needs it fails with its name instead of silently using something else.
"""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from palimpsest.model.catalog import model_check, model_info
from palimpsest.session.config.layer_merge import dotted_name
from palimpsest.session.config.settings import Config
from palimpsest.transcript.errors import ConfigError

TYPING_MISTAKE_SIMILARITY = 0.8
"""Minimum similarity to a known provider's name for a name to count as a typing mistake."""


def wrong_names(value: Config, origins: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each setting that names something nonexistent."""
    models = {
        "model": value.model,
        "small_model": value.small_model,
        "compaction.model": value.compaction.model,
    }
    for key, model in _model_and_effort_settings(value, "model", models):
        try:
            model_info.parse_model(model)
            if model not in value.models and not model_info.holds_address(model):
                _check_provider(model)
        except ConfigError as problem:
            yield _problem_sentence(origins, key, problem)
    for key, variant in _model_and_effort_settings(value, "variant", {"variant": value.variant}):
        try:
            model_check.check_effort(variant)
        except ConfigError as problem:
            yield _problem_sentence(origins, key, problem)
    for file in value.instructions:
        if "*" not in file and "?" not in file and not _exists(file):
            yield _problem_sentence(origins, "instructions", f"There is no file {file!r}.")


def _exists(file: str) -> bool:
    """Return whether a file exists; False for a name that no disk accepts."""
    try:
        return Path(file).exists()
    except OSError:
        return False


def _check_provider(model: str) -> None:
    """Raise ConfigError for a misspelt provider; a name unlike all known ones may be a model of the user's."""
    ref = model_info.parse_model(model)
    providers = model_check.providers()
    if ref.provider in providers:
        return
    if difflib.get_close_matches(ref.provider, providers, 1, TYPING_MISTAKE_SIMILARITY):
        raise ConfigError(model_check.no_provider(ref))


def _model_and_effort_settings(
    value: Config, name: str, top_level: Mapping[str, str | None]
) -> Iterator[tuple[str, str]]:
    """Yield key and value of the settings that name a model or an effort, also of agents and commands."""
    tables: Mapping[str, Mapping[str, Any]] = {"agent": value.agent, "command": value.command}
    inner_settings = {
        dotted_name(table, owner, name): getattr(settings, name)
        for table, settings_by_owner in tables.items()
        for owner, settings in settings_by_owner.items()
    }
    yield from ((key, value) for key, value in {**top_level, **inner_settings}.items() if value)


def _problem_sentence(origins: Mapping[str, str], key: str, problem: object) -> str:
    return f"{origins.get(key) or origins.get(key.split('.')[0], 'settings')}: {key}: {problem}"
