"""Page commands return as values what the magic prints about settings, storage, the context and rules."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel

pytestmark = pytest.mark.slow


def outcome(kernel: Kernel, **command: Any) -> dict[str, Any]:
    """Send a command and return its answer, or its error."""
    reply = kernel.request(**command)
    assert reply["status"] == "ok", reply
    message = kernel.wait(
        lambda m: m["content"].get("kind") == "outcome" and m["content"].get("id") == command["id"]
    )
    content: dict[str, Any] = message["content"]
    answer: dict[str, Any] = content.get("answer", content)
    return answer


def test_settings_storage_window_and_rules_come_as_values(tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text('modle = "x"\nshare = "disabled"\n')
    skill = tmp_path / ".palimpsest" / "skills" / "plots"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: plots\ndescription: How we plot.\n---\nIn grey.\n")
    with Kernel(cwd=tmp_path, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.client.run("%load_ext palimpsest")
        kernel.client.run("%agent sessions")  # waits until all is loaded
        kernel.request(type="watch", client="page")
        early = outcome(kernel, type="context", id="early")["error"]
        kernel.client.run("%agent -m rehearsal/rules Hello.")

        config = outcome(kernel, type="config", id="settings")
        before = outcome(kernel, type="storage", id="storage", days=0)
        window = outcome(kernel, type="context", id="window")["bundle"]
        rules = outcome(kernel, type="approvals", id="rules")["rules"]
        skills = outcome(kernel, type="choices", id="skills")["skills"]
        kernel.client.run("import palimpsest; fork = palimpsest.new_session()")
        refused = outcome(kernel, type="storage", id="refused", max_size="lots")
        after = outcome(kernel, type="storage", id="delete", days=0, delete=True)

        assert early == "This notebook has no session yet. Ask the agent, then look again."
        nowhere = outcome(kernel, type="import", id="nowhere", path="\0")["error"]
        assert nowhere.startswith("There is no '")
        share = {row["key"]: row for row in config["settings"]}["share"]
        assert (share["value"], "palimpsest.toml" in share["origin"]) == ("disabled", True)
        assert any("modle" in remark for remark in config["remarks"])
        assert before["total"] >= before["logs"] > 0
        assert [row["why"] for row in before["spared"]] == ["in use"]
        assert "gone" not in before
        assert set(window) == {"text/html", "text/markdown", "text/plain"}
        assert {"allow", "ask"} <= {rule["action"] for rule in rules}
        assert skills == [{"name": "plots", "description": "How we plot."}]
        assert refused["error"] == "'lots' is not a size. Write it as 500MB or 1.5GB."
        assert after["gone"] == []


def test_what_python_names_right_after_loading_is_of_the_kernel_and_no_second_application(
    tmp_path: Path,
) -> None:
    with Kernel(cwd=tmp_path, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        run = kernel.client.run(
            "%load_ext palimpsest\nimport palimpsest\n"
            "found = palimpsest.sessions()\n"
            "from palimpsest.app.wiring import APPS\n"
            "print(len(APPS), APPS[0].in_kernel, found.total)\n"
            "print([agent.name for agent in palimpsest.agents() if agent.answers])"
        )

        assert run.stream() == "1 True 0\n['build', 'plan']\n"
        status = kernel.client.run("%agent status").markdown()
        assert "| `cost so far` | <span>&#36;</span>0 |" in status


@pytest.mark.soak  # with each commit tests/store/log/test_damage.py and tests/frontends/test_damaged_log.py lose lines; this adds texts that are gone, and what the status says
def test_a_session_with_lost_lines_and_texts_goes_on_and_says_so(tmp_path: Path) -> None:
    env = {"PALIMPSEST_REHEARSAL_DELAY": "0", "JPY_SESSION_NAME": str(tmp_path / "a.ipynb")}
    with Kernel(cwd=tmp_path, env=env) as kernel:
        kernel.client.run("%load_ext palimpsest")
        kernel.client.run("%agent -m rehearsal/rules Hello.")
        whole = kernel.client.run("%agent status").markdown()
    kept = tmp_path / ".palimpsest"
    (log,) = kept.glob("sessions/*/log-1.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([b"spoilt\n", *lines[1:5], b"\x00\xff\n", *lines[5:]]))
    shutil.rmtree(kept / "blobs")
    with Kernel(cwd=tmp_path, env=env) as kernel:
        kernel.client.run("%load_ext palimpsest\nimport palimpsest")

        status = kernel.client.run("%agent status").markdown()
        answer = kernel.client.run("%agent Hello again.")
        python = kernel.client.run("print(len(palimpsest.current_session().problems()))")

        assert "not readable" not in whole
        assert "2 lines of the log, left out; the first is ses_" in status
        assert "Hello!" in answer.markdown()
        assert "✗" not in answer.markdown()
        assert python.stream() == "2\n"


@pytest.mark.soak  # with each commit tests/session/open_sessions/test_two_processes.py has two processes; this adds what the second one says of files
def test_a_second_kernel_sees_what_the_first_one_changed(tmp_path: Path) -> None:
    env = {"PALIMPSEST_REHEARSAL_DELAY": "0", "JPY_SESSION_NAME": str(tmp_path / "a.ipynb")}
    with Kernel(cwd=tmp_path, env=env) as first, Kernel(cwd=tmp_path, env=env) as second:
        first.client.run(
            "%load_ext palimpsest\n"
            "from palimpsest.rehearsal.scenario import register_scenario\n"
            "from palimpsest.model.script import calls, says\n"
            "wrote = calls('write', path='new.txt', content='one')\n"
            "register_scenario('writes', [wrote, says('Written.')])"
        )
        first.client.run("%agent -y -m rehearsal/writes Write it.")
        second.client.run("%load_ext palimpsest")

        markdown = second.client.run("%agent diff last").markdown()
        refused = second.client.run("%agent revert").reply["content"]

        assert "read-only" in second.client.run("%agent status").markdown()
        assert "new.txt" in markdown
        assert "+one" in markdown
        assert "Another kernel" in refused["evalue"]
        assert (tmp_path / "new.txt").exists()
