"""Keep only the newest user turns, when a history limit is set for the session.

The rules are OpenClaw's. The older one slides by one turn each time, which changes the request's prefix with every
prompt; the newer one moves once in a while and keeps the messages before the first turn, such as the summary of a
compaction.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from palimpsest.transcript.context_values.neutral_messages import NeutralMessages
from palimpsest.transcript.context_values.policies import LimitPolicy

BATCH_GROWTH = 1.5
"""The batched rule lets a history grow to this many times the limit before it drops the oldest turns."""
MIN_PIECES_WITH_AGENT = 3
"""A key needs this many pieces for ``agent:<name>:`` to be removed, so that something is left."""
THREAD_SUFFIX = re.compile(r":(?:thread|topic):\d+$", re.IGNORECASE)


def with_turn_limit(
    messages: NeutralMessages, turns: float | None, policy: LimitPolicy
) -> NeutralMessages:
    """Drop the messages before the newest ``turns`` user messages; None or less than one keeps all."""
    if turns is None or turns <= 0 or not messages:
        return messages
    user_indexes = [index for index, message in enumerate(messages) if message.role == "user"]
    kept_count = turns_kept(len(user_indexes), turns, policy)
    if kept_count >= len(user_indexes):
        return messages
    opening_messages = () if policy.rule == "sliding" else _messages_before_first_turn(messages)
    return opening_messages + messages[user_indexes[-kept_count] if kept_count else len(messages) :]


def turns_kept(user_count: int, turns: float, policy: LimitPolicy) -> int:
    """Return how many user messages are sent of a history that has ``user_count`` of them."""
    if policy.rule == "sliding":
        # As in OpenClaw, a limit that is no whole number is rounded down: 2.5 keeps two turns.
        return user_count if user_count <= turns else math.floor(turns)
    return _batched_turns(user_count, max(1, math.floor(turns)))


def _batched_turns(user_count: int, turns: int) -> int:
    """Return the turns that the batched rule keeps.

    Their number grows to the maximum, falls back to ``turns``, and grows again; in between the first kept turn stays.
    """
    max_turns = math.ceil(turns * BATCH_GROWTH)
    if user_count <= max_turns:
        return user_count
    return turns + (user_count - turns) % (max_turns - turns + 1)


def _messages_before_first_turn(messages: NeutralMessages) -> NeutralMessages:
    """Return the messages before the first turn."""
    first_prompt = next(
        (index for index, message in enumerate(messages) if message.role in {"user", "assistant"}),
        len(messages),
    )
    return messages[:first_prompt]


def history_limit(session_key: str | None, limits: object, policy: LimitPolicy) -> Any:
    """Return the turns that a session's key allows, or None when it sets no limit.

    ``limits`` maps a provider to ``history_limit``, ``dm_history_limit`` and ``dms``, which maps a user to a personal
    ``history_limit``. A key has the form ``agent:<name>:<provider>:<direct|dm|group|channel>:<peer>``, with or without
    the agent, and with ``:thread:<n>`` at the end for a thread.
    """
    if not session_key or not isinstance(limits, Mapping):
        return None
    pieces = [piece for piece in session_key.split(":") if piece or not policy.loose_key]
    if len(pieces) >= MIN_PIECES_WITH_AGENT and pieces[0] == "agent":
        pieces = pieces[2:]
    if not pieces:
        return None
    provider = pieces[0].strip().lower()
    settings = _provider_settings(limits, provider, is_exact=policy.exact_provider)
    chat_kind = pieces[1].lower() if len(pieces) > 1 else ""
    if settings is None:
        return None
    if chat_kind in {"dm", "direct"}:
        return _limit_of_person(settings, THREAD_SUFFIX.sub("", ":".join(pieces[2:])))
    return settings.get("history_limit") if chat_kind in {"group", "channel"} else None


def _provider_settings(
    limits: Mapping[str, Any], provider: str, *, is_exact: bool
) -> Mapping[str, Any] | None:
    for name, settings in limits.items():
        if (name if is_exact else name.strip().lower()) == provider:
            return settings if isinstance(settings, Mapping) else None
    return None


def _limit_of_person(settings: Mapping[str, Any], person: str) -> Any:
    settings_by_person = settings.get("dms")
    person_settings = (
        settings_by_person.get(person) if isinstance(settings_by_person, Mapping) else None
    )
    limit = person_settings.get("history_limit") if isinstance(person_settings, Mapping) else None
    return settings.get("dm_history_limit") if limit is None else limit
