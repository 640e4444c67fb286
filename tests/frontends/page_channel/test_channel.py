"""Pages send commands as control messages while a cell runs, and receive notices while they watch."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.harness.kernel import AWAITING, BLOCKING, Kernel, Message
from tests.waiting import eventually

from palimpsest.frontends.page_channel.page_presence import PageWatches
from palimpsest.frontends.protocol.connection import WATCH_SECONDS

pytestmark = pytest.mark.slow
ONE = "calls('python', code='x = 6 * 7\\nx').says('')"


@pytest.fixture
def page(kernel: Kernel) -> Iterator[Kernel]:
    """A page that watches everything."""
    kernel.request(type="watch", client="page")
    yield kernel
    kernel.request(type="unwatch", client="page")


def record(kernel: Kernel, kind: str, since: int = 0, **fields: Any) -> Message:
    """Wait for a journal record of one type in a notice."""

    def found(message: Message) -> Message | None:
        for record in message["content"].get("records", ()):
            if record["type"] == kind and all(record.get(k) == v for k, v in fields.items()):
                return dict(record)
        return None

    message = kernel.wait(
        lambda m: m["header"]["msg_type"] == "palimpsest_notice" and found(m), since=since
    )
    found_record = found(message)
    assert found_record is not None
    return found_record


def outcome(kernel: Kernel, command: str, timeout: float = 20) -> Message:
    message = kernel.wait(
        lambda m: m["content"].get("kind") == "outcome" and m["content"]["id"] == command, timeout
    )
    content: Message = message["content"]
    answer: Message = content.get("answer", content)
    return answer


@pytest.mark.parametrize("way", ["blocking", "awaiting"])
def test_a_request_is_answered_while_a_cell_runs(kernel: Kernel, way: str) -> None:
    gate = kernel.gate()
    run_id = kernel.send(getattr(gate, way))
    gate.reached()
    reply = kernel.request(type="hello", protocol=1, version="0.1.0", client="page")
    gate.open()
    kernel.finish(run_id)

    assert reply["status"] == "ok"
    assert reply["protocol"] == 4
    assert reply["version"]
    assert reply["project"] == str(kernel.folder)


def test_an_unknown_command_gets_a_clear_error(kernel: Kernel) -> None:
    reply = kernel.request(type="dance")

    assert reply["status"] == "error"
    assert "Unknown command 'dance'" in reply["error"]
    assert "prompt" in reply["error"]


@pytest.mark.parametrize(
    ("former", "fields"),
    [
        ("allowed", {}),
        ("choose", {"action": "undo"}),
        ("guests", {}),
        ("picture", {"url": "blob:no"}),
        ("put-back", {"session": "ses_no", "turn": "msg_no"}),
    ],
)
def test_a_command_by_the_type_that_it_had_before_is_read(
    page: Kernel, former: str, fields: dict[str, Any]
) -> None:
    reply = page.request(type=former, id=f"former-{former}", **fields)

    assert reply["status"] == "ok"
    assert outcome(page, f"former-{former}")


def test_a_malformed_command_is_told_what_it_lacks(kernel: Kernel) -> None:
    assert "text: Field required" in kernel.request(type="prompt")["error"]
    assert kernel.request(type="prompt", id=7)["status"] == "error"


def test_a_prompt_from_a_page_runs_with_no_cell(page: Kernel) -> None:
    page.script(ONE, "says('It is 42.')")
    mark = len(page.iopub)

    page.request(type="prompt", text="go", id="no-cell")
    ask = record(page, "permission.asked", mark)["ask"]
    page.request(type="reply", ask_id=ask["id"], answer="once")
    outcome(page, "no-cell")

    assert page.value("x") == "42"
    new = page.iopub[mark:]
    assert not [m for m in new if m["header"]["msg_type"] in ("display_data", "stream")]
    assert "It is 42." in str([m["content"] for m in new])


def test_its_python_waits_behind_a_cell_that_runs(page: Kernel) -> None:
    page.run("order = []")
    page.script("calls('python', code='order.append(2)').says('')", "says('done')")
    mark = len(page.iopub)

    gate = page.gate()
    run_id = page.send(f"{gate.awaiting}\norder.append(1)")
    gate.reached()
    page.request(type="prompt", text="go", id="behind")
    ask = record(page, "permission.asked", mark)["ask"]
    page.request(type="reply", ask_id=ask["id"], answer="once")
    record(page, "permission.replied", mark)
    gate.open()
    page.finish(run_id)
    outcome(page, "behind")

    assert page.value("order") == "[1, 2]"


@pytest.mark.parametrize(
    "code",
    [
        BLOCKING,
        AWAITING,
    ],
    ids=["blocking", "awaiting"],
)
@pytest.mark.parametrize("way", ["button", "cancel"])
def test_a_turn_with_no_cell_stops(page: Kernel, code: str, way: str) -> None:
    page.script(f"calls('python', code={code!r}).says('')", "says('not reached')")
    name = f"stop-{way}-{len(page.iopub)}"
    mark = len(page.iopub)
    page.request(type="prompt", text="go", id=name)
    ask = record(page, "permission.asked", mark)["ask"]
    page.request(type="reply", ask_id=ask["id"], answer="once")
    page.wait(lambda m: "begun\\n" in str(m["content"].get("records")), since=mark)

    if way == "button":
        page.interrupt()
    else:
        page.request(type="cancel")
    outcome(page, name)

    assert page.run("1 + 1").status == "ok"


def test_a_turn_with_no_cell_stops_in_a_model_wait(page: Kernel) -> None:
    page.script("says('Let me').stalls()")
    name = f"stop-{len(page.iopub)}"
    mark = len(page.iopub)
    page.request(type="prompt", text="go", id=name)
    page.wait(lambda m: "Let me" in str(m["content"].get("records")), since=mark)

    page.interrupt()

    assert outcome(page, name)


@pytest.mark.parametrize(
    "cell", ["%%agent\ngo", "%%time\n%agent go"], ids=["awaiting cell", "blocking cell"]
)
def test_an_approval_reaches_a_waiting_cell(page: Kernel, cell: str) -> None:
    page.script(ONE, "says('done')")
    mark = len(page.iopub)

    run_id = page.send(cell)
    ask = record(page, "permission.asked", mark)["ask"]
    assert ask["input"] == {"code": "x = 6 * 7\nx"}
    page.request(type="reply", ask_id=ask["id"], answer="once")
    run = page.finish(run_id)

    assert run.status == "ok"
    assert "\n42\n" in run.markdown()
    assert record(page, "permission.replied", mark)["reply"]["by"] == "person"


def test_a_page_has_what_the_model_needs_imported_before_it_is_asked(page: Kernel) -> None:
    page.script("says('Hi.')")
    page.run("%%agent\nHello")
    page.run("harness.prepared.clear()")
    reply = page.request(type="prepare")
    page.run("import time\nwhile not harness.prepared: time.sleep(0.02)")

    assert reply["status"] == "ok"
    assert page.value("harness.prepared") == "['test/scripted']"  # the session's


def test_the_same_command_twice_does_nothing_more(page: Kernel) -> None:
    page.script("says('once')", "says('twice')")

    first = page.request(type="prompt", text="go", id="same")
    again = page.request(type="prompt", text="go", id="same")
    outcome(page, "same")
    page.request(type="prompt", text="go on", id="next")
    outcome(page, "next")

    assert (first["repeated"], again["repeated"]) == (False, True)
    assert page.value("len(harness.model.requests)") == "2"


def test_the_first_answer_wins_and_both_clients_hear_of_it(page: Kernel) -> None:
    page.script(ONE, "says('done')")
    other = page.second_client()
    mark = len(page.iopub)
    try:
        other.wait_until_ready()
        other.request(type="watch", client="other")
        run_id = page.send("%%agent\ngo")
        ask = record(page, "permission.asked", mark)["ask"]
        other.request(type="reply", ask_id=ask["id"], answer="once", id="first")
        outcome(page, "first")
        page.request(type="reply", ask_id=ask["id"], answer="reject", id="second")

        assert outcome(page, "second")["late"] is True
        run = page.finish(run_id)
        assert "\n42\n" in run.markdown()
        for client in (page.client, other):
            assert record(client, "permission.replied")["reply"]["answer"] == "once"
        other.request(type="unwatch", client="other")
    finally:
        other.close()


def test_nothing_is_told_when_nobody_watches(kernel: Kernel) -> None:
    kernel.script("says('quietly')")
    mark = len(kernel.iopub)

    kernel.run("%%agent\nhi")

    kinds = {m["header"]["msg_type"] for m in kernel.iopub[mark:]}
    assert "palimpsest_notice" not in kinds


def test_notices_belong_to_no_cell(page: Kernel) -> None:
    page.script("says('hello')")
    mark = len(page.iopub)

    page.run("%%agent\nhi")

    notices = [m for m in page.iopub[mark:] if m["header"]["msg_type"] == "palimpsest_notice"]
    assert notices
    assert all(m["parent_header"] == {} for m in notices)


def test_a_page_that_comes_late_gets_what_it_missed(page: Kernel) -> None:
    page.script("says('one')", "says('two')")
    page.run("%%agent\nhi")
    seq = page.request(type="watch", client="page")["session"]["seq"]
    page.run("%%agent\nhi")
    mark = len(page.iopub)

    page.request(type="resync", after=seq, id=f"resync-{mark}")
    page.wait(lambda m: m["content"].get("resync") == f"resync-{mark}" and m["content"]["last"])

    told = [
        record
        for m in page.iopub[mark:]
        if m["content"].get("resync") == f"resync-{mark}"
        for record in m["content"]["records"]
    ]
    assert [record["seq"] for record in told] == list(range(seq + 1, seq + 1 + len(told)))
    assert "two" in str(told)
    assert "one" not in [record.get("part", {}).get("text") for record in told]


def test_a_new_page_gets_the_whole_picture(page: Kernel) -> None:
    page.script("says('a picture')")
    page.run("%%agent\nhi")
    name = f"picture-{len(page.iopub)}"

    page.request(type="resync", id=name)
    message = page.wait(lambda m: m["content"].get("resync") == name and m["content"]["last"])

    assert message["content"]["kind"] == "session-state"
    assert "a picture" in str(message["content"]["messages"])


def test_a_prompt_for_whatever_session_is_current_follows_the_new_one(page: Kernel) -> None:
    page.script("says('one')", "says('two')")
    page.run("first = %agent hi")
    first = page.value("first.session").strip("'")

    page.request(type="new", id=f"next-{first}")  # its outcome is not awaited
    page.request(type="prompt", text="And now?", id=f"then-{first}")

    second = outcome(page, f"next-{first}")["session"]["session"]
    assert outcome(page, f"then-{first}")["session"]["session"] == second != first


def test_a_page_is_told_of_the_session_that_a_cell_began_before_the_cell_is_over(
    page: Kernel,
) -> None:
    page.script("says('one')", "says('two')", "says('three')")
    page.run("first = %agent hi")
    since = len(page.iopub)
    run = page.run("second = %agent --new hi")
    second = page.value("second.session").strip("'")

    told = page.iopub[since:]
    kinds = [
        m["content"].get("session", {}).get("session")
        if m["content"].get("kind") == "current"
        else m["content"].get("execution_state")
        for m in told
        if m["content"].get("kind") == "current" or m["parent_header"].get("msg_id") == run.id
    ]
    assert kinds.index(second) < kinds.index("idle")
    page.request(type="prompt", text="And here?", session=second, id=f"here-{second}")
    assert outcome(page, f"here-{second}")["session"]["session"] == second


def test_a_renamed_notebook_keeps_its_session(page: Kernel) -> None:
    page.run("import os; os.environ['JPY_SESSION_NAME'] = os.path.abspath('deep/old.ipynb')")
    page.script("says('one')")
    page.run("before = %agent hi")
    session = page.value("before.session").strip("'")

    page.request(type="rename", was="deep/old.ipynb", notebook="deep/new.ipynb", id="renamed")
    page.request(type="rename", was="other.ipynb", notebook="another.ipynb", id="another")

    assert outcome(page, "renamed")["late"] is False
    assert outcome(page, "another")["late"] is True
    told = page.request(type="hello", protocol=1)
    assert told["notebook"] == "deep/new.ipynb"
    assert (told["session"]["session"], told["session"]["notebook"]) == (session, told["notebook"])
    page.run("del os.environ['JPY_SESSION_NAME']")


def test_what_cannot_be_done_is_told_in_one_sentence(page: Kernel) -> None:
    page.request(type="open", session="ses_nothing", id="nothing")

    assert "ses_nothing" in outcome(page, "nothing")["error"]


def test_a_watch_ends_by_itself() -> None:
    now = 100.0
    watches = PageWatches(clock=lambda: now)

    watches.renew_watch("page", "ses_1")
    watches.renew_watch("other", None)
    assert watches.is_watched("ses_1")
    assert watches.is_watched("ses_2")

    watches.end_watch("other", None)
    assert not watches.is_watched("ses_2")
    now += WATCH_SECONDS
    assert not watches.is_watched("ses_1")
    assert not watches.is_watched()


def test_a_page_that_greets_again_watches_no_shorter() -> None:
    now = 100.0
    watches = PageWatches(clock=lambda: now)

    watches.renew_watch("page", None, 1.0)
    watches.renew_watch("page", None)
    watches.renew_watch("page", None, 1.0)

    now += WATCH_SECONDS - 1
    assert watches.is_watched()
    now += 1
    assert not watches.is_watched()


def test_the_end_of_a_segment_that_its_cell_did_not_hear_is_made_again(page: Kernel) -> None:
    page.script("says('Let me.').calls('python', code='x = 6 * 7\\nx')", "says('It is 42.')")
    run = page.run("%%agent -y\ngo")
    mime = "application/vnd.palimpsest.segment+json"
    saved = run.outputs()[-1]["data"][mime]
    part, offset, joint = saved["start"]

    page.request(
        type="close",
        id="close-1",
        session=saved["session"],
        turn=saved["turn"],
        start={"part": part, "offset": offset, "joint": joint},
        first_step=saved["first_step"],
        first_seq=saved["seq"][0],
    )
    bundle = outcome(page, "close-1")["bundle"]

    assert bundle[mime]["messages"] == saved["messages"]
    assert bundle[mime]["open"] is False
    assert bundle["text/markdown"].strip()


DRAWS = """from PIL import Image
display(Image.new('RGB', (40, 30), 'red'))
print('drawn')"""


def test_the_outputs_of_a_turn_are_made_again_as_its_cell_had_them(page: Kernel) -> None:
    page.script(f"says('Let me.').calls('python', code={DRAWS!r})", "says('It is *red*.')")
    run = page.run("%%agent -y\ngo")
    mime = "application/vnd.palimpsest.segment+json"
    saved = [output["data"] for output in run.outputs()]
    first = saved[0][mime]

    page.request(type="recreate-outputs", id="back-1", session=first["session"], turn=first["turn"])
    made = outcome(page, "back-1")["outputs"]

    assert [output["output_type"] for output in made] == ["display_data"] * 3
    shown = [output["data"] for output in made]
    assert shown[1]["image/png"].strip() == saved[1]["image/png"].strip()
    for again, was in ((shown[0], saved[0]), (shown[2], saved[2])):
        assert again["text/markdown"] == was["text/markdown"]
        assert again["text/plain"] == was["text/plain"]
        # A segment that was closed when its call ended does not have the end of its step yet.
        parts = [[message["parts"] for message in made[mime]["messages"]] for made in (again, was)]
        assert parts[0] == parts[1]
        same = {"seq": was[mime]["seq"], "messages": was[mime]["messages"]}
        assert again[mime] | same == was[mime]


def test_a_turn_that_is_not_there_is_named(page: Kernel) -> None:
    page.script("says('one')")
    page.run("%%agent\nhi")
    session = page.request(type="hello", protocol=1)["session"]["session"]

    page.request(type="close", id="close-2", session=session, turn="msg_no", start={"part": 0})
    page.request(type="recreate-outputs", id="back-2", session=session, turn="msg_no")

    assert "msg_no" in outcome(page, "close-2")["error"]
    assert "msg_no" in outcome(page, "back-2")["error"]


def test_a_page_tries_a_failed_turn_again(page: Kernel) -> None:
    page.script("fails(400, 'No sense.'), says('At last.')")
    page.request(type="prompt", id="failing", text="Hello?")
    assert outcome(page, "failing").get("error") is None

    page.request(type="retry", id="again")

    assert outcome(page, "again").get("error") is None
    record(page, "message.part.updated")
    page.request(type="retry", id="once more")
    assert "nothing to try again" in outcome(page, "once more")["error"]


def test_a_picture_tells_what_was_answered_and_what_the_window_holds(page: Kernel) -> None:
    page.script("calls('python', code='1'), says('Done.')")
    page.run("%%agent -y\ngo")
    page.request(type="resync", id="whole")

    message = page.wait(lambda m: m["content"].get("resync") == "whole")
    picture = message["content"]
    (reply,) = picture["replies"].values()
    assert reply["by"] == "--yes"
    filling = picture["context_fill"]
    assert sum(filling["kinds"].values()) == filling["tokens"]
    assert filling["reserve"] < filling["window"]


def test_a_page_learns_what_can_be_chosen(page: Kernel) -> None:
    page.request(type="choices", id="what")

    choices = outcome(page, "what")
    assert {
        "models",
        "agents",
        "model",
        "agent",
        "modes",
        "mode",
        "untrusted",
        "commands",
        "skills",
        "subagents",
    } == set(choices)


def test_a_question_waits_until_a_page_is_back(page: Kernel) -> None:
    page.script(ONE, "says('It is 42.')")
    page.request(type="prompt", id="asks", text="Six by seven?")
    eventually(lambda: page.request(type="hello", protocol=1)["session"]["asks"])
    page.request(type="unwatch", client="page")

    status = page.run("%agent status").markdown()
    assert "waits for your answer in the page, or in %agent wait, or for %agent stop" in status
    page.request(type="watch", client="another")
    head = page.request(type="hello", protocol=1, version="0.1.0", client="another")["session"]
    (ask,) = head["asks"]
    page.request(type="reply", id="late", ask_id=ask["id"], answer="once")

    assert outcome(page, "asks").get("error") is None
    page.request(type="unwatch", client="another")
