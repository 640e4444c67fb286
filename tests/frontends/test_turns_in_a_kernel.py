"""Actions on turns by subcommand, by Python and by a page's command: send, join, stop, answer, compact."""

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
LONG = "says('The mean is 43.92. ' * 400).in_pieces(4_000)"


@pytest.fixture(scope="module")
def interfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeInterfaces]:
    with Kernel(cwd=tmp_path_factory.mktemp("notebooks")) as kernel:
        yield ThreeInterfaces(kernel)


def stands(interfaces: ThreeInterfaces, *more: str) -> None:
    """Begin a session with a turn that runs until it is stopped."""
    interfaces.begin(STANDS, *more)
    interfaces.says("--bg Go.")
    interfaces.told("message.part.delta")


def inbox(interfaces: ThreeInterfaces) -> list[tuple[str, str]]:
    value: list[tuple[str, str]] = interfaces.look("[(p.text, p.delivery) for p in now().waiting]")
    return value


@each_way
def test_a_prompt_is_answered_with_what_came_with_it(interfaces: ThreeInterfaces, way: str) -> None:
    interfaces.begin("says('Forty two.')")

    match way:
        case "command":
            said = interfaces.says("--system 'Be brief.' --tools read --agent plan How many?")
            assert "Forty two." in said
        case "Python":
            interfaces.cell(
                "answer = now().start('How many?', system='Be brief.', tools=['read'], agent='plan')"
                ".result()"
            )
            assert interfaces.look("(answer.text, answer.steps)") == ("Forty two.", 1)
        case _:
            options = {"system": "Be brief.", "tools": ["read"], "agent": "plan"}
            interfaces.sends(type="prompt", text="How many?", **options)

    user, answer = "now().messages[0].info", "now().messages[1]"
    assert interfaces.look(f"({user}.system, {user}.agent)") == ("Be brief.", "plan")
    assert interfaces.look(f"{answer}.parts[1].text") == "Forty two."
    sent = "harness.model.requests[0]"
    assert interfaces.look(f"[one.name for one in {sent}.tools]") == ["read"]
    assert interfaces.look(f"'Be brief.' in str({sent}.messages)") is True


def test_the_files_of_a_prompt_that_was_taken_back_go_with_it_again(
    interfaces: ThreeInterfaces,
) -> None:
    stands(interfaces, "says('Later.')")
    interfaces.cell(
        "import base64; content = base64.b64encode(b'%PDF-1.4' + bytes(40_000)).decode()"
    )
    interfaces.cell(
        "now().start('What is it?', files=['data:application/pdf;base64,' + content]); None"
    )
    first = interfaces.told("prompt.admitted", text="What is it?")
    files = first["options"]["files"]
    assert files[0]["url"].startswith("blob:")

    interfaces.sends(type="withdraw", prompt_id=first["prompt_id"])
    interfaces.posts(type="queue", text="What is this?", files=files)

    assert interfaces.told("prompt.admitted", text="What is this?")["options"] == {"files": files}
    far = {"mime": "image/png", "url": "file:///etc/passwd"}
    refused = interfaces.kernel.request(type="prompt", text="And this?", files=[far])
    assert "by its content (data:)" in refused["error"]
    interfaces.sends(type="cancel")


@each_way
def test_a_prompt_is_sent_without_waiting_for_its_answer(
    interfaces: ThreeInterfaces, way: str
) -> None:
    stands(interfaces, "says('Later.')")

    match way:
        case "command":
            interfaces.says("--bg And then?")
        case "Python":
            interfaces.cell("now().start('And then?')")
        case _:
            interfaces.posts(type="queue", text="And then?")

    admitted = interfaces.told("prompt.admitted", text="And then?")
    assert admitted["delivery"] == "queue"
    assert inbox(interfaces) == [("And then?", "queue")]
    interfaces.sends(type="cancel")
    interfaces.told("prompt.delivered", prompt_id=admitted["prompt_id"])


@each_way
def test_a_prompt_is_steered_into_the_turn_that_runs(interfaces: ThreeInterfaces, way: str) -> None:
    interfaces.begin(ASKS, "says('Briefly: 42.')")
    interfaces.says("--bg How many?")
    ask = interfaces.told("permission.asked")["ask"]["id"]

    match way:
        case "command":
            interfaces.says("--steer Be brief.")
        case "Python":
            interfaces.cell("now().start('Be brief.', delivery='steer')")
        case _:
            interfaces.posts(type="steer", text="Be brief.")
    assert interfaces.told("prompt.admitted", text="Be brief.")["delivery"] == "steer"
    interfaces.sends(type="reply", ask_id=ask, answer="once")
    interfaces.cell("now().loop().result() if now().status.type == 'busy' else None")

    assert interfaces.look("'Be brief.' in str(harness.model.requests[1].messages)") is True
    assert interfaces.look("[m.info.joins for m in now().messages if m.info.role == 'user']") == [
        None,
        True,
    ]


