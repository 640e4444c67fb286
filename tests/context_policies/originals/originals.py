"""The made sessions as timelines, and what a preset shows of them beside the recorded answer of its original."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.context_policies.originals.session_specs import Call as SpecCall
from tests.context_policies.originals.session_specs import Turn, session

from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.transcript.timeline import GONE_STATES, Timeline

ANSWERS = Path(__file__).with_name("answers.json.gz")
"""``{"versions": {project: version}, "shown": {rule: sessions of requests of {item: characters, -1 where gone}}}``."""
NOTE_CHARS = 16
"""Characters by which a note may differ: its numbers have fewer digits, and its path is another."""
OWN = ("result", "without")
"""Words of a rule's name that are about the session."""


def recorded() -> dict[str, Any]:
    """Return what the originals answered when they were run."""
    with gzip.open(ANSWERS, "rt") as file:
        answers: dict[str, Any] = json.load(file)
    return answers


def write(found: dict[str, Any]) -> None:
    """Store answers, so that the same ones are the same bytes."""
    text = json.dumps(found, separators=(",", ":"), sort_keys=True)
    ANSWERS.write_bytes(gzip.compress(text.encode(), mtime=0))


def made(seed: int, rule: str) -> Timeline:
    """Return a session as the rule's original saw it."""
    numbers = dict(word.split("=") for word in rule.split()[1:])
    maker = TimelineMaker()
    for turn in session(seed, thoughts=rule.startswith("inspect")):
        maker.prompt(turn.prompt)
        for answer in turn.answers:
            calls = [] if "without" in numbers else [_call(call, numbers) for call in answer.calls]
            maker.answer(answer.said, calls, reasoning=answer.thought)
    return maker.made()


def _call(asked: SpecCall, numbers: dict[str, str]) -> Call:
    result = asked.result
    if "result" in numbers:
        result = (result * 20)[: int(numbers["result"])]
    return Call(asked.tool, result, tuple(asked.given.items()))


def shown(timeline: Timeline, rule: str) -> list[dict[str, int]]:
    """Return of each request what the preset shows otherwise: its characters, -1 where it is gone."""
    name, *words = rule.split()
    policy = " ".join([name, *(word for word in words if word.split("=")[0] not in OWN)])
    replay = simulate(timeline, get(policy), Ruler())
    requests = []
    for request in timeline.requests:
        sizes: dict[str, int] = {}
        for item in timeline.items[: request.items]:
            at = replay.timeline.transition_at(item.index, request.index)
            if at is not None and at.state != "whole":
                chars = -1 if at.state in GONE_STATES else at.chars
                if chars != item.chars:
                    sizes[str(item.index)] = chars
        requests.append(sizes)
    return requests


def numbered(seed: int, rule: str) -> dict[str, str]:
    """Return the number in the timeline of each item that the original knows, where these differ."""
    turns: Sequence[Turn] = session(seed)
    numbers: dict[str, str] = {}
    if "without" not in rule:
        return numbers
    count = 0
    for turn in turns:
        for index, message in enumerate((turn, *turn.answers)):
            numbers[str(message.item)] = str(count)
            count += 1
            if index:
                calls = turn.answers[index - 1].calls
                numbers |= {str(item): "-1" for call in calls for item in (call.item, call.output)}
    return numbers


def different(
    rule: str, seed: int, answered: list[dict[str, int]]
) -> list[tuple[int, str, int, int]]:
    """Return where a preset and its original differ: request, item, and the characters that each of them shows.

    Not counted is what no preset takes out: the newest answer, and what came after it (``start_of_unanswered``), also
    later where the original had taken it out then; and so many characters of a note as a path or a number may have.
    """
    timeline = made(seed, rule)
    numbers = numbered(seed, rule)
    mine = shown(timeline, rule)
    newest: set[str] = set()
    differences = []
    for request, answer, other in zip(timeline.requests, mine, answered, strict=True):
        chars_by_item = {numbers.get(item, item): chars for item, chars in other.items()}
        chars_by_item = {
            item: chars for item, chars in chars_by_item.items() if 0 <= int(item) < request.items
        }
        start = timeline.requests[request.index - 1].items if request.index else 0
        newest |= {
            item for item, chars in chars_by_item.items() if int(item) >= start and chars < 0
        }
        for item in sorted({*answer, *chars_by_item}, key=int):
            whole = timeline.items[int(item)].chars
            own, theirs = answer.get(item, whole), chars_by_item.get(item, whole)
            alike = own == theirs or (min(own, theirs) > 0 and abs(own - theirs) <= NOTE_CHARS)
            if not alike and item not in newest and int(item) < start:
                differences.append((request.index, item, own, theirs))
    return differences
