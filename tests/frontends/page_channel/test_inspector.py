"""Pages ask an inspector's questions about sessions and recorded files, and nothing but notes is written by it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel
from tests.recordings.formats.sample_files import sample

pytestmark = pytest.mark.slow


def asked(kernel: Kernel, number: int, query: dict[str, Any], **where: Any) -> dict[str, Any]:
    """Ask one question and return the answer."""
    reply = kernel.request(type="inspect", id=f"ask-{number}", query=query, **where)
    assert reply["status"] == "ok", reply
    message = kernel.wait(
        lambda m: (
            m["content"].get("kind") == "outcome" and m["content"].get("id") == f"ask-{number}"
        )
    )
    assert "error" not in message["content"], message["content"]
    found: dict[str, Any] = message["content"]["answer"]
    return found


def test_a_page_asks_for_the_view_tracks_and_texts_of_the_notebooks_session(tmp_path: Path) -> None:
    with Kernel(cwd=tmp_path, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.client.run("%load_ext palimpsest")
        kernel.client.run("%agent -m rehearsal/rules Hello, it is me.")
        kernel.request(type="watch", client="page")

        view = asked(kernel, 1, {"ask": "view"})["view"]
        session = view["session"]
        same = asked(kernel, 2, {"ask": "view", "after": view["seq"]}, session=session)
        track = asked(kernel, 3, {"ask": "track", "policy": "sweagent.last_n", "numbers": {"n": 5}})
        (prompt,) = (
            number
            for number, label in enumerate(view["items"]["label"])
            if label == "Hello, it is me."
        )
        text = asked(kernel, 4, {"ask": "item", "item": prompt, "request": 0})["item"]
        request = asked(kernel, 5, {"ask": "request", "request": 0, "find": "it is me"})["request"]
        wrong = asked(kernel, 6, {"ask": "track", "policy": "no.such"})
        kernel.client.run("%agent -m rehearsal/rules Hello again.")
        grown = asked(kernel, 7, {"ask": "view", "after": view["seq"]})["view"]
        unknown = asked(kernel, 8, {"ask": "view"}, session="ses_none")
        kernel.client.run(f"%agent delete {session} --yes")
        held = {"after": grown["seq"], "epoch": grown["epoch"]}
        gone = asked(kernel, 9, {"ask": "view", **held}, session=session)
        answer = asked(kernel, 10, {"ask": "item", "item": prompt, "request": 0}, session=session)

    assert view["own"] is True
    assert same["unchanged"] is True
    assert track["track"]["policy"].startswith("sweagent.last_n")
    assert text["text"] == "Hello, it is me."
    assert [block["item"] for block in request["blocks"]] == [prompt]
    assert "no.such" in wrong["error"]
    assert len(grown["requests"]["id"]) > len(view["requests"]["id"])
    assert unknown["error"].startswith("There is no session 'ses_none'")
    assert gone["error"].startswith(f"There is no session '{session}'")
    assert answer["item"]["text"] == "Hello, it is me."


def test_a_page_writes_a_note_that_the_inspector_lists(tmp_path: Path) -> None:
    sample("gemini_cli.jsonl", tmp_path)
    (tmp_path / "secrets.txt").write_text("no recording")
    env = {"PALIMPSEST_REHEARSAL_DELAY": "0", "PALIMPSEST_AUTHOR": "Ann"}
    with Kernel(cwd=tmp_path, env=env) as kernel:
        kernel.client.run("%load_ext palimpsest")
        kernel.client.run("%agent -m rehearsal/rules Hello, it is me.")
        kernel.request(type="watch", client="page")

        written = noted(kernel, 1, text="A greeting.", request=1, verdict="good")
        (note,) = written["answer"]["notes"]["notes"]
        noted(kernel, 2, note=note["note"]["id"], tag="polite", author="Bo")
        listed = asked(kernel, 3, {"ask": "notes"})["notes"]["notes"]
        wrong = noted(kernel, 4, text="None.", request=9)
        beside = noted(kernel, 5, text="A file.", path="gemini_cli.jsonl", request=2, last=3)
        refused = noted(kernel, 6, text="No recording.", path="secrets.txt", request=1)
        removed = noted(kernel, 7, note=note["note"]["id"], remove=True)

    assert (note["found"], note["note"]["author"]) == ({"text": "request 1", "request": 0}, "Ann")
    (changed,) = (one["note"] for one in listed)
    words = [changed[name] for name in ("text", "tag", "verdict", "changed_by")]
    assert words == ["A greeting.", "polite", "good", "Bo"]
    assert "there is no request 9" in wrong["error"]
    assert [one["found"]["text"] for one in beside["answer"]["notes"]["notes"]] == [
        "requests 2 to 3"
    ]
    assert "holds no session that can be imported" in refused["error"]
    assert removed["answer"]["notes"]["notes"] == []
    assert (tmp_path / "gemini_cli.jsonl.notes.jsonl").is_file()
    assert not (tmp_path / "secrets.txt.notes.jsonl").exists()


def noted(kernel: Kernel, number: int, **words: Any) -> dict[str, Any]:
    """Write or change a note, and return the notice of its outcome."""
    reply = kernel.request(type="note", id=f"note-{number}", **words)
    assert reply["status"] == "ok", reply
    message = kernel.wait(
        lambda m: (
            m["content"].get("kind") == "outcome" and m["content"].get("id") == f"note-{number}"
        )
    )
    outcome: dict[str, Any] = message["content"]
    return outcome


@pytest.mark.soak  # with each commit tests/frontends/inspector/test_recording_problems.py asks about a recording; this adds tracks, and paths that lead to none
def test_a_page_asks_about_a_recorded_file_that_is_only_read(tmp_path: Path) -> None:
    pi = sample("pi_large_session.jsonl", tmp_path)
    (tmp_path / "work").mkdir()
    shutil.move(pi, tmp_path / "pi.jsonl")
    with Kernel(cwd=tmp_path / "work", env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.client.run("%load_ext palimpsest")
        kernel.client.run("%agent sessions")
        kernel.request(type="watch", client="page")

        kernel.request(type="inspect", id="none", query={"ask": "view"})
        none = kernel.wait(lambda m: m["content"].get("id") == "none")["content"]
        view = asked(kernel, 1, {"ask": "view"}, path="../pi.jsonl")["view"]
        track = asked(kernel, 2, {"ask": "track", "policy": "raw"}, path="../pi.jsonl")["track"]
        missing = asked(kernel, 3, {"ask": "view"}, path="../other.jsonl")
        (tmp_path / "words.txt").write_text("Nothing of an agent.\n")
        foreign = asked(kernel, 4, {"ask": "view"}, path="../words.txt")
        null = asked(kernel, 5, {"ask": "view"}, path="\0")

    assert none["error"] == "This notebook has no session yet. Ask the agent, then inspect it."
    assert (view["origin"], view["own"], len(view["requests"]["id"])) == ("pi", False, 453)
    assert len(track["total"]) == 453
    for reply in (missing, foreign, null):
        assert "view" not in reply
        assert reply["error"].endswith(".")
        assert reply["error"].count(". ") <= 1
    assert not list(tmp_path.glob("work/.palimpsest/sessions/*"))