def test_a_cell_that_blocks_for_an_answer_lets_its_python_run(interfaces: ThreeInterfaces) -> None:
    interfaces.begin(ASKS, "says('It is 42.')")

    interfaces.cell(
        "future = now().start('How many?', yes=True)\nsaid = future.result(timeout=120).text"
    )

    assert interfaces.look("(said, x)") == ("It is 42.", 42)


@each_way
def test_who_joins_the_run_gets_its_final_answer(interfaces: ThreeInterfaces, way: str) -> None:
    interfaces.begin(ASKS, "says('It is 42.')")
    interfaces.says("--bg How many?")
    ask = interfaces.told("permission.asked")["ask"]["id"]

    match way:
        case "command":
            cell = interfaces.kernel.send("%agent wait")
            interfaces.sends(type="reply", ask_id=ask, answer="once")
            assert "It is 42." in interfaces.kernel.finish(cell).markdown()
        case "Python":
            interfaces.cell("joined = now().loop()")
            interfaces.sends(type="reply", ask_id=ask, answer="once")
            eventually(lambda: interfaces.look("joined.done()"))
            assert interfaces.look("joined.result().text") == "It is 42."
        case _:
            joined = interfaces.posts(type="loop")
            interfaces.sends(type="reply", ask_id=ask, answer="once")
            assert interfaces.outcome(joined)["answer"]["session"]["status"] == {"type": "idle"}
            assert interfaces.look("now().messages[-1].parts[1].text") == "It is 42."


def test_a_waiting_prompt_is_taken_back(interfaces: ThreeInterfaces) -> None:
    stands(interfaces)
    waiting = interfaces.posts(type="queue", text="Banana?")
    interfaces.told("prompt.admitted", prompt_id=waiting)

    assert interfaces.sends(type="withdraw", prompt_id=waiting)["late"] is False

    assert "message_id" not in interfaces.told("prompt.delivered", prompt_id=waiting)
    interfaces.sends(type="cancel")
    interfaces.told("session.status", status={"type": "idle"})
    assert "Banana?" not in interfaces.kernel.requests()


def test_a_turn_is_stopped(interfaces: ThreeInterfaces) -> None:
    stands(interfaces)

    assert interfaces.sends(type="cancel")["late"] is False

    interfaces.told("session.status", status={"type": "idle"})
    last = "now().messages[-1]"
    assert interfaces.look(f"({last}.info.stopped_by, {last}.info.error.type)") == (
        "cancelled",
        "aborted",
    )
    assert interfaces.look(f"{last}.parts[1].text").strip() == "Let me"


@each_way
def test_a_failed_request_is_sent_again(interfaces: ThreeInterfaces, way: str) -> None:
    interfaces.begin("fails(400, 'No such thing.')", "says('Now it works.')")
    interfaces.kernel.client.run("%agent How many?")

    match way:
        case "command":
            assert "Now it works." in interfaces.says("retry")
        case "Python":
            interfaces.cell("answer = now().retry().result()")
            assert interfaces.look("answer.text") == "Now it works."
        case _:
            interfaces.sends(type="retry")

    assert interfaces.look("[m.info.role for m in now().messages]").count("user") == 1
    assert interfaces.look("now().messages[-1].parts[-2].text") == "Now it works."


@each_way
def test_the_prompt_of_an_earlier_turn_is_sent_again_in_its_place(
    interfaces: ThreeInterfaces, way: str
) -> None:
    interfaces.begin("says('One.')", "says('Two.')", "says('Three.')")
    interfaces.says("First?")
    interfaces.says("Second?")
    first = interfaces.look("now().messages[0].id")

    match way:
        case "command":
            assert "Three." in interfaces.says(f"retry {first} --mode plan")
        case "Python":
            interfaces.cell(f"answer = now().retry({first!r}, mode='plan').result()")
            assert interfaces.look("answer.text") == "Three."
        case _:
            interfaces.sends(type="retry", target=first, mode="plan")

    said = (
        "[p.text for m in now().messages for p in m.parts if p.type == 'text' and not p.synthetic]"
    )
    assert interfaces.look(said) == ["First?", "Three."]
    assert interfaces.look("now().control.mode") == "plan"


