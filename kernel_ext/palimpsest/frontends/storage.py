"""What ``%agent storage`` says: which texts no session needs, how much they take, and what goes.

Border: words from values; ``commands`` shows them.
"""

import datetime
from collections.abc import Sequence

from palimpsest.render.words import count, size
from palimpsest.store.sweep import DAY, Sweep, Unneeded

NOTHING = "Every kept text is needed by a session; there is nothing to clean up."


def sweep_words(found: Sweep, days: float, gone: Sequence[Unneeded] | None) -> str:
    """Say what was found, and what went; ``gone`` is None for a look that deletes nothing."""
    if not found.due and not found.waiting:
        return NOTHING
    said = []
    if gone is not None and found.due:
        said.append(f"Deleted {_texts(gone)}.")
    elif found.due:
        said.append(
            f"{_texts(found.due)} {'was' if len(found.due) == 1 else 'were'} not needed by any "
            f"session for {_days(days)}. %agent storage prune --yes deletes {_them(found.due)}, for good."
        )
    if found.waiting:
        first = min(one.since for one in found.waiting) + days * DAY
        day = datetime.datetime.fromtimestamp(first, tz=datetime.UTC).astimezone()
        said.append(
            f"{_texts(found.waiting)} {'is' if len(found.waiting) == 1 else 'are'} no longer needed "
            f"and kept for {_days(days)}, until {day:%Y-%m-%d} at the earliest."
        )
    said.append(f"{count(found.needed)} others are needed by sessions and stay.")
    return " ".join(said)


def _texts(found: Sequence[Unneeded]) -> str:
    what = "kept text" if len(found) == 1 else "kept texts"
    return f"{count(len(found))} {what} ({size(sum(one.bytes for one in found))})"


def _them(found: Sequence[Unneeded]) -> str:
    return "it" if len(found) == 1 else "them"


def _days(days: float) -> str:
    number = f"{days:g}"
    return "1 day" if number == "1" else f"{number} days"
