"""Load the agents, commands and skills of a project: built in, from files, from the settings.

Border: finds and reads the files, and reads them again when one changed, so that the user need not restart the
kernel; the modules of each kind interpret them. Lowest precedence first: the user's folders, then the
project's from the outermost inwards, as with settings; and within one folder ``.agents``, ``.claude``,
``.opencode``, then Palimpsest's own. An error in one file becomes a sentence, and the rest works.
"""

import functools
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from palimpsest.session.config.setting_files import (
    ConfigFolders,
    LockedSettings,
    folders_upwards,
    is_writable_by_others,
    short_path,
)
from palimpsest.session.definitions import agent_files, command_files, skill_files
from palimpsest.session.definitions.agents import (
    Agent,
    built_in,
    first_agent,
    known_agents,
    subagents_of,
)
from palimpsest.session.definitions.command_files import CustomCommand
from palimpsest.session.definitions.definition_files import TOOL_FOLDERS, DefinitionFile, Folder
from palimpsest.session.definitions.definition_trust import DefinitionTrust
from palimpsest.session.trust.trust_store import definition_digest
from palimpsest.tools.file_access.file_contents import (
    OUTSIDE_PROJECT,
    UnreadableForPrompt,
    read_for_prompt,
)
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.tools.registration.registry import Registry
from palimpsest.tools.workflow.skill import SKILL_NAME, Skill, SkillTool
from palimpsest.tools.workflow.task import TASK_NAME, TaskTool
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import Rule

MAX_FILE_BYTES = 256_000
"""Maximum bytes of one file."""
MAX_FOLDER_FILES = 500
"""Maximum number of files in one folder; more were not written by hand."""
MAX_DEPTH = 6
"""Maximum depth of sub-folders in which files are searched."""


DEFINITION_FOLDERS = (
    *agent_files.AGENT_FOLDERS,
    *command_files.COMMAND_FOLDERS,
    *skill_files.SKILL_FOLDERS,
)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class DefinitionSources:
    """The sources of one project's definitions."""

    start_folder: Path
    config_folders: ConfigFolders
    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The table ``agent`` of the settings, without rules."""
    agent_rules: Mapping[str, Rules] = field(default_factory=dict)
    commands: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The table ``command`` of the settings."""
    default_agent: str = "build"
    user_agent_names: frozenset[str] = frozenset()
    """Names of the agents in that table that files other than the project's set."""
    locked_settings: LockedSettings = field(default_factory=LockedSettings)
    trusts: Callable[[str], bool] = lambda _digest: False
    """Returns whether the user trusted a project's file with this digest."""


