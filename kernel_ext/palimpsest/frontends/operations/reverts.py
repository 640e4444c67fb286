"""Revert a prompt with its files, undo that, make it final, and show what changed in files."""

import re
from typing import Any, Literal

from pydantic import Field

from palimpsest.frontends.operation_text.command_output import CommandOutput
from palimpsest.frontends.operation_text.revert_text import cleaned_text, diff_text, revert_text
from palimpsest.frontends.operations.operation import Desk, Form, Operation, Reader
from palimpsest.session.revert.operations import Reverts
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.reverts import FileDiff, RevertPreview
from palimpsest.transcript.values import Value

ALL = "all"
FLAGS = {"revert": ("--preview", "--overwrite"), "unrevert": ("--overwrite",)}


class RevertAnswer(Value):
    """What a revert did, or would do."""

    revert: RevertPreview | None = None
    """What a revert or unrevert would do, or did."""
    diffs: tuple[FileDiff, ...] | None = None
    """The changes in files."""
    removed: int | None = Field(default=None, exclude=True)
    """How many messages a cleanup removed."""


def _written(name: str, names: int = 0) -> Reader:
    """Return what reads ``[ID] [--preview] [--overwrite[=FILES]]``, as far as the form takes them."""

    def read(rest: str) -> dict[str, Any] | None:
        words = rest.split()
        flags = [one.partition("=") for one in words if one.startswith("--")]
        given = [one for one in words if not one.startswith("--")]
        if any(flag not in FLAGS.get(name, ()) for flag, _, _ in flags):
            return None
        if len(given) > names or not all(re.fullmatch(r"\w+", one) for one in given):
            return None
        values: dict[str, Any] = {"target": "".join(given)}
        for flag, _, value in flags:
            if flag == "--preview":
                values["action"] = "preview"
            else:
                files = tuple(one.strip() for one in value.split(",") if one.strip())
                values |= {"overwrite": files, "in_conflict": name == "revert"}
        return values

    return read


class Revert(Operation):
    """Revert a message and what follows, undo that, make it final, or only preview it."""

    type: Literal["revert"] = "revert"
    session: str | None = None
    action: Literal["preview", "revert", "unrevert", "cleanup", "diff"]
    target: str = Field(default="", max_length=200)
    """The id of a message or part; none means the newest prompt, and for ``diff`` the whole session."""
    overwrite: tuple[str, ...] = ()
    """Files to overwrite although they were changed outside the session."""
    in_conflict: bool = False
    """``overwrite`` names files that must be in a conflict; none, or ``all``, are all that are."""
    forms = (
        Form(
            "revert",
            "revert the newest prompt, or from ID on, with its files: %agent revert [ID] [--preview]",
            fixed={"action": "revert"},
            read=_written("revert", 1),
        ),
        Form(
            "unrevert",
            "undo the revert",
            fixed={"action": "unrevert"},
            read=_written("unrevert"),
        ),
        Form(
            "cleanup",
            "remove what is reverted, for good",
            fixed={"action": "cleanup"},
        ),
        Form(
            "diff",
            "what the session changed in files: %agent diff, or diff last for the newest turn",
            fixed={"action": "diff"},
            read=_written("diff", 1),
            keywords=("last",),
        ),
    )

    async def run(self, at: Desk) -> RevertAnswer:
        reverts = (await at.find(self.session)).reverts
        match self.action:
            case "preview":
                return RevertAnswer(revert=await reverts.preview(self.target))
            case "revert":
                files = await self._overwritten(reverts)
                return RevertAnswer(revert=await reverts.revert(self.target, files))
            case "unrevert":
                return RevertAnswer(revert=await reverts.unrevert(self.overwrite))
            case "cleanup":
                return RevertAnswer(removed=await reverts.cleanup())
            case "diff":
                return RevertAnswer(diffs=await reverts.diff(self.target))

    async def _overwritten(self, reverts: Reverts) -> tuple[str, ...]:
        """Return the files to overwrite."""
        if not self.in_conflict:
            return self.overwrite
        conflicts = (await reverts.preview(self.target)).conflicts
        if not self.overwrite or self.overwrite == (ALL,):
            return conflicts
        for file in self.overwrite:
            if file not in conflicts:
                known = ", ".join(conflicts) or "none"
                raise UserError(f"{file!r} is in no conflict. Files with a conflict: {known}.")
        return self.overwrite

    def output(self, answer: RevertAnswer) -> CommandOutput:
        if answer.revert is not None:
            return revert_text(answer.revert, back=self.action == "unrevert")
        if answer.diffs is not None:
            return diff_text(answer.diffs, self.target)
        return cleaned_text(answer.removed or 0)
