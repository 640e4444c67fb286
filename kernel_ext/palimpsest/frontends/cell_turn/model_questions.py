"""Write the model's questions as lines of text, and read a typed line as an answer.

Border: pure functions on text; ``typed_answers.py`` reads the lines.
"""

import re
from collections.abc import Callable

from palimpsest.transcript.values import Question
from palimpsest.transcript.visible_text import visible, visible_line

_NUMBERS = re.compile(r"\s*\d{1,2}(?:[\s,;]+\d{1,2})*\s*")


def interview_text(
    question: Question, number: int, of: int, scrub: Callable[[str], str] = str
) -> str:
    """Write a question as text: its options by number, and how to answer."""
    place = f" ({number} of {of})" if of > 1 else ""
    first, *rest = visible(question.question).split("\n")
    lines = [f"The agent asks{place}: {first}", *(f"  {line}".rstrip() for line in rest)]
    for at, option in enumerate(question.options, 1):
        more = f": {visible_line(option.description)}" if option.description else ""
        lines.append(f"  {at}  {visible_line(option.label)}{more}")
    if not question.options:
        how = "Your answer"
    elif question.multiple:
        how = "Numbers, as in 1, 2, or your own words"
    else:
        how = "A number, or your own words"
    lines.append(f"{how}; an empty line skips it.")
    return scrub("\n".join(lines)) + "\n> "


def answer_of(line: str, question: Question) -> tuple[str, ...]:
    """Read what a person typed: numbers or labels of options, else free text; empty is no answer."""
    words = line.strip()
    labels = [option.label for option in question.options]
    if labels and _NUMBERS.fullmatch(line):
        numbers = [int(number) for number in re.findall(r"\d+", line)]
        fits = all(1 <= number <= len(labels) for number in numbers)
        if fits and (question.multiple or len(numbers) == 1):
            return tuple(dict.fromkeys(labels[number - 1] for number in sorted(numbers)))
    for label in labels:
        if label.lower() == words.lower():
            return (label,)
    return (words,) if words else ()