class ProjectDefinitions:
    """A project's agents, commands and skills by name; a changed file is read again into the mappings that callers hold."""

    def __init__(self, sources: DefinitionSources, base_rules: Callable[[], Rules]) -> None:
        self.agents: dict[str, Agent] = {}
        self.commands: dict[str, CustomCommand] = {}
        self.skills: dict[str, Skill] = {}
        self.problems: tuple[str, ...] = ()
        """Sentences about files that are left out."""
        self.left_out: tuple[str, ...] = ()
        """Those of ``problems`` about files that lead out of the project, hold keys or are no regular files."""
        self.definition_trust = DefinitionTrust()
        """What the user trusts, and the settings of the project's files that are held back until then."""
        self._sources = sources
        self._base_rules = base_rules
        self._files_signature: object = None
        self._lock = threading.Lock()
        self._change_listeners: list[Callable[[], None]] = []
        self.refresh()

    def read_again(self) -> None:
        """Read everything again at the next refresh, as after the user trusted or distrusted a file."""
        with self._lock:
            self._files_signature = None

    def refresh(self) -> bool:
        """Read the files if one changed since the last time; returns whether it did. From any thread."""
        sources = self._sources
        with self._lock:
            folders = definition_folders(sources.start_folder, sources.config_folders)
            signature = folders_signature(folders, DEFINITION_FOLDERS)
            if signature == self._files_signature:
                return False
            self._files_signature = signature
            self._read_folders(folders)
        for callback in self._change_listeners:
            callback()
        return True

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call back after each change, and once now."""
        self._change_listeners.append(callback)
        callback()

    @property
    def default_agent(self) -> str:
        """The agent that answers when none is named; an unusable setting is reported in ``problems``."""
        try:
            return first_agent(self._sources.default_agent, self.agents)
        except ConfigError:
            return next((name for name, agent in self.agents.items() if agent.answers), "build")

    def _read_folders(self, folders: tuple[Folder, ...]) -> None:
        sources, home = self._sources, self._sources.config_folders.home
        problems: list[str] = []
        left_out_sentences: list[str] = []
        trust = DefinitionTrust(sources.trusts, sources.locked_settings)
        base_rules = self._base_rules()
        read_files = functools.partial(
            read_definitions, folders, home=home, problems=problems, left_out=left_out_sentences
        )
        agents = agent_files.read_agents(
            built_in(base_rules),
            read_files(agent_files.AGENT_FOLDERS),
            base_rules,
            str(home),
            problems,
            trust,
            sources.user_agent_names,
        )
        agents = known_agents(sources.agents, sources.agent_rules, agents)
        definitions = read_files(command_files.COMMAND_FOLDERS)
        commands = command_files.read_commands(definitions, sources.commands, problems, trust)
        definitions = read_files(skill_files.SKILL_FOLDERS, file_name=skill_files.SKILL_FILE_NAME)
        skills = skill_files.read_skills(definitions, problems, trust)
        try:
            first_agent(sources.default_agent, agents)
        except ConfigError as problem:
            problems.append(str(problem))
        _update_in_place(self.agents, agents)
        _update_in_place(self.commands, commands)
        _update_in_place(self.skills, skills)
        self.problems = (*left_out_sentences, *problems)
        self.left_out = tuple(left_out_sentences)
        self.definition_trust = trust


def skill_rules(skills: Mapping[str, Skill]) -> Rules:
    """Return rules that let the files beside the user's own skills be read without a question."""
    return tuple(
        Rule(permission="external_directory", pattern=f"{skill.folder.resolve()}/*", action="allow")
        for skill in skills.values()
        if not skill.is_in_project
    )


def _update_in_place(target: dict[str, Value], new_values: Mapping[str, Value]) -> None:
    """Make a mapping equal to another one in place; no reader sees it empty meanwhile."""
    target.update(new_values)
    for name in [name for name in target if name not in new_values]:
        target.pop(name, None)


def register_definitions(registry: Registry, definitions: ProjectDefinitions) -> None:
    """Offer the tools ``task`` and ``skill`` as long as there are subagents and skills for them."""

    def register_tools() -> None:
        if subagents_of(definitions.agents):
            # A new tool each time, since it lists the agents when it is created.
            registry.register(TaskTool(lambda: _subagent_descriptions(definitions)))
        else:
            registry.remove(TASK_NAME)
        if definitions.skills:
            registry.register(SkillTool(lambda: definitions.skills))
        else:
            registry.remove(SKILL_NAME)

    definitions.on_change(register_tools)


def _subagent_descriptions(definitions: ProjectDefinitions) -> list[tuple[str, str]]:
    return [(name, agent.description) for name, agent in subagents_of(definitions.agents).items()]


def definition_folders(start_folder: Path, config_folders: ConfigFolders) -> tuple[Folder, ...]:
    """Return the folders that exist, lowest precedence first."""
    home = config_folders.home
    paths = [(home / name, False) for name in TOOL_FOLDERS]
    paths[2:2] = [(home / ".config" / "opencode", False)]
    paths += [(path, False) for path in config_folders.user]
    project_folders = [
        folder for folder in folders_upwards(start_folder, home) if folder != home.resolve()
    ]
    repository = next(
        (candidate for candidate in project_folders if (candidate / ".git").exists()), None
    )
    for folder in reversed(project_folders):
        paths += [(folder / name, True) for name in TOOL_FOLDERS]
    folders: dict[Path, Folder] = {}
    for path, is_project in paths:
        if path.is_dir() and path not in folders:
            outer_folder = (repository or path.parent) if is_project else None
            folders[path] = Folder(path, is_project, outer_folder)
    return tuple(folders.values())


