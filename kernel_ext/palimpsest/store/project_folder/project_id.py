"""Determine the id of a project: from its sessions, its first git commit, or at random.

Border: reads logs and runs git; the caller stores the result.
"""

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from palimpsest.store.disk import open_regular
from palimpsest.store.log_lines import load_line

MAX_GIT_SECONDS = 5.0
"""Timeout of the git command, which may wait for a network disk; its answer is then ignored."""

GIT_RUNS_NOTHING = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
GIT_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
"""These settings stop git from running programs that a repository configures: hooks, a file monitor, and fetches
of objects that a partial clone lacks."""

MAX_SESSIONS = 100
"""Maximum sessions read for the project's id; all sessions of a project name the same."""
HEAD_BYTES = 64 << 10
MAX_HEAD_LINES = 2
"""Lines of a log that are searched: its header and its first record."""
MAX_ID_CHARS = 200


def find_project_id(root: Path) -> str:
    """Return the project id of most sessions in a folder, else a new id for its project."""
    return _most_common_id(root) or new_project_id(root.parent)


def new_project_id(project: Path) -> str:
    """Return the first commit of the project's git repository, else a random id."""
    return _git_root_commit(project) or uuid4().hex


def _most_common_id(root: Path) -> str:
    counts = Counter(project_id for project_id in _session_project_ids(root) if project_id)
    return min(counts, key=lambda project_id: (-counts[project_id], project_id)) if counts else ""


def _session_project_ids(root: Path) -> Iterator[str]:
    with suppress(OSError):
        for directory in sorted((root / "sessions").iterdir())[:MAX_SESSIONS]:
            with suppress(OSError), open_regular(directory / "log-1.jsonl") as file:
                head = file.read(HEAD_BYTES)
                for line in head.split(b"\n")[:MAX_HEAD_LINES]:
                    session = (load_line(line) or {}).get("session")
                    project_id = session.get("project_id") if isinstance(session, dict) else None
                    if isinstance(project_id, str) and len(project_id) <= MAX_ID_CHARS:
                        yield project_id


def _git_root_commit(directory: Path) -> str | None:
    try:
        process = subprocess.run(
            ["git", *GIT_RUNS_NOTHING, "rev-list", "--max-parents=0", "HEAD"],
            cwd=directory,
            env=os.environ | GIT_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=MAX_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    commits = sorted(process.stdout.split())
    return commits[0] if process.returncode == 0 and commits else None
