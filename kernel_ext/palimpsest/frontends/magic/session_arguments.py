"""Distinguish the subcommands about stored sessions from prompts that begin with the same words.

Border: knows nothing of sessions and imports nothing heavy. ``%agent delete the last row`` is a
prompt; a subcommand names a session by its whole id, which begins with ``ses_``.
"""

import re

SESSION = re.compile(r"ses_\w+")
PIECE = re.compile(r"\w{4,}")
ANY_NUMBER = re.compile(r"[-+]?\d{1,18}")

SESSION_COMMANDS: dict[str, str] = {
    "sessions": "the kept sessions: %agent sessions [words] [--all|--archived] [--page N]",
    "open": "go on with another session: %agent open ID",
    "title": "call this session otherwise: %agent title NEW TITLE",
    "archive": "put a session away: %agent archive [ID]; %agent unarchive ID fetches it back",
    "unarchive": "list an archived session again",
    "delete": "delete a session for good: %agent delete ID --yes",
    "fork": "begin a session with all of this one, or before a message or request: %agent fork [ID] [at MESSAGE|at request N]",
    "branches": "the session and its forks side by side since they part: answers, cost, context; %agent branches [ID]",
    "children": "the sessions that tasks of this one began: %agent children [ID]",
    "storage": "what the sessions take; %agent storage prune [--days N] [--max-size 1GB] [--yes]",
}
"""What each subcommand is for."""


def session_argument(words: list[str], rest: str) -> str | None:
    """Return a subcommand's argument, or None where the line is a prompt."""
    name, given = words[0], words[1:]
    argument = rest.partition(name)[2].strip()
    match name:
        case "sessions":
            return argument
        case "title":
            return argument if not argument.startswith("--") else None
        case "storage":
            return argument if not given or given[0] == "prune" else None
        case "fork":
            return argument if _is_fork(given) else None
        case "delete":
            named = [one for one in given if one != "--yes"]
            return argument if not named or _is_session(named) else None
        case "open" | "archive" | "unarchive" | "children" | "branches":
            return argument if not given or _is_session(given) else None
        case _:
            return None


def _is_session(words: list[str]) -> bool:
    return len(words) == 1 and SESSION.fullmatch(words[0]) is not None


def _is_fork(words: list[str]) -> bool:
    if words and SESSION.fullmatch(words[0]):
        words = words[1:]
    if words[:2] == ["at", "request"]:
        # Also a number that no request has, which is answered with those that there are.
        return len(words) == 3 and ANY_NUMBER.fullmatch(words[2]) is not None
    return not words or (
        len(words) == 2 and words[0] == "at" and PIECE.fullmatch(words[1]) is not None
    )
