"""Opening a hostile clone runs nothing, leaks nothing from outside, and still asks every permission."""

import json
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.harness.kernel import ROOT, Kernel, Run
from tests.hostile.audit_log import read_audit
from tests.hostile.clone import (
    AWS,
    DOTENV,
    ENVIRONMENT_KEY,
    NOTEBOOK,
    OUTSIDE,
    PROMPT_CANARY,
    HostileClone,
    environment,
    everything_below,
    lead_away,
)
from tests.hostile.exfiltration_server import ATTEMPTS, ExfiltrationServer
from tests.sample_size import sampled_cases
from tests.store.log.test_faults import mounted

from palimpsest.session.config.setting_files import PROJECT_NAMES
from palimpsest.testing import FaultServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

LOOKS = (
    "status", "sessions", "agents", "commands", "skills", "hooks", "mcp", "config", "permissions", "mode",
    "budget", "context", "storage", "policy", "models", "todo", "diff",
)  # fmt: skip
"""Subcommands that only display."""


@contextmanager
def opened(
    planted: HostileClone, folder: Path | None = None, *, fresh: bool = False, **more: str
) -> Iterator[Kernel]:
    """Start a kernel on the hostile notebook, as its user would, and load the extension."""
    folder = folder or planted.folder
    env = environment(planted.home, **more)
    env["JPY_SESSION_NAME"] = str(folder / NOTEBOOK)
    with Kernel(cwd=folder, env=env, fresh=fresh) as kernel:
        # Marks so far are due to Python and the kernel itself.
        for mark in planted.marks.iterdir():
            mark.unlink()
        assert kernel.client.run("%load_ext palimpsest").status == "ok"
        yield kernel


def sent(server: FaultServer) -> str:
    """Return the whole traffic that the user's own model server received, without the key's header."""
    return "\n".join(
        request.raw.decode("utf-8", "replace") + str(request.body) for request in server.requests
    )


def assert_nothing_won(
    planted: HostileClone, server: FaultServer, exfiltration_server: ExfiltrationServer
) -> None:
    """Fail if something ran, was sent, was written outside or was added to the prompt."""
    assert planted.ran() == []
    assert exfiltration_server.heard == []
    words = sent(server)
    for canary in (AWS, OUTSIDE, ENVIRONMENT_KEY, DOTENV, PROMPT_CANARY, "root:x:0:0"):
        assert canary not in words, canary
    assert {request.body["model"] for request in server.requests} <= {"gpt-4o"}
    assert not (planted.folder.parent / "planted-by-revert").exists()
    assert not (planted.folder / ".git" / "hooks" / "post-checkout").exists()


CALLS = ("bash", "python", "write", "edit", "read", "linked", "backup", "outside")


def test_every_call_still_asks_and_nobody_answers(
    planted: HostileClone, server: FaultServer, exfiltration_server: ExfiltrationServer
) -> None:
    before = (planted.folder / "palimpsest.toml").read_text()
    with opened(planted, fresh=True) as kernel:
        for asked, word in enumerate(CALLS):
            kernel.client.run(f"%%agent --new\nPlease try:{word}. now")
            log = "".join(
                content.decode("utf-8", "replace")
                for path, content in everything_below(planted.folder / ".palimpsest" / "sessions")
                if path.suffix == ".jsonl"
            )
            assert len(server.requests) > asked, word
            assert log.replace(" ", "").count('"type":"permission.asked"') > asked, word
            assert_nothing_won(planted, server, exfiltration_server)

    assert (planted.folder / "palimpsest.toml").read_text() == before
    assert not (planted.folder / ".git" / "hooks" / "pre-commit").exists()


def test_a_person_is_asked_and_may_refuse(
    planted: HostileClone, server: FaultServer, exfiltration_server: ExfiltrationServer
) -> None:
    with opened(planted) as kernel:
        cell = kernel.client.send("%%agent\nPlease try:bash. now", stdin=True)
        words = kernel.client.question()
        kernel.client.answer("3")
        kernel.client.finish(cell, 60)

    assert "touch" in words
    assert_nothing_won(planted, server, exfiltration_server)


def test_reading_needs_no_question_and_sends_no_byte_from_outside(
    planted: HostileClone, server: FaultServer, exfiltration_server: ExfiltrationServer
) -> None:
    with opened(planted) as kernel:
        for word in ("nested", "grep", "webfetch"):
            kernel.client.run(f"%%agent\nPlease try:{word}. now")

    assert "a,b" in sent(server)  # the table belongs to the project, and may be read
    assert_nothing_won(planted, server, exfiltration_server)


@pytest.mark.soak  # with each commit only planted files are read and nothing is started, below; this adds what is said of it
def test_one_notice_says_what_was_held_back(planted: HostileClone, server: FaultServer) -> None:
    with opened(planted) as kernel:
        first = kernel.client.run("%%agent\nHello.")
        second = kernel.client.run("%%agent\nHello again.")

    assert len(server.requests) == 2
    assert "%agent trust" in shown(first) or "%agent config trust" in shown(first)
    assert shown(first).count("held back") <= 2
    assert "held back" not in shown(second)