@each_way
def test_a_summary_takes_the_place_of_what_was_said(interfaces: ThreeInterfaces, way: str) -> None:
    interfaces.begin(LONG, f"says('{SUMMARY}')", "says('It was 43.92.')")
    interfaces.says("What is the mean?")

    match way:
        case "command":
            assert "Summary of what came before" in interfaces.says("compact focus on the numbers")
        case "Python":
            interfaces.cell("answer = now().compact('the numbers').result()")
            assert interfaces.look("answer.messages[-1].info.summary") is True
        case _:
            interfaces.sends(type="compact", focus="the numbers")

    asked = interfaces.told("session.compacted")["message_id"]
    summary = "[m for m in now().messages if getattr(m.info, 'summary', None) is True][-1]"
    assert interfaces.look(f"({summary}.info.parent_id, {summary}.info.finish)") == (asked, "stop")
    assert interfaces.look(
        "'this above all: the numbers' in str(harness.model.requests[1].messages)"
    )
    interfaces.says("And the mean?")
    sent = interfaces.look("str(harness.model.requests[2].messages)")
    assert ("know the penguins" in sent, "What is the mean?" in sent) == (True, False)


def test_python_waits_for_a_compaction(interfaces: ThreeInterfaces) -> None:
    interfaces.begin(LONG, f"says('{SUMMARY}').drips(0.001)")
    interfaces.says("What is the mean?")

    interfaces.cell("made = now().compact()\nover = now().wait_compaction().result()")

    assert interfaces.look("(over, made.result().error)") == (True, None)


def test_a_question_for_permission_is_answered(interfaces: ThreeInterfaces) -> None:
    interfaces.begin(ASKS, "says('It is 42.')")
    interfaces.says("--bg How many?")
    ask = interfaces.told("permission.asked")["ask"]
    assert (ask["permission"], ask["input"]) == ("python", {"code": "x = 6 * 7\nx"})

    assert interfaces.look("[(a.id, a.tool) for a in now().asks]") == [(ask["id"], "python")]
    assert interfaces.sends(type="reply", ask_id=ask["id"], answer="once")["late"] is False

    assert interfaces.told("permission.replied", ask_id=ask["id"])["reply"]["answer"] == "once"
    eventually(lambda: interfaces.look("len(harness.model.requests)") == 2)
    assert interfaces.look("x") == 42


def test_a_question_of_the_model_is_answered(interfaces: ThreeInterfaces) -> None:
    interfaces.begin(CHOOSES, "says('Blue it is.')")
    interfaces.says("--bg Paint it.")
    asked = interfaces.told("question.asked")

    value = interfaces.look("[(q.question_id, q.questions[0].question) for q in now().questions]")
    assert value == [(asked["question_id"], "Which?")]
    answered = interfaces.sends(type="answer", question_id=asked["question_id"], answers=[["Blue"]])
    assert answered["late"] is False

    told = interfaces.told("question.replied", question_id=asked["question_id"])
    assert told["answers"] == [["Blue"]]
    eventually(lambda: interfaces.look("len(harness.model.requests)") == 2)
    assert "-> Blue" in interfaces.kernel.requests()


def test_a_command_answers_where_somebody_types(interfaces: ThreeInterfaces) -> None:
    interfaces.begin(ASKS, "says('It is 42.')")
    interfaces.kernel.request(type="unwatch", client="page")

    cell = interfaces.kernel.send("%agent How many?", stdin=True)
    question = interfaces.kernel.question()
    interfaces.kernel.answer("y")

    assert "x = 6 * 7" in question
    assert "It is 42." in interfaces.kernel.finish(cell).markdown()


def test_a_page_shows_a_picture_that_lies_beside_the_log(interfaces: ThreeInterfaces) -> None:
    interfaces.begin("says('A square.')")
    interfaces.cell(
        "from tests.session.prompts.test_attachments import png\n"
        "answer = now().start('What is it?', files=[png(300)]).result()"
    )
    (file,) = [p for p in interfaces.picture()["messages"][0]["parts"] if p["type"] == "file"]

    shown = interfaces.sends(type="image", url=file["url"])["image"]

    assert file["url"].startswith("blob:")
    assert shown.startswith("data:image/png;base64,")
    assert len(shown) > 300 * 300 * 3
