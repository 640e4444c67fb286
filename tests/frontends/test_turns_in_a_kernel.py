"""What is done with turns by command, by Python and by a page's message: sent, joined, stopped, answered, summarised."""

from collections.abc import Iterator

import pytest
from tests.frontends.three_interfaces import WAYS, ThreeInterfaces
from tests.harness.kernel import Kernel
from tests.waiting import eventually

pytestmark = pytest.mark.slow
each_way = pytest.mark.parametrize("way", WAYS)

STANDS = "says('Let me').stalls()"
ASKS = "calls('python', code='x = 6 * 7\\nx')"
CHOOSES = "calls('question', questions=[{'question': 'Which?', 'options': [{'label': 'Red'}, {'label': 'Blue'}]}])"
SUMMARY = (
    "## Goal\\n- know the penguins\\n\\n## Numbers and facts\\n- mean 43.92\\n" + "- none\\n" * 30
)
LONG = "says('The mean is 43.92. ' * 400)"


@pytest.fixture(scope="module")
def hands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeInterfaces]:
    with Kernel(cwd=tmp_path_factory.mktemp("notebooks")) as kernel:
        yield ThreeInterfaces(kernel)


def stands(hands: ThreeInterfaces, *more: str) -> None:
    """Begin a session with a turn that runs until it is stopped."""
    hands.begin(STANDS, *more)
    hands.says("--bg Go.")
    hands.told("message.part.delta")


def inbox(hands: ThreeInterfaces) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = hands.look("[(p.text, p.delivery) for p in now().waiting]")
    return found


@each_way
def test_a_prompt_is_answered_with_what_came_with_it(hands: ThreeInterfaces, way: str) -> None:
    hands.begin("says('Forty two.')")

    match way:
        case "command":
            said = hands.says("--system 'Be brief.' --tools read --agent plan How many?")
            assert "Forty two." in said
        case "Python":
            hands.cell(
                "answer = now().start('How many?', system='Be brief.', tools=['read'], agent='plan')"
                ".result()"
            )
            assert hands.look("(answer.text, answer.steps)") == ("Forty two.", 1)
        case _:
            options = {"system": "Be brief.", "tools": ["read"], "agent": "plan"}
            hands.sends(type="prompt", text="How many?", **options)

    user, answer = "now().messages[0].info", "now().messages[1]"
    assert hands.look(f"({user}.system, {user}.agent)") == ("Be brief.", "plan")
    assert hands.look(f"{answer}.parts[1].text") == "Forty two."
    sent = "room.model.requests[0]"
    assert hands.look(f"[one.name for one in {sent}.tools]") == ["read"]
    assert hands.look(f"'Be brief.' in str({sent}.messages)") is True


def test_the_files_of_a_prompt_that_was_taken_back_go_with_it_again(hands: ThreeInterfaces) -> None:
    stands(hands, "says('Later.')")
    hands.cell("import base64; content = base64.b64encode(b'%PDF-1.4' + bytes(40_000)).decode()")
    hands.cell("now().start('What is it?', files=['data:application/pdf;base64,' + content]); None")
    first = hands.told("prompt.admitted", text="What is it?")
    files = first["options"]["files"]
    assert files[0]["url"].startswith("blob:")

    hands.sends(type="withdraw", prompt_id=first["prompt_id"])
    hands.posts(type="queue", text="What is this?", files=files)

    assert hands.told("prompt.admitted", text="What is this?")["options"] == {"files": files}
    far = {"mime": "image/png", "url": "file:///etc/passwd"}
    refused = hands.kernel.request(type="prompt", text="And this?", files=[far])
    assert "by its content (data:)" in refused["error"]
    hands.sends(type="cancel")


@each_way
def test_a_prompt_is_sent_without_waiting_for_its_answer(hands: ThreeInterfaces, way: str) -> None:
    stands(hands, "says('Later.')")

    match way:
        case "command":
            hands.says("--bg And then?")
        case "Python":
            hands.cell("now().start('And then?')")
        case _:
            hands.posts(type="queue", text="And then?")

    admitted = hands.told("prompt.admitted", text="And then?")
    assert admitted["delivery"] == "queue"
    assert inbox(hands) == [("And then?", "queue")]
    hands.sends(type="cancel")
    hands.told("prompt.delivered", prompt_id=admitted["prompt_id"])


