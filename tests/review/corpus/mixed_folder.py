"""A folder of many recordings of several agents, some resumed, doubled, cut or broken, beside files that are none.

Each is made with figures that are known by hand; ``write_mixed_folder(folder, size)`` returns what a table of it must come to.
"""

import gzip
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.recordings.formats.sample_files import sample
from tests.recordings.formats.test_shared_beginnings import (
    Rows,
    claude,
    claude_copy,
    pi,
    pi_copy,
    write_file,
)

NAMES = "abcdefghijklmnopqrstuvwxyz"
TOKENS = 110
"""Input tokens of each request that is made here."""
# Requests and input tokens of one sample of each other format, as its own test has them.
SAMPLES = {
    "aider.chat.history.md": (9, 39_220),
    "codex_rollout.jsonl": (6, 160_333),
    "gemini_cli.jsonl": (6, 36_700),
    "openhands_v0.jsonl": (4, 10_000),
    "otel_genai.json": (5, 9_400),
    "openai_chat_pairs.json": (2, 130),
    "printed/claude.jsonl": (5, 56_515),
    "printed/codex_20.jsonl": (4, 10_000),
    "printed/gemini_session.jsonl": (2, 3_000),
}
CAPTURED = "captured_http/sdk.har"
"""Captured HTTP, whose requests the recordings beside it may hold: it is left out and named."""
FOLDER_SAMPLES = {"cline": (4, 12_900), "kimi_cli": (7, 103_900), "openhands_v1": (6, 21_000)}
SESSIONS = {"aider.chat.history.md": 2}
"""Sessions of a sample, where it has more than one that is no subagent."""


@dataclass
class Expected:
    """What a table of the folder must come to."""

    sessions: int = 0
    requests: int = 0
    input: int = 0
    repeated: int = 0
    files: int = 0
    left_out: list[str] = field(default_factory=list)
    """Names of the files that are no recording, and of those that cannot be read."""

    def add(self, requests: int, tokens: int, sessions: int = 1) -> None:
        self.sessions += sessions
        self.requests += requests
        self.input += tokens


def write_mixed_folder(folder: Path, size: int) -> Expected:
    """Write a folder of about ``size`` files."""
    expected = Expected()
    rounds = max(size // 20, 1)
    for number in range(rounds):
        _round(folder / f"project {number:03d}", f"{number:03d}", expected)
    for name, (requests, tokens) in SAMPLES.items():
        inner = folder / name.replace("/", " ").partition(".")[0]
        inner.mkdir()
        sample(name, inner)
        expected.add(requests, tokens, SESSIONS.get(name, 1))
        expected.files += 1
    sample(CAPTURED, folder)
    expected.files += 1
    expected.left_out.append("sdk.har")
    for name, (requests, tokens) in FOLDER_SAMPLES.items():
        sample(name, folder)
        expected.add(requests, tokens)
        expected.files += sum(path.is_file() for path in (folder / name).rglob("*"))
    return expected


def _round(folder: Path, number: str, expected: Expected) -> None:
    """Write 21 files: twelve recordings, two copies, and seven that are none."""
    counts = (3, 2, 4)

    def names(count: int, first: int) -> str:
        return NAMES[first : first + count]

    def distinct(rows: Rows) -> Rows:
        """Return rows with the round's number in all their ids."""
        return json.loads(
            json.dumps(rows)
            .replace('"msg_', f'"msg_{number}')
            .replace('"uuid": "', f'"uuid": "{number}')
            .replace('"parentUuid": "', f'"parentUuid": "{number}')
            .replace('"sessionId": "', f'"sessionId": "{number}')
            .replace('"id": "u', f'"id": "{number}u')
            .replace('"id": "a', f'"id": "{number}a')
            .replace('"id": "s', f'"id": "{number}s')
            .replace('"parentId": "', f'"parentId": "{number}')
        )  # fmt: skip

    # Three alone, of Claude Code and of pi.
    for index, count in enumerate(counts):
        words = names(count, 3 * index)
        write_file(folder / f"claude {index}.jsonl", distinct(claude(f"c{index}", words)))
        write_file(folder / f"pi {index}.jsonl", distinct(pi(f"s{index}", words, second=index)))
        expected.add(count, count * TOKENS)
        expected.add(count, count * TOKENS)
    # One that was resumed twice: only what is new in each counts.
    first = claude("r1", "nop")
    second = claude_copy("r2", first) + claude("r2", "q", after="ap", second=20)
    third = claude_copy("r3", second) + claude("r3", "rs", after="aq", second=40)
    for name, rows, new in (("r1", first, 3), ("r2", second, 1), ("r3", third, 2)):
        write_file(folder / f"resumed {name}.jsonl", distinct(rows))
        expected.add(new, new * TOKENS)
    # One that was forked.
    base = pi("s8", "tu", second=10)
    fork = pi_copy("s9", base) + pi("s9", "v", after="au", second=30)[1:]
    for name, rows, new in (("base", base, 2), ("fork", fork, 1)):
        write_file(folder / f"{name}.jsonl", distinct(rows))
        expected.add(new, new * TOKENS)
    # A copy of a file.
    shutil.copyfile(folder / "claude 0.jsonl", folder / "copy of claude 0.jsonl")
    expected.repeated += 1
    # One that was cut.
    lines = (folder / "claude 1.jsonl").read_text().splitlines(keepends=True)
    (folder / "cut copy of claude 1.jsonl").write_text("".join(lines[:2]))
    expected.repeated += 1
    # One with a line that is cut.
    cut = [json.dumps(row) for row in distinct(claude("c9", "wx"))]
    (folder / "cut.jsonl").write_text("\n".join([*cut, cut[-1][:40]]))
    expected.add(2, 2 * TOKENS)
    expected.left_out.append("cut.jsonl")
    # Files that are no recording.
    (folder / "settings.json").write_text('{"model": "x", "permissions": []}')
    (folder / "events.jsonl").write_text('{"event": "start"}\n' * 3)
    (folder / "broken.json").write_text("{")
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "old.jsonl.gz").write_bytes(gzip.compress(b'{"type":"session"}\n'))
    (folder / "README.md").write_text("# Notes\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    expected.left_out += [
        "settings.json",
        "events.jsonl",
        "broken.json",
        "empty.jsonl",
        "old.jsonl.gz",
    ]
    expected.files += len([*folder.iterdir()])
