"""Sessions made from a seed, told without a word of this project: the originals read them in an environment of their own.

All lengths are multiples of four, so that four characters are a token however a project groups what it counts.
"""

import json
import random
from dataclasses import dataclass

TOOLS = ("bash", "read_file", "write_file", "edit_file", "search")
FILLER = "some words of it\n"


@dataclass(frozen=True)
class Call:
    """A call, by the numbers of its item and of its result's."""

    item: int
    tool: str
    given: dict[str, str]
    output: int
    result: str

    @property
    def text(self) -> str:
        """The call as it is counted: its tool, and its input as JSON."""
        return self.tool + json.dumps(self.given)


@dataclass(frozen=True)
class Answer:
    """An answer of the model; an item is -1 where it has none."""

    reasoning: int
    thought: str
    item: int
    said: str
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Turn:
    """A prompt and its answers, of which the last has no calls."""

    item: int
    prompt: str
    answers: tuple[Answer, ...]


def text(item: int, length: int) -> str:
    """Return a text of so many characters that begins with the number of its item."""
    begin = f"#{item}# "
    return (begin + FILLER * (length // len(FILLER) + 1))[:length]


def session(seed: int, *, thoughts: bool = False) -> tuple[Turn, ...]:
    """Return a session of four to seven turns: the same for the same seed."""
    draw = random.Random(seed)
    count = 0

    def number() -> int:
        nonlocal count
        count += 1
        return count - 1

    turns = []
    for _ in range(draw.randrange(4, 8)):
        item = number()
        prompt = text(item, 4 * draw.randrange(5, 120))
        answers = [
            _answer(draw, number, draw.randrange(1, 4), thoughts=thoughts)
            for _ in range(draw.randrange(0, 5))
        ]
        answers.append(_answer(draw, number, 0, thoughts=thoughts))
        turns.append(Turn(item, prompt, tuple(answers)))
    return tuple(turns)


def _answer(draw: random.Random, number, calls: int, *, thoughts: bool) -> Answer:  # noqa: ANN001
    reasoning, thought = -1, ""
    if thoughts and draw.randrange(3):
        reasoning = number()
        thought = text(reasoning, 4 * draw.randrange(5, 60))
    item = number()
    said = text(item, 4 * draw.randrange(5, 40))
    numbers = [number() for _ in range(calls)]
    made = []
    for count in numbers:
        tool = draw.choice(TOOLS)
        length = draw.choice((8, 40, 400, 2_400, 4_000))
        made.append((count, tool, _given(tool, draw.randrange(3), length)))
    return Answer(
        reasoning,
        thought,
        item,
        said,
        tuple(
            Call(count, tool, given, output, text(output, _result_length(draw)))
            for (count, tool, given), output in zip(made, [number() for _ in made], strict=True)
        ),
    )


def _result_length(draw: random.Random) -> int:
    return 4 * draw.choice((5, 25, 60, 101, 126, 200, 500, 1_200, 2_500, 2_501, 2_600, 5_000))


def _given(tool: str, path: int, length: int) -> dict[str, str]:
    given = {"path": f"{path}.py", "text": "x" * length}
    given["text"] += "x" * (-len(tool + json.dumps(given)) % 4)
    return given
