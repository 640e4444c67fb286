"""Sessions are read and written by key, as in OpenCode's Storage, and always through their log."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palimpsest
from palimpsest.public.keyed_storage import KeyedStorage
from palimpsest.public.session_object import Session
from palimpsest.testing import ScriptedModel, calls, isolated_session, says
from palimpsest.transcript.errors import NotFound, SessionBusy, SessionHeld, UserError
from palimpsest.transcript.session_record.events import MessageRemoved, MessageUpdated, PartUpdated


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(calls("glob", pattern="*.txt"), says("One file."), says("Fine."))


@pytest.fixture
def session(model: ScriptedModel, tmp_path: Path) -> Iterator[Session]:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    with isolated_session(model, folder=project) as opened:
        opened.prompt("Which files are there?", yes=True)
        yield opened


@pytest.fixture
def storage(session: Session) -> KeyedStorage:  # noqa: ARG001  # its application is the newest
    return palimpsest.keyed_storage()


def own(storage: KeyedStorage, session: Session) -> list[str]:
    return ["session", storage.project_id, session.id]


def test_every_kind_of_key_is_listed_and_read(storage: KeyedStorage, session: Session) -> None:
    prompt, *_, answer = session.messages
    session.share()

    assert storage.list(["session"]) == [("session", storage.project_id, session.id)]
    assert storage.list(["message", session.id]) == sorted(
        ("message", session.id, message.id) for message in session.messages
    )
    assert storage.list(["part", answer.id]) == sorted(
        ("part", answer.id, part.id) for part in answer.parts
    )
    assert storage.list(["share"]) == [("share", session.id)]
    assert storage.list() == sorted(
        entry for kind in ("session", "message", "part", "share") for entry in storage.list([kind])
    )
    assert [storage.read(key) is not None for key in storage.list()]
    assert storage.read(["session_diff", session.id]) == []
    assert storage.read(["part", prompt.id, prompt.parts[0].id])["text"] == "Which files are there?"


def test_the_values_have_the_fields_that_opencode_names(
    storage: KeyedStorage, session: Session
) -> None:
    session.share()
    prompt, first, _ = session.messages
    info = storage.read(own(storage, session))
    message = storage.read(["message", session.id, first.id])
    call = next(part for part in first.parts if part.type == "tool")
    part = storage.read(["part", first.id, call.id])
    share = storage.read(["share", session.id])

    assert (info["id"], info["projectID"]) == (session.id, storage.project_id)
    assert {"directory", "title", "version", "time", "share"} <= info.keys()
    assert {"created", "updated"} <= info["time"].keys()
    assert (message["sessionID"], message["parentID"]) == (session.id, prompt.id)
    assert {"providerID", "modelID", "cost", "tokens", "path", "time"} <= message.keys()
    assert (part["sessionID"], part["messageID"]) == (session.id, first.id)
    assert (part["callID"], part["state"]["status"]) == (call.call_id, "completed")
    assert {"secret", "url"} <= share.keys()
    assert info["share"] == share


def test_the_values_are_those_that_an_export_writes(
    storage: KeyedStorage, session: Session, tmp_path: Path
) -> None:
    folder = session.export("opencode", tmp_path / "storage")

    files = [path for kind in ("message", "part") for path in Path(folder).glob(f"{kind}/*/*.json")]
    written = {path.relative_to(folder).with_suffix("").parts: path for path in files}
    assert written.keys() == {*storage.list(["message"]), *storage.list(["part"])}
    for key, path in written.items():
        assert storage.read(key) == json.loads(path.read_text())


def test_a_running_session_is_read_as_it_is_now(storage: KeyedStorage, session: Session) -> None:
    seen: list[Any] = []

    def look(records: Any) -> None:
        said = [record.event.info for record in records if isinstance(record.event, MessageUpdated)]
        seen.extend(storage.read(["message", session.id, info.id])["role"] for info in said)

    end = session.subscribe(look)
    session.prompt("And now?")
    end()
    session.retitle("Files")

    assert "user" in seen
    assert storage.read(own(storage, session))["title"] == "Files"


def test_a_title_and_whether_it_is_put_away_are_written(
    storage: KeyedStorage, session: Session
) -> None:
    key = own(storage, session)
    storage.write(key, {"title": "Penguins"})
    put_away = storage.update(key, lambda value: value["time"].update(archived=1))
    listed = palimpsest.sessions(archived=True).sessions
    back = storage.update(key, lambda value: {**value, "time": {**value["time"], "archived": None}})

    assert session.title == put_away["title"] == "Penguins"
    assert put_away["time"]["archived"] > 1
    assert [summary.id for summary in listed] == [session.id]
    assert "archived" not in back["time"]


def test_what_is_written_goes_through_the_log_and_the_model_sees_it(
    storage: KeyedStorage, session: Session, model: ScriptedModel
) -> None:
    prompt, first, answer = session.messages
    text = answer.parts[-2] if answer.parts[-1].type == "step-finish" else answer.parts[-1]
    heard: list[Any] = []
    end = session.subscribe(lambda records: heard.extend(record.event for record in records))

    changed = storage.update(
        ["part", answer.id, text.id], lambda part: part.update(text="Two files.")
    )
    storage.write(
        ["message", session.id, "msg_zzzzzzzzzzzzNote"], {"role": "user", "time": {"created": 1}}
    )
    storage.write(["part", "msg_zzzzzzzzzzzzNote", "prt_note"], {"type": "text", "text": "A note."})
    storage.remove(["message", session.id, first.id])
    storage.remove(["message", session.id, first.id])
    session.prompt("And now?")
    end()

    assert changed["text"] == "Two files."
    kinds = [
        type(event)
        for event in heard
        if isinstance(event, MessageUpdated | PartUpdated | MessageRemoved)
    ]
    assert kinds[:4] == [PartUpdated, MessageUpdated, PartUpdated, MessageRemoved]
    assert heard.count(MessageRemoved(message_id=first.id)) == 1
    sent = json.dumps(list(model.requests[-1].messages), default=str)
    assert "Two files." in sent
    assert "One file." not in sent
    assert "A note." in sent
    assert "a.txt" not in sent, "the call that was removed, with its output"
    assert prompt.id in [message.id for message in session.messages]
    assert list(session.problems()) == []
    assert [session.rebuild(request).matches for request in session.requests()] == [True] * 3


def test_a_session_that_is_not_open_is_written_and_given_back(
    storage: KeyedStorage, session: Session
) -> None:
    app = session._app
    fork = session.fork()
    app.engine.submit(app.workspace._open_sessions.pop(fork.id).close()).result()  # type: ignore[arg-type]
    palimpsest.current_session(session.id)
    message = session.messages[0]
    part = {**storage.read(["part", message.id, message.parts[0].id]), "sessionID": fork.id}

    storage.write(["part", message.id, part["id"]], {**part, "text": "Of the fork."})

    assert palimpsest.current_session().id == session.id
    assert palimpsest.current_session(fork.id).messages[0].parts[0].text == "Of the fork."  # type: ignore[union-attr]
    assert session.messages[0].parts[0].text == "Which files are there?"  # type: ignore[union-attr]
    assert storage.read(["part", message.id, part["id"]])["text"] == "Which files are there?"


def test_a_session_and_a_share_are_removed_with_all_they_have(
    storage: KeyedStorage, session: Session
) -> None:
    page = session.share()
    storage.remove(["share", session.id])
    other = palimpsest.new_session("Other")
    storage.remove(own(storage, other))

    assert not Path(page).exists()
    assert storage.list(["share"]) == []
    assert storage.list(["session"]) == [("session", storage.project_id, session.id)]
    with pytest.raises(NotFound, match="There is nothing at"):
        storage.read(["share", session.id])


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (
            "permission",
            [{"permission": "bash", "pattern": "*", "action": "allow"}],
            "session.control",
        ),
        ("share", {"url": "https://example.org"}, r"session.share\(\) makes the page"),
        ("revert", {"messageID": "msg_1"}, r"session.revert\(\)"),
        ("parentID", "ses_other", r"palimpsest.new_session\(parent=...\)"),
        ("directory", "/elsewhere", "the session writes it itself"),
        ("time", {"created": 1, "updated": 1}, "the session writes it itself"),
        ("title", 7, "A title is a text"),
    ],
)
def test_what_a_log_cannot_say_names_the_command(
    storage: KeyedStorage, session: Session, field: str, value: Any, words: str
) -> None:
    before = session.snapshot.seq

    with pytest.raises(UserError, match=words):
        storage.write(own(storage, session), {field: value})
    assert session.snapshot.seq == before


def test_shares_differences_and_new_sessions_are_not_written_by_key(
    storage: KeyedStorage, session: Session
) -> None:
    with pytest.raises(UserError, match=r"session.share\(\) makes it"):
        storage.write(["share", session.id], {"url": "x"})
    with pytest.raises(UserError, match=r"session.diff\(\) shows it"):
        storage.write(["session_diff", session.id], {"file": "a.py"})
    with pytest.raises(UserError, match=r"session.diff\(\) shows it"):
        storage.remove(["session_diff", session.id])
    for key in (["session", storage.project_id, "ses_new"], ["message", "ses_new", "msg_1"]):
        with pytest.raises(NotFound, match=r"palimpsest.new_session\(\) does"):
            storage.write(key, {"title": "New", "role": "user"})


@pytest.mark.parametrize(
    "key", ["session/p/s", ["todo", "ses_a"], ["message", "ses_a"], [], ["part", 1, 2], None]
)
def test_a_wrong_key_is_answered_with_the_keys_that_there_are(
    storage: KeyedStorage, key: Any
) -> None:
    for use in (storage.read, storage.remove, lambda one: storage.write(one, {})):
        with pytest.raises(
            UserError, match=r"is no key. Keys are \['session', project, session\], .* and"
        ):
            use(key)


def test_a_wrong_prefix_and_a_key_with_nothing_are_said(
    storage: KeyedStorage, session: Session
) -> None:
    with pytest.raises(UserError, match=r"There are no keys below \['todo'\]. Keys are"):
        storage.list(["todo"])
    with pytest.raises(NotFound, match="There is nothing at"):
        storage.read(["session", "another-project", session.id])
    with pytest.raises(NotFound, match="no message 'msg_none' in this project"):
        storage.read(["part", "msg_none", "prt_1"])
    with pytest.raises(NotFound, match="no session 'ses_none'"):
        storage.read(["message", "ses_none", "msg_1"])


def test_a_value_that_does_not_fit_is_said_and_nothing_is_written(
    storage: KeyedStorage, session: Session
) -> None:
    prompt, first, _ = session.messages
    message, part = ["message", session.id, first.id], ["part", first.id, first.parts[0].id]
    new = ["message", session.id, "msg_new"]
    before = session.snapshot.seq
    answer = {"role": "assistant", "parentID": prompt.id, "time": {"created": 1, "completed": 2}}
    wrong: list[tuple[list[str], Any, str]] = [
        (message, ["a"], "is an object of JSON"),
        (message, {"role": object()}, "is no JSON"),
        (message, {"role": "system"}, "needs a role"),
        (message, {"role": "user", "time": {"created": 1}}, "has the role 'assistant' for good"),
        (message, {**answer, "id": "msg_other"}, "says id 'msg_other'"),
        (message, {**answer, "sessionID": "ses_other"}, "says sessionID 'ses_other'"),
        (new, {**answer, "time": {"created": 1}}, "needs time.completed"),
        (new, {**answer, "parentID": "msg_none"}, "names no message of the session: 'msg_none'"),
        (new, {"role": "user"}, "does not fit: user.time: field required"),
        (part, {"type": "text", "text": "x", "messageID": "msg_other"}, "says messageID"),
        (part, {"type": "hologram"}, "does not fit"),
        (["part", first.id, "prt_new"], _running(), "nothing runs it"),
        (["part", "msg_none", "prt_new"], {"type": "text", "text": "x"}, "no message 'msg_none'"),
    ]

    for key, value, words in wrong:
        with pytest.raises(UserError, match=words):
            storage.write(key, value)
    assert session.snapshot.seq == before


def _running() -> dict[str, Any]:
    state = {"status": "running", "input": {}, "time": {"start": 1}}
    return {"type": "tool", "callID": "call_1", "tool": "glob", "state": state}


def test_nothing_is_written_while_something_is_taken_back(
    storage: KeyedStorage, session: Session
) -> None:
    key = ["message", session.id, session.messages[0].id]
    session.revert()

    with pytest.raises(
        UserError, match=r"session.unrevert\(\), or make it final with session.cleanup"
    ):
        storage.remove(key)
    assert "messageID" in storage.read(own(storage, session))["revert"]


def test_nothing_is_written_while_the_agent_works(tmp_path: Path) -> None:
    refused: list[Exception] = []

    def meddle() -> str:
        """Write into the session that runs."""
        storage = palimpsest.keyed_storage()
        (key,) = storage.list(["message"])[:1]
        try:
            storage.remove(key)
        except Exception as problem:  # noqa: BLE001  # what it is, is the question
            refused.append(problem)
        return "done"

    model = ScriptedModel(calls("meddle"), says("Over."))
    with isolated_session(model, folder=tmp_path, tools=[meddle]) as session:
        session.prompt("Go.", yes=True)

        assert [type(error) for error in refused] == [SessionBusy]
        assert "wait for its answer, or stop it" in str(refused[0])
        assert len(session.messages) == 3


HOLDER = """
import sys
from palimpsest.app.wiring import App
from palimpsest.public.session_object import open_session
app = App()
session = open_session(app)
print(session.id, flush=True)
sys.stdin.read()
app.close()
"""


@pytest.mark.soak  # with each commit tests/session/open_sessions/test_two_processes.py has another process; this adds the keys
@pytest.mark.slow
def test_a_session_of_another_process_is_read_and_not_written(
    storage: KeyedStorage, session: Session
) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", HOLDER]
    project = session._app.project
    with subprocess.Popen(command, cwd=project, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        theirs = other.stdout.readline().strip()
        key = ["session", storage.project_id, theirs]
        info = storage.read(key)
        message = ["message", theirs, "msg_1"]
        for write in (
            lambda: storage.write(key, {"title": "Mine"}),
            lambda: storage.write(message, {"role": "user", "time": {"created": 1}}),
            lambda: storage.remove(key),
        ):
            with pytest.raises(SessionHeld, match=rf"process {other.pid} on .* close that kernel"):
                write()
        again = storage.read(key)
        other.communicate()

    assert theirs != session.id
    assert again["title"] == info["title"] != "Mine"
