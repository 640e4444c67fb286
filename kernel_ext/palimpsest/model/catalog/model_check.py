"""Reject an unknown model name or reasoning effort from the user, and suggest the closest known one.

The table of models is older than the newest model, so a missing name is only rejected where it looks like a
typing error: letters differ from a known name, but no digits. A user's own server is queried.
"""

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache

from palimpsest.import_guard import package_folder
from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog import local_servers as local
from palimpsest.model.catalog.gateway_names import meant_model
from palimpsest.model.providers import (
    FAMILIES,
    KEY_VARIABLES,
    LOCAL_PROVIDERS,
    OLLAMA_PROVIDERS,
    SERVED_MODEL_VARIABLE,
)
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import ModelInfo, ModelRef

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The reasoning efforts that providers know, the least first."""
OPTIONAL_EFFORTS = ("none", "minimal", "xhigh", "max")
"""Efforts for which the table says whether a model accepts them."""
MAX_LISTED_MODELS = 8
"""Maximum models of a server that a refusal lists."""
MAX_COMPARED_NAMES = 8
"""Maximum similar names whose digits are compared."""
MIN_SIMILARITY = 0.8
"""Minimum similarity of names that counts as a typing error: 0.96 for 'gpt-5.1-mni' and 'gpt-5.1-mini'."""
DIGITS = re.compile(r"\d+")
PROVIDER_LINE = re.compile(r'^    [A-Z][A-Z0-9_]* = "([^"]+)"', re.MULTILINE)

ListModels = Callable[[ModelInfo], Sequence[str]]
"""Queries a user's own server for its models; empty where it lists none."""


def check_effort(variant: str, ref: ModelRef | None = None) -> None:
    """Raise ConfigError for a reasoning effort that does not exist, or that the model does not accept.

    >>> check_effort("high")
    """
    if _accepts_effort(variant, ref):
        return
    known_names = [effort for effort in EFFORTS if _accepts_effort(effort, ref)]
    model_words = f" of {ref.id}" if ref is not None and variant in EFFORTS else ""
    raise ConfigError(
        f"There is no variant {variant!r}{model_words}{_likely_name(variant, known_names)} The reasoning efforts are "
        f"{', '.join(known_names)}: choose one with --variant."
    )


def known_effort(variant: str | None) -> str | None:
    """Return a stored reasoning effort, or None if it does not exist."""
    return variant if variant in EFFORTS else None


def _accepts_effort(variant: str, ref: ModelRef | None) -> bool:
    if variant not in EFFORTS:
        return False
    facts = {} if ref is None else litellm_table.find_model(ref) or meant_model(ref).facts
    support = facts.get(f"supports_{variant}_reasoning_effort")
    return support is not False or variant not in OPTIONAL_EFFORTS


def check_model(info: ModelInfo, trusted_ids: Collection[str], listed_models: ListModels) -> None:
    """Raise ConfigError for a model that is known not to exist.

    ``trusted_ids`` are the models that the settings name, which are accepted unchecked.
    """
    ref = info.ref
    if ref.id in trusted_ids or ref.provider == "rehearsal":
        return
    if info.api_base is None and ref.provider not in providers():
        raise ConfigError(no_provider(ref))
    if info.api_base is not None:
        known_names = listed_models(info)
        if known_names and ref.name not in known_names and f"{ref.name}:latest" not in known_names:
            hint, offered = (
                _likely_name(ref.name, known_names),
                ", ".join(known_names[:MAX_LISTED_MODELS]),
            )
            raise ConfigError(
                f"The server at {info.api_base} has no model {ref.name!r}{hint} It offers {offered}."
            )
    elif litellm_table.find_model(ref) is None:
        suggestion = closest_name(ref.name, litellm_table.all_model_names(ref.provider))
        if suggestion is not None:
            raise ConfigError(
                f"There is no model {ref.id!r}; did you mean {f'{ref.provider}/{suggestion}'!r}? If it is a new one, name it "
                f"in your settings as models.{ref.id!r}."
            )


def no_provider(ref: ModelRef) -> str:
    """Return the error message for an unknown provider, with the closest known one."""
    return (
        f"There is no provider {ref.provider!r}{_likely_name(ref.provider, sorted(providers()))} Write the model as "
        f"provider/name, or set models.{ref.id!r}.api_base to the address of its server."
    )


def closest_name(name: str, known_names: Collection[str]) -> str | None:
    """Return the known name closest to a misspelt one, if only letters differ.

    >>> closest_name("claude-sonet-4-5", ["claude-sonnet-4-5"]), closest_name("gpt-5.2", ["gpt-5.1"])
    ('claude-sonnet-4-5', None)
    """
    candidates = difflib.get_close_matches(name, known_names, MAX_COMPARED_NAMES, MIN_SIMILARITY)
    digits = DIGITS.findall(name)
    return next((match for match in candidates if DIGITS.findall(match) == digits), None)


def model_lister(environment: Mapping[str, str]) -> ListModels:
    """Return a function that queries a model's own server for its models, with that server's key."""

    def query_models(info: ModelInfo) -> Sequence[str]:
        if info.ref.provider in OLLAMA_PROVIDERS:
            return tuple(model.name for model in local.ollama_models(environment).models)
        if info.ref.name == environment.get(SERVED_MODEL_VARIABLE, "").strip():
            return ()
        return local.served_models(info.api_base or "", environment, info.ref.provider).names

    return query_models


@cache
def providers() -> frozenset[str]:
    """Return the names of all providers that litellm knows, read without importing it."""
    names = {*KEY_VARIABLES, *LOCAL_PROVIDERS, *FAMILIES, "rehearsal"}
    folder = package_folder("litellm")
    types_file = folder / "types" / "utils.py" if folder is not None else None
    if types_file is not None and types_file.is_file():
        text = types_file.read_text(encoding="utf-8")
        begin = text.find("class LlmProviders(")
        end = text.find("\nclass ", begin + 1)
        names |= set(PROVIDER_LINE.findall(text[begin:end])) if begin >= 0 else set()
    return frozenset(names)


def _likely_name(name: str, known_names: Sequence[str]) -> str:
    closest_names = difflib.get_close_matches(name, known_names, 1)
    return f"; did you mean {closest_names[0]!r}?" if closest_names else "."