@each_way
def test_a_prompt_is_steered_into_the_turn_that_runs(hands: ThreeInterfaces, way: str) -> None:
    hands.begin(ASKS, "says('Briefly: 42.')")
    hands.says("--bg How many?")
    ask = hands.told("permission.asked")["ask"]["id"]

    match way:
        case "command":
            hands.says("--steer Be brief.")
        case "Python":
            hands.cell("now().start('Be brief.', delivery='steer')")
        case _:
            hands.posts(type="steer", text="Be brief.")
    assert hands.told("prompt.admitted", text="Be brief.")["delivery"] == "steer"
    hands.sends(type="reply", ask_id=ask, answer="once")
    hands.cell("now().loop().result() if now().status.type == 'busy' else None")

    assert hands.look("'Be brief.' in str(room.model.requests[1].messages)") is True
    assert hands.look("[m.info.joins for m in now().messages if m.info.role == 'user']") == [
        None,
        True,
    ]


def test_a_cell_that_blocks_for_an_answer_lets_its_python_run(hands: ThreeInterfaces) -> None:
    hands.begin(ASKS, "says('It is 42.')")

    hands.cell("future = now().start('How many?', yes=True)\nsaid = future.result(timeout=40).text")

    assert hands.look("(said, x)") == ("It is 42.", 42)


@each_way
def test_who_joins_the_run_gets_its_final_answer(hands: ThreeInterfaces, way: str) -> None:
    hands.begin(ASKS, "says('It is 42.')")
    hands.says("--bg How many?")
    ask = hands.told("permission.asked")["ask"]["id"]

    match way:
        case "command":
            cell = hands.kernel.send("%agent wait")
            hands.sends(type="reply", ask_id=ask, answer="once")
            assert "It is 42." in hands.kernel.finish(cell).story()
        case "Python":
            hands.cell("joined = now().loop()")
            hands.sends(type="reply", ask_id=ask, answer="once")
            eventually(lambda: hands.look("joined.done()"))
            assert hands.look("joined.result().text") == "It is 42."
        case _:
            joined = hands.posts(type="loop")
            hands.sends(type="reply", ask_id=ask, answer="once")
            assert hands.outcome(joined)["session"]["status"] == {"type": "idle"}
            assert hands.look("now().messages[-1].parts[1].text") == "It is 42."


@each_way
def test_a_waiting_prompt_is_taken_back(hands: ThreeInterfaces, way: str) -> None:
    stands(hands)
    waiting = hands.posts(type="queue", text="Banana?")
    hands.told("prompt.admitted", prompt_id=waiting)

    match way:
        case "command":
            assert hands.says("withdraw") == "Withdrawn."
        case "Python":
            hands.cell(f"gone = now().withdraw({waiting!r})")
            assert hands.look("gone") is True
        case _:
            assert hands.sends(type="withdraw", prompt_id=waiting)["late"] is False

    assert "message_id" not in hands.told("prompt.delivered", prompt_id=waiting)
    hands.sends(type="cancel")
    hands.told("session.status", status={"type": "idle"})
    assert "Banana?" not in hands.kernel.requests()


@each_way
def test_a_turn_is_stopped(hands: ThreeInterfaces, way: str) -> None:
    stands(hands)

    match way:
        case "command":
            assert hands.says("stop") == "Stopped."
        case "Python":
            hands.cell("stopped = now().cancel()")
            assert hands.look("stopped") is True
        case _:
            assert hands.sends(type="cancel")["late"] is False

    hands.told("session.status", status={"type": "idle"})
    last = "now().messages[-1]"
    assert hands.look(f"({last}.info.stopped_by, {last}.info.error.type)") == (
        "cancelled",
        "aborted",
    )
    assert hands.look(f"{last}.parts[1].text").strip() == "Let me"


@each_way
def test_a_failed_request_is_sent_again(hands: ThreeInterfaces, way: str) -> None:
    hands.begin("fails(400, 'No such thing.')", "says('Now it works.')")
    hands.kernel.client.run("%agent How many?")

    match way:
        case "command":
            assert "Now it works." in hands.says("retry")
        case "Python":
            hands.cell("answer = now().retry().result()")
            assert hands.look("answer.text") == "Now it works."
        case _:
            hands.sends(type="retry")

    assert hands.look("[m.info.role for m in now().messages]").count("user") == 1
    assert hands.look("now().messages[-1].parts[-2].text") == "Now it works."


