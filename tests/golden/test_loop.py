"""The live loop makes the same model calls as the recorded OpenCode loop did with the same model.

A recorded session is written into a real journal; the recorded model plays its steps through
``session.loop()``: our runner, turn, processor and tools. Compared are every model call (agent, parent,
roles, the first 70 characters of each block), the resulting messages, and the number of compactions. Texts
of the engine are masked on both sides: ``ENGINE`` stands for any text that the case itself does not
contain.

Intended differences are ``RULES``: a predicate over the case, and the change of the recording under it.
"""

import asyncio
import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.golden.data import recorded_cases
from tests.golden.recorded_model import RecordedModel, RecordedTool
from tests.golden.upstream import ERRORS, message
from tests.harness.session import SessionHarness, requested, until
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.interface import ModelRequest
from palimpsest.model.wire.provider_messages import SEPARATOR
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.tools.permission_rules.permissions import from_config
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import AssistantMessage, Message, UserMessage
from palimpsest.transcript.parts import Part, StepFinishPart, StepStartPart, TextPart, ToolPart
from palimpsest.transcript.session_record.events import (
    MessageUpdated,
    PartUpdated,
    Record,
    SessionCompacted,
    SessionStatus,
)
from palimpsest.transcript.values import ModelInfo, ModelRef

Case = dict[str, Any]

ENGINE = "<engine>"
CALLS = {"<tool-call>", "<tool-result>"}
SHOWN = 70
REMINDER = "<system-reminder>\n"
OPENCODE = from_config({"*": "allow"}, home="/")


