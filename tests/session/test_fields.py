"""Actions in a session set the documented fields of its log's records."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from palimpsest import __version__
from palimpsest.public.session_object import Session
from palimpsest.store.exchange.opencode_format import info_json, part_json, read_info, read_part
from palimpsest.testing import (
    ModelAnswer,
    ScriptedModel,
    calls,
    fails,
    isolated_session,
    overflows,
    says,
    thinks,
)
from palimpsest.transcript.messages import Origin

pytestmark = pytest.mark.slow

Fields = dict[str, Any]
PRICE = {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75}
MODEL = {"window": 200_000, "output": 8_000, "price": PRICE, "reasoning": True}
SETTINGS = {"models": {"scripted/model": MODEL}, "permission": "allow"}
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
SUMMARY = "## Goal\n- know the penguins\n\n## Numbers and facts\n- mean 43.92\n" + "- none\n" * 30
USAGE = {"input": 100, "output": 20, "reasoning": 5, "cache_read": 40, "cache_write": 10}


def records(folder: Path, session: str) -> list[Fields]:
    """Return the records of a session's log, read from the disk."""
    (log,) = (folder / ".palimpsest" / "sessions").glob(f"{session}*/log-1.jsonl")
    found = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [record for record in found if "seq" in record]


class Log:
    """The log of a closed session."""

    def __init__(self, folder: Path, session: str) -> None:
        self.all = records(folder, session)
        self.sessions = [record["session"] for record in self.all if "session" in record]
        self.infos = {
            record["info"]["id"]: record["info"]
            for record in self.all
            if record["type"] == "message.updated"
        }
        self.parts = {
            record["part"]["id"]: record["part"]
            for record in self.all
            if record["type"] == "message.part.updated"
        }

    @property
    def session(self) -> Fields:
        """The session's own record in its last version."""
        found: Fields = self.sessions[-1]
        return found

    def message(self, role: str, at: int = 0) -> Fields:
        """Return the info of a message with that role."""
        return [info for info in self.infos.values() if info["role"] == role][at]

    def part(self, kind: str, at: int = 0) -> Fields:
        """Return a part of that type in its last version."""
        return [of_kind for of_kind in self.parts.values() if of_kind["type"] == kind][at]

    def states(self, status: str) -> list[Fields]:
        """Return all recorded states of tool calls with that status."""
        parts = [record["part"] for record in self.all if record["type"] == "message.part.updated"]
        tools = [part["state"] for part in parts if part["type"] == "tool"]
        return [tool for tool in tools if tool["status"] == status]


def played(
    folder: Path, *answers: ModelAnswer, prompt: str = "Hello.", **options: Any
) -> tuple[Log, ScriptedModel]:
    """Send a prompt with scripted answers; return the log after the session is closed, and the model."""
    model = ScriptedModel(*answers)
    with isolated_session(model, folder=folder, settings=SETTINGS) as session:
        session.prompt(prompt, **options)
    return Log(folder, session.id), model


def test_a_session_says_whose_it_is_and_where(tmp_path: Path) -> None:
    log, _ = played(tmp_path, says("Hi."))

    created = log.sessions[0]
    assert log.all[0]["type"] == "session.created"
    assert created["id"].startswith("ses_")
    layout = json.loads((tmp_path / ".palimpsest" / "layout").read_text())
    assert created["project_id"] == layout["project_id"]
    assert created["directory"] == str(tmp_path)
    assert created["version"] == __version__
    assert created["title"].startswith("New session - ")
    assert created["time"]["created"] == created["time"]["updated"] > 1_700_000_000_000
    assert log.session["time"]["updated"] >= created["time"]["created"]


def test_a_session_says_what_it_spent_and_who_answers(tmp_path: Path) -> None:
    log, _ = played(tmp_path, says("Hi.").reports(**USAGE), agent="plan")

    session = log.session
    assert session["agent"] == "plan"
    assert session["model"] == {"provider": "scripted", "name": "model"}
    assert {name: session["tokens"][name] for name in USAGE} == USAGE
    paid = (100 * 3.0 + 25 * 15.0 + 40 * 0.3 + 10 * 3.75) / 1_000_000
    assert session["cost"] == pytest.approx(paid)
    assert session.get("unpriced") is None


def test_a_session_counts_requests_whose_price_nobody_knows(tmp_path: Path) -> None:
    with isolated_session(ScriptedModel(says("Hi.")), folder=tmp_path) as session:
        session.prompt("Hello.")

    loaded = Log(tmp_path, session.id).session
    assert (loaded["unpriced"], loaded.get("cost")) == (1, None)