@each_way
def test_a_summary_takes_the_place_of_what_was_said(hands: ThreeInterfaces, way: str) -> None:
    hands.begin(LONG, f"says('{SUMMARY}')", "says('It was 43.92.')")
    hands.says("What is the mean?")

    match way:
        case "command":
            assert "Summary of what came before" in hands.says("compact focus on the numbers")
        case "Python":
            hands.cell("answer = now().compact('the numbers').result()")
            assert hands.look("answer.messages[-1].info.summary") is True
        case _:
            hands.sends(type="compact", focus="the numbers")

    asked = hands.told("session.compacted")["message_id"]
    summary = "[m for m in now().messages if getattr(m.info, 'summary', None) is True][-1]"
    assert hands.look(f"({summary}.info.parent_id, {summary}.info.finish)") == (asked, "stop")
    assert hands.look("'this above all: the numbers' in str(room.model.requests[1].messages)")
    hands.says("And the mean?")
    sent = hands.look("str(room.model.requests[2].messages)")
    assert ("know the penguins" in sent, "What is the mean?" in sent) == (True, False)


def test_python_waits_for_a_compaction(hands: ThreeInterfaces) -> None:
    hands.begin(LONG, f"says('{SUMMARY}').drips(0.001)")
    hands.says("What is the mean?")

    hands.cell("made = now().compact()\nover = now().wait_compaction().result()")

    assert hands.look("(over, made.result().error)") == (True, None)


@pytest.mark.parametrize("way", ["Python", "protocol"])
def test_a_question_for_permission_is_answered(hands: ThreeInterfaces, way: str) -> None:
    hands.begin(ASKS, "says('It is 42.')")
    hands.says("--bg How many?")
    ask = hands.told("permission.asked")["ask"]
    assert (ask["permission"], ask["input"]) == ("python", {"code": "x = 6 * 7\nx"})

    if way == "Python":
        assert hands.look("[(a.id, a.tool) for a in now().asks]") == [(ask["id"], "python")]
        hands.cell(f"first = now().reply({ask['id']!r}, 'once')")
        assert hands.look("first") is True
    else:
        assert hands.sends(type="reply", ask_id=ask["id"], answer="once")["late"] is False

    assert hands.told("permission.replied", ask_id=ask["id"])["reply"]["answer"] == "once"
    eventually(lambda: hands.look("len(room.model.requests)") == 2)
    assert hands.look("x") == 42


@pytest.mark.parametrize("way", ["Python", "protocol"])
def test_a_question_of_the_model_is_answered(hands: ThreeInterfaces, way: str) -> None:
    hands.begin(CHOOSES, "says('Blue it is.')")
    hands.says("--bg Paint it.")
    asked = hands.told("question.asked")

    if way == "Python":
        found = hands.look("[(q.question_id, q.questions[0].question) for q in now().questions]")
        assert found == [(asked["question_id"], "Which?")]
        hands.cell(f"first = now().answer({asked['question_id']!r}, 'Blue')")
        assert hands.look("first") is True
    else:
        answered = hands.sends(type="answer", question_id=asked["question_id"], answers=[["Blue"]])
        assert answered["late"] is False

    told = hands.told("question.replied", question_id=asked["question_id"])
    assert told["answers"] == [["Blue"]]
    eventually(lambda: hands.look("len(room.model.requests)") == 2)
    assert "-> Blue" in hands.kernel.requests()


def test_a_command_answers_where_somebody_types(hands: ThreeInterfaces) -> None:
    hands.begin(ASKS, "says('It is 42.')")
    hands.kernel.request(type="unwatch", client="page")

    cell = hands.kernel.send("%agent How many?", stdin=True)
    question = hands.kernel.question()
    hands.kernel.answer("y")

    assert "x = 6 * 7" in question
    assert "It is 42." in hands.kernel.finish(cell).story()


def test_a_page_shows_a_picture_that_lies_beside_the_log(hands: ThreeInterfaces) -> None:
    hands.begin("says('A square.')")
    hands.cell(
        "from tests.session.prompts.test_attachments import png\n"
        "answer = now().start('What is it?', files=[png(300)]).result()"
    )
    (file,) = [p for p in hands.picture()["messages"][0]["parts"] if p["type"] == "file"]

    shown = hands.sends(type="image", url=file["url"])["image"]

    assert file["url"].startswith("blob:")
    assert shown.startswith("data:image/png;base64,")
    assert len(shown) > 300 * 300 * 3


def test_a_form_is_asked_for_in_one_cell_and_read_in_a_later_one(hands: ThreeInterfaces) -> None:
    hands.begin("calls('python', code='rows = 6 * 7\\nrows')", "calls('StructuredOutput', rows=42)")

    hands.cell(
        "from pydantic import BaseModel\n"
        "class Counted(BaseModel):\n    rows: int\n"
        "future = now().start('How many rows?', yes=True, format=Counted)"
    )

    hands.told("session.status", status={"type": "idle"})
    eventually(lambda: hands.look("future.done()"))
    assert hands.look("future.result().structured") == {"rows": 42}
    hands.cell("assert Counted.model_validate(future.result().structured).rows == rows")