@dataclass
class Played:
    """The observable behaviour of a loop, in one form for both sides."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    """The tasks given to subagents."""
    compacted: int = 0
    refused: bool = False
    """The loop ended with an exception, since no request could be sent."""


def texts_of(case: Case) -> set[str]:
    """Return every text of the case, shortened to the compared length."""
    parts = [part for one in case["input"] for part in one["parts"]]
    parts += [part for step in case["script"] for part in step.get("parts") or ()]
    said = {part["text"][:SHOWN] for part in parts if part.get("type") == "text"}
    return said | {one["text"][:SHOWN] for one in (case["interject"] or {}).values()}


def masked(text: str, known: set[str]) -> str:
    return text if text in known | CALLS else ENGINE


# The recording


def recorded(case: Case) -> Played:
    known = texts_of(case)
    final = case["finalMessages"]
    ids = [one["id"] for one in final]
    calls = [one for one in case["trace"] if "llm" in one]
    return Played(
        calls=[
            {
                "agent": call["agent"],
                "parent": _place(ids, call["parentID"]),
                "roles": call["roles"],
                "texts": [masked(text, known) for text in call["texts"]],
            }
            for call in calls
        ],
        messages=[_recorded_message(one, ids, known) for one in final],
        tasks=[_task(one["task"]) for one in case["trace"] if "task" in one],
        compacted=case["events"].count("session.compacted"),
        refused=case.get("threw") is not None,
    )


def _task(given: dict[str, Any]) -> dict[str, Any]:
    """Rename the one field of a task that has another name here."""
    return {{"subagent_type": "agent"}.get(name, name): value for name, value in given.items()}


def _place(ids: list[str], identifier: str | None) -> int | None:
    return ids.index(identifier) if identifier in ids else None


def _recorded_message(one: dict[str, Any], ids: list[str], known: set[str]) -> dict[str, Any]:
    parts = [_recorded_part(kind, value, known) for kind, value in one["parts"]]
    return {
        "role": one["role"],
        "agent": one["agent"],
        "summary": one["summary"],
        "parent": _place(ids, one.get("parentID")),
        "finish": None if one["error"] and one["finish"] == "error" else one["finish"],
        "error": ERRORS[one["error"]] if one["error"] else None,
        "parts": [part for part in parts if part is not None],
    }


def _recorded_part(kind: str, value: Any, known: set[str]) -> Any:
    match kind:
        case "step-start" | "step-finish":
            return None
        case "text":
            return kind, masked(value[:SHOWN], {text[:60] for text in known} | known)
        case "compaction":
            return kind, value["auto"], bool(value["overflow"])
        case _:
            return kind, value


# Our loop


def studio_for(case: Case, model: RecordedModel, root: Path) -> SessionHarness:
    limit = case["limit"]
    info = ModelInfo(
        ref=ModelRef(provider="anthropic", name="claude-test"),
        window=limit["context"],
        input_limit=limit.get("input"),
        output_limit=limit["output"],
    )
    harness = SessionHarness(root, model, info=info, policy="opencode-1.18", rules=OPENCODE)
    # In the recording a person chose this model and these agents; the log alone does not set them.
    for one in case["input"]:
        harness.services.rules.effective_rules.record_choice(
            one["info"].get("agent", "build"), info.ref
        )
    for name in model.tools:
        harness.services.agents.registry.register(RecordedTool(name, model.states))
    steps = case["agent"].get("steps")
    if steps:
        agents = dict(harness.services.agents.known_agents)
        agents["build"] = agents["build"].model_copy(update={"steps": steps})
        object.__setattr__(harness.services.agents, "known_agents", agents)
    if (case["cfg"].get("compaction") or {}).get("auto") is False:
        policy = harness.services.rules.policy
        overflow = policy.overflow.model_copy(update={"auto": False})
        changed = policy.model_copy(update={"overflow": overflow})
        object.__setattr__(harness.services.rules, "policy", changed)
    return harness


def write(session: LiveSession, one: dict[str, Any]) -> None:
    """Append a recorded message to the journal."""
    found = message(one)
    session.log.append(
        MessageUpdated(info=found.info.model_copy(update={"session_id": session.id})),
        *(PartUpdated(part=part) for part in found.parts),
    )


async def played(case: Case, root: Path) -> tuple[Played, list[str]]:
    """Play a case; return its behaviour, and the published statuses."""
    model = RecordedModel(case["script"])
    harness = studio_for(case, model, root)
    model.subagent_prompts = {part["prompt"] for part in subtasks(case)}
    session = await harness.session()
    for one in case["input"]:
        write(session, one)
    said = interjecting(session, model, case["interject"] or {})
    refused = False
    try:
        await asyncio.wait_for(session.loop(), LAST_RESORT_SECONDS)
    except UserError:
        refused = True
    await asyncio.gather(*said)
    records = await harness.records(session)
    made = ours(case, session.snapshot().messages, model.requests, records)
    made.refused = refused or unasked(session.snapshot().messages)
    await session.close()
    statuses = [r.event.status.type for r in records if isinstance(r.event, SessionStatus)]
    return made, statuses


def unasked(messages: tuple[Message, ...]) -> bool:
    """Return whether the newest answer is our error that explains why no request could be sent."""
    info = messages[-1].info if messages else None
    error = info.error if isinstance(info, AssistantMessage) else None
    return error is not None and bool(getattr(error, "explained", False))


def interjecting(
    session: LiveSession, model: RecordedModel, words: dict[str, Any]
) -> list["asyncio.Task[Any]"]:
    """Start tasks that steer the run with a prompt during the n-th request."""

    async def say(number: int, text: str) -> None:
        await until(lambda: len(model.requests) >= number)
        await session.prompt(text, PromptOptions(delivery="steer"))

    model.holds = {int(number) for number in words}
    tasks = [asyncio.create_task(say(int(number), one["text"])) for number, one in words.items()]
    model.heard = lambda: bool(session.snapshot().inbox)
    return tasks


def ours(
    case: Case,
    messages: tuple[Message, ...],
    asked: list[ModelRequest],
    records: tuple[Record, ...],
) -> Played:
    known = texts_of(case)
    kept = [one for one in messages if not is_step_limit(one)]
    ids = [one.id for one in kept]
    infos = {one.id: one.info for one in messages}
    steps = [one.request for one in requested(records) if one.request.purpose != "title"]
    parents = _parents(messages)
    return Played(
        calls=[
            {
                "agent": infos[step.message_id or ""].agent,
                "parent": _place(ids, parents[step.message_id or ""]),
                "roles": [one["role"] for one in request.messages if one["role"] != "system"],
                "texts": [
                    masked(text, known)
                    for one in request.messages
                    if one["role"] != "system"
                    for text in blocks(one)
                ],
            }
            for request, step in zip(asked, steps, strict=True)
        ],
        messages=[_our_message(one, ids, parents, known) for one in kept],
        tasks=[
            part.state.input
            for one in kept
            for part in one.parts
            if isinstance(part, ToolPart) and part.tool == "task"
        ],
        compacted=sum(isinstance(record.event, SessionCompacted) for record in records),
    )


def is_step_limit(one: Message) -> bool:
    """Return whether this is the step limit's note, which we keep and upstream appends to each request."""
    return isinstance(one.info, UserMessage) and any(
        isinstance(part, TextPart) and (part.metadata or {}).get("said_as") for part in one.parts
    )