def folders_signature(
    folders: Sequence[Folder], folder_names: Sequence[str]
) -> tuple[tuple[str, int, int], ...]:
    """Return a value that changes when a file in the folders does: path, modification time and size of each."""
    signature = []
    for folder in folders:
        for folder_name in folder_names:
            for path in _markdown_files(folder, folder.path / folder_name, []):
                try:
                    status = path.stat()
                except OSError:
                    continue
                signature.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(signature)


def read_definitions(
    folders: Sequence[Folder],
    folder_names: Sequence[str],
    home: Path,
    problems: list[str],
    left_out: list[str],
    *,
    file_name: str | None = None,
) -> Iterator[DefinitionFile]:
    """Yield the Markdown files in the sub-folders ``folder_names``, lowest precedence first; with ``file_name``, those of that name.

    Errors are added to ``problems``; files that must not be read, such as outside the project, to ``left_out``.
    """
    for folder in folders:
        for folder_name in folder_names:
            definition_folder = folder.path / folder_name
            outside_paths: list[Path] = []
            files = _markdown_files(folder, definition_folder, outside_paths)
            left_out += [
                f"{short_path(path, home)} is left out: {OUTSIDE_PROJECT}."
                for path in outside_paths
            ]
            for path in files:
                if file_name is not None and path.name != file_name:
                    continue
                definition = read_definition(
                    folder, definition_folder, path, home, problems, left_out
                )
                if definition is not None:
                    yield definition


def read_definition(
    folder: Folder,
    definition_folder: Path,
    path: Path,
    home: Path,
    problems: list[str],
    left_out: list[str],
) -> DefinitionFile | None:
    """Return one file; None, with a sentence in one of the lists, where it cannot or must not be read."""
    # With the first file: parsing YAML takes a library that a project without definitions does not need.
    from palimpsest.session.definitions.frontmatter import parse_definition  # noqa: PLC0415 - see above

    origin = short_path(path, home)
    try:
        content = _file_text(folder, path)
        document = parse_definition(content)
    except UnreadableForPrompt as problem:
        left_out.append(f"{origin} is left out: {problem}.")
        return None
    except (OSError, UnicodeDecodeError, ConfigError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problems.append(f"{origin} is left out: {reason}.")
        return None
    name = path.relative_to(definition_folder).with_suffix("").as_posix()
    return DefinitionFile(name, path, origin, folder, document, definition_digest(path, content))


def _markdown_files(
    folder: Folder, definition_folder: Path, outside_paths: list[Path], depth: int = 0
) -> list[Path]:
    """Return the Markdown files below a folder, sorted; links are followed only to files.

    The folder itself, and those directly in it, may be links that stay within ``folder.links_stay_within``; those that
    do not are added to ``outside_paths``.
    """
    if depth > MAX_DEPTH:
        return []
    if definition_folder.is_dir() and not _is_within_bounds(folder, definition_folder):
        outside_paths.append(definition_folder)
        return []
    try:
        entries = sorted(os.scandir(definition_folder), key=lambda entry: entry.name)
    except OSError:
        return []
    files: list[Path] = []
    for entry in entries[:MAX_FOLDER_FILES]:
        if entry.is_dir(follow_symlinks=depth == 0):
            files += _markdown_files(folder, Path(entry.path), outside_paths, depth + 1)
        elif entry.name.endswith(".md"):
            files.append(Path(entry.path))
        if len(files) > MAX_FOLDER_FILES:
            break
    return files[:MAX_FOLDER_FILES]


def _is_within_bounds(folder: Folder, definition_folder: Path) -> bool:
    if folder.links_stay_within is None:
        return True
    try:
        return definition_folder.resolve().is_relative_to(folder.links_stay_within.resolve())
    except (OSError, RuntimeError):
        return False


def _file_text(folder: Folder, path: Path) -> str:
    """Return a file's text; raises UnreadableForPrompt, ConfigError, OSError and UnicodeDecodeError."""
    data = read_for_prompt(path, folder.links_stay_within, MAX_FILE_BYTES + 1)
    if folder.is_project and is_writable_by_others(path.stat(), path.parent):
        raise ConfigError("it belongs to another user, in a folder open to everybody")
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"it is larger than {MAX_FILE_BYTES // 1000} kB")
    return data.decode("utf-8")
