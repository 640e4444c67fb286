"""Bound the diff that a call keeps in the transcript; the user was asked about all of it."""

KEPT_DIFF_CHARS = 50_000


def kept_diff(diff: str) -> str:
    """Return the diff, cut with a note where it is long."""
    return diff if len(diff) <= KEPT_DIFF_CHARS else f"{diff[:KEPT_DIFF_CHARS]}\n(cut here)\n"
