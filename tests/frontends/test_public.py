"""The public ``palimpsest`` API in a kernel: a user's own tools, the session, warnings."""

from pathlib import Path

from tests.harness.kernel import Kernel

SETUP = """
%load_ext palimpsest
import palimpsest
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.model.script import calls, says

@palimpsest.tool
def double(number: int) -> int:
    "Double a number."
    return 2 * number

register_scenario("doubles", [calls("double", number=21), says("It is 42.")])
"""


def test_a_function_becomes_a_tool_and_the_session_can_be_looked_at(tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text('modle = "x"\n[permission]\ndouble = "allow"\n')
    env = {"PALIMPSEST_REHEARSAL_DELAY": "0", "JPY_SESSION_NAME": str(tmp_path / "a.ipynb")}
    with Kernel(cwd=tmp_path, env=env) as kernel:
        assert kernel.client.run(SETUP).status == "ok"

        run = kernel.client.run("%agent --model rehearsal/doubles double 21")

        assert run.status == "ok"
        assert "It is 42." in run.markdown()
        assert "modle" in run.stream("stderr")
        assert "model" in run.stream("stderr")
        look = kernel.client.run(
            "session = palimpsest.current_session()\n"
            "requests = [one for one in session.requests() if one.purpose == 'step']\n"
            "print(len(session.messages), [session.rebuild(r).matches for r in requests])\n"
            "print(requests[-1].model.ref.id)"
        )
        assert look.stream() == "3 [True, True]\nrehearsal/doubles\n"
        kernel.client.run("wish = session.exclude('last')")
        kernel.client.run("%agent --model rehearsal/doubles double 21 again")
        chosen = kernel.client.run(
            "print(wish, [one.rule for one in wish.decisions])\n"
            "sent = str(session.rebuild([one for one in session.requests() if one.purpose == 'step'][-1]).request.messages)\n"
            "print('double 21 again' in sent, 'tool_call_id' in sent)\n"
            "print(session.restore('last'), session.pin('last'), session.unpin('last'))\n"
            "try:\n    session.undo_compaction()\n"
            "except Exception as error:\n    print(error)"
        ).stream()
        assert chosen.startswith("Left out the call double")
        assert "['user/exclude']\nTrue False\n" in chosen
        assert "There is no compaction to undo" in chosen
        refused = kernel.client.run("palimpsest.current_session().prompt('hi')")
        assert "ask with %agent" in str(refused.reply["content"]["evalue"])
        assert len(refused.of("error")[0]["traceback"]) == 1
        assert "modle" not in kernel.client.run("%agent hello").stream("stderr")
