"""Each preset whose original can be run shows what the original shows, at every request of the made sessions."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.context_policies.originals.originals import different, made, recorded, shown
from tests.sample_size import thinned

from palimpsest.context_policies.presets.strands import CUT_NOTE

ANSWERED = recorded()
PACKAGES = {
    "strands-agents": "strands",
    "smolagents": "smolagents",
    "langchain": "langchain",
    "deepagents": "deepagents",
    "inspect-ai": "inspect",
    "aider-chat": "aider",
    "mini-swe-agent": "mini_swe_agent",
    "openai-agents": "openai_agents",
}
"""What is on the package index, and the name under which the answers tell its version."""
SCRIPT = Path(__file__).with_name("run_originals.py")
RESULT_WHOLE = "mini_swe_agent.output result=9999"
NOT_INSTALLED = (
    "The originals could not be installed: the package index does not answer, or has not got them."
)


LONGER_CUTS = "strands.truncate_results"
"""The original's cut of a result just over its limit is longer than the result; no policy of ours shows more than there is."""


@pytest.mark.parametrize("rule", ANSWERED["shown"])
def test_a_preset_shows_what_its_original_showed(rule: str) -> None:
    for seed, answered in enumerate(ANSWERED["shown"][rule]):
        found = different(rule, seed, answered)
        if rule.startswith(LONGER_CUTS):
            found = [
                outcome
                for outcome in found
                if not outcome[2] < outcome[3] < outcome[2] + len(CUT_NOTE)
            ]
        assert found == []


@pytest.mark.parametrize(
    "rule",
    thinned(
        [
            preset
            for preset in ANSWERED["shown"]
            if preset not in ("smolagents.output", RESULT_WHOLE)
        ],
        3,
    ),
)
def test_a_rule_acts_in_the_made_sessions(rule: str) -> None:
    acted = [any(shown(made(seed, rule), rule)) for seed in range(len(ANSWERED["shown"][rule]))]

    assert any(acted)


@pytest.mark.soak  # with each commit the recorded answers are compared, above; this adds the original, installed
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("package", PACKAGES)
def test_an_original_answers_the_same_today(package: str, tmp_path: Path) -> None:
    """It is installed in an environment of its own, at the version that answered, with what it needs as that is today."""
    name = PACKAGES[package]
    version = ANSWERED["versions"][name]
    answers = tmp_path / f"{name}.json"
    ran = run_original(f"{package}=={version}", answers, tmp_path)

    assert ran.returncode == 0, ran.stderr[-2_000:]
    found = json.loads(answers.read_text())
    assert found["versions"][name] == version
    assert same(found["shown"], name)


def run_original(
    requirement: str, answers: Path, folder: Path, script: Path = SCRIPT
) -> subprocess.CompletedProcess[str]:
    """Install a package beside nothing else and have its code answer; skips the test where no index has it."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    python = str(folder / "env" / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "--no-input", requirement]
    installed = subprocess.run(install, check=False, capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"{NOT_INSTALLED} {installed.stderr.strip()[-300:]}")
    return subprocess.run(
        [python, "-W", "ignore", str(script), str(answers)],
        check=False,
        capture_output=True,
        text=True,
        env={"HOME": str(folder), "PATH": ""},
    )


def same(found: Mapping[str, object], name: str) -> bool:
    """Return whether an original's rules are all there, and answer what they did."""
    rules = [preset for preset in ANSWERED["shown"] if preset.startswith(f"{name}.")]
    return bool(rules) and all(found[rule] == ANSWERED["shown"][rule] for rule in rules)
