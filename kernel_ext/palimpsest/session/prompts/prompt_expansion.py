"""Expand a prompt that names a command, an agent or a file, before its first request.

Border: on the engine's loop, between a prompt's delivery and the step that sends it. The user's text stays as it is;
the expansion is written beside it as synthetic parts, with shell output and files filled in. A shell command needs the
same permission as with the bash tool, and a file is read as by the read tool.
"""

import asyncio
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from palimpsest.processor.session_log import SessionLog
from palimpsest.processor.tool_call_runner import RunTools
from palimpsest.session.definitions.agents import Agent, subagents_of
from palimpsest.session.definitions.command_files import CustomCommand
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.interfaces.services import Services
from palimpsest.session.prompts.notebook_mentions import NewPartIds, NotebookMentions, engine_text
from palimpsest.session.prompts.pasted_files import attached_text, file_name
from palimpsest.session.prompts.prompt_syntax import (
    FileMention,
    PromptShellCommand,
    agent_mentions,
    command_in,
    file_mentions,
    fill_template,
    shell_pieces_of,
    subtasks_in,
)
from palimpsest.store.blobs.blob_storage import keep_attachment
from palimpsest.tools.file_access.paths import resolve_path
from palimpsest.tools.registration.registry import Registry
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import (
    Aborted,
    AbortedError,
    ModelFailed,
    PermissionDenied,
    UserError,
)
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import (
    AgentPart,
    Attachment,
    FilePart,
    FileSource,
    NotebookPart,
    Part,
    SourceText,
    SubtaskPart,
    TextPart,
)
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.user_notices import COMMAND_KEY
from palimpsest.transcript.values import ModelRef

ATTACHED_KEY = "attached"
"""Key in the metadata of a text: the file that the prompt names."""
SUCCESS_LINE = "[exit code 0]"
"""The last line of the bash tool's output for a command that succeeded."""
FILE_SHOWN = "The user attached {path}. The read tool shows of it:\n{output}"
FILE_NOT_SHOWN = "The user attached {path}, which cannot be read: {problem}"
AGENT_HINT = (
    "The user names the agent {name} above. Hand it this with the task tool, with a prompt that says all it "
    "needs to know, and answer with what it reports."
)
MAX_FILES = 20
"""Maximum number of files that one prompt attaches by naming them."""
MAX_DESCRIPTION_CHARS = 60


Announce = Callable[[str, dict[str, Any]], None]
"""``(call id, input)`` stores a tool call's input, so that a permission question shows it although no message has the call."""


