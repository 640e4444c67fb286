"""Policies as a person gives them, by name or one's own, for the command line, an inspector and many sessions."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.interface.recorded_policy import RECORDED
from palimpsest.context_policies.own_policies.custom import CustomPolicy
from palimpsest.context_policies.registry import get, presets
from palimpsest.context_policies.replay.simulation import RAW_NAME
from palimpsest.review.session_review import PolicyLike, list_of_policies
from palimpsest.review.tables.question_limits import MAX_NAME_CHARS
from palimpsest.transcript.errors import UserError

ChosenPolicies = Mapping[str, str | ContextPolicy | None]
"""Policies by the names under which an inspector asks for them; ``raw`` and ``recorded`` are given as names."""
NO_POLICIES: ChosenPolicies = MappingProxyType({})
"""No policies beside the presets."""


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    return tuple(preset.preset for preset in presets())


def chosen_policies(policies: Sequence[PolicyLike] | PolicyLike) -> ChosenPolicies:
    """Return the policies of an inspector or a report by their names, in the order in which they were given.

    Raises UserError for an unknown name, for what is no policy, and for a name that an inspector cannot use.
    """
    policy_by_name: dict[str, str | ContextPolicy | None] = {}
    for entry in list_of_policies(policies):
        policy = policy_from_words(entry)
        name = policy or RAW_NAME if policy is None or isinstance(policy, str) else policy.name
        if name in (RAW_NAME, RECORDED) and isinstance(policy, CustomPolicy):
            raise UserError(
                f"Every session has a track {name!r} of its own; give your policy another name: palimpsest.policy(name=...)."
            )
        if len(name) > MAX_NAME_CHARS:
            raise UserError(
                f"The name of a policy has at most {MAX_NAME_CHARS} characters here, unlike {name!r:.80}."
            )
        policy_by_name[name] = policy
    return policy_by_name


def policy_from_words(policy: PolicyLike) -> str | ContextPolicy | None:
    """Return a policy itself, or that of a name with numbers, such as ``sweagent.last_n n=10``.

    ``raw`` and ``recorded`` are returned as names, since they depend on the session. Raises UserError.
    """
    name = policy.strip() if isinstance(policy, str) else policy
    return name if name is None or name in (RAW_NAME, RECORDED) else get(name)
