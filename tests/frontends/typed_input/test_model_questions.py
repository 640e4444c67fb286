"""The model's questions are answered at the cell when no page is present, otherwise by a page."""

import pytest
from tests.harness.kernel import Kernel

from palimpsest.frontends.typed_input.typed_answers import answer_of, interview_text
from palimpsest.transcript.values import Question, QuestionOption

COLOURS = (QuestionOption(label="Red", description="warm"), QuestionOption(label="Dark blue"))
ONE = Question(question="Which colour?", options=COLOURS)
MANY = Question(question="Which colours?", options=COLOURS, multiple=True)
FREE = Question(question="How many?")

ASKS = (
    "calls('question', questions=[{'question': 'Which colour?', 'options': [{'label': 'Red'},"
    " {'label': 'Blue'}]}, {'question': 'How many?'}]).says('')"
)


@pytest.mark.parametrize(
    ("question", "line", "answer"),
    [
        (ONE, "1", ("Red",)),
        (ONE, " dark BLUE ", ("Dark blue",)),
        (ONE, "a light green", ("a light green",)),
        (ONE, "1, 2", ("1, 2",)),
        (ONE, "7", ("7",)),
        (ONE, "  ", ()),
        (MANY, "2 1", ("Red", "Dark blue")),
        (MANY, "1,1", ("Red",)),
        (MANY, "1, 3", ("1, 3",)),
        (FREE, "12", ("12",)),
    ],
)
def test_understands_numbers_labels_and_own_words(
    question: Question, line: str, answer: tuple[str, ...]
) -> None:
    assert answer_of(line, question) == answer


def test_the_question_shows_its_options_and_how_to_answer() -> None:
    assert interview_text(ONE, 1, 2) == (
        "The agent asks (1 of 2): Which colour?\n  1  Red: warm\n  2  Dark blue\n"
        "A number, or your own words; an empty line skips it.\n> "
    )
    assert "Numbers, as in 1, 2, or your own words" in interview_text(MANY, 1, 1)
    assert interview_text(FREE, 1, 1).endswith("Your answer; an empty line skips it.\n> ")


@pytest.mark.slow
class TestInAKernel:
    """With a real kernel and its stdin."""

    def test_the_answers_go_to_the_model_and_into_the_notebook(self, kernel: Kernel) -> None:
        kernel.script(ASKS, "says('As you like.')")

        run_id = kernel.send("%%agent\nhi", stdin=True)
        assert "1  Red" in kernel.question()
        kernel.answer("1")
        assert "(2 of 2): How many?" in kernel.question()
        kernel.answer("three or four")
        run = kernel.finish(run_id)

        assert run.status == "ok"
        assert "As you like." in run.markdown()
        assert "-> Red" in run.markdown()
        assert "three or four" in kernel.requests()

    def test_empty_lines_skip_it(self, kernel: Kernel) -> None:
        kernel.script(ASKS, "says('Then red.')")

        run_id = kernel.send("%%agent\nhi", stdin=True)
        for _ in range(2):
            kernel.question()
            kernel.answer("")

        assert "Then red." in kernel.finish(run_id).markdown()
        assert "chose not to answer" in kernel.requests()

    def test_where_nobody_can_type_the_model_is_told(self, kernel: Kernel) -> None:
        kernel.script(ASKS, "says('Then red.')")

        run = kernel.run("answer = %agent hi")

        assert "Then red." in run.markdown()
        assert "Nobody is here to answer" in kernel.requests()

    def test_yes_answers_no_question(self, kernel: Kernel) -> None:
        kernel.script(ASKS, "says('Then red.')")

        run_id = kernel.send("%%agent -y\nhi", stdin=True)
        kernel.question()
        kernel.interrupt()
        run = kernel.finish(run_id)

        assert "Stopped" in run.markdown()
        assert kernel.value("len(harness.model.requests)") == "1"

    def test_a_page_answers_and_closes_the_question_here(self, kernel: Kernel) -> None:
        kernel.script(ASKS, "says('Done.')")

        run_id = kernel.send("%%agent\nhi", stdin=True)
        kernel.question()
        [asked] = kernel.request(type="hello", protocol=1)["session"]["questions"]
        kernel.request(type="answer", question_id=asked["question_id"], answers=[["Blue"]])
        run = kernel.finish(run_id)

        assert run.status == "ok"
        assert "-> Blue" in run.markdown()

    def test_a_todo_list_is_in_the_saved_notebook(self, kernel: Kernel) -> None:
        todos = "[{'content': 'Load', 'status': 'completed'}, {'content': 'Plot'}]"
        kernel.script(f"calls('todowrite', todos={todos}).says('')", "says('Loaded.')")

        run = kernel.run("%agent hi")

        assert "[x] Load\n" in run.markdown()
        assert "1 of 2 done" in run.markdown()
        markdown = kernel.run("%agent todo").markdown()
        assert "1 of 2 done." in markdown
        assert "- [x] Load\n- [ ] Plot" in markdown

    def test_without_a_list_it_says_so(self, kernel: Kernel) -> None:
        kernel.script("says('hi')")
        begun = kernel.run("%agent --new hi")
        assert begun.status == "ok", begun.reply

        assert "keeps no todo list" in kernel.run("%agent todo").markdown()