class Expander:
    """Adds, once, the texts of the commands, agents, files and cells that a prompt of one session names."""

    def __init__(self, services: Services, announce: Announce) -> None:
        definitions = services.agents.definitions
        self._definitions = definitions
        self._commands: Mapping[str, CustomCommand] = (
            definitions.commands if definitions is not None else {}
        )
        self._agents: Mapping[str, Agent] = services.agents.known_agents
        self._registry = services.agents.registry
        self._model_info = services.models.info
        self._locked_settings = services.rules.locked_settings
        self._announce_call = announce
        self._notebook = NotebookMentions(services)

    def options(self, text: str, options: PromptOptions) -> PromptOptions:
        """Return the options of a prompt with the agent and model that its command sets."""
        if self._definitions is not None:
            self._definitions.refresh()
        command, _ = self._command_in(text)
        # The options of a command that is a subtask apply to its task, not to the agent that answers.
        if command is None or self._is_subtask(command):
            return options
        unless_locked = self._locked_settings.unless_locked
        return dataclasses.replace(
            options,
            agent=options.agent or unless_locked("default_agent", command.agent),
            model=options.model or unless_locked("model", command.model),
            variant=options.variant
            or (None if options.model else unless_locked("variant", command.variant)),
        )

    async def expand_prompts(self, tools: RunTools) -> None:
        """Expand the prompts that are not answered; each prompt once."""
        for message in unanswered_messages(tools.log.state.messages()):
            await self._expand_message(tools, message)

    def is_plain(self, text: str) -> bool:
        """Return whether a prompt is neither a command nor a task for an agent; only then can it name files and cells."""
        command, _ = self._command_in(text)
        return command is None and not subtasks_in(text, subagents_of(self._agents))

    def other_mentions(self, text: str, root: Path, cwd: Path) -> set[str]:
        """Return the words behind at signs in a prompt that name no variable: agents, files and other paths."""
        paths = [mention.path for mention in file_mentions(text) if "/" in mention.path]
        return {*self._agents, *paths, *(file.path for file in self.files_named(text, root, cwd))}

    def files_named(self, text: str, root: Path, cwd: Path) -> list[FileMention]:
        """Return the project's files that a prompt names with an at sign, as many as are attached, in order."""
        mentions = file_mentions(text, set(subagents_of(self._agents)))
        return [file for file in mentions if _is_project_file(root, cwd, file.path)][:MAX_FILES]

    def _command_in(self, text: str) -> tuple[CustomCommand | None, str]:
        name_and_arguments = command_in(text) if text.lstrip().startswith("/") else None
        if name_and_arguments is None:
            return None, ""
        return self._commands.get(name_and_arguments[0]), name_and_arguments[1]

    def _is_subtask(self, command: CustomCommand) -> bool:
        if command.subtask is not None:
            return command.subtask
        agent = self._agents.get(command.agent or "")
        return agent is not None and agent.mode == "subagent"

    async def _expand_message(self, tools: RunTools, message: Message) -> None:
        text_part = next(
            (p for p in message.parts if isinstance(p, TextPart) and not p.synthetic), None
        )
        info = message.info
        if text_part is None or not isinstance(info, UserMessage) or _is_expanded(message):
            return

        new_ids = functools.partial(tools.log.ids.part, text_part.session_id, text_part.message_id)
        command, arguments = self._command_in(text_part.text)
        if command is not None:
            parts = await self._command_parts(tools, info, text_part, command, arguments, new_ids)
        elif "@" in text_part.text:
            parts = await self._mention_parts(tools, info, text_part, new_ids)
        else:
            parts = []
        parts += await asyncio.to_thread(_attached_texts, tools.log, message, new_ids)
        if parts:
            tools.log.append(*(PartUpdated(part=part) for part in parts), sync=True)

    async def _mention_parts(
        self, tools: RunTools, user: UserMessage, text_part: TextPart, new_ids: NewPartIds
    ) -> list[Part]:
        """Return the parts for the agents, files, cells and variables that a prompt names with an at sign."""
        parts = self._agent_parts(text_part, new_ids)
        if not any(isinstance(part, SubtaskPart) for part in parts):
            parts += await self._project_file_parts(tools, user, text_part, new_ids)
            excluded_names = self.other_mentions(text_part.text, tools.root, tools.cwd)
            parts += await self._notebook.parts(tools, text_part, new_ids, excluded_names)
        return parts

    def _agent_parts(self, text_part: TextPart, new_ids: NewPartIds) -> list[Part]:
        subagents = subagents_of(self._agents)
        tasks = subtasks_in(text_part.text, subagents)
        if tasks:
            return [
                SubtaskPart(**new_ids(), prompt=task, description=_short_line(task), agent=name)
                for name, task in tasks
            ]
        parts: list[Part] = []
        mentions = agent_mentions(text_part.text, subagents)
        for mention in mentions:
            source = {"value": f"@{mention.name}", "start": mention.start, "end": mention.end}
            parts.append(AgentPart(**new_ids(), name=mention.name, source=source))
        names = dict.fromkeys(mention.name for mention in mentions)
        hints = [(AGENT_HINT.format(name=name), {"agent": name}) for name in names]
        return [*parts, *(engine_text(new_ids, *hint) for hint in hints)]

    async def _command_parts(
        self,
        tools: RunTools,
        user: UserMessage,
        text_part: TextPart,
        command: CustomCommand,
        arguments: str,
        new_ids: NewPartIds,
    ) -> list[Part]:
        """Return the parts with a command's filled template; raises UserError or ModelFailed where that is impossible."""
        filled_template = fill_template(command.template, arguments)
        try:
            text, attached_parts = await self._fill_text(tools, user, filled_template)
        except PermissionDenied as denied:
            raise UserError(f"/{command.name} was not sent. {denied}") from None
        except Aborted:
            stopped = AbortedError(message=tools.abort.reason or "Stopped.")
            raise ModelFailed(stopped) from None
        metadata = {COMMAND_KEY: command.name}
        ignored_prompt = text_part.model_copy(
            update={"ignored": True, "metadata": {**(text_part.metadata or {}), **metadata}}
        )
        if self._is_subtask(command):
            subtask = SubtaskPart(
                **new_ids(),
                prompt="\n\n".join([text, *(file_text for _, file_text, _ in attached_parts)]),
                description=_short_line(command.description or f"/{command.name} {arguments}"),
                agent=command.agent or "general",
                command=command.name,
                model=self._task_model(command, user),
            )
            return [ignored_prompt, subtask]
        parts: list[Part] = [ignored_prompt, engine_text(new_ids, text, metadata)]
        for mention, file_text, files in attached_parts:
            parts += _file_parts(tools.log, new_ids, mention, file_text, files, metadata)
        return parts

    async def _project_file_parts(
        self, tools: RunTools, user: UserMessage, text_part: TextPart, new_ids: NewPartIds
    ) -> list[Part]:
        """Return the parts for the project's files that a prompt names with an at sign; other such words stay text."""
        parts: list[Part] = []
        for mention in self.files_named(text_part.text, tools.root, tools.cwd):
            try:
                content = await self._file_content(tools, user, mention.path)
            except Aborted:
                stopped = AbortedError(message=tools.abort.reason or "Stopped.")
                raise ModelFailed(stopped) from None
            if content is not None:
                metadata = {ATTACHED_KEY: mention.path}
                parts += _file_parts(tools.log, new_ids, mention, *content, metadata)
        return parts

    def _task_model(self, command: CustomCommand, user: UserMessage) -> ModelRef | None:
        """Return the model for a command's task, where the command sets one; raises ConfigError."""
        if command.model is None and command.variant is None:
            return None
        agent = self._agents.get(command.agent or "")
        name = command.model or (agent.model if agent is not None else None) or user.model.id
        return self._model_info(name, command.variant).ref

    async def _fill_text(
        self, tools: RunTools, user: UserMessage, template: str
    ) -> tuple[str, list[tuple[FileMention, str, Any]]]:
        """Return the text with shell output filled in, and the mention, text and attachments of each file that it names."""
        texts: list[str] = []
        mentions: dict[str, FileMention] = {}
        subagents = set(subagents_of(self._agents))
        for piece in shell_pieces_of(template):
            if isinstance(piece, PromptShellCommand):
                texts.append(await self._shell_output(tools, user, piece.command))
            else:
                offset = sum(map(len, texts))
                texts.append(piece)
                for mention in file_mentions(piece, subagents):
                    mention_in_text = dataclasses.replace(
                        mention, start=offset + mention.start, end=offset + mention.end
                    )
                    mentions.setdefault(mention.path, mention_in_text)
        attached_parts = []
        for mention in list(mentions.values())[:MAX_FILES]:
            content = await self._file_content(tools, user, mention.path)
            if content is not None:
                attached_parts.append((mention, *content))
        return "".join(texts), attached_parts

    async def _shell_output(self, tools: RunTools, user: UserMessage, command: str) -> str:
        outcome = await self._run_tool(tools, user, "bash", {"command": command})
        return outcome.output.removesuffix(SUCCESS_LINE).rstrip("\n")

    async def _file_content(
        self, tools: RunTools, user: UserMessage, path: str
    ) -> tuple[str, Any] | None:
        """Return a file's text and attachments as the read tool shows them; None for a word that names no file."""
        try:
            outcome = await self._run_tool(tools, user, "read", {"path": path})
        except PermissionDenied as denied:
            return FILE_NOT_SHOWN.format(path=path, problem=denied), ()
        except UserError as problem:
            if "/" not in path and "." not in path:
                return None
            return FILE_NOT_SHOWN.format(path=path, problem=problem), ()
        return FILE_SHOWN.format(path=path, output=outcome.output), outcome.attachments

    async def _run_tool(
        self, tools: RunTools, user: UserMessage, name: str, tool_input: dict[str, Any]
    ) -> ToolOutcome:
        """Run a tool for the user's own prompt; no answer of the model has this call."""
        call_id = f"call_{tools.log.ids.new('prt')}"
        self._announce_call(call_id, tool_input)
        ask = tools.ask(user.id, call_id, name)
        context = tools.context(
            user.id, call_id, user.agent, ask, metadata=lambda _title, _data: None
        )
        return await run_tool(self._registry, name, tool_input, context)


