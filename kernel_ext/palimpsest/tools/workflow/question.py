"""The question tool: ask the user questions and return the answers to the model.

Border: validates the questions and formats the answers; the ``Interview`` that asks the user is passed in.
"""

from collections.abc import Sequence
from typing import Protocol

from pydantic import BaseModel, Field

from palimpsest.tools.tool import Abort, ToolContext, ToolOutcome
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Answers, Question, QuestionOption

QUESTION_NAME = "question"
MAX_QUESTIONS = 8
MAX_OPTIONS = 12
MAX_LABEL_CHARS = 120
NO_ANSWER = "(no answer)"
MAX_TITLE_CHARS = 200
MAX_QUESTION_TITLE_CHARS = 80
"""Maximum characters of a question without a header that its title shows."""


class Interview(Protocol):
    """Asks the user of a session questions.

    Contract: returns one tuple of strings for each question, in order, an empty one where nothing was chosen. Raises
    PermissionDenied with a sentence for the model when no user answers, and Aborted when the turn was stopped.
    """

    async def ask(
        self, questions: tuple[Question, ...], *, message_id: str, call_id: str, abort: Abort
    ) -> Answers:
        """Ask the questions in the answer of the call, and return what the user chose or wrote for each."""


class OptionArguments(BaseModel):
    """An answer to choose."""

    label: str = Field(description="One to five words.")
    description: str = Field(default="", description="What choosing it means.")


class OneQuestion(BaseModel):
    """One question."""

    question: str
    header: str = Field(default="", description="One to three words over it.")
    options: list[OptionArguments] = Field(
        default_factory=list,
        description="To choose from; the user can always answer in own words instead.",
    )
    multiple: bool = Field(default=False, description="Several may be chosen.")


class QuestionArguments(BaseModel):
    """Input of the question tool."""

    questions: list[OneQuestion] = Field(description="One to eight; they are shown together.")


class QuestionTool:
    """The question tool, which asks the user."""

    name = QUESTION_NAME
    description = (
        "Ask the user one or several questions and wait for the answers. Only for what you cannot find out "
        "yourself and what changes how you go on. Put the option you recommend first."
    )
    arguments: type[BaseModel] = QuestionArguments
    concurrent = False
    permission = QUESTION_NAME

    async def run(self, arguments: QuestionArguments, context: ToolContext) -> ToolOutcome:
        """Ask the questions and return the user's answers."""
        interview: Interview | None = context.extra_values.get("interview")
        if interview is None:
            raise UserError("Nobody can be asked in this session. Go on with your best judgement.")
        if not 1 <= len(arguments.questions) <= MAX_QUESTIONS:
            raise UserError(f"Ask one to {MAX_QUESTIONS} questions at once.")
        questions = tuple(map(_checked_question, arguments.questions))
        title = _questions_title(questions)
        await context.ask(self.permission, ["*"], title=title, always=["*"])
        answers = await interview.ask(
            questions, message_id=context.message_id, call_id=context.call_id, abort=context.abort
        )
        scrub = context.scrubber()
        if len(questions) == 1:
            title = f"{title}: {', '.join(answers[0]) or NO_ANSWER}"[:MAX_TITLE_CHARS]
        output = scrub(answers_text(questions, answers))
        return ToolOutcome(scrub(title), output, {"answers": [list(labels) for labels in answers]})


def answers_text(questions: Sequence[Question], answers: Answers) -> str:
    """Return the answers as text, question by question."""
    lines = []
    for question, chosen_labels in zip(questions, answers, strict=True):
        answer = ", ".join(chosen_labels) or NO_ANSWER
        lines.append(f"{question.question}\n-> {answer}")
    return "\n\n".join(lines)


def _questions_title(questions: Sequence[Question]) -> str:
    first_question = questions[0]
    if len(questions) > 1:
        return f"{len(questions)} questions"
    return (
        first_question.header
        or " ".join(first_question.question.split())[:MAX_QUESTION_TITLE_CHARS]
    )


def _checked_question(arguments: OneQuestion) -> Question:
    labels = [option.label.strip() for option in arguments.options]
    if not arguments.question.strip() or not all(labels):
        raise UserError("A question or an option has no words. Write it again with words.")
    if len(labels) > MAX_OPTIONS or any(len(label) > MAX_LABEL_CHARS for label in labels):
        raise UserError(
            f"A question has at most {MAX_OPTIONS} options, each with a label of at most "
            f"{MAX_LABEL_CHARS} characters. Say more in its description."
        )
    if len(set(labels)) < len(labels):
        raise UserError(
            f"Two options of {arguments.question!r} have the same label. Give each its own."
        )
    return Question(
        question=arguments.question.strip(),
        header=arguments.header.strip(),
        options=tuple(
            QuestionOption(label=label, description=option.description.strip())
            for label, option in zip(labels, arguments.options, strict=True)
        ),
        multiple=arguments.multiple and bool(arguments.options),
    )
