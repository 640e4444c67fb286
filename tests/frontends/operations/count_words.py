"""An operation as somebody adds one: this file is all of it."""

from typing import Literal

from palimpsest.frontends.operation_base.operation import Form, Operation, OperationContext
from palimpsest.transcript.values import Value


class WordCount(Value):
    """How many words a text has."""

    words: int


class CountWords(Operation):
    """Count the words of a text, or all that were said in a session."""

    type: Literal["count-words"] = "count-words"
    session: str | None = None
    text: str = ""
    unit: Literal["words", "letters"] = "words"
    forms = (
        Form(
            "count",
            "how much was said: %agent count [words|letters]",
            ("unit",),
            is_never_prompt=True,
            button="Count words",
        ),
    )

    async def run(self, context: OperationContext) -> WordCount:
        """Count them."""
        said = self.text
        if not said:
            session = await context.find(self.session)
            parts = (part for message in session.snapshot().messages for part in message.parts)
            said = " ".join(
                part.text for part in parts if part.type == "text" and not part.synthetic
            )
        return WordCount(words=len(said.split() if self.unit == "words" else said))

    def output(self, answer: WordCount) -> str:
        """Say how many."""
        return f"{answer.words} {self.unit} were said."
