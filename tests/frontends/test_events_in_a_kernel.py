"""Each event reaches a watching page and a Python subscriber, with its payload."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.frontends.three_interfaces import ThreeInterfaces
from tests.harness.kernel import Kernel, Message
from tests.waiting import eventually

pytestmark = pytest.mark.slow

ASKS = "calls('python', code='1 + 1')"
CHOOSES = "calls('question', questions=[{'question': 'Which?', 'options': [{'label': 'Red'}]}])"
WRITES = "calls('write', path='{name}', content='one\\ntwo\\n')"
SUMMARY = (
    "## Goal\\n- know the penguins\\n\\n## Numbers and facts\\n- mean 43.92\\n" + "- none\\n" * 30
)
LONG = "says('The mean is 43.92. ' * 400).in_pieces(4_000)"


class Heard:
    """A session that a page watches and that Python subscribed to."""

    def __init__(self, interfaces: ThreeInterfaces) -> None:
        self.interfaces = interfaces
        self.session = ""

    def begin(self, *answers: str) -> str:
        """Begin a session and subscribe to it."""
        self.session = self.interfaces.begin(*answers)
        self.interfaces.cell("heard = []\nend = now().subscribe(heard.extend)")
        return self.session

    def __call__(self, kind: str, **fields: Any) -> Message:
        """Return a record that both received."""
        record = self.interfaces.told(kind, **fields)
        known = f"[one.seq for one in heard if one.event.type == {kind!r}]"
        eventually(lambda: record["seq"] in self.interfaces.look(known))
        return record


@pytest.fixture(scope="module")
def interfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeInterfaces]:
    with Kernel(cwd=tmp_path_factory.mktemp("notebooks")) as kernel:
        yield ThreeInterfaces(kernel)


@pytest.fixture
def heard(interfaces: ThreeInterfaces) -> Heard:
    return Heard(interfaces)


def test_session_created_carries_the_session(interfaces: ThreeInterfaces) -> None:
    session = interfaces.begin(title="Birds")
    name = interfaces.posts(type="resync", after=0)
    message = interfaces.kernel.wait(
        lambda m: m["content"].get("resync") == name and m["content"]["last"]
    )

    created = message["content"]["records"][0]
    assert (created["type"], created["seq"]) == ("session.created", 1)
    info = created["session"]
    assert (info["id"], info["title"]) == (session, "Birds")
    assert info["time"]["created"] == info["time"]["updated"]
    (log,) = (interfaces.folder / ".palimpsest" / "sessions").glob(f"{session}*/log-1.jsonl")
    assert created in [json.loads(line) for line in log.read_text().splitlines()]


def test_session_updated_carries_the_whole_session(heard: Heard) -> None:
    session = heard.begin()

    heard.interfaces.says("title Two words")

    info = heard("session.updated")["session"]
    assert (info["id"], info["title"]) == (session, "Two words")
    assert info["time"]["updated"] >= info["time"]["created"]


def test_session_deleted_carries_the_session_as_it_was(heard: Heard) -> None:
    session = heard.begin("says('Hi.')")
    heard.interfaces.says("Hello.")

    heard.interfaces.says(f"delete {session} --yes")

    event = heard("session.deleted")
    assert (event["session_id"], event["session"]["id"]) == (session, session)


def test_session_diff_carries_the_changed_files(heard: Heard) -> None:
    heard.begin(WRITES.format(name="diff.txt"), "says('Written.')")

    heard.interfaces.says("Write it.")

    (diff,) = heard("session.diff")["diff"]
    assert (diff["file"], diff["status"], diff["additions"]) == ("diff.txt", "added", 2)


def test_session_compacted_and_checkpoint_follow_a_summary(heard: Heard) -> None:
    heard.begin(LONG, f"says('{SUMMARY}')")
    heard.interfaces.says("What is the mean?")

    heard.interfaces.says("compact")

    message = heard("session.compacted")["message_id"]
    asked = "[p.type for m in now().messages if m.id == {!r} for p in m.parts]"
    assert heard.interfaces.look(asked.format(message))[0] == "compaction"
    event = heard("session.checkpoint")
    assert event["state"]["compacted"] == message
    assert event["window_seq"] <= event["seq"]


def test_session_error_carries_the_error_and_its_message(heard: Heard) -> None:
    heard.begin("fails(400, 'No such thing.')")

    heard.interfaces.kernel.client.run("%agent Hello.")

    event = heard("session.error")
    assert (event["error"]["type"], event["error"]["status"]) == ("api", 400)
    assert "No such thing." in event["error"]["message"]
    assert event["message_id"] == heard.interfaces.look("now().messages[-1].id")


def test_session_status_says_busy_and_idle(heard: Heard) -> None:
    heard.begin("says('Hi.')")

    heard.interfaces.says("Hello.")

    busy = heard("session.status", status={"type": "busy"})
    idle = heard("session.status", status={"type": "idle"})
    assert busy["seq"] < idle["seq"]


def test_session_status_says_when_a_request_is_tried_again(heard: Heard) -> None:
    heard.begin("fails(429, 'Slowly.', retry_after=600)", "says('Hi.')")

    heard.interfaces.says("--bg Hello.")

    heard("message.part.updated")
    statuses = "[o.event.status.type for o in heard if o.event.type == 'session.status']"
    eventually(lambda: "retry" in heard.interfaces.look(statuses))
    status = heard.interfaces.look("now().status.model_dump()")
    heard.interfaces.sends(type="cancel")
    heard("session.status", status={"type": "idle"})
    assert (status["type"], status["attempt"]) == ("retry", 1)
    assert "Slowly." in status["message"]
    assert status["next"] > 1_700_000_000_000


def test_message_updated_carries_who_said_it_and_what_it_cost(heard: Heard) -> None:
    session = heard.begin("says('Hi.').reports(input=20, output=5, cache_read=3)")

    heard.interfaces.says("Hello.")

    heard("session.status", status={"type": "idle"})
    infos = heard.interfaces.look(
        "[o.wire()['info'] for o in heard if o.event.type == 'message.updated']"
    )
    user, answer = infos[0], infos[-1]
    assert (user["role"], user["session_id"], user["agent"]) == ("user", session, "build")
    assert (answer["role"], answer["parent_id"], answer["finish"]) == (
        "assistant",
        user["id"],
        "stop",
    )
    assert (answer["tokens"]["input"], answer["tokens"]["cache_read"]) == (20, 3)
    assert heard("message.updated", info=answer)["info"] == answer


def test_message_part_updated_and_delta_carry_the_words(heard: Heard) -> None:
    session = heard.begin("says('Let me look at it.').stalls()")

    heard.interfaces.says("--bg Hello.")

    delta = heard("message.part.delta")
    assert (delta["field"], delta["delta"][:3]) == ("text", "Let")
    growing = "next(p.text for m in now().messages for p in m.parts if p.id == {!r})"
    eventually(
        lambda: heard.interfaces.look(growing.format(delta["part_id"])) == "Let me look at it."
    )
    heard.interfaces.says("stop")
    heard("session.status", status={"type": "idle"})
    parts = heard.interfaces.look(
        f"[o.wire()['part'] for o in heard if o.event.type == 'message.part.updated'"
        f" and o.event.part.id == {delta['part_id']!r}]"
    )
    assert parts[-1]["text"] == "Let me look at it."
    assert (parts[-1]["session_id"], parts[-1]["message_id"]) == (session, delta["message_id"])
    assert heard("message.part.updated", part=parts[-1])["part"]["type"] == "text"


def test_message_removed_names_what_a_cleanup_removes(heard: Heard) -> None:
    heard.begin("says('Hi.')")
    heard.interfaces.says("Hello.")
    first, second = heard.interfaces.look("[m.id for m in now().messages]")

    heard.interfaces.says("revert")
    heard.interfaces.says("cleanup")

    assert heard("message.removed", message_id=first)
    assert heard("message.removed", message_id=second)


def test_message_part_removed_names_the_part(heard: Heard) -> None:
    heard.begin(f"says('First this.').{ASKS}", "says('Two.')")
    heard.interfaces.says("--yes Add.")
    message, part = heard.interfaces.look(
        "[(m.id, p.id) for m in now().messages for p in m.parts if p.type == 'tool'][0]"
    )

    heard.interfaces.says(f"revert {part}")
    heard.interfaces.says("cleanup")

    event = heard("message.part.removed", part_id=part)
    assert event["message_id"] == message
    left = heard.interfaces.look("[p.type for p in now().messages[-1].parts]")
    assert ("text" in left, "tool" in left) == (True, False)


def test_permission_asked_and_replied_carry_the_call_and_the_answer(heard: Heard) -> None:
    heard.begin(ASKS, "says('Two.')")
    heard.interfaces.says("--bg Add.")

    ask = heard("permission.asked")["ask"]
    heard.interfaces.sends(type="reply", ask_id=ask["id"], answer="reject", feedback="Not now.")

    assert (ask["permission"], ask["tool"], ask["input"]) == (
        "python",
        "python",
        {"code": "1 + 1"},
    )
    assert ask["patterns"]
    assert ask["call_id"] == "call_1"
    told = heard("permission.replied", ask_id=ask["id"])["reply"]
    assert (told["answer"], told["feedback"], told["by"]) == ("reject", "Not now.", "person")


def test_question_asked_and_replied_carry_questions_and_answers(heard: Heard) -> None:
    heard.begin(CHOOSES, "says('Red.')")
    heard.interfaces.says("--bg Paint it.")

    asked = heard("question.asked")
    name = asked["question_id"]
    heard.interfaces.sends(type="answer", question_id=name, answers=[["Red"]])

    (question,) = asked["questions"]
    assert (question["question"], question["options"][0]["label"]) == ("Which?", "Red")
    assert asked["call_id"] == "call_1"
    assert heard("question.replied", question_id=name)["answers"] == [["Red"]]


def test_question_rejected_says_why(heard: Heard) -> None:
    heard.begin(CHOOSES, "says('As I like.')")
    heard.interfaces.says("--bg Paint it.")

    name = heard("question.asked")["question_id"]
    heard.interfaces.sends(type="answer", question_id=name)

    assert heard("question.rejected", question_id=name)["by"] == "person"


def test_todo_updated_carries_the_whole_list(heard: Heard) -> None:
    heard.begin("calls('todowrite', todos=[{'content': 'Plot it'}])", "says('Noted.')")

    heard.interfaces.says("Plan it.")

    (todo,) = heard("todo.updated")["todos"]
    assert todo == {"content": "Plot it", "status": "pending", "priority": "medium"}


def test_prompts_are_admitted_and_delivered_with_what_came_with_them(heard: Heard) -> None:
    heard.begin("says('Hi.')")

    heard.interfaces.sends(type="queue", text="Hello.", id="my-prompt", system="Be brief.")

    admitted = heard("prompt.admitted", prompt_id="my-prompt")
    assert (admitted["text"], admitted["delivery"]) == ("Hello.", "queue")
    assert (admitted["origin"]["kind"], admitted["options"]["system"]) == ("panel", "Be brief.")
    delivered = heard("prompt.delivered", prompt_id="my-prompt")
    assert delivered["message_id"] == heard.interfaces.look("now().messages[0].id")


def test_decisions_and_requests_are_told_before_anything_is_sent(heard: Heard) -> None:
    heard.begin("says('Hi.')", "says('Again.')")
    heard.interfaces.says("Hello.")
    name = heard.interfaces.look("now().messages[1].id")

    heard.interfaces.says(f"exclude {name}")
    heard.interfaces.mark()
    heard.interfaces.says("And?")

    event = heard("step.requested")
    shown = event["request"]
    assert (shown["purpose"], shown["tokens"] > 0) == ("step", True)
    assert shown["facts"].keys() == {"window", "reserve"}, "a page is told only what it shows"
    whole = f"next(one.event.request for one in heard if one.seq == {event['seq']})"
    name_and_length = f"(lambda one: (one.model.ref.name, len(one.sha256)))({whole})"
    assert heard.interfaces.look(name_and_length) == ("model", 64)
    made = "[o.event.decision for o in heard if o.event.type == 'decision']"
    assert heard.interfaces.look(f"[(d.rule, d.message_id) for d in {made}][0]") == (
        "user/exclude",
        name,
    )
