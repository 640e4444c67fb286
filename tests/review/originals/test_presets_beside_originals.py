"""Each preset whose original can be run shows what the original shows, at every request of the made sessions."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.review.originals.originals import different, made, recorded, shown

from palimpsest.review.policies.strands import CUT_NOTE

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
            found = [one for one in found if not one[2] < one[3] < one[2] + len(CUT_NOTE)]
        assert found == []


@pytest.mark.parametrize(
    "rule", [one for one in ANSWERED["shown"] if one not in ("smolagents.output", RESULT_WHOLE)]
)
def test_a_rule_acts_in_the_made_sessions(rule: str) -> None:
    acted = [any(shown(made(seed, rule), rule)) for seed in range(len(ANSWERED["shown"][rule]))]

    assert any(acted)


@pytest.mark.soak
def test_the_originals_answer_the_same_today(tmp_path: Path) -> None:
    """Each original is installed in an environment of its own, at the version that answered."""
    for package, name in PACKAGES.items():
        version = ANSWERED["versions"][name]
        python = tmp_path / name / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", str(tmp_path / name)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", f"{package}=={version}"]
        if subprocess.run(install, check=False, capture_output=True).returncode:
            pytest.skip(NOT_INSTALLED)
        answers = tmp_path / f"{name}.json"
        script = Path(__file__).with_name("run_originals.py")
        subprocess.run(
            [str(python), "-W", "ignore", str(script), str(answers)],
            check=True,
            capture_output=True,
            env={"HOME": str(tmp_path), "PATH": ""},
        )
        found = json.loads(answers.read_text())
        assert found["versions"][name] == version
        assert same(found["shown"], name)


def same(found: Mapping[str, object], name: str) -> bool:
    """Return whether an original's rules are all there, and answer what they did."""
    rules = [one for one in ANSWERED["shown"] if one.startswith(f"{name}.")]
    return bool(rules) and all(found[one] == ANSWERED["shown"][one] for one in rules)