def test_a_session_counts_the_lines_that_it_changed(tmp_path: Path) -> None:
    log, _ = played(tmp_path, calls("write", path="a.txt", content="one\ntwo\n"), says("Written."))

    assert log.session["summary"] == {"additions": 2, "deletions": 0, "files": 1}


def test_a_session_says_how_freely_the_agent_works_and_what_it_may_spend(tmp_path: Path) -> None:
    with isolated_session(ScriptedModel(says("Hi.")), folder=tmp_path) as session:
        session.prompt("Hello.")
        session.control.use_mode("plan")
        session.control.set_budget(usd=2, tokens=9_000)
        session.use_policy("opencode-1.18")

    loaded = Log(tmp_path, session.id).session
    assert (loaded["mode"], loaded["mode_own"]) == ("plan", True)
    assert (loaded["budget"]["usd"], loaded["budget"]["tokens"]) == (2.0, 9_000)
    assert "opencode-1.18" in json.dumps(loaded["policy_choice"])


def test_a_session_keeps_the_rules_that_it_was_begun_with(tmp_path: Path) -> None:
    with isolated_session(ScriptedModel(), folder=tmp_path) as session:
        app = session._app
        begun = app.workspace.new(None, permission={"bash": "deny"})
        made = Session(app, app.engine.submit(begun).result())

    (rule,) = Log(tmp_path, made.id).session["permission"]
    assert (rule["permission"], rule["action"]) == ("bash", "deny")


def test_a_session_says_since_when_it_is_put_away(tmp_path: Path) -> None:
    with isolated_session(ScriptedModel(says("Hi.")), folder=tmp_path) as session:
        session.prompt("Hello.")
        session.archive()

    time = Log(tmp_path, session.id).session["time"]
    assert time["archived"] >= time["created"]


def test_a_session_says_where_its_page_is_and_what_is_taken_back(tmp_path: Path) -> None:
    with isolated_session(ScriptedModel(says("Hi.")), folder=tmp_path) as session:
        session.prompt("Hello.")
        page = session.share()
        first = session.messages[0].id
        session.revert()

    loaded = Log(tmp_path, session.id).session
    assert loaded["share"]["secret"] in page.name
    assert page.name in loaded["share"]["url"]
    assert loaded["revert"]["message_id"] == first
    assert loaded["revert"]["snapshot"]
    assert loaded["revert"].get("part_id") is None


def test_a_session_says_since_when_a_summary_is_written(tmp_path: Path) -> None:
    model = ScriptedModel(says("The mean is 43.92. " * 400).in_pieces(4_000), says(SUMMARY))
    with isolated_session(model, folder=tmp_path, settings=SETTINGS) as session:
        session.prompt("What is the mean?")
        session.compact().result()

    times = [recorded["time"].get("compacting") for recorded in Log(tmp_path, session.id).sessions]
    assert [since for since in times if since] != []
    assert times[-1] is None


def test_the_session_of_a_task_says_who_began_it_and_what_it_may(tmp_path: Path) -> None:
    task = calls("task", description="Look", prompt="Look.", agent="explore")
    done = says("Seen.").reports(**USAGE)
    with isolated_session(
        ScriptedModel(task, done, says("Done.")), folder=tmp_path, settings=SETTINGS
    ) as session:
        session.prompt("Go.")
        (child,) = session.children()

    below = Log(tmp_path, child.id).session
    above = Log(tmp_path, session.id).session
    assert below["parent_id"] == session.id
    assert below["metadata"]["depth"] == 1
    assert below["agent"] == "explore"
    denied = [rule["permission"] for rules in below["limits"] for rule in rules]
    assert "task" in denied
    assert above["below"]["tokens"]["input"] == USAGE["input"]
    assert above["below"]["cost"] == pytest.approx(below["cost"])


def test_a_fork_says_where_it_begins(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), says("Two."), says("Three."))
    with isolated_session(model, folder=tmp_path, settings=SETTINGS) as session:
        session.prompt("First.")
        session.prompt("Second.")
        second = session.messages[2].id
        fork = session.fork(second)

    kept = Log(tmp_path, session.id)
    source = Log(tmp_path, fork.id).session["forked_from"]
    assert source["session_id"] == session.id
    assert (source["segment"], source["offset"] > 0) == ("log-1.jsonl", True)
    assert 0 < source["seq"] < kept.all[-1]["seq"]


