"""``session.whatif`` in a real kernel: a table as the cell's output, and policies from the session's log."""

from pathlib import Path

import pytest
from tests.harness.kernel import Kernel

pytestmark = pytest.mark.slow

SETUP = """
%load_ext palimpsest
import palimpsest
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.model.script import calls, says
register_scenario("reads", [calls("bash", command="seq 1 5000"), says("It counts."), says("Yes.")])
"""


@pytest.mark.soak  # with each commit tests/context_policies/whatif compares them; this adds a cell, and settings of the project
def test_another_policy_is_compared_in_a_cell(tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text(
        "context_tokens = 60000\n[policy.truncate]\nmax_lines = 100\n"
    )
    env = {
        "PALIMPSEST_REHEARSAL_DELAY": "0",
        "PALIMPSEST_PERMISSION": '{"bash": "allow"}',
        "JPY_SESSION_NAME": str(tmp_path / "a.ipynb"),
    }
    with Kernel(cwd=tmp_path, env=env) as kernel:
        assert kernel.client.run(SETUP).status == "ok"
        kernel.client.run("%agent --model rehearsal/reads Count.")
        kernel.client.run("session = palimpsest.current_session()")

        same = kernel.client.run("print(session.whatif().same, session.redecide())").stream()
        shown = kernel.client.run("session.whatif('truncate.max_lines=10')")
        wrong = kernel.client.run("session.whatif('truncate.max_line=10')")

        assert same.startswith("True 1 decisions on")
        assert "all decided again, bit for bit" in same
        [output] = [
            output_seen["data"]
            for output_seen in shown.outputs()
            if "text/html" in output_seen["data"]
        ]
        assert "palimpsest with truncate.max_lines=10" in output["text/html"]
        assert "Counterfactual: no model was asked." in output["text/markdown"]
        assert "input tokens of all steps" in output["text/plain"]
        assert "did you mean truncate.max_lines?" in str(wrong.reply["content"]["evalue"])
        policy = kernel.client.run("%agent policy").markdown()
        assert "palimpsest with 1 number changed, from the settings" in policy
        assert "| 100 | 2,000 | project's file" in policy
        settings = kernel.client.run("%agent config").markdown()
        assert "`policy.truncate.max_lines` | 100 | project's file" in settings
        assert "`tool_output.max_lines` | 100 | policy palimpsest" in settings
        assert kernel.client.complete("%agent policy prune.prot")[:2] == [
            "prune.protect_tokens=",
            "prune.protect_turns=",
        ]
        assert kernel.client.complete("%agent policy prune.rule=ba") == ["batch"]
        assert "opencode-1.18" in kernel.client.complete("%agent policy open")
