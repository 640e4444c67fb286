"""For every text that rules with a star allow, a real bash runs nothing else and prints no key."""

from pathlib import Path

import pytest
from tests.harness.tools import ToolHarness
from tests.sample_size import fresh, sample_size, sampled_cases
from tests.tools.reading_grammar import MARKER, ReadingGrammar, make_project
from tests.tools.shell_grammar import BASH, BashSandbox, ShellGrammar

from palimpsest.tools.permission_rules.harmless_programs import HARMLESS_PROGRAMS
from palimpsest.tools.permission_rules.permissions import Allowed, decide_call
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.errors import PermissionDenied
from palimpsest.transcript.values import Reply, Rule

ECHO = (Rule(permission="bash", pattern="echo *", action="allow"),)
SEED = 11
TEXTS = sample_size(120, 10_000)

pytestmark = pytest.mark.skipif(not BASH, reason="there is no bash here")


def answered(text: str) -> bool:
    """Return whether a configured rule, or an earlier "always", allows the text."""
    configured = decide_call("bash", [text], (*DEFAULT_RULES, *ECHO)) == Allowed()
    approved = decide_call("bash", [text], DEFAULT_RULES, ECHO) == Allowed()
    assert not approved or configured
    return configured


def holes(sandbox: BashSandbox, count: int, seed: int) -> tuple[int, list[tuple[str, set[str]]]]:
    """Return the number of allowed texts, and those that left files behind."""
    grammar, found, ran = ShellGrammar(seed), [], 0
    for number in range(count):
        text = grammar.text()
        if "\0" in text or not answered(text):
            continue
        ran += 1
        left = sandbox.run(text, ("C.UTF-8", "C")[number % 2])
        if left:
            found.append((text, left))
    return ran, found


@pytest.mark.slow
@pytest.mark.timeout(sample_size(300, 3_600))
def test_texts_that_are_answered_leave_nothing_behind(tmp_path: Path) -> None:
    for seed in (SEED, fresh()):
        ran, found = holes(BashSandbox(tmp_path / str(seed)), TEXTS, seed)

        assert found == [], f"seed {seed}"
        # A tenth on average; of 120 texts it may be 5.
        assert ran > TEXTS // 60


@pytest.mark.slow
def test_the_folder_sees_what_runs(tmp_path: Path) -> None:
    grammar, sandbox = ShellGrammar(SEED), BashSandbox(tmp_path)

    left = [sandbox.run(grammar.text()) for _ in range(60)]

    assert sum(bool(problem) for problem in left) > 12
    assert {"ran m1", "ran cat", "wrote o"} <= set().union(*left)


READING_TEXTS = sample_size(400, 20_000)


@pytest.mark.slow
@pytest.mark.timeout(sample_size(300, 3_600))
@pytest.mark.parametrize("place", sampled_cases([".", "sub"], "sub"))
async def test_texts_that_are_answered_print_no_key(
    harness: ToolHarness, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """No text that is answered by an "always" for every harmless program prints a file that asks."""
    make_project(harness.root)
    monkeypatch.setenv("HOME", str(harness.root))
    harness.user.approved = tuple(
        Rule(permission="bash", pattern=f"{name} *", action="allow")
        for name in (*HARMLESS_PROGRAMS, "diff", "rg", "git show", "git blame")
    )
    harness.user.reply = Reply(answer="reject")
    ran = 0
    for seed in (SEED, fresh()):
        grammar = ReadingGrammar(seed, harness.root)
        for _ in range(READING_TEXTS // 2):
            text = grammar.text()
            try:
                outcome = await harness.call("bash", command=text, workdir=place, timeout_seconds=5)
            except PermissionDenied:
                continue
            ran += 1
            assert MARKER not in outcome.output, f"seed {seed}: {text!r}"
    # Some 30 of 400 are answered; in the half with a new seed it may be 6.
    assert ran > READING_TEXTS // 50
