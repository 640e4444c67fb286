"""What compactions lost, and what of it was needed later, is what simple code finds in the raw file.

Compactions are put into a recording of pi that has none; the counting reads its lines and knows nothing of
items, requests or timelines.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.review.request_contents.reviewed import review_of

from palimpsest.context.compaction.constraints import CONSTRAINTS
from palimpsest.context.compaction.names import names_of

ANSWERED = {"assistant"}
Line = dict[str, Any]


def texts(line: Line) -> list[str]:
    """Return what a line says: prompts, answers, names and inputs of calls, results."""
    if line["type"] != "message":
        return []
    message = line["message"]
    content = message["content"]
    if isinstance(content, str):
        return [content]
    by_part = []
    for part in content:
        if part["type"] == "toolCall":
            by_part.append(part["name"] + " " + json.dumps(part["arguments"], ensure_ascii=False))
        else:
            by_part += [value for key in ("text", "thinking") if (value := part.get(key))]
    return by_part


@cache
def names(text: str) -> dict[str, str]:
    """Return the names in a text with their kinds."""
    by_name: dict[str, str] = {}
    for kind, name in names_of(text):
        by_name.setdefault(name, kind)
    return by_name


def compacted(path: Path, target: Path, cuts: Mapping[int, tuple[int, str]]) -> list[Line]:
    """Write a recording with compactions behind some lines, each with the first line that stays; return its lines.

    The recording is of pi's first version, whose lines have no names yet.
    """
    lines: list[Line] = []
    for index, written in enumerate(path.read_text("utf-8").splitlines()):
        line = json.loads(written)
        if not index:
            lines.append(line | {"version": 3})
            continue
        lines.append({"id": f"line{index}", "parentId": lines[-1]["id"], **line})
        if index in cuts:
            first, summary = cuts[index]
            more = {"timestamp": line["timestamp"], "summary": summary}
            names_of_lines = {"id": f"cut{index}", "parentId": f"line{index}"}
            kept = {"firstKeptEntryId": f"line{first}"}
            lines.append({"type": "compaction", **names_of_lines, **more, **kept})
    lines[1]["parentId"] = None
    target.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    return lines


def lost_by_hand(lines: list[Line], cut: int, gone: set[str]) -> dict[str, tuple[str, int | None]]:
    """Return the names that a compaction lost, with their kinds and the answer that first needed each.

    ``gone`` are the lines that earlier compactions replaced.
    """
    entry = lines[cut]
    first = next(i for i, line in enumerate(lines) if line.get("id") == entry["firstKeptEntryId"])
    covered = [line for line in lines[:first] if line.get("id") not in gone]
    kept = "\n".join(text for line in lines[first:cut] for text in texts(line))
    words = {*re.findall(r"[\w.,/-]+", kept), *names(kept)}
    found: dict[str, str] = {}
    for record in covered:
        for text in texts(record) if record["type"] != "compaction" else [record["summary"]]:
            for name, kind in names(text).items():
                found.setdefault(name, kind)
    summary = entry["summary"]
    lost = {n: k for n, k in found.items() if n not in words and n not in summary}
    return {name: (kind, first_need(lines, cut, name)) for name, kind in lost.items()}


def first_need(lines: list[Line], cut: int, name: str) -> int | None:
    """Return the number of the answer that used a name first; None where something else showed it before."""
    answers = sum(is_answer(entry) for entry in lines[:cut])
    for line in lines[cut + 1 :]:
        is_there = any(name in names(text) for text in spoken(line))
        if is_answer(line):
            if is_there:
                return answers
            answers += 1
        if any(name in names(text) for text in texts(line)) or name in line.get("summary", ""):
            return None
    return None


def spoken(line: Line) -> list[str]:
    """Return what an answer says and calls, without its reasoning."""
    if not is_answer(line):
        return []
    content = [block for block in line["message"]["content"] if block["type"] != "thinking"]
    return texts({"type": "message", "message": {"content": content}})


def is_answer(line: Line) -> bool:
    return line["type"] == "message" and line["message"]["role"] in ANSWERED


@pytest.mark.soak  # with each commit tests/review/request_contents/test_compaction_losses.py names what was lost; this adds another count of the same
def test_real_texts_lose_and_need_what_a_simple_count_finds(tmp_path: Path) -> None:
    path = sample("pi_large_session.jsonl", tmp_path)
    plain = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    prompts = [
        index
        for index, entry in enumerate(plain)
        if entry["type"] == "message" and entry["message"]["role"] == "user"
    ]
    cuts = {
        prompts[20] - 1: (prompts[18], "The work goes on; nothing is named."),
        prompts[45] - 1: (prompts[40], "See package.json and README.md."),
    }
    lines = compacted(path, tmp_path / "compacted.jsonl", cuts)
    store, report = import_file(tmp_path / "compacted.jsonl")
    first, second = review_of(store, report.sessions[0].id).compactions()

    places = [index for index, line in enumerate(lines) if line["type"] == "compaction"]
    kept = lines[places[0]]["firstKeptEntryId"]
    until = next(i for i, line in enumerate(lines) if line.get("id") == kept)
    gone = {line["id"] for line in lines[:until] if "id" in line}
    for loss, cut, before in ((first, places[0], set()), (second, places[1], gone)):
        by_hand = lost_by_hand(lines, cut, before)
        assert len(by_hand) > 20
        named = {word.name: word.kind for word in loss.lost if word.kind != CONSTRAINTS}
        assert named == {n: k for n, (k, _) in by_hand.items()}
        assert {word.name: word.needed[0] for word in loss.needed_names} == {
            name: need for name, (_, need) in by_hand.items() if need is not None
        }
        assert loss.needed_names
