"""The examples of docs/policies.md that look at a policy and let it act run, by the public names."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.harness.replay_checks import check_log_laws

import palimpsest
from palimpsest.frontends.operation_text.policy_text import own_policy_sentence
from palimpsest.model.script import calls, says
from palimpsest.testing import ScriptedModel, isolated_session

PAGE = Path(__file__).resolve().parents[2] / "docs" / "policies.md"
CLEARED = "[Old tool result content cleared]"


def example(heading: str = "Let it act live") -> str:
    """Return the page's code from below a heading."""
    section = PAGE.read_text(encoding="utf-8").partition(f"### {heading}")[2]
    match = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert match is not None
    return match.group(1)


def test_the_page_asks_what_it_would_do_and_lets_it_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        (tmp_path / f"log{number}.txt").write_text("a line of a log\n" * 200)
    read = [calls("read", path=f"log{number}.txt") for number in range(5)]
    model = ScriptedModel(*read, says("Well."), says("So."), says("Whole."))
    code, _, ends = example().partition('session.policy = "default"')
    assert ends
    with isolated_session(model, folder=tmp_path) as session:
        monkeypatch.setattr(palimpsest, "current_session", lambda: session)
        session.prompt("Read the logs.", yes=True)
        exec(compile(code, "page", "exec"), {})

        session.prompt("And?")
        assert str(model.requests[-1].messages).count(CLEARED) == 2
        assert session.own_policy is not None
        assert "newest_three (your function newest_three" in own_policy_sentence(
            session.own_policy, is_active=True
        )
        rules = {row["rule"] for row in session.review.decisions.records()}
        assert "policy/newest_three" in rules
        session.policy = "default"
        session.prompt("And now?")
        assert CLEARED not in str(model.requests[-1].messages)
        assert session.rebuild(session.requests()[-2]).matches
        check_log_laws(session._app.services.store, session.id)

    assert "newest_three" in capsys.readouterr().out


def test_the_page_looks_at_a_policy_with_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # its report is written beside whoever asks
    for number in range(7):
        (tmp_path / f"log{number}.txt").write_text("a line of a log\n" * 200)
    read = [calls("read", path=f"log{number}.txt") for number in range(7)]
    with isolated_session(ScriptedModel(*read, says("Well.")), folder=tmp_path) as session:
        session.prompt("Read the logs.", yes=True)
        names: dict[str, Any] = {
            "palimpsest": palimpsest,
            "policies": palimpsest.policies,
            "session": session,
        }
        exec(compile(example("Its numbers"), "page", "exec"), names)
        swept = session.sweep(names["newest"], keep=[2, 10], price="units")
        item = next(item for item in session.review.timeline.items if item.kind == "output")
        why = session.why(item.index + 1, 8, policy="newest keep=2")

    assert (tmp_path / "session.html").is_file()
    assert [figures.fired != 0 for figures in swept.comparison.figures] == [True, False]
    assert why.startswith(
        "Under newest keep=2: The result of read (log0.txt) is cleared in request 8, since request "
    )
