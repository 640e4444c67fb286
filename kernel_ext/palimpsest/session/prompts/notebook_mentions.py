"""Attach the cells, outputs, errors and variables of the notebook that a prompt names.

Border: on the engine's loop, before the prompt's first request. Cells come from the kernel's record of runs;
variables are described on the main thread, and where that is busy the prompt is sent without them.
"""

import ast
import asyncio
import platform
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

from palimpsest.context.engine_text.mutated_names import parsed_cell
from palimpsest.context.engine_text.notebook_note import as_data, as_note, cell_text, noted_cell
from palimpsest.processor.tool_call_runner import RunTools
from palimpsest.session.interfaces.services import Services
from palimpsest.session.prompts.hidden_variables import HiddenVariable
from palimpsest.session.prompts.prompt_syntax import NotebookMention, notebook_mentions
from palimpsest.tools.tool import Namespace, ShownVariables, VariableInfo
from palimpsest.tools.web.html_tokens import markup_text
from palimpsest.transcript.context_values.cell_runs import CellRun
from palimpsest.transcript.errors import NotFound, PermissionDenied, UserError
from palimpsest.transcript.parts import NotebookPart, Part, TextPart

MAX_MENTION_TOKENS = 3_000
"""Maximum tokens of one cell that a prompt names; the middle of a longer cell is left out."""
MAX_ERROR_TOKENS = 4_000
"""Maximum tokens of a failed cell that a prompt names: source and traceback."""
MAX_VARIABLE_CHARS = 4_000
MAX_MENTIONS = 12
MAX_VARIABLES = 20
"""Maximum variables that are described with an error."""
MAX_VERSIONS = 12
"""Maximum packages whose versions are named with an error."""
MAX_VERSION_CHARS = 40
MAX_VARIABLE_SECONDS = 5.0
"""Timeout for describing variables in a kernel that runs the user's code."""

ONLY_ABOUT_ERROR = re.compile(r"\s*(?:fix|explain)\s+@error(?:\s+\d+)?\s*", re.IGNORECASE)
"""Matches a prompt that is only about an error."""
NOTHING_FAILED = (
    "No cell{which} has failed since the agent was loaded, so there is nothing to mend, and nothing was sent. "
    "Run the cell again."
)
FIX_REQUEST = re.compile(r"\s*fix\s+@error\b", re.IGNORECASE)
HOW_TO_FIX = (
    "Find what is wrong, and look at the data where that is needed. Say in a sentence or two what it was. Then "
    "give the whole corrected cell in one Python code block: the user can put it in the place of the cell."
)
CELL_HEAD = "The cell that the user names."
ERROR_HEAD = "The error that the user means, with what is needed to mend it."
VARIABLE_HEAD = "The variable that the user names, {name}."
UNKNOWN_CELL = "The user names @{what}, but no such cell ran since the agent was loaded."
NO_ERROR = "The user names @error, but no cell failed since the agent was loaded."
DENIED_NOTE = "The user names @{what}, but a rule of permissions keeps that from you."
HIDDEN_CELL = "The user names @{what}, but keeps that cell from you."
_PACKAGE = re.compile(r"[\\/](?:site|dist)-packages[\\/]([A-Za-z_]\w*)")
_WORD = re.compile(r"[^\W\d]\w*")

NewPartIds = Callable[[], dict[str, str]]
"""Returns the ids of a new part."""


def engine_text(new_ids: NewPartIds, text: str, metadata: dict[str, Any]) -> TextPart:
    """Return a text part that the engine adds to a prompt; ``metadata`` names its subject."""
    return TextPart(**new_ids(), text=text, synthetic=True, metadata=metadata)


def missing_error(prompt: str, runs: Sequence[CellRun]) -> str | None:
    """Return why a prompt about an error alone cannot be answered: no such cell failed; else None."""
    if not ONLY_ABOUT_ERROR.fullmatch(prompt):
        return None
    (mention,) = notebook_mentions(prompt)
    run = named_run(mention, runs)
    if run is not None and not run.hidden:
        return None
    return NOTHING_FAILED.format(which=f" {mention.target}" if mention.target else "")


