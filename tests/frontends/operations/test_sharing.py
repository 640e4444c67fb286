"""A session is shared, exported and imported from a cell, from a page, and from Python."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.frontends.page_channel.test_channel import outcome as outcome_of
from tests.harness.kernel import Kernel
from tests.store.foreign_sessions import sample

from palimpsest.frontends.operations.sharing import Import, ImportedSessions
from palimpsest.store.exchange.import_report import Imported
from palimpsest.store.interface import Problem

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"


def test_an_import_says_what_came_and_what_did_not() -> None:
    problems = tuple(Problem(f"part/{number}.json", "It is no JSON.") for number in range(12))
    came = Imported("ses_a", "One", "new", 1), Imported("ses_b", "Two", "copy", 2_000)
    output = Import(path="x").output

    lines = output(ImportedSessions(imported=came, unreadable=problems)).plain_text.splitlines()

    assert lines[0] == "ses_a (One), 1 message: new."
    assert lines[1].startswith("ses_b (Two), 2,000 messages: came as a copy")
    assert lines[3] == "Not read: part/0.json. It is no JSON."
    assert lines[-1] == "2 more could not be read."
    assert (
        output(ImportedSessions(imported=(), unreadable=())).plain_text
        == "No session was found there."
    )


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    env = {"PALIMPSEST_REHEARSAL_DELAY": "0", "JPY_SESSION_NAME": str(tmp_path / "a.ipynb")}
    with Kernel(cwd=tmp_path, env=env) as kernel:
        assert kernel.client.run(SETUP).status == "ok"
        kernel.client.run(f"%agent --model rehearsal/tells tell {KEY}")
        yield kernel


SETUP = f"""
%load_ext palimpsest
import palimpsest
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.model.script import says
register_scenario("tells", [says("It is **told**, with {KEY}."), says("And again.")])
"""


@pytest.mark.slow
def test_sessions_come_in_from_a_cell_and_are_gone_on_with(kernel: Kernel, tmp_path: Path) -> None:
    run = kernel.client.run
    sample("opencode_storage", tmp_path)

    told = run("%agent import ./opencode_storage").markdown()
    assert "Plan requirements review for ESQL notes" in told
    assert "here already" in run("%agent import ./opencode_storage").markdown()
    assert "There is no" in str(run("%agent import ./nothing.json").reply["content"]["evalue"])

    run("%agent use ses_11111111aaaaMockOpenCode01")
    run("%agent --model rehearsal/tells And now?")
    told = run(
        "session = palimpsest.current_session()\n"
        "print(session.id, len(session.messages), [r.purpose for r in session.requests()])\n"
        "print(all(session.rebuild(r).matches for r in session.requests()))"
    ).stream()
    assert told.startswith("ses_11111111aaaaMockOpenCode01 5 ['step'")
    assert told.endswith("True\n")


@pytest.mark.slow
def test_a_session_is_given_out_from_python(kernel: Kernel, tmp_path: Path) -> None:
    told = kernel.client.run(
        "session = palimpsest.current_session()\n"
        "page = session.share()\n"
        "print(page.exists(), session.unshare(), page.exists(), session.unshare())\n"
        "print(session.export('ipynb', 'b.ipynb', prompts='cells').name)\n"
        "report = palimpsest.import_session(session.export('json', 'b.json'))\n"
        "print([one.outcome for one in report.sessions], report.problems)\n"
        "try:\n    session.export('pdf')\nexcept Exception as error:\n    print(error)"
    ).stream()

    assert told.splitlines()[0] == "True True False False"
    assert told.splitlines()[1] == "b.ipynb"
    assert "There is no export to 'pdf'; there are md, ipynb, json, html, opencode, atif." in told
    cells = json.loads((tmp_path / "b.ipynb").read_text(encoding="utf-8"))["cells"]
    assert cells[2]["source"].startswith("%%agent\ntell ")


@pytest.mark.slow
def test_a_page_gives_a_session_out_inside_the_project(kernel: Kernel, tmp_path: Path) -> None:
    client = kernel.client
    client.request(type="watch", id="w", client="page")

    def outcome(**command: object) -> dict[str, object]:
        client.request(**command)
        return outcome_of(kernel, str(command["id"]))

    shared = outcome(type="share", id="s1")
    assert isinstance(shared, dict)
    assert str(shared["shown"]).startswith(".palimpsest/share/")
    assert str(shared["content"]).startswith("<!doctype html>")
    made = outcome(type="export", id="e1", form="md")
    assert isinstance(made, dict)
    assert (tmp_path / str(made["shown"])).is_file()
    assert "outside the project" in str(outcome(type="export", id="e2", path="../x.md")["error"])
    sample("opencode_storage", tmp_path)
    brought = outcome(type="import", id="i1", path="opencode_storage")["imported"]
    assert isinstance(brought, list)
    assert [session["outcome"] for session in brought] == ["new", "new"]
    assert "outside the project" in str(outcome(type="import", id="i2", path="/etc")["error"])
    assert outcome(type="unshare", id="u1").get("late") is False
    assert outcome(type="unshare", id="u2").get("late") is True
