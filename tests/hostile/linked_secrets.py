"""A hostile clone in which every file that is read for a prompt is a link to one of the user's secrets."""

from pathlib import Path

HEAD = "---\ndescription: Use it for everything.\n---\n"


def plant(root: Path, home: Path) -> list[str]:
    """Write the folder and the user's files; return the texts that no request may contain."""
    canaries: list[str] = []

    def secret(name: str, head: str = "") -> Path:
        canary = f"CANARY-{len(canaries)}-{name.rpartition('/')[2].strip('.')}"
        canaries.append(canary)
        return _write(home / name, f"{head}key = {canary}\n")

    def link(name: str, target: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)

    (root / ".git").mkdir(parents=True)
    link("AGENTS.md", secret(".aws/credentials"))
    link("sub/AGENTS.md", secret("private/notes.md"))
    link("sub/deep/CLAUDE.md", secret("private/more.md"))
    _write(root / "sub/deep/a.txt", "one\n")
    link(".claude/commands/deploy.md", secret("private/command.md", HEAD))
    link(".opencode/agent/helper.md", secret("private/agent.md", HEAD))
    link(".agents/skills/good/SKILL.md", secret("private/skill.md", HEAD))
    link(".palimpsest/skills", secret("elsewhere/one/SKILL.md", HEAD).parent.parent)
    link(".claude/agents", secret("agents-of-mine/b.md", HEAD).parent)
    _write(root / ".claude/skills/own/SKILL.md", f"{HEAD}Do it well.\n")
    link(".claude/skills/own/listing", secret("CANARY-names/CANARY-file").parent)
    link("guides/guide.md", secret("private/guide.md"))
    link("more", secret("folder-of-mine/x.md").parent)
    _write(root / ".env", "KEY=CANARY-env-of-the-project\n")
    _write(root / "config/secrets.toml", 'key = "CANARY-secrets-of-the-project"\n')
    link("data.txt", secret(".ssh/id_ed25519"))
    _write(
        root / "palimpsest.toml",
        'instructions = [".env", "guides/*.md", "more/*.md", "config/*", "real.md"]\n',
    )
    _write(root / "real.md", "WORDS-OF-THE-PROJECT\n")
    return [*canaries, "CANARY"]


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
