"""A revert hides the same messages as in the recorded OpenCode, and restores files of the same steps."""

from typing import Any

import pytest
from tests.golden.data import load
from tests.golden.upstream import message

from palimpsest.session.revert.plan import hidden_by_revert, plan_revert, without_reverted
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import PatchPart
from palimpsest.transcript.session_record.reverts import RevertState

TWICE = "revert_twice_keeps_first_snapshot"


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load("opencode", "revert")
    return found


def named(prefix: str) -> list[dict[str, Any]]:
    return [case for case in cases() if case["name"].startswith(prefix)]


def steps(case: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return the message and part of each revert in a case, which the case's name contains."""
    name = case["name"]
    if name == TWICE:
        return [(entry[1]["messageID"], entry[1].get("partID")) for entry in case["log"]]
    if name == "revert_unknown":
        return [("msg_9999", None)]
    words = name.removeprefix("revert_to_").rsplit("_", 2)
    target = "_".join(words[-2:])
    if words[-2] == "msg":
        return [(target, None)]
    owner = next(
        one["info"]["id"]
        for one in case["input"]
        if any(part["id"] == target for part in one["parts"])
    )
    return [(owner, target)]


def shape(revert: RevertState | None) -> dict[str, str] | None:
    """Return our revert record with OpenCode's field names."""
    if revert is None:
        return None
    found = {"messageID": revert.message_id, "snapshot": revert.snapshot or ""}
    return found | ({"partID": revert.part_id} if revert.part_id else {})


def run(messages: Messages, case: dict[str, Any]) -> tuple[RevertState | None, list[Any]]:
    """Replay a case with the functions of the live session; return the revert and the file operations."""
    standing: RevertState | None = None
    ops: list[Any] = []
    for message_id, part_id in steps(case):
        plan = plan_revert(messages, message_id, part_id, standing_revert=standing)
        if plan is None:
            continue
        ops += (
            [["track"]] if plan.earlier_snapshot is None else [["restore", plan.earlier_snapshot]]
        )
        undone = [{"hash": patch.hash, "files": list(patch.files)} for patch in plan.patches]
        ops.append(["revert", undone])
        standing = RevertState(
            message_id=plan.message_id,
            part_id=plan.part_id,
            snapshot=plan.earlier_snapshot or "SNAPNOW",
        )
        first = next(i for i, one in enumerate(messages) if one.id == plan.message_id)
        ops.append(["computeDiff", [one.id for one in messages[first:]]])
    return standing, ops


def as_theirs(messages: Messages, case: dict[str, Any], ops: list[Any]) -> list[Any]:
    """Remove the steps that only ours undoes.

    The rule: ours undoes the files of all steps that it hides. Where a revert goes back to its prompt, OpenCode undoes
    the steps after the named part only, and where the named part is a patch, not that one: it leaves the files
    of what it removes.
    """
    places = iter(steps(case))
    found = []
    for op in ops:
        if op[0] != "revert":
            found.append(op)
            continue
        beyond = before_the_place(messages, *next(places))
        found.append(["revert", [one for one in op[1] if one not in beyond]])
    return found


def before_the_place(
    messages: Messages, message_id: str, part_id: str | None
) -> list[dict[str, Any]]:
    """Return the steps up to a part, in OpenCode's format; a patch that is the named part itself is among them."""
    found: list[dict[str, Any]] = []
    for one in messages:
        for part in one.parts:
            here = one.id == message_id and part_id in (None, part.id)
            if isinstance(part, PatchPart) and (not here or part_id is not None):
                found.append({"hash": part.hash, "files": list(part.files)})
            if here:
                return found
    return found


def to_a_patch() -> dict[str, Any]:
    """Return the case of a revert to the part after a step's end, its patch."""
    [case] = named("revert_to_part_step-finish")
    [patch] = [
        part["id"]
        for part in case["input"][3]["parts"]
        if part["type"] == "patch" and part["messageID"] == case["revert"]["messageID"]
    ]
    revert = case["revert"] | {"partID": patch}
    ops = [
        [op[0], [one for one in op[1] if one["hash"] != "h2"]] if op[0] == "revert" else op
        for op in case["ops"]
    ]
    name = f"revert_to_part_patch_{patch}"
    return case | {"name": name, "revert": revert, "ops": ops}


def test_reverts_take_back_and_undo_the_same() -> None:
    for case in [*named("revert_"), to_a_patch()]:
        messages = tuple(message(one) for one in case["input"])
        standing, ops = run(messages, case)

        recorded = case["revert"]
        expected = recorded and {key: value for key, value in recorded.items() if key != "diff"}
        assert shape(standing) == expected, case["name"]
        files = [op for op in case["ops"] if op[0] in {"track", "restore", "revert", "computeDiff"}]
        assert as_theirs(messages, case, ops) == files, case["name"]
        kept = [{"id": one.id, "parts": [part.id for part in one.parts]} for one in messages]
        assert kept == case["remaining"], case["name"]


def test_a_cleanup_removes_the_same_in_the_same_order() -> None:
    found = named("cleanup_")
    assert found or pytest.skip("none recorded here")
    for case in found:
        messages = tuple(message(one) for one in case["input"])
        theirs = case["session"].get("revert")
        if theirs is None:
            assert case["log"] == []
            continue
        revert = RevertState(
            message_id=theirs["messageID"],
            part_id=theirs.get("partID"),
            snapshot=theirs.get("snapshot"),
        )
        gone = hidden_by_revert(messages, revert)

        log = [["removeMessage", name] for name in gone.message_ids]
        log += [["removePart", *names] for names in gone.part_id_pairs]
        assert [*log, ["clearRevert"]] == case["log"], case["name"]
        left = without_reverted(messages, revert)
        assert [{"id": one.id, "parts": [part.id for part in one.parts]} for one in left] == case[
            "remaining"
        ], case["name"]


def test_undoing_no_revert_does_nothing_and_a_busy_session_refuses() -> None:
    """Recorded for completeness; tests/session/revert/test_revert.py shows the same for ours."""
    found = {case["name"]: case for case in cases()}
    if "unrevert_none" in found:
        assert (found["unrevert_none"]["ops"], found["unrevert_none"]["log"]) == ([], [])
    if "busy" in found:
        assert found["busy"]["threw"] == "busy"