def _parents(messages: tuple[Message, ...]) -> dict[str, str]:
    """Return the parent of each answer; a note about the step limit counts as the message before it."""
    stands: dict[str, str] = {}
    newest = ""
    found: dict[str, str] = {}
    for one in messages:
        if isinstance(one.info, AssistantMessage):
            found[one.id] = stands.get(one.info.parent_id, one.info.parent_id)
        elif is_step_limit(one):
            stands[one.id] = newest
        else:
            newest = one.id
    return found


def blocks(one: dict[str, Any]) -> list[str]:
    """Return the first characters of each block of a provider message."""
    if one["role"] == "tool":
        return ["<tool-result>"]
    content = one.get("content")
    texts = _said(content) if isinstance(content, str) else [part["text"] for part in content or ()]
    shown = [text[:SHOWN] for text in texts if text]
    return shown + ["<tool-call>"] * len(one.get("tool_calls") or ())


def _said(content: str) -> list[str]:
    """Split a text that a body joined from a prompt and the engine's reminder after it."""
    words, found, engine = content.partition(SEPARATOR + REMINDER)
    return [words, REMINDER + engine] if found else [words]


def _our_message(
    one: Message, ids: list[str], parents: dict[str, str], known: set[str]
) -> dict[str, Any]:
    info = one.info
    answer = info if isinstance(info, AssistantMessage) else None
    error = answer.error if answer else None
    parts = [_our_part(part, known) for part in one.parts]
    return {
        "role": info.role,
        "agent": info.agent,
        "summary": bool(answer and answer.summary),
        "parent": _place(ids, parents.get(one.id)),
        "finish": answer.finish if answer and not (error and answer.finish == "error") else None,
        "error": error.type if error else None,
        "parts": [part for part in parts if part is not None],
    }


def _our_part(part: Part, known: set[str]) -> Any:
    match part:
        case StepStartPart() | StepFinishPart():
            return None
        case TextPart():
            return "text", masked(part.text[:SHOWN], known)
        case ToolPart():
            return "tool", part.state.status
        case _ if part.type == "compaction":
            return "compaction", part.auto, part.overflow
        case _:
            return part.type, None


# Intended differences


class Rule(NamedTuple):
    """An intended difference, and the change of the recording under it."""

    reason: str
    holds: Callable[[Case], bool]
    change: Callable[[Case, Played], None]


def has_plan(case: Case) -> bool:
    return any(one["info"].get("agent") == "plan" for one in case["input"])


def keep_what_is_said_of_the_mode(_case: Case, theirs: Played) -> None:
    for call in theirs.calls:
        newest = theirs.messages[call["parent"]]
        if call["texts"][-1] == ENGINE and ("text", ENGINE) not in newest["parts"]:
            newest["parts"].append(("text", ENGINE))


def goes_past_its_limit(case: Case) -> bool:
    steps = case["agent"].get("steps")
    calls = [one for one in case["trace"] if "llm" in one and not one["summary"]]
    return bool(steps) and len(calls) > steps


def stop_at_the_limit(case: Case, theirs: Played) -> None:
    steps = case["agent"]["steps"]
    theirs.calls = theirs.calls[:steps]
    answers = [i for i, one in enumerate(theirs.messages) if one["role"] == "assistant"]
    last = answers[steps - 1]
    theirs.messages = theirs.messages[: last + 1]
    theirs.messages[last]["parts"] = [
        ("tool", "error") if part[0] == "tool" else part for part in theirs.messages[last]["parts"]
    ]


def overflows_at_once(case: Case) -> bool:
    """Return whether the provider refuses the very first prompt of a session as too long."""
    first = case["script"][0] if case["script"] else {}
    begins = all(one["info"]["role"] == "user" for one in case["input"])
    return begins and first.get("result") == "compact" and first.get("finish") is None


def end_with_the_refusal(_case: Case, theirs: Played) -> None:
    theirs.calls = theirs.calls[:1]
    theirs.messages = theirs.messages[:2]
    theirs.messages[1]["error"] = "context-overflow"
    theirs.compacted = 0


def subtasks(case: Case) -> list[dict[str, Any]]:
    parts = [part for one in case["input"] for part in one["parts"]]
    return [part for part in parts if part["type"] == "subtask"]


def drops_subtasks(case: Case) -> bool:
    return len(subtasks(case)) > sum("task" in one for one in case["trace"]) > 0


