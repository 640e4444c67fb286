"""The presets by their names, for reviews that are opened without a kernel."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from palimpsest.review.policies import clearing, cutting, idle, summarising
from palimpsest.review.policies.policy import ContextPolicy
from palimpsest.review.policies.settings import Preset
from palimpsest.transcript.errors import UserError


def _presets() -> Mapping[str, type[Preset]]:
    found = {
        one.preset: one
        for module in (clearing, cutting, idle, summarising)
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Preset) and one.preset
    }
    return dict(sorted(found.items()))


PRESET_CLASSES: Mapping[str, type[Preset]] = _presets()


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    return tuple(PRESET_CLASSES)


def get_preset(name: str, **numbers: Any) -> ContextPolicy:
    """Return a preset by its name, with numbers to change; raises UserError for an unknown name or number."""
    made = PRESET_CLASSES.get(name)
    if made is None:
        raise UserError(
            f"There is no policy {name!r}; there are raw, recorded, {', '.join(PRESET_CLASSES)}."
        )
    known = [one.name for one in fields(made)]
    for number in numbers:
        if number not in known:
            raise UserError(f"{name} has no number {number!r}; it has {', '.join(known)}.")
    policy: Any = made(**numbers)
    found: ContextPolicy = policy
    return found


def policy_from_words(words: str) -> str | ContextPolicy:
    """Return the policy that a name with numbers stands for, as tables write it: ``sweagent.last_n n=10``.

    ``raw`` and ``recorded`` stay names, since they depend on the session. Raises UserError.
    """
    name, *settings = words.split()
    if name in ("raw", "recorded") and not settings:
        return name
    numbers: dict[str, Any] = {}
    for one in settings:
        key, equals, value = one.partition("=")
        if not equals:
            raise UserError(f"{one!r} in {words!r} should be a number of the policy, such as n=10.")
        numbers[key] = _value(value)
    return get_preset(name, **numbers)


def _value(text: str) -> Any:
    plain = text.replace("_", "").replace(",", "")
    for read in (int, float):
        try:
            return read(plain)
        except ValueError:
            continue
    return text