def test_a_prompt_keeps_what_came_with_it(tmp_path: Path) -> None:
    origin = Origin(kind="cell", cell_id="c-1", execution_count=3, notebook="a.ipynb")
    log, model = played(
        tmp_path,
        says("Hi."),
        agent="plan",
        variant="high",
        system="Be brief.",
        tools={"bash": False},
        max_steps=7,
        origin=origin,
    )

    user = log.message("user")
    assert (user["role"], user["session_id"]) == ("user", log.session["id"])
    assert user["id"].startswith("msg_")
    assert user["time"]["created"] > 1_700_000_000_000
    assert user["agent"] == "plan"
    assert user["model"] == {"provider": "scripted", "name": "model", "variant": "high"}
    assert (user["system"], user["max_steps"]) == ("Be brief.", 7)
    assert user["tools"] == {"bash": False}
    assert (user["origin"]["kind"], user["origin"]["cell_id"]) == ("cell", "c-1")
    assert (user["origin"]["execution_count"], user["origin"]["notebook"]) == (3, "a.ipynb")
    assert "bash" not in [tool.name for tool in model.requests[0].tools]


def test_a_prompt_says_which_files_its_turn_changed(tmp_path: Path) -> None:
    log, _ = played(tmp_path, calls("write", path="a.txt", content="one\n"), says("Written."))

    (diff,) = log.message("user")["summary"]["diffs"]
    assert (diff["file"], diff["status"], diff["additions"]) == ("a.txt", "added", 1)


def test_an_answer_says_who_gave_it_what_it_cost_and_how_it_ended(tmp_path: Path) -> None:
    log, _ = played(tmp_path, says("Hi.").reports(**USAGE))

    user, answer = log.message("user"), log.message("assistant")
    assert (answer["role"], answer["parent_id"]) == ("assistant", user["id"])
    assert answer["session_id"] == log.session["id"]
    assert answer["id"] > user["id"]
    assert answer["time"]["completed"] >= answer["time"]["created"]
    assert (answer["agent"], answer["model"]["name"]) == ("build", "model")
    assert answer["path"] == {"cwd": str(tmp_path), "root": str(tmp_path)}
    assert {name: answer["tokens"][name] for name in USAGE} == USAGE
    assert answer["cost"] == pytest.approx(log.session["cost"])
    assert (answer["finish"], answer["stopped_by"]) == ("stop", "finished")
    assert (answer["summary"], answer.get("error")) == (False, None)


def test_an_answer_that_failed_says_why(tmp_path: Path) -> None:
    log, _ = played(tmp_path, fails(400, "No such thing."))

    answer = log.message("assistant")
    assert (answer["error"]["type"], answer["error"]["status"]) == ("api", 400)
    assert (answer["error"]["retryable"], answer["stopped_by"]) == (False, "error")


def test_words_say_when_they_were_said(tmp_path: Path) -> None:
    log, _ = played(tmp_path, says("Let me look."), says(""))

    text = log.part("text", 1)
    assert text["text"] == "Let me look."
    assert text["session_id"] == log.session["id"]
    assert text["message_id"] == log.message("assistant")["id"]
    assert text["id"].startswith("prt_")
    assert text["time"]["end"] >= text["time"]["start"] > 1_700_000_000_000
    assert (text["synthetic"], text["ignored"], text["pinned"]) == (False, False, False)


