"""Make session titles: default ones, those of forks, and from a model's answer.

Border: pure. The default titles are those of OpenCode (spec/session-engine.md 1.5), so that a session
imported from there is known to have no title yet.
"""

import datetime
import re

TITLE_LENGTH = 60
"""Maximum characters of a title made from the first prompt; more does not fit beside a date in the list."""
MOST_CHARS = 100
"""Maximum characters of a title that a model wrote; a longer one is truncated and ends in dots."""
NEW = "New session - "
CHILD = "Child session - "

DEFAULT = re.compile(rf"(?:{NEW}|{CHILD})\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z")
FORK = re.compile(r"(?P<title>.+) \(fork #(?P<number>\d+)\)", re.DOTALL)
THINKING = re.compile(r"<think>.*?</think>\s*", re.DOTALL)


def default_title(now_ms: int, *, child: bool = False) -> str:
    """Return the title of a session without a title yet; the time is in milliseconds since 1970."""
    moment = datetime.datetime.fromtimestamp(now_ms / 1000, tz=datetime.UTC)
    written = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"{CHILD if child else NEW}{written}"


def is_default(title: str) -> bool:
    """Return whether a title is a default one."""
    return DEFAULT.fullmatch(title) is not None


def fork_title(title: str) -> str:
    """Return the title of a fork: the parent's with a number, one higher when the parent is a fork."""
    found = FORK.fullmatch(title)
    if found is None:
        return f"{title} (fork #1)"
    return f"{found['title']} (fork #{int(found['number']) + 1})"


def first_words(text: str) -> str:
    """Return the first line of a prompt, truncated: the title until there is a better one."""
    line = _first_line(text)
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def title_from(answer: str) -> str:
    """Return the title in a model's answer; empty when there is none."""
    line = _first_line(THINKING.sub("", answer))
    return line if len(line) <= MOST_CHARS else line[: MOST_CHARS - 3] + "..."


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