class NotebookMentions:
    """Makes parts for the cells, outputs, errors and variables that a prompt names."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def parts(
        self,
        tools: RunTools,
        text_part: TextPart,
        new_ids: NewPartIds,
        excluded_names: Collection[str],
    ) -> list[Part]:
        """Return the parts for a prompt's mentions; ``excluded_names`` are names of agents.

        Raises UserError where the prompt is about an error alone, and no such cell failed.
        """
        reader = self._services.kernel.notebook
        if reader is None:
            return []
        mentions = notebook_mentions(text_part.text, excluded_names)[:MAX_MENTIONS]
        if not mentions:
            return []
        runs = reader.recorded_runs().runs
        if problem := missing_error(text_part.text, runs):
            raise UserError(problem)
        new_parts: list[Part] = []
        for mention in mentions:
            permission = "variables" if mention.kind == "variable" else "notebook"
            ask = tools.ask(text_part.message_id, f"call_{tools.log.ids.new('prt')}", permission)
            title = f"Read @{mention.kind} {mention.target}".strip()
            try:
                await ask(permission, [mention.target or "*"], title=title)
                new_parts += await self.mention_parts(tools.namespace, mention, runs, new_ids)
            except PermissionDenied:
                new_parts.append(_denied_note(mention, new_ids))
            except HiddenVariable as error:
                new_parts.append(engine_text(new_ids, str(error), {"mention": mention.target}))
            except (NotFound, TimeoutError):
                continue  # a word with an at sign that names no variable, or a kernel that is busy
        has_error = any(
            isinstance(part, NotebookPart) and part.about == "error" for part in new_parts
        )
        if FIX_REQUEST.match(text_part.text) and has_error:
            new_parts.append(engine_text(new_ids, HOW_TO_FIX, {"fix": True}))
        return new_parts

    async def mention_parts(
        self,
        namespace: Namespace | None,
        mention: NotebookMention,
        runs: Sequence[CellRun],
        new_ids: NewPartIds,
    ) -> list[Part]:
        """Return the parts for one mention; raises NotFound where no variable has that name."""
        if mention.kind == "variable":
            if namespace is None:
                return []
            description_task = namespace.description_of(mention.target, MAX_VARIABLE_CHARS)
            description = await asyncio.wait_for(description_task, MAX_VARIABLE_SECONDS)
            head = VARIABLE_HEAD.format(name=mention.target)
            value = as_data(description, self._services.secrets.clean)
            text = as_note(head, [f"<variables>\n{value}\n</variables>"])
            return [self._notebook_part(new_ids, text, "mention", names=(mention.target,))]
        run = named_run(mention, runs)
        if run is None or run.hidden:
            mention_text = f"{mention.kind} {mention.target}".strip()
            sentence = UNKNOWN_CELL if run is None else HIDDEN_CELL
            if run is None and mention_text == "error":
                sentence = NO_ERROR
            return [
                engine_text(new_ids, sentence.format(what=mention_text), {"mention": mention_text})
            ]
        count = self._services.models.count(self._services.rules.policy.estimator)
        clean = self._services.secrets.clean
        if mention.kind != "error":
            described_run = run if mention.kind == "cell" else replace(run, source="")
            described_text = cell_text(described_run, MAX_MENTION_TOKENS, count, clean, markup_text)
            return [
                self._notebook_part(new_ids, as_note(CELL_HEAD, [described_text]), "mention", run)
            ]
        described_text = cell_text(run, MAX_ERROR_TOKENS, count, clean, markup_text)
        note_pieces = [described_text, *await self._failure_surroundings(namespace, run)]
        return [self._notebook_part(new_ids, as_note(ERROR_HEAD, note_pieces), "error", run)]

    async def _failure_surroundings(self, namespace: Namespace | None, run: CellRun) -> list[str]:
        """Return the variables that a failed cell names, and the versions of the packages in it."""
        words_in_run = _words_in(run)
        variables: Sequence[VariableInfo] = ()
        if namespace is not None:
            with suppress(Exception):  # the prompt is sent without variables rather than not at all
                description_task = namespace.list(ShownVariables("names and types", words_in_run))
                variables = await asyncio.wait_for(description_task, MAX_VARIABLE_SECONDS)
        named_variables = [variable for variable in variables if variable.name in words_in_run]
        described_variables = named_variables[:MAX_VARIABLES]
        versions = f"<versions>{', '.join(_versions(run, described_variables))}</versions>"
        if not described_variables:
            return [versions]
        lines = [
            f"- {variable.name}: {variable.shown_to_model}" for variable in described_variables
        ]
        text = as_data("\n".join(lines), self._services.secrets.clean)
        return [f"<variables>\n{text}\n</variables>", versions]

    def _notebook_part(
        self,
        new_ids: NewPartIds,
        text: str,
        subject: str,
        run: CellRun | None = None,
        names: tuple[str, ...] = (),
    ) -> NotebookPart:
        reader = self._services.kernel.notebook
        cells = () if run is None else (noted_cell(run),)
        if run is not None and subject == "error":
            cells = (noted_cell(run).model_copy(update={"source": run.source}),)
        return NotebookPart.model_validate(
            {
                **new_ids(),
                "about": subject,
                "text": text,
                "cells": cells,
                "names": names,
                "kernel": reader.kernel if reader is not None else "",
                "tokens": self._services.models.count(self._services.rules.policy.estimator)(text),
            }
        )


def named_run(mention: NotebookMention, runs: Sequence[CellRun]) -> CellRun | None:
    """Return the newest run that a mention names."""
    for run in reversed(runs):
        if run.by_agent or (mention.kind == "error" and run.status != "error"):
            continue
        if not mention.target or (run.number is not None and str(run.number) == mention.target):
            return run
    return None


def _denied_note(mention: NotebookMention, new_ids: NewPartIds) -> TextPart:
    """Return the note for the model in place of a mention that a rule denies."""
    mention_text = (
        mention.target if mention.kind == "variable" else f"{mention.kind} {mention.target}"
    )
    text = DENIED_NOTE.format(what=mention_text.strip())
    return engine_text(new_ids, text, {"mention": mention_text.strip()})


def _words_in(run: CellRun) -> frozenset[str]:
    """Return the words of a failed cell's source and of the message of its error."""
    error_lines = [
        text for output in run.outputs if output.error is not None for text in output.error
    ]
    return frozenset(_WORD.findall("\n".join([run.source, *error_lines])))


def _versions(run: CellRun, variables: Sequence[VariableInfo]) -> list[str]:
    """Return Python's version and those of the packages that a failed cell uses, as ``name version``."""
    package_names = dict.fromkeys(
        [
            *_imported_packages(run.source),
            *(variable.kind.partition(".")[0] for variable in variables),
            *(name for output in run.outputs for name in _PACKAGE.findall(output.text)),
        ]
    )
    versions = [f"Python {platform.python_version()}"]
    for package_name in package_names:
        module = sys.modules.get(package_name)
        # A module's own dictionary: no lazy module is loaded, no ``__getattr__`` runs.
        version = vars(module).get("__version__") if type(module) is ModuleType else None
        if isinstance(version, str):
            versions.append(f"{package_name} {version[:MAX_VERSION_CHARS]}")
    return versions[: MAX_VERSIONS + 1]


def _imported_packages(source: str) -> Iterator[str]:
    tree = parsed_cell(source)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
