"""A kernel continues a session whose log was damaged, and reports what cannot be read."""

from pathlib import Path

import pytest
from tests.frontends.foreign_logs import NOTEBOOK
from tests.harness.kernel import Kernel, Run

pytestmark = pytest.mark.slow


def told(run: Run) -> str:
    """Return all output of a cell."""
    return run.markdown() + run.stream("stdout") + run.stream("stderr")


def opened(folder: Path, *words: str) -> Kernel:
    """Start a kernel for the notebook whose model gives these answers in order."""
    kernel = Kernel(cwd=folder, env={"JPY_SESSION_NAME": NOTEBOOK})
    answers = ", ".join(f"says({word!r})" for word in words)
    run = kernel.client.run(
        "from palimpsest.model.script import says\n"
        "from tests.frontends.foreign_logs import load\n"
        f"app = load(get_ipython(), {answers})"
    )
    assert run.status == "ok", run.reply
    return kernel


def test_a_session_with_a_bad_byte_in_an_id_is_gone_on_with(tmp_path: Path) -> None:
    with opened(tmp_path, "It was Adelie.", "Then Gentoo.") as kernel:
        assert "Adelie" in told(kernel.client.run("%%agent\nWhich one?"))
        assert "Gentoo" in told(kernel.client.run("%%agent\nAnd then?"))
    sessions = tmp_path / ".palimpsest" / "sessions"
    (log,) = sessions.glob("*/log-1.jsonl")
    lines = log.read_bytes().split(b"\n")
    at = next(
        n for n, line in enumerate(lines) if b"message.part.updated" in line and b"msg_" in line
    )
    lines[at] = lines[at].replace(b'"message_id":"msg_', b'"message_id":"msg\xff', 1)
    log.write_bytes(b"\n".join(lines))
    (sessions / "ses_odd" / "log-1.jsonl").mkdir(parents=True)
    (tmp_path / ".palimpsest" / "index.json").write_bytes(b"\x00" * 100)

    with opened(tmp_path, "Still here.") as kernel:
        listed = told(kernel.client.run("%agent sessions"))
        assert log.parent.name[-6:] in listed
        assert "Traceback" not in listed
        assert "Still here." in told(kernel.client.run("%%agent\nGo on."))
        seen = kernel.client.run(
            "import palimpsest\n"
            "session = palimpsest.current_session()\n"
            "print(session.id, [problem.what for problem in session.problems()])"
        ).stream("stdout")
        assert log.parent.name in seen
        assert "The line is not a JSON object." in seen
        shown = kernel.client.run(
            "import pathlib\n"
            "display(session.inspect())\n"
            "print(pathlib.Path(session.report('page.html')).read_text())"
        )
        (saved,) = (output["data"]["text/html"] for output in shown.outputs() if "data" in output)
        for words in (saved, shown.stream("stdout")):
            assert f"<li>{log.parent.name}/log-1.jsonl, byte " in words
            assert "The line is not a JSON object.</li>" in words
    assert b"Still here." in b"".join(path.read_bytes() for path in log.parent.glob("log-*.jsonl"))