def test_words_of_the_engine_say_that_they_are(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("Birds.\n")
    log, _ = played(tmp_path, says("Birds."), prompt="What is in @note.md?")

    synthetic = [part for part in log.parts.values() if part.get("synthetic")]
    assert any("Birds." in part["text"] for part in synthetic)
    assert any(part.get("metadata") for part in synthetic)


def test_the_words_that_a_command_stands_for_are_not_sent(tmp_path: Path) -> None:
    command = tmp_path / ".palimpsest" / "commands" / "tidy.md"
    command.parent.mkdir(parents=True)
    command.write_text("Tidy the file $1.\n")

    log, model = played(tmp_path, says("Tidied."), prompt="/tidy a.py")

    typed = log.part("text")
    assert (typed["text"], typed["ignored"]) == ("/tidy a.py", True)
    sent = str(model.requests[0].messages)
    assert ("Tidy the file a.py." in sent, "/tidy" in sent) == (True, False)


def test_thinking_keeps_its_words_and_its_time(tmp_path: Path) -> None:
    log, _ = played(tmp_path, thinks("It may be 42.").says("42."))

    reasoning = log.part("reasoning")
    assert reasoning["text"] == "It may be 42."
    assert reasoning["time"]["end"] >= reasoning["time"]["start"]


def test_thinking_keeps_what_the_provider_signed(tmp_path: Path) -> None:
    model = ScriptedModel(thinks("It may be 42.", signature="seal").says("42."))
    known = {"anthropic/claude-test": {**MODEL}}
    settings = {"model": "anthropic/claude-test", "models": known}
    with isolated_session(model, folder=tmp_path, settings=settings) as session:
        session.prompt("How many?")

    assert "seal" in json.dumps(Log(tmp_path, session.id).part("reasoning")["metadata"])


def test_a_file_says_what_it_is_and_where_its_bytes_are(tmp_path: Path) -> None:
    log, _ = played(tmp_path, says("A dot."), prompt="What is it?", files=[PICTURE])

    file = log.part("file")
    assert file["mime"] == "image/png"
    assert file["url"].startswith(("data:image/png", "blob:"))


def test_a_file_that_a_prompt_names_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(base64.b64decode(PICTURE.partition(",")[2]))
    log, _ = played(tmp_path, says("A dot."), prompt="What is in @dot.png?")

    assert log.part("file")["filename"].endswith("dot.png")


def test_a_call_goes_from_pending_to_completed(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("Birds.\n")
    log, _ = played(tmp_path, calls("read", path="note.md", call_id="call_read"), says("Birds."))

    tool = log.part("tool")
    assert (tool["call_id"], tool["tool"], tool["pinned"]) == ("call_read", "read", False)
    pending, running = log.states("pending"), log.states("running")
    assert (pending[0]["input"], pending[0]["raw"]) == ({}, "")
    assert running[0]["input"] == {"path": "note.md"}
    assert running[0]["time"]["start"] > 1_700_000_000_000
    done = tool["state"]
    assert (done["status"], done["input"]) == ("completed", {"path": "note.md"})
    assert "Birds." in done["output"]
    assert "note.md" in done["title"]
    assert done["metadata"]
    assert done["time"]["end"] >= done["time"]["start"]


def test_a_call_that_failed_says_why(tmp_path: Path) -> None:
    log, _ = played(tmp_path, calls("read", path="none.md"), says("It is not there."))

    failed = log.part("tool")["state"]
    assert (failed["status"], failed["input"]) == ("error", {"path": "none.md"})
    assert "none.md" in failed["error"]
    assert failed["time"]["end"] >= failed["time"]["start"]


def test_a_long_output_lies_in_a_file_of_its_own(tmp_path: Path) -> None:
    log, _ = played(tmp_path, calls("bash", command="seq 20000", description="Count"), says("Ok."))

    state = log.part("tool")["state"]
    blob = tmp_path / ".palimpsest" / "blobs"
    assert state["blob"]["bytes"] > 100_000 > len(state["output"])
    assert [path for path in blob.rglob("*") if state["blob"]["sha256"][:8] in path.name]


def test_a_call_returns_pictures_as_attachments(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(base64.b64decode(PICTURE.partition(",")[2]))
    log, _ = played(tmp_path, calls("read", path="dot.png"), says("A dot."))

    (attached,) = log.part("tool")["state"]["attachments"]
    assert attached["mime"] == "image/png"
    assert attached["url"].startswith(("data:", "blob:"))


def test_a_step_says_what_it_took_and_which_files_it_found(tmp_path: Path) -> None:
    log, _ = played(
        tmp_path, calls("write", path="a.txt", content="one\n"), says("Written.").reports(**USAGE)
    )

    begun, ended = log.part("step-start", 1), log.part("step-finish", 1)
    requests = [record["request"]["id"] for record in log.all if record["type"] == "step.requested"]
    assert begun["request_id"] == requests[1]
    assert begun["snapshot"]
    assert ended["reason"] == "stop"
    assert ended["snapshot"] == begun["snapshot"]
    assert {name: ended["tokens"][name] for name in USAGE} == USAGE
    assert ended["cost"] > 0
    assert ended["seconds"] >= 0
    assert ended["window"] == 200_000
    assert ended["context_tokens"] == sum(USAGE.values())


def test_a_step_says_which_files_it_changed(tmp_path: Path) -> None:
    log, _ = played(tmp_path, calls("write", path="a.txt", content="one\n"), says("Written."))

    patch = log.part("patch")
    assert patch["files"] == ["a.txt"]
    assert patch["hash"] == log.part("step-start")["snapshot"]
    assert patch["after"] == log.part("step-finish")["snapshot"]
    assert patch["hash"] != patch["after"]


def test_an_agent_that_a_prompt_names_is_kept_with_its_place(tmp_path: Path) -> None:
    log, _ = played(tmp_path, says("Asked."), prompt="Let @explore look.")

    agent = log.part("agent")
    assert agent["name"] == "explore"
    assert agent["source"] == {"value": "@explore", "start": 4, "end": 12}


def test_work_that_a_prompt_hands_on_is_kept_with_its_words(tmp_path: Path) -> None:
    log, _ = played(tmp_path, says("Seen."), says("Done."), prompt="@explore look at the birds")

    subtask = log.part("subtask")
    assert (subtask["agent"], subtask["prompt"]) == ("explore", "look at the birds")
    assert subtask["description"] == "look at the birds"


def test_a_command_as_a_subtask_says_its_name_and_model(tmp_path: Path) -> None:
    look = {"template": "Look at $1.", "agent": "explore", "subtask": True}
    command = {"look": {**look, "model": "scripted/model"}}
    model = ScriptedModel(says("Seen."), says("Done."))
    settings = {**SETTINGS, "command": command}
    with isolated_session(model, folder=tmp_path, settings=settings) as session:
        session.prompt("/look a.py")

    subtask = Log(tmp_path, session.id).part("subtask")
    assert (subtask["command"], subtask["prompt"].strip()) == ("look", "Look at a.py.")
    assert subtask["model"]["name"] == "model"


def test_a_request_that_is_sent_again_leaves_a_retry(tmp_path: Path) -> None:
    log, _ = played(tmp_path, fails(503, "Busy.", retry_after_ms=1), says("Hi."))

    retry = log.part("retry")
    assert retry["attempt"] == 1
    assert (retry["error"]["status"], retry["error"]["retryable"]) == (503, True)
    assert retry["time"]["end"] >= retry["time"]["start"]


def test_a_compaction_says_who_asked_for_it_and_for_what(tmp_path: Path) -> None:
    model = ScriptedModel(says("The mean is 43.92. " * 400).in_pieces(4_000), says(SUMMARY))
    with isolated_session(model, folder=tmp_path, settings=SETTINGS) as session:
        session.prompt("What is the mean?")
        session.compact("the numbers").result()

    log = Log(tmp_path, session.id)
    part = log.part("compaction")
    assert (part["auto"], part["overflow"], part["focus"]) == (False, False, "the numbers")
    summary = log.message("assistant", -1)
    assert (summary["summary"], summary["agent"]) == (True, "compaction")
    assert summary["parent_id"] == part["message_id"]


def test_a_compaction_says_what_made_it_and_what_stays_word_for_word(tmp_path: Path) -> None:
    long = says("The mean is 43.92. " * 4_000).in_pieces(4_000)
    answers = (long, says("Yes."), overflows(), says(SUMMARY), says("Done."))
    with isolated_session(ScriptedModel(*answers), folder=tmp_path, settings=SETTINGS) as session:
        session.prompt("What is the mean?")
        session.prompt("Sure?")
        session.prompt("And now?")

    log = Log(tmp_path, session.id)
    part = log.part("compaction")
    assert (part["auto"], part["overflow"]) == (True, True)
    assert part["tail_start_id"] in [log.message("user", 1)["id"], log.message("user", 2)["id"]]


@pytest.mark.parametrize(
    "given",
    [
        {"type": "snapshot", "snapshot": "abc"},
        {
            "type": "file",
            "mime": "text/plain",
            "url": "data:text/plain,one",
            "source": {"type": "file", "path": "a.py", "text": {"value": "@a.py", "start": 0}},
        },
    ],
    ids=["snapshot", "source of a file"],
)
def test_a_part_of_an_import_keeps_what_only_others_write(given: Fields) -> None:
    part = read_part({"id": "prt_1", **given}, "ses_1", "msg_1")

    read_back = type(part).model_validate_json(part.model_dump_json())
    assert {name: part_json(read_back)[name] for name in given} == given


def test_a_message_of_an_import_keeps_what_only_others_write() -> None:
    both = {"sessionID": "ses_1", "time": {"created": 1}, "agent": "build"}
    model = {"providerID": "scripted", "modelID": "model"}
    asked = {"id": "msg_1", "role": "user", "model": model, "format": {"type": "json_schema"}}
    path = {"cwd": "/", "root": "/"}
    answered = {"id": "msg_2", "role": "assistant", "parentID": "msg_1", "path": path, **model}

    user = read_info({**both, **asked}, "ses_1")
    answer = read_info({**both, **answered, "structured": {"mean": 43.92}}, "ses_1")

    assert info_json(user)["format"] == {"type": "json_schema"}
    assert info_json(answer)["structured"] == {"mean": 43.92}
