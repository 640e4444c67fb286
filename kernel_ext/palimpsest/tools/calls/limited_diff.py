"""Limit the diff in a call's transcript record; the permission question shows all of it."""

MAX_DIFF_CHARS = 50_000


def limited_diff(diff: str) -> str:
    """Return a diff cut to ``MAX_DIFF_CHARS``, with a note."""
    return diff if len(diff) <= MAX_DIFF_CHARS else f"{diff[:MAX_DIFF_CHARS]}\n(cut here)\n"
