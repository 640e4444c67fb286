"""What a session is called before it has a title of its own, and after its first prompt."""

import datetime

from palimpsest.transcript.sessions import Session

TITLE_LENGTH = 60
DEFAULT_TITLE = "New session - "


def title_after(session: Session, text: str) -> str | None:
    """Return the first line of the first prompt as title for a session that has none; None keeps it."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if not session.title.startswith(DEFAULT_TITLE) or not line:
        return None
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def default_title(now_ms: int) -> str:
    """Return the title of a session nobody has spoken in yet."""
    moment = datetime.datetime.fromtimestamp(now_ms / 1000, tz=datetime.UTC)
    return DEFAULT_TITLE + moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