def run_them_all(case: Case, theirs: Played) -> None:
    asked = subtasks(case)
    done = next(i for i, one in enumerate(theirs.messages) if ("tool", "completed") in one["parts"])
    answers = [{**theirs.messages[done], "agent": one["agent"]} for one in asked]
    more = len(asked) - 1
    for one in [*theirs.messages[done + 1 :], *theirs.calls]:
        if one["parent"] is not None and one["parent"] > done:
            one["parent"] += more
    theirs.messages[done : done + 1] = answers
    for call in theirs.calls:
        at = call["roles"].index("assistant")
        call["roles"][at : at + 2] = ["assistant", "tool"] * len(asked)
        at = call["texts"].index("<tool-call>")
        call["texts"][at : at + 2] = ["<tool-call>", "<tool-result>"] * len(asked)
    names = ("prompt", "description", "agent", "command")
    theirs.tasks = [{name: one[name] for name in names if one.get(name)} for one in asked]


def is_refused_later(case: Case) -> bool:
    """Return whether the provider refuses a later request as too long, which a summary answers."""
    refused = any(
        step.get("result") == "compact" and not step.get("finish") for step in case["script"]
    )
    return refused and not overflows_at_once(case)


def keep_the_refusal(_case: Case, theirs: Played) -> None:
    for one in theirs.messages:
        empty = one["role"] == "assistant" and not one["parts"] and one["finish"] is None
        if empty and one["error"] is None:
            one["error"] = "context-overflow"


def has_one_step(case: Case) -> bool:
    return case["agent"].get("steps") == 1


def say_nothing_of_the_limit(_case: Case, theirs: Played) -> None:
    for call in theirs.calls:
        if call["texts"][-1] == ENGINE and call["roles"][-1] == "assistant":
            call["texts"].pop()
            call["roles"].pop()


def cannot_begin(case: Case) -> bool:
    return case.get("threw") is not None and bool(case["input"])


def say_why(case: Case, theirs: Played) -> None:
    theirs.messages.append(
        {
            "role": "assistant",
            "agent": case["input"][-1]["info"]["agent"],
            "summary": False,
            "parent": len(theirs.messages) - 1,
            "finish": None,
            "error": "unknown",
            "parts": [],
        }
    )


RULES = [
    Rule(
        "what is said of the mode beside the newest prompt is kept in the log, so that each request "
        "can be made again from it",
        has_plan,
        keep_what_is_said_of_the_mode,
    ),
    Rule(
        "at the step limit tools are really off: a call all the same is not run, and the turn ends",
        goes_past_its_limit,
        stop_at_the_limit,
    ),
    Rule(
        "a first prompt that is too long for the model leaves nothing to summarise: the refusal is "
        "the answer, instead of a summary of the prompt alone",
        overflows_at_once,
        end_with_the_refusal,
    ),
    Rule(
        "an answer that the provider refused as too long keeps that as its error, so that a reader "
        "sees why a summary follows",
        is_refused_later,
        keep_the_refusal,
    ),
    Rule(
        "a turn of a single step has done nothing that it could sum up: tools are off, and the prompt "
        "stands alone",
        has_one_step,
        say_nothing_of_the_limit,
    ),
    Rule(
        "all subtasks of a prompt are run, where upstream runs the last one and forgets the others",
        drops_subtasks,
        run_them_all,
    ),
    Rule(
        "what cannot be asked, such as an agent that is not there, is answered by a sentence in the "
        "session, where its reader looks",
        cannot_begin,
        say_why,
    ),
]


def expected(case: Case) -> Played:
    theirs = recorded(case)
    for rule in RULES:
        if rule.holds(case):
            rule.change(case, theirs)
    return theirs


def wants_a_form(case: Case) -> bool:
    """Return whether the user message asks for JSON of a schema, which none of our front ends can."""
    return any(one["info"].get("format") for one in case["input"])


def is_played(case: Case) -> bool:
    return not wants_a_form(case)


@pytest.mark.parametrize("case", recorded_cases("opencode", "loop", is_played))
async def test_the_live_loop_does_what_was_recorded(tmp_path: Path, case: Case) -> None:
    theirs = expected(copy.deepcopy(case))

    made, statuses = await played(case, tmp_path)

    assert made.calls == theirs.calls, json.dumps(made.calls, indent=1)
    assert made.messages == theirs.messages
    assert made.tasks == theirs.tasks
    assert made.compacted == theirs.compacted
    assert made.refused == theirs.refused
    # OpenCode publishes "busy" again before each request; we publish a change once.
    assert statuses == (["busy", "idle"] if case["input"] else [])
