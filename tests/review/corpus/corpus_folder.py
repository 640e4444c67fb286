"""A folder of recordings of several agents, for tests of a corpus."""

from pathlib import Path

from tests.recordings.formats.sample_files import sample

PI = '{"type":"session","version":3,"id":"%s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}\n'


def recordings(folder: Path) -> Path:
    """Make a folder of four recordings, in folders of their own."""
    for name in ("codex_rollout.jsonl", "marshmallow-1867.traj", "gemini_cli.jsonl"):
        inner = folder / name.partition(".")[0]
        inner.mkdir(parents=True)
        sample(name, inner)
    (folder / "claude").mkdir()
    sample("claude_code/compaction_session.jsonl", folder / "claude")
    return folder


def broken(folder: Path) -> Path:
    """Add a recording that begins well, and a document that is none."""
    (folder / "broken.jsonl").write_text(PI % "s1" + '{"type":"message","id":1}\nnothing\n' * 3)
    (folder / "other.json").write_text("{")
    return folder
