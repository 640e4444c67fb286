"""The example of docs/policies.md that lets a policy act runs, by the public names."""

import re
from pathlib import Path

import pytest
from tests.harness.replay_checks import check_log_laws

import palimpsest
from palimpsest.frontends.operation_text.policy_text import own_policy_words
from palimpsest.model.script import calls, says
from palimpsest.testing import ScriptedModel, isolated_session

PAGE = Path(__file__).resolve().parents[2] / "docs" / "policies.md"
CLEARED = "[Old tool result content cleared]"


def example() -> str:
    """Return the page's code from below the heading about acting live."""
    section = PAGE.read_text(encoding="utf-8").partition("### Let it act live")[2]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found.group(1)


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
        assert "newest_three (your function newest_three" in own_policy_words(
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
