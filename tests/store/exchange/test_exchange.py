"""Sessions of other agents are imported once, as data, and exported again without any difference."""

import copy
import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.golden.data import load
from tests.sample_size import thinned
from tests.store.foreign_sessions import sample

from palimpsest.store.exchange.import_report import ImportReport
from palimpsest.store.exchange.import_sources import sorted_messages
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.exchange.json_export import export_json, export_storage
from palimpsest.store.exchange.opencode_format import (
    info_json,
    json_differences,
    part_json,
    read_info,
    read_part,
    read_session,
    with_kept_differences,
)
from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.transcript.context_values.decisions import EffectiveDecisions
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import (
    Checkpoint,
    MessageUpdated,
    PartUpdated,
    Record,
    SessionCreated,
    SessionUpdated,
)
from palimpsest.transcript.values import Rule

FIRST, SECOND = "ses_11111111aaaaMockOpenCode01", "ses_22222222bbbbMockOpenCode02"
WRAPPED_AT = 1_786_706_395_136
"""The moment at which 48 bits of milliseconds times 4096 overflowed: 2026-08-14T11:19:55.136Z."""


def now() -> int:
    return 1_790_000_000_000


def same(value: Any) -> Any:
    return value


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return sample("opencode_storage", tmp_path)


@pytest.fixture(params=["memory", "jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    (tmp_path / "project").mkdir()
    return JsonlStore(open_project_folder(tmp_path / "project"))


def bring(store: Store, path: Path) -> ImportReport:
    return import_sessions(store, path, now)


def outcomes(report: ImportReport) -> list[tuple[str, str]]:
    return [(session.id, session.outcome) for session in report.sessions]


def files(folder: Path) -> dict[str, Any]:
    return {
        path.relative_to(folder).as_posix(): json.loads(path.read_bytes())
        for path in sorted(folder.rglob("*.json"))
    }


def exported(store: Store, session_id: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads("".join(export_json(store, session_id, same)))
    return made


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def session(identifier: str = "ses_one", **fields: Any) -> dict[str, Any]:
    times = {"created": 1_000, "updated": 2_000}
    return {"id": identifier, "title": "One", "version": "1.1.34", "time": times, **fields}


def prompt(identifier: str, created: int, words: str, **fields: Any) -> dict[str, Any]:
    base = {"sessionID": "ses_one", "messageID": identifier}
    info = {"id": identifier, "role": "user", "sessionID": "ses_one", "time": {"created": created}}
    return {
        "info": info | fields,
        "parts": [{"id": f"prt_{identifier}", "type": "text", "text": words, **base}],
    }


def test_a_storage_folder_goes_in_and_out_to_the_letter(
    store: Store, source: Path, tmp_path: Path
) -> None:
    report = bring(store, source)
    for session in report.sessions:
        export_storage(store, session.id, tmp_path / "out", same)

    given = files(source)
    empty = {f"session_diff/{SECOND}.json": []}
    """A session without a diff file is exported with an empty one."""
    assert report.problems == ()
    assert outcomes(report) == [(FIRST, "new"), (SECOND, "new")]
    assert files(tmp_path / "out") == given | empty


def test_an_exported_session_goes_in_and_out_to_the_letter(store: Store, tmp_path: Path) -> None:
    recorded = load("opencode", "sessions")
    for number, (name, messages) in enumerate(recorded.items()):
        info = session(f"ses_{number}", title=name, slug="brave-river", projectID="global")
        given = {"info": info, "messages": copy.deepcopy(messages)}
        bring(store, written(tmp_path / "given.json", given))

        out = exported(store, f"ses_{number}")
        expected = [
            {
                "info": exported["info"] | {"sessionID": f"ses_{number}"},
                "parts": [part | {"sessionID": f"ses_{number}"} for part in exported["parts"]],
            }
            for exported in messages
        ]
        assert out["info"] == info, name
        assert out["messages"] == expected, name


def test_every_recorded_piece_survives_the_log() -> None:
    for name, messages in load("opencode", "sessions").items():
        for message in messages:
            info = read_info(message["info"], message["info"]["sessionID"])
            read_back = type(info).model_validate_json(info.model_dump_json(exclude_none=True))
            assert info_json(read_back) == message["info"], name
            for given in message["parts"]:
                part = read_part(given, given["sessionID"], given["messageID"])
                whole = type(part).model_validate_json(part.model_dump_json(exclude_none=True))
                assert part_json(whole) == given, name


def test_what_ours_has_no_place_for_travels_beside_it(store: Store, tmp_path: Path) -> None:
    answer = {
        "id": "msg_2",
        "sessionID": "ses_one",
        "role": "assistant",
        "time": {"created": 20, "completed": None},
        "parentID": "msg_1",
        "modelID": "m",
        "providerID": "p",
        "future": {"deep": [None, {"x": None}]},
        "tokens": {"input": 1, "cache": {"read": 2}, "odd": 3},
        "error": {"name": "StructuredOutputError", "data": {"retries": 2}},
        "summary": "words where ours has a truth value",
    }
    parts = [
        {"id": "prt_1", "sessionID": "ses_one", "messageID": "msg_2", "type": "text", "text": "a"},
        {
            "id": "prt_2",
            "sessionID": "ses_one",
            "messageID": "msg_2",
            "type": "text",
            "text": "b",
            "synthetic": False,
            "opencode": "the name that ours keeps differences under",
        },
    ]
    share = {"secret": "s", "url": "https://example.org/s"}
    info = session(share=share, revert={"messageID": "msg_2", "snapshot": "abc"}, summary=None)
    given = {"info": info, "messages": [{"info": answer, "parts": parts}]}

    report = bring(store, written(tmp_path / "given.json", given))
    out = exported(store, "ses_one")

    assert report.problems == ()
    assert out["info"] == info
    assert out["messages"] == given["messages"]


def test_a_part_of_a_type_that_nobody_knows_goes_in_and_out(store: Store, tmp_path: Path) -> None:
    asked = prompt("msg_1", 10, "Show it.")
    place = {"sessionID": "ses_one", "messageID": "msg_1"}
    asked["parts"] = [
        {"id": "prt_0", "type": "hologram", "depth": {"of": [1, None]}, **place},
        *asked["parts"],
        {"id": "prt_9", "type": "hologram", **place},
    ]
    given = {"info": session(), "messages": [asked]}

    report = bring(store, written(tmp_path / "given.json", given))
    out = exported(store, "ses_one")

    assert ["hologram" in problem.what for problem in report.problems] == [True, True]
    assert out["messages"] == given["messages"]
    other = MemoryStore()
    bring(other, written(tmp_path / "out.json", out))
    assert exported(other, "ses_one")["messages"] == given["messages"]
    again = bring(store, written(tmp_path / "given.json", given))
    assert outcomes(again) == [("ses_one", "same")]


def test_a_newer_export_of_ours_keeps_what_this_version_does_not_know(
    store: Store, tmp_path: Path
) -> None:
    """A newer version has a new type of part, as a record and in its message, and a new type of record."""
    asked = prompt("msg_1", 10, "Show it.")
    older = MemoryStore()
    bring(older, written(tmp_path / "given.json", {"info": session(), "messages": [asked]}))
    newer = json.loads("".join(export_json(older, "ses_one", same)))
    place = {"sessionID": "ses_one", "messageID": "msg_1"}
    hologram = {"id": "prt_9", "type": "hologram", "beams": 7, **place}
    newer["messages"][0]["parts"].append(hologram)
    records = newer["palimpsest"]["records"]
    last = {"v": 1, "ts": 10, "seq": records[-1]["seq"]}
    logged = {"id": "prt_9", "session_id": "ses_one", "message_id": "msg_1", "type": "hologram"}
    records += [
        {**last, "seq": last["seq"] + 1, "type": "message.part.updated", "part": logged},
        {**last, "seq": last["seq"] + 2, "type": "hologram.projected", "beams": 7},
    ]
    path = written(tmp_path / "newer.json", newer)

    report = bring(store, path)
    out = exported(store, "ses_one")

    assert outcomes(report) == [("ses_one", "new")]
    assert sorted(problem.what for problem in report.problems) == [
        "It is a record of a newer version of Palimpsest, and was left out; update Palimpsest to bring it in.",
        "It is of the type 'hologram', which this version does not know; it is kept for an export, and not shown.",
    ]
    assert out["messages"][0]["parts"][-1] == hologram
    assert outcomes(bring(store, path)) == [("ses_one", "same")]
    other = MemoryStore()
    bring(other, written(tmp_path / "out.json", out))
    assert exported(other, "ses_one")["messages"] == newer["messages"]


def test_opening_what_was_brought_in_begins_at_a_checkpoint(store: Store, source: Path) -> None:
    bring(store, source)

    for session_id in (FIRST, SECOND):
        records = list(store.read(session_id))
        assert isinstance(records[-1].event, Checkpoint)
        assert store.open_live(session_id).messages() == store.load(session_id).messages()
    changed = json.loads((source / "session" / "global" / f"{FIRST}.json").read_text())
    written(source / "session" / "global" / f"{FIRST}.json", {**changed, "title": "Anew"})
    assert (FIRST, "updated") in outcomes(bring(store, source))
    assert isinstance(list(store.read(FIRST))[-1].event, Checkpoint)


def test_what_is_taken_back_goes_out_marked_as_theirs_is(store: Store, tmp_path: Path) -> None:
    """OpenCode's snapshots and diffs are strings, so it would reject our lists."""
    messages = [prompt("msg_1", 10, "Hello"), prompt("msg_2", 20, "Wrong")]
    bring(store, written(tmp_path / "given.json", {"info": session(), "messages": messages}))
    here = store.load("ses_one").session
    assert here is not None
    ours = {"message_id": "msg_2", "snapshot": "abc", "files": ["a.py"], "diff": [], "kept": []}
    append(store, "ses_one", SessionUpdated(session=here.model_copy(update={"revert": ours})))
    folder = tmp_path / "out"

    export_storage(store, "ses_one", folder, same)
    out = exported(store, "ses_one")

    assert out["info"]["revert"] == {"messageID": "msg_2"}
    assert [message["info"]["id"] for message in out["messages"]] == ["msg_1", "msg_2"]
    elsewhere = MemoryStore()
    assert outcomes(bring(elsewhere, folder)) == [("ses_one", "new")]
    there = elsewhere.load("ses_one").session
    assert there is not None
    assert there.revert == {"message_id": "msg_2"}


def test_a_fork_goes_out_as_a_session_of_its_own(store: Store, tmp_path: Path) -> None:
    given = {"info": session(), "messages": [prompt("msg_1", 10, "Hello")]}
    bring(store, written(tmp_path / "given.json", given))
    here = store.load("ses_one").session
    assert here is not None
    store.fork("ses_one", here.model_copy(update={"id": "ses_two"}))

    (message,) = exported(store, "ses_two")["messages"]

    assert message["info"]["sessionID"] == "ses_two"
    assert {part["sessionID"] for part in message["parts"]} == {"ses_two"}
    assert exported(store, "ses_one")["messages"][0]["info"]["sessionID"] == "ses_one"
    elsewhere = MemoryStore()
    whole = written(tmp_path / "two.json", exported(store, "ses_two"))
    export_storage(store, "ses_two", tmp_path / "out", same)
    assert outcomes(bring(elsewhere, whole)) == [("ses_two", "new")]
    (brought,) = elsewhere.load("ses_two").messages()
    assert brought.info.session_id == "ses_two"
    assert {part.session_id for part in brought.parts} == {"ses_two"}
    before = len(list(elsewhere.read("ses_two")))
    bring(elsewhere, tmp_path / "out")
    after = [record.event.type for record in elsewhere.read("ses_two")][before:]
    assert not {"message.updated", "message.part.updated"} & set(after)


def test_an_export_that_cannot_be_finished_leaves_nothing(store: Store, tmp_path: Path) -> None:
    messages = [prompt("msg_1", 10, "Hello"), prompt("msg_2", 20, "Again")]
    bring(store, written(tmp_path / "given.json", {"info": session(), "messages": messages}))
    folder = tmp_path / "out"
    taken = folder / "part" / "msg_2" / "prt_msg_2.json"
    taken.parent.mkdir(parents=True)
    taken.write_text("{}")

    with pytest.raises(FileExistsError):
        export_storage(store, "ses_one", folder, same)

    assert [path for path in folder.rglob("*") if path.is_file()] == [taken]


def test_what_changed_here_goes_out_changed(store: Store, tmp_path: Path) -> None:
    given = {"info": session(), "messages": [prompt("msg_1", 10, "Hello")]}
    bring(store, written(tmp_path / "given.json", given))
    state = store.load("ses_one")
    part = state.messages()[0].parts[0].model_copy(update={"text": "Goodbye", "synthetic": True})
    append(store, "ses_one", PartUpdated(part=part))

    (message,) = exported(store, "ses_one")["messages"]

    assert message["parts"][0]["text"] == "Goodbye"
    assert message["parts"][0]["synthetic"] is True
    assert "model" not in message["info"]


def append(store: Store, session_id: str, event: Any) -> None:
    writer = store.acquire(session_id, this_owner("test"))
    writer.append([Record(seq=store.load(session_id).seq + 1, ts=now(), event=event)])
    writer.close()


def test_the_same_again_brings_nothing(store: Store, source: Path) -> None:
    bring(store, source)
    before = {summary.id: list(store.read(summary.id)) for summary in store.list()}

    again = bring(store, source)

    assert outcomes(again) == [(FIRST, "same"), (SECOND, "same")]
    assert {summary.id: list(store.read(summary.id)) for summary in store.list()} == before


@pytest.mark.parametrize("share", thinned([0.1, 0.5, 0.99], 2))
@pytest.mark.parametrize("again", ["new", "copy"])
def test_an_import_that_was_killed_is_finished_by_the_next(
    store: Store, source: Path, share: float, again: str
) -> None:
    if again == "copy":  # the ids belong to other sessions here
        for name in (FIRST, SECOND):
            writer = store.acquire(name, this_owner("test"), create=True)
            other = read_session(session(name), "p")
            writer.append([Record(seq=1, ts=now(), event=SessionCreated(session=other))])
            writer.close()
    elsewhere = MemoryStore(store.project_id)
    for summary in store.list():
        writer = elsewhere.acquire(summary.id, this_owner("test"), create=True)
        writer.append(list(store.read(summary.id)))
    whole = bring(elsewhere, source)
    for identifier, _ in outcomes(whole):
        # The checkpoint after the imported records is not part of them: an import without one is complete.
        read = elsewhere.read(identifier)
        records = [record for record in read if not isinstance(record.event, Checkpoint)]
        writer = store.acquire(identifier, this_owner("import-that-is-killed"), create=True)
        writer.append(records[: max(1, int(len(records) * share))])
        writer.close()

    report = bring(store, source)

    assert outcomes(report) == outcomes(whole)
    assert {summary.id for summary in store.list()} == {summary.id for summary in elsewhere.list()}
    for summary in elsewhere.list():
        assert [each.event for each in store.read(summary.id)][:-1] == [
            each.event for each in elsewhere.read(summary.id)
        ][:-1]
    assert {outcome for _, outcome in outcomes(bring(store, source))} == {"same"}


def test_a_source_that_changed_is_brought_up_to_date(store: Store, tmp_path: Path) -> None:
    first, second = prompt("msg_1", 10, "Hello"), prompt("msg_2", 20, "And?")
    path = tmp_path / "given.json"
    bring(store, written(path, {"info": session(), "messages": [first]}))
    first["parts"][0]["text"] = "Good morning"
    between = prompt("msg_3", 15, "Between")

    report = bring(store, written(path, {"info": session(), "messages": [first, between, second]}))

    assert outcomes(report) == [("ses_one", "updated")]
    assert exported(store, "ses_one")["messages"] == [first, between, second]
    assert outcomes(bring(store, path)) == [("ses_one", "same")]


def test_a_session_that_was_gone_on_with_is_left_alone(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    given = {"info": session(), "messages": [prompt("msg_1", 10, "Hello")]}
    bring(store, written(path, given))
    info = store.load("ses_one").messages()[0].info
    append(store, "ses_one", MessageUpdated(info=info.model_copy(update={"id": "msg_ours"})))
    given["messages"].append(prompt("msg_2", 20, "Theirs"))

    report = bring(store, written(path, given))

    ((copied, outcome),) = outcomes(report)
    assert outcome == "copy"
    assert [message.id for message in store.load("ses_one").messages()] == ["msg_1", "msg_ours"]
    assert [message.id for message in store.load(copied).messages()] == ["msg_1", "msg_2"]
    assert {
        part.session_id for message in store.load(copied).messages() for part in message.parts
    } == {copied}
    assert outcomes(bring(store, path)) == [(copied, "same")]


def test_two_sessions_of_one_id_both_come(store: Store, source: Path) -> None:
    other = source / "session" / "other"
    other.mkdir()
    info = json.loads((source / "session" / "global" / f"{SECOND}.json").read_bytes())
    written(other / f"{SECOND}.json", info | {"title": "Another of that id"})

    report = bring(store, source)

    assert [outcome for _, outcome in outcomes(report)] == ["new", "new", "copy"]
    assert len({identifier for identifier, _ in outcomes(report)}) == 3


def test_broken_files_are_named_and_the_rest_comes(store: Store, source: Path) -> None:
    part = source / "part" / "msg_11111111aaaaAssistantTool03"
    (part / "prt_11111111aaaaToolCall07.json").write_text('{"id": "prt_1", ', encoding="utf-8")
    written(part / "prt_x.json", {"id": "prt_x", "type": "hologram"})
    (source / "message" / FIRST / "msg_broken.json").write_bytes(b"\xff\xfe")
    written(source / "message" / FIRST / "msg_list.json", [])
    written(source / "session" / "global" / "ses_x.json", {"id": "../../escape"})
    (source / "message" / "ses_lost").mkdir()
    written(source / "message" / "ses_lost" / "msg_1.json", {"id": "msg_1"})
    written(source / "todo" / f"{SECOND}.json", [{"content": 7}, "no object", {"content": "Do"}])

    report = bring(store, source)

    assert outcomes(report) == [(FIRST, "new"), (SECOND, "new")]
    assert len(store.load(FIRST).messages()) == 3
    assert [todo.content for todo in store.load(SECOND).todos] == ["Do"]
    named = sorted(problem.where for problem in report.problems)
    assert named == [
        f"message/{FIRST}/msg_broken.json",
        f"message/{FIRST}/msg_list.json",
        "message/ses_lost",
        "part/msg_11111111aaaaAssistantTool03/prt_11111111aaaaToolCall07.json",
        "session/global/ses_11111111aaaaMockOpenCode01.json, msg_11111111aaaaAssistantTool03, prt_x",
        "session/global/ses_x.json",
        f"todo/{SECOND}.json",
        f"todo/{SECOND}.json",
    ]
    assert all(problem.what.endswith(".") for problem in report.problems)


def old_message() -> dict[str, Any]:
    metadata = {"time": {"created": 1}, "sessionID": "ses_old"}
    return {"id": "msg_1", "role": "user", "parts": [{"type": "text"}], "metadata": metadata}


def test_the_older_message_format_is_refused_in_one_sentence(store: Store, tmp_path: Path) -> None:
    written(tmp_path / "old.json", {"info": session(), "messages": [old_message()]})
    stored = tmp_path / "stored"
    (stored / "message" / "ses_one").mkdir(parents=True)
    (stored / "session" / "p").mkdir(parents=True)
    written(stored / "session" / "p" / "ses_one.json", session())
    written(stored / "message" / "ses_one" / "msg_1.json", old_message())
    oldest = tmp_path / "oldest"
    (oldest / "session" / "info").mkdir(parents=True)

    for path in (tmp_path / "old.json", stored, oldest):
        with pytest.raises(UserError, match="older message format") as refused:
            bring(store, path)
        assert str(refused.value).count(". ") == 0
    assert list(store.list()) == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "opencode.db",
            b"SQLite format 3\x00" * 8,
            "is a damaged database: file is not a database",
        ),
        ("notes.json", b'{"a": 1}', "no sessions"),
        ("list.json", b"[]", "no JSON object"),
        ("deep.json", b'{"a":' * 100_000, "nested too deeply"),
        ("cut.json", b'{"info": ', "no JSON"),
    ],
)
def test_what_is_no_session_is_refused_by_name(
    store: Store, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(UserError, match=words) as refused:
        bring(store, tmp_path / name)

    assert name in str(refused.value)


def test_a_path_that_is_not_there_is_not_found(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        bring(store, tmp_path / "nothing.json")


def identifier(prefix: str, at: int, tail: str) -> str:
    return f"{prefix}_{(at * 4096 + 1) % (1 << 48):012x}{tail}"


def test_ids_that_wrapped_do_not_order_messages() -> None:
    before, after = WRAPPED_AT - 5, WRAPPED_AT + 5
    asked = {"id": identifier("msg", before, "A"), "time": {"created": before}}
    at_once = {"time": {"created": before}, "parentID": asked["id"]}
    answered = {"id": identifier("msg", before - 2, "B"), **at_once}
    later = {"id": identifier("msg", after, "C"), "time": {"created": after}}
    assert later["id"] < asked["id"]

    ordered = sorted_messages([(message, ()) for message in (later, answered, asked)])

    assert [info for info, _ in ordered] == [asked, answered, later]


def test_ids_that_wrapped_do_not_order_parts(store: Store, tmp_path: Path) -> None:
    root = tmp_path / "stored"
    message = identifier("msg", WRAPPED_AT - 2, "A")
    for folder in ("session/p", "message/ses_one", f"part/{message}"):
        (root / folder).mkdir(parents=True)
    written(root / "session" / "p" / "ses_one.json", session())
    info = prompt(message, WRAPPED_AT - 2, "")["info"]
    written(root / "message" / "ses_one" / f"{message}.json", info)
    for words, at in (("first", WRAPPED_AT - 1), ("second", WRAPPED_AT + 1)):
        name = identifier("prt", at, "x")
        written(
            root / "part" / message / f"{name}.json", {"id": name, "type": "text", "text": words}
        )

    bring(store, root)

    (brought,) = store.load("ses_one").messages()
    assert [getattr(part, "text", "") for part in brought.parts] == ["first", "second"]


def test_rules_of_an_imported_session_allow_nothing(store: Store, tmp_path: Path) -> None:
    rules = [{"permission": "bash", "pattern": "*", "action": "allow"}]
    given = {"info": session(permission=rules, mode="bypass", notebook="a.ipynb"), "messages": []}
    bring(store, written(tmp_path / "given.json", given))
    ours = store.load("ses_one").session

    assert ours is not None
    assert (ours.permission, ours.mode, ours.notebook) == ((), None, None)
    assert exported(store, "ses_one")["info"] == given["info"]


def test_an_output_that_was_cleared_there_is_cleared_here(store: Store, tmp_path: Path) -> None:
    base = {"sessionID": "ses_one", "messageID": "msg_1"}
    state = {
        "status": "completed",
        "input": {"filePath": "a.py"},
        "output": "x" * 100_000,
        "title": "a.py",
        "metadata": {},
        "time": {"start": 1, "end": 2, "compacted": 3},
        "attachments": [
            {"type": "file", "mime": "image/png", "url": "data:image/png;base64," + "AAAA" * 20_000}
        ],
    }
    tool = {"id": "prt_1", "type": "tool", "callID": "c", "tool": "read", "state": state, **base}
    info = {"id": "msg_1", "role": "assistant", "sessionID": "ses_one", "time": {"created": 1}}
    given = {"info": session(), "messages": [{"info": info, "parts": [tool]}]}

    bring(store, written(tmp_path / "given.json", given))

    loaded = store.load("ses_one")
    (part,) = loaded.messages()[0].parts
    reduction = EffectiveDecisions(loaded.decisions).reduction(part.id, part.message_id)
    assert reduction is not None
    assert reduction.action == "clear"
    assert isinstance(part, ToolPart)
    assert isinstance(part.state, ToolCompleted)
    assert part.state.blob is not None
    assert part.state.attachments[0].url.startswith("blob:")
    assert exported(store, "ses_one")["messages"] == given["messages"]


def test_an_export_of_ours_gives_the_same_session_elsewhere(store: Store, tmp_path: Path) -> None:
    base = {"sessionID": "ses_one", "messageID": "msg_1"}
    long = {"id": "prt_1", "type": "tool", "callID": "c", "tool": "read", **base}
    long["state"] = {
        "status": "completed",
        "input": {},
        "output": "line\n" * 20_000,
        "title": "",
        "metadata": {},
        "time": {"start": 1, "end": 2},
    }
    info = {"id": "msg_1", "role": "assistant", "sessionID": "ses_one", "time": {"created": 1}}
    given = {"info": session(), "messages": [{"info": info, "parts": [long]}]}
    bring(store, written(tmp_path / "given.json", given))
    ours = store.load("ses_one").session
    assert ours is not None
    revert = {"message_id": "msg_1", "snapshot": "abc", "files": ["a.py"]}
    rules = (Rule(permission="*", action="allow"),)
    allowed = ours.model_copy(update={"permission": rules, "mode": "bypass", "revert": revert})
    append(store, "ses_one", SessionUpdated(session=allowed.model_copy(update={"title": "Mine"})))
    path = tmp_path / "ours.json"
    path.write_text("".join(export_json(store, "ses_one", same)), encoding="utf-8")
    elsewhere = MemoryStore()

    report = bring(elsewhere, path)

    assert outcomes(report) == [("ses_one", "new")]
    assert elsewhere.load("ses_one").messages() == store.load("ses_one").messages()
    there = elsewhere.load("ses_one").session
    assert there is not None
    assert (there.title, there.permission, there.mode) == ("Mine", (), None)
    assert (there.project_id, there.revert) == (elsewhere.project_id, {"message_id": "msg_1"})
    assert exported(elsewhere, "ses_one")["messages"] == given["messages"]
    assert outcomes(bring(elsewhere, path)) == [("ses_one", "same")]
    assert outcomes(bring(store, path)) == [("ses_one", "same")], "it never left"


def test_a_file_that_is_there_is_not_written_over(store: Store, source: Path) -> None:
    bring(store, source)

    with pytest.raises(UserError, match="there already"):
        export_storage(store, FIRST, source, same)


def test_messages_and_parts_of_one_id_are_named(store: Store, tmp_path: Path) -> None:
    first, second = prompt("msg_1", 10, "Hello"), prompt("msg_1", 20, "Again")
    third = prompt("msg_2", 30, "Other")
    third["parts"] *= 2
    given = {"info": session(), "messages": [first, second, third]}

    report = bring(store, written(tmp_path / "given.json", given))

    assert [problem.where for problem in report.problems] == [
        "given.json, msg_1",
        "given.json, msg_2, prt_msg_2",
    ]
    out = exported(store, "ses_one")["messages"]
    assert out == [first, {**third, "parts": third["parts"][:1]}]


def plain(value: Any) -> str:
    """Return JSON with all numbers written in the same way."""
    return json.dumps(value, sort_keys=True).replace(".0", "").replace("-0", "0")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4)


@hypothesis.given(ours=OBJECTS, theirs=OBJECTS)
def test_what_is_kept_makes_ours_theirs_again(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """For any two objects, the list of differences leads from one to the other."""
    kept = json.loads(json.dumps(json_differences(ours, theirs)))

    made = with_kept_differences(copy.deepcopy(ours), kept)

    assert plain(made) == plain(theirs)
    assert json_differences(made, theirs) == []
