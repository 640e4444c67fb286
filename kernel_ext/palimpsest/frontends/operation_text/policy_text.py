"""Describe a session's context policy for ``%agent policy``: its preset, its differences, every number.

Border: sentences and tables from values.
"""

from collections.abc import Mapping
from typing import Any

from palimpsest.context.policy_overrides import (
    number_meanings,
    policy_differences,
    policy_numbers,
    section_meanings,
    value_text,
)
from palimpsest.frontends.operation_text.command_output import OutputLines, TitledTable
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.config.context_policy import DEFAULT, setting_names
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.context_values.policies import OwnPolicy, Policy

MAX_VALUE_CHARS = 60
"""Maximum characters of a value that are shown; some values are whole sentences of a prompt."""


def policy_lines(
    session: KernelSession, origins: Mapping[str, str], *, shows_all: bool
) -> OutputLines:
    """Return lines on the policy in use and its differences from the preset; with ``shows_all`` also every number."""
    info = session.snapshot(messages=False).session
    is_chosen = info is not None and (info.policy_choice or info.policy) is not None
    policy = session.policy()
    lines: list[str | TitledTable] = [policy_summary(policy, is_chosen=is_chosen)]
    if info is not None and info.own_policy is not None:
        lines.append(own_policy_sentence(info.own_policy, is_active=session.own_policy_acts))
    differences = difference_table(policy, origins, is_chosen=is_chosen)
    return [
        *lines,
        *([differences] if differences else []),
        *(number_tables(policy) if shows_all else []),
    ]


def policy_summary(policy: Policy, *, is_chosen: bool) -> str:
    """Return one sentence on the policy in use and where it was chosen."""
    differences = policy_differences(policy)
    description = f"{policy.name}, as it comes"
    if differences:
        description = f"{policy.name} with {counted_noun(len(differences), 'number')} changed"
    chosen_text = "chosen for this session" if is_chosen else "from the settings"
    default_hint = f" %agent policy {DEFAULT} goes back to the settings." if is_chosen else ""
    return f"The context policy is {description}, {chosen_text}.{default_hint}"


def own_policy_sentence(own_policy: OwnPolicy, *, is_active: bool) -> str:
    """Return the sentence on a user's own policy that was chosen for a session."""
    if not is_active:
        return (
            f"Your policy {own_policy.name} acted before it in an earlier kernel; no log runs it, so choose it again, or "
            f"end it with %agent policy {DEFAULT}."
        )
    return f"Before it acts your policy {own_policy.name} ({own_policy.source}). %agent policy {DEFAULT} ends it."


def difference_table(
    policy: Policy, origins: Mapping[str, str], *, is_chosen: bool
) -> TitledTable | None:
    """Return a table of the differences from the preset and their origins; None without any."""
    rows: list[tuple[str, ...]] = []
    for key, (preset_value, current_value) in policy_differences(policy).items():
        setting_origins = (origins.get(name) for name in setting_names(f"policy.{key}"))
        if is_chosen:
            origin = "this session"
        else:
            origin = next((origin for origin in setting_origins if origin), "the settings")
        rows.append(
            (
                key,
                shown_value(current_value),
                shown_value(preset_value),
                origin,
                number_meanings().get(key, ""),
            )
        )
    header = ("number", "value", f"in {policy.name}", "from", "meaning")
    return TitledTable("What differs", header, rows) if rows else None


def number_tables(policy: Policy) -> list[TitledTable]:
    """Return tables of every number of a policy, one for each decider."""
    rows_by_section: dict[str, list[tuple[str, ...]]] = {}
    for key, value in policy_numbers(policy).items():
        section = key.rpartition(".")[0]
        row = (key, shown_value(value), number_meanings().get(key, ""))
        rows_by_section.setdefault(section, []).append(row)
    titles = section_meanings()
    return [
        TitledTable(titles.get(name) or "The whole", ("number", "value", "meaning"), rows)
        for name, rows in rows_by_section.items()
    ]


def shown_value(value: Any) -> str:
    """Return a value as text, with digits grouped by thousands where it is a count."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(value_text(value), MAX_VALUE_CHARS)
