"""Describe a session's context policy for ``%agent policy``: its preset, what differs, every number.

Border: sentences and tables from values.
"""

from collections.abc import Mapping
from typing import Any

from palimpsest.context.policy_overrides import (
    meanings,
    policy_differences,
    policy_numbers,
    section_meanings,
    value_text,
)
from palimpsest.frontends.operation_text.command_output import Lines, PolicySection
from palimpsest.render.content.phrases import some
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.config.context_policy import DEFAULT, setting_names
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.context_values.policies import OwnPolicy, Policy

SHOWN_CHARS = 60
"""Length at which one value is cut; the longest are whole sentences from the prompt."""


def policy_lines(session: KernelSession, origins: Mapping[str, str], *, whole: bool) -> Lines:
    """Return which policy is in use and what differs; with ``whole`` every number of it, too."""
    picture = session.snapshot(messages=False).session
    own = picture is not None and (picture.policy_choice or picture.policy) is not None
    now = session.policy()
    said: list[str | PolicySection] = [summary(now, own=own)]
    if picture is not None and picture.own_policy is not None:
        said.append(own_policy_words(picture.own_policy, acts=session.own_policy_acts))
    found = changes(now, origins, own=own)
    return [*said, *([found] if found else []), *(sections(now) if whole else [])]


def summary(policy: Policy, *, own: bool) -> str:
    """Return one sentence about which policy is in use and where it was chosen."""
    found = policy_differences(policy)
    what = f"{policy.name}, as it comes"
    if found:
        what = f"{policy.name} with {some(len(found), 'number')} changed"
    whose = "chosen for this session" if own else "from the settings"
    back = f" %agent policy {DEFAULT} goes back to the settings." if own else ""
    return f"The context policy is {what}, {whose}.{back}"


def own_policy_words(own: OwnPolicy, *, acts: bool) -> str:
    """Return the sentence about the policy of the person's own that was chosen for a session."""
    if not acts:
        return (
            f"Your policy {own.name} acted before it in an earlier kernel; no log runs it, so choose it again, or "
            f"end it with %agent policy {DEFAULT}."
        )
    return f"Before it acts your policy {own.name} ({own.source}). %agent policy {DEFAULT} ends it."


def changes(policy: Policy, origins: Mapping[str, str], *, own: bool) -> PolicySection | None:
    """Return what differs from the preset, and where that was set; None where nothing does."""
    rows: list[tuple[str, ...]] = []
    for key, (before, now) in policy_differences(policy).items():
        found = (origins.get(name) for name in setting_names(f"policy.{key}"))
        origin = "this session" if own else next((one for one in found if one), "the settings")
        rows.append((key, shown_value(now), shown_value(before), origin, meanings().get(key, "")))
    head = ("number", "value", f"in {policy.name}", "from", "meaning")
    return PolicySection("What differs", head, rows) if rows else None


def sections(policy: Policy) -> list[PolicySection]:
    """Return every number of a policy, by decider."""
    by_section: dict[str, list[tuple[str, ...]]] = {}
    for key, value in policy_numbers(policy).items():
        section = key.rpartition(".")[0]
        row = (key, shown_value(value), meanings().get(key, ""))
        by_section.setdefault(section, []).append(row)
    titles = section_meanings()
    return [
        PolicySection(titles.get(name) or "The whole", ("number", "value", "meaning"), rows)
        for name, rows in by_section.items()
    ]


def shown_value(value: Any) -> str:
    """Return a value as text, with digits grouped by thousands where it is a count."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(value_text(value), SHOWN_CHARS)
