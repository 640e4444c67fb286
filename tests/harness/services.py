"""Session services for tests, made from one flat list of values."""

from dataclasses import fields
from typing import Any

from palimpsest.session.interfaces.services import (
    AgentServices,
    KernelServices,
    ModelServices,
    RuleServices,
    Services,
    SessionServices,
)

GROUPS: dict[str, Any] = {
    "models": ModelServices,
    "agents": AgentServices,
    "rules": RuleServices,
    "kernel": KernelServices,
    "sessions": SessionServices,
}


def services_of(**given: Any) -> Services:
    """Return services with the given values, each in the group that has a field of its name."""
    groups = {
        name: group(
            **{field.name: given.pop(field.name) for field in fields(group) if field.name in given}
        )
        for name, group in GROUPS.items()
    }
    return Services(**groups, **given)
