"""Write the model's questions as lines of text, and parse a typed line as an answer.

Border: pure functions on text; ``typed_answers.py`` reads the lines.
"""

import re
from collections.abc import Callable

from palimpsest.transcript.values import Question
from palimpsest.transcript.visible_text import visible_line, visible_text

_NUMBERS = re.compile(r"\s*\d{1,2}(?:[\s,;]+\d{1,2})*\s*")


def interview_text(
    question: Question, number: int, question_count: int, scrub: Callable[[str], str] = str
) -> str:
    """Return a question as text, with numbered options and a hint on how to answer."""
    position = f" ({number} of {question_count})" if question_count > 1 else ""
    first, *rest = visible_text(question.question).split("\n")
    lines = [f"The agent asks{position}: {first}", *(f"  {line}".rstrip() for line in rest)]
    for option_number, option in enumerate(question.options, 1):
        description = f": {visible_line(option.description)}" if option.description else ""
        lines.append(f"  {option_number}  {visible_line(option.label)}{description}")
    if not question.options:
        hint = "Your answer"
    elif question.multiple:
        hint = "Numbers, as in 1, 2, or your own words"
    else:
        hint = "A number, or your own words"
    lines.append(f"{hint}; an empty line skips it.")
    return scrub("\n".join(lines)) + "\n> "


def answer_of(line: str, question: Question) -> tuple[str, ...]:
    """Return the typed answer: the labels of the chosen options, or free text; empty for no answer."""
    answer = line.strip()
    labels = [option.label for option in question.options]
    if labels and _NUMBERS.fullmatch(line):
        numbers = [int(number) for number in re.findall(r"\d+", line)]
        are_options = all(1 <= number <= len(labels) for number in numbers)
        if are_options and (question.multiple or len(numbers) == 1):
            return tuple(dict.fromkeys(labels[number - 1] for number in sorted(numbers)))
    for label in labels:
        if label.lower() == answer.lower():
            return (label,)
    return (answer,) if answer else ()
