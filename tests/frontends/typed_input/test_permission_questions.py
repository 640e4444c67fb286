"""Permission questions are asked at the cell when no page is present, and answered once."""

import pytest
from tests.harness.kernel import Kernel

from palimpsest.frontends.typed_input.typed_answers import parse_reply, question_text
from palimpsest.transcript.values import Ask, Reply

ONE = "calls('python', code='x = 6 * 7\\nx').says('')"


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("1", Reply(answer="once")),
        (" once ", Reply(answer="once")),
        ("y", Reply(answer="once")),
        ("2", Reply(answer="always")),
        ("Always", Reply(answer="always")),
        ("3", Reply(answer="reject")),
        ("3 use the other file", Reply(answer="reject", feedback="use the other file")),
        ("no, not that", Reply(answer="reject", feedback="not that")),
        ("", None),
        ("maybe", None),
    ],
)
def test_understands_numbers_and_words(line: str, reply: Reply | None) -> None:
    assert parse_reply(line) == reply


def test_the_question_shows_tool_exact_input_diff_and_answers() -> None:
    ask = Ask(
        id="per_1",
        permission="edit",
        patterns=("a.py",),
        always=("*",),
        title="a.py",
        input={"path": "a.py", "old": "x = 1\ny = 2", "count": 3},
        diff="-x = 1\n+x = 2",
        tool="edit",
    )

    text = question_text(ask, str)

    for piece in ("edit: a.py", "path: a.py", "x = 1\n    y = 2", "count: 3", "+x = 2", "1 once"):
        assert piece in text


@pytest.mark.slow
class TestInAKernel:
    """With a real kernel and its stdin."""

    @pytest.mark.parametrize("cell", ["%%agent\nhi", "%%time\n%agent hi"])
    def test_once_runs_the_call_once(self, kernel: Kernel, cell: str) -> None:
        kernel.script(ONE, ONE, "says('done')")

        run_id = kernel.send(cell, stdin=True)
        assert "x = 6 * 7\n    x" in kernel.question()
        kernel.answer("1")
        kernel.question()
        kernel.answer("once")
        run = kernel.finish(run_id)

        assert run.status == "ok"
        assert "\n42\n" in run.markdown()
        assert "allowed once" in run.markdown()

    def test_what_follows_stands_below_the_question_and_its_figures(self, kernel: Kernel) -> None:
        code = "display({'text/html': '<b>figure</b>'}, raw=True)"
        kernel.script(f"says('Let me. ').calls('python', code={code!r})", "says('Done.')")
        run_id = kernel.send("%%agent --new\nhi", stdin=True)
        kernel.question()
        kernel.answer("1")
        run = kernel.finish(run_id)

        shown = [output["data"] for output in run.outputs() if "data" in output]
        told = [data.get("text/html") or data["text/markdown"] for data in shown]
        assert len(told) == 3
        assert "Let me." in told[0]
        assert "python" in told[0]
        assert told[1] == "<b>figure</b>"
        assert "Done." in told[2]

    def test_always_is_not_asked_again(self, kernel: Kernel) -> None:
        kernel.script(ONE, "calls('python', code='43').says('')", "says('done')")

        run_id = kernel.send("%%agent --new\nhi", stdin=True)
        kernel.question()
        kernel.answer("2")
        run = kernel.finish(run_id)

        assert "always allowed" in run.markdown()
        assert "43" in run.markdown()
        kernel.run("answer = %agent --new -q hi")

    def test_what_is_no_answer_is_asked_again(self, kernel: Kernel) -> None:
        kernel.script(ONE, "says('done')")

        run_id = kernel.send("%%agent\nhi", stdin=True)
        kernel.question()
        kernel.answer("perhaps")
        assert "Please answer 1, 2 or 3" in kernel.question()
        kernel.answer("1")

        assert kernel.finish(run_id).status == "ok"

    def test_a_reason_travels_to_the_model(self, kernel: Kernel) -> None:
        kernel.script(ONE, "says('I see.')")

        run_id = kernel.send("%%agent\nhi", stdin=True)
        kernel.question()
        kernel.answer("3 take the other file")
        run = kernel.finish(run_id)

        assert "I see." in run.markdown()
        assert "take the other file" in kernel.requests()

    def test_a_plain_no_ends_the_turn(self, kernel: Kernel) -> None:
        kernel.script(ONE, "says('not reached')")

        run_id = kernel.send("%%agent\nhi", stdin=True)
        kernel.question()
        kernel.answer("3")
        run = kernel.finish(run_id)

        assert "refused" in run.markdown()
        assert "not reached" not in run.markdown()

    def test_an_interrupt_at_the_question_stops_the_turn(self, kernel: Kernel) -> None:
        kernel.script(ONE, "says('not reached')")

        run_id = kernel.send("%%agent\nhi", stdin=True)
        kernel.question()
        kernel.interrupt()
        run = kernel.finish(run_id)

        assert run.status == "error"
        assert "Stopped" in run.markdown()
        assert kernel.value("len(harness.model.requests)") == "1"
        assert kernel.run("1 + 1").status == "ok"

    def test_where_nobody_can_type_the_answer_is_a_recorded_no(self, kernel: Kernel) -> None:
        kernel.script(ONE, "says('Then not.')")

        run = kernel.run("answer = %agent hi")

        assert "Then not." in run.markdown()
        assert "nobody was there to ask" in run.markdown()
        replies = "[p for p in answer.parts if p.type == 'tool'][0].state.status"
        assert kernel.value(replies) == "'error'"

    def test_an_end_of_input_is_a_no(self, kernel: Kernel) -> None:
        kernel.script(ONE, "says('Then not.')")

        run_id = kernel.send("%%agent\nhi", stdin=True)
        kernel.question()
        kernel.answer("\x04")

        assert "nobody was there to ask" in kernel.finish(run_id).markdown()

    def test_yes_answers_permissions_but_no_doom_loop(self, kernel: Kernel) -> None:
        kernel.script(ONE, ONE, ONE, ONE, "says('done')")

        run_id = kernel.send("%%agent -y\nhi", stdin=True)
        question = kernel.question()
        kernel.answer("3")
        kernel.finish(run_id)

        assert "repeats the same call" in question

    def test_an_answer_from_a_page_closes_the_question_here(self, kernel: Kernel) -> None:
        kernel.script(ONE, "says('done')")

        run_id = kernel.send("%%agent\nhi", stdin=True)
        kernel.question()
        ask = kernel.request(type="hello", protocol=1)["session"]["asks"][0]
        kernel.request(type="reply", ask_id=ask["id"], answer="once")
        run = kernel.finish(run_id)

        assert run.status == "ok"
        assert "\n42\n" in run.markdown()
        assert "done" in run.markdown()