async def run_tool(
    registry: Registry, name: str, tool_input: dict[str, Any], context: ToolContext
) -> ToolOutcome:
    """Run a tool that no model called; raises UserError for an unknown tool or invalid arguments."""
    tool = registry.resolve(name)
    if isinstance(tool, str):
        raise UserError(tool)
    arguments = registry.validate(tool, tool_input)
    if isinstance(arguments, str):
        raise UserError(arguments)
    return await tool.run(arguments, context)


def unanswered_messages(messages: Messages) -> list[Message]:
    """Return the messages after the newest answer, oldest first."""
    newest_first: list[Message] = []
    for message in reversed(messages):
        if isinstance(message.info, AssistantMessage):
            break
        newest_first.append(message)
    return newest_first[::-1]


def _is_expanded(message: Message) -> bool:
    return any(
        isinstance(part, AgentPart | SubtaskPart)
        or (isinstance(part, NotebookPart) and part.about != "runs")
        or (
            isinstance(part, TextPart)
            and {COMMAND_KEY, ATTACHED_KEY} & (part.metadata or {}).keys()
        )
        for part in message.parts
    )


def _attached_texts(log: SessionLog, message: Message, new_ids: NewPartIds) -> list[Part]:
    """Return the text parts for texts that were pasted or dropped into a prompt."""
    return [
        engine_text(new_ids, text, {ATTACHED_KEY: file_name(part)})
        for part in message.parts
        if isinstance(part, FilePart) and (text := attached_text(log.blobs, part)) is not None
    ]


def _file_parts(
    log: SessionLog,
    new_ids: NewPartIds,
    mention: FileMention,
    content: str,
    files: Sequence[Attachment],
    metadata: dict[str, Any],
) -> list[Part]:
    parts: list[Part] = [engine_text(new_ids, content, metadata)]
    text = SourceText(value=f"@{mention.path}", start=mention.start, end=mention.end)
    source = FileSource(type="file", path=mention.path, text=text)
    for file in files:
        url = keep_attachment(log.blobs, file.url)
        parts.append(
            FilePart(**new_ids(), mime=file.mime, filename=file.filename, source=source, url=url)
        )
    return parts


def _is_project_file(root: Path, cwd: Path, path: str) -> bool:
    """Return whether a word after an at sign is a path that exists in the project."""
    if "/" not in path and "." not in path:
        return False
    try:
        place = resolve_path(path, root, cwd)
        return place.is_inside and place.path.exists()
    except (UserError, OSError):
        return False


def _short_line(text: str) -> str:
    line = " ".join(text.split())
    is_short = len(line) <= MAX_DESCRIPTION_CHARS
    return line if is_short else f"{line[: MAX_DESCRIPTION_CHARS - 1].rstrip()}…"