def shown(run: Run) -> str:
    """Return all text output of a cell."""
    return "\n".join([run.markdown(), run.stream(), run.stream("stderr")])


def test_only_planted_files_are_read_and_nothing_is_started(
    planted: HostileClone,
    server: FaultServer,
    exfiltration_server: ExfiltrationServer,
    tmp_path: Path,
) -> None:
    # The trust check looks for every file that the words of a hook or a server may name.
    for name in PROJECT_NAMES:
        if name.endswith(".toml"):
            continue
        settings = json.loads((planted.folder / name).read_text().removesuffix("// a comment"))
        kept = {key: value for key, value in settings.items() if key not in ("hooks", "mcp")}
        planted.write(name, json.dumps(kept))
    audit = tmp_path / "audit.tsv"
    path = f"{ROOT / 'tests' / 'hostile' / 'audit'}:{ROOT / 'kernel_ext'}:{ROOT}"
    there = {str(one.relative_to(planted.folder)) for one in planted.folder.rglob("*")}
    with opened(planted, PYTHONPATH=path, AUDIT_FILE=str(audit)) as kernel:
        for word in ("Hello.", "try:nested.", "try:bash.", "try:grep."):
            kernel.client.run(f"%%agent\nPlease {word} now")
        for word in LOOKS:
            kernel.client.run(f"%agent {word}")
        kernel.client.run("%agent share")
        kernel.client.run("%agent export kept.md")

    findings = read_audit(audit, planted, there)
    assert not findings.outside
    assert not findings.unplanted, f"{UNPLANTED}\n" + "\n".join(sorted(findings.unplanted))
    assert findings.started <= {"git", "python", "python3", "uname"}
    assert_nothing_won(planted, server, exfiltration_server)


UNPLANTED = (
    "The product reads files of the folder that the clone does not plant; plant them in clone.py:"
)


@pytest.mark.soak  # with each commit tests/frontends/test_foreign_logs.py copies and moves a project; this adds a planted one
@pytest.mark.usefixtures("server")
def test_a_copy_and_a_move_grant_nothing(
    planted: HostileClone, exfiltration_server: ExfiltrationServer, tmp_path: Path
) -> None:
    # The user grants permissions in this folder on purpose.
    with opened(planted) as kernel:
        assert kernel.client.run("%agent mode bypass").status == "ok"
        kernel.client.run("%%agent\nPlease try:bash. now")
    assert planted.ran() == ["tool-bash"]
    copy, moved = tmp_path / "copy", tmp_path / "moved"
    shutil.copytree(planted.folder, copy, symlinks=True)
    for folder in (copy, moved):
        if folder == moved:
            planted.folder.rename(moved)
        with opened(planted, folder) as kernel:
            kernel.client.run("%%agent\nPlease try:bash. now")
        assert planted.ran() == [], folder
        assert exfiltration_server.heard == []


@pytest.mark.parametrize(
    "kind",
    sampled_cases(["fresh", "a file in its place", "read-only"], "a file in its place"),
)
def test_without_a_home_that_remembers_nothing_is_granted(
    planted: HostileClone,
    server: FaultServer,
    exfiltration_server: ExfiltrationServer,
    tmp_path: Path,
    kind: str,
) -> None:
    state = tmp_path / "state"
    with ExitStack() as stack:
        if kind == "read-only":
            state.mkdir()
            stack.enter_context(mounted(state, "-t", "tmpfs", "-o", "ro", "none"))
        elif kind == "a file in its place":
            state.write_text("no folder")
        kernel = stack.enter_context(opened(planted, PALIMPSEST_STATE_DIR=str(state)))
        run = kernel.client.run("%%agent\nPlease try:bash. now")
        assert kernel.client.run("%agent mode plan").status == "ok"
        again = kernel.client.run("%%agent\nHello.")

    assert "Traceback" not in shown(run) + shown(again)
    assert_nothing_won(planted, server, exfiltration_server)


def test_a_folder_of_sessions_that_leads_outside_changes_nothing_there(
    planted: HostileClone, server: FaultServer, exfiltration_server: ExfiltrationServer
) -> None:
    lead_away(planted)
    private = planted.home / "private"
    private.chmod(0o755)
    before = dict(everything_below(private))
    with opened(planted) as kernel:
        run = kernel.client.run("%%agent\nPlease try:bash. now")
        kernel.client.run("%agent share")
        kernel.client.run("%agent storage prune")

    assert dict(everything_below(private)) == before
    assert stat.S_IMODE(private.stat().st_mode) == 0o755
    assert "Traceback" not in shown(run)
    assert_nothing_won(planted, server, exfiltration_server)


def test_every_attempt_is_known(planted: HostileClone) -> None:
    assert set(ATTEMPTS) >= {"bash", "python", "write", "edit", "read", "grep", "webfetch"}
    assert {name for name in planted.files if name.startswith(".palimpsest/")}
