"""Load and merge the settings, and record where each came from.

Border: the environment, the start directory and the options of a call are passed in.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from palimpsest.render.safety.escaping import one_line
from palimpsest.session.config.context_policy import (
    SHORT_NAMES,
    ConfiguredPolicy,
    configured_policy,
    short_value,
)
from palimpsest.session.config.layer_merge import (
    LayerMerge,
    UntrustedSetting,
    dotted_name,
    split_name,
)
from palimpsest.session.config.name_checks import wrong_names
from palimpsest.session.config.setting_files import (
    PROJECT_ORIGIN,
    ConfigFolders,
    Layer,
    folders_upwards,
    origin_of,
    setting_layers,
)
from palimpsest.session.config.settings import Config, Settings
from palimpsest.session.definitions import agent_files, command_files
from palimpsest.session.definitions.agents import BUILT_IN as BUILT_IN_AGENTS
from palimpsest.session.definitions.agents import BUILT_IN_ORIGIN
from palimpsest.session.definitions.project_definitions import definition_folders, read_definitions
from palimpsest.session.trust.admin_trust import configured_state_folder, trusted_by
from palimpsest.session.trust.trust_store import TrustStore, digest_of
from palimpsest.session.trust.untrusted_allow_list import SettingsBaseline
from palimpsest.session.trust.untrusted_layer import merge_untrusted, put_at
from palimpsest.store.log.store_factory import find_project
from palimpsest.tools.permission_rules.permissions import Rules, as_limits, from_config, merge_rules

__all__ = ["Config", "ConfigFolders", "LoadedConfig", "load"]

MAX_SHOWN_CHARS = 200
"""Maximum characters of a setting's value that are shown."""
_HIDDEN_VALUES = re.compile(r"mcp\..*\.(env|headers)")
NEEDS_TRUST_TITLE = "Waits until you trust this project with %agent config trust"


@dataclass(frozen=True)
class LoadedConfig:
    """The merged settings, the origin of each, and sentences about problems."""

    value: Config
    origins: dict[str, str] = field(default_factory=dict)
    """Origin by dotted setting name; settings that are not in it are built in."""
    problems: tuple[str, ...] = ()
    locked_settings: Mapping[str, str] = field(default_factory=dict)
    """Settings that an administrator locked, and the file that locks each."""
    locked_rules: tuple[Any, ...] = ()
    """The permission tables that are locked."""
    untrusted_settings: tuple[UntrustedSetting, ...] = ()
    """Settings from the project's files that need the user's trust."""
    trusted_digest: str = ""
    """The digest of the project's settings, if the user trusted them; empty where none needed it."""
    limited: frozenset[tuple[str, int]] = frozenset()
    """Settings of an untrusted project that apply, each with the index of its permission table."""

    state: Path | None = None
    """The folder for users' decisions that an administrator named."""
    trusted_by: str = ""
    """The administrator's file that trusts the project for every user; empty for none."""

    def rules(self, key: str, tables: Sequence[Any]) -> Rules:
        """Return the rules of a setting's tables; those of an untrusted project only tighten."""
        rule_sets: list[Rules] = []
        for index, table in enumerate(tables):
            rules = rules_from((table,))
            rule_sets.append(as_limits(rules) if (key, index) in self.limited else rules)
        return tuple(rule for rules in rule_sets for rule in rules)

    def models(self) -> frozenset[str]:
        """Return the models that the settings name; a project's file may not name one by its server's address."""
        value = self.value
        models = (value.model, value.small_model, value.compaction.model)
        agents = (agent.model for agent in value.agent.values())
        return frozenset(name for name in (*models, *agents, *value.models) if name)

    def own_tables(self, key: str) -> frozenset[str]:
        """Return the names of a table's entries that are not set by the project alone."""
        paths = (
            split_name(setting)
            for setting, origin in self.origins.items()
            if not is_of_project_alone(origin)
        )
        return frozenset(path[1] for path in paths if path[0] == key and len(path) > 1)

    def is_limited(self, key: str) -> bool:
        """Return whether the merged value comes from an untrusted project."""
        return (key, 0) in self.limited and is_of_project_alone(self.origins.get(key, ""))

    @cached_property
    def policy(self) -> ConfiguredPolicy:
        """The context policy computed from the settings."""
        return configured_policy(self.value, self.locked_settings)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return every setting as name, value and origin."""
        rows = []
        policy = self.policy.policy
        for key, value in _setting_leaves(self.value):
            origin = self.origins.get(key) or self.origins.get(key.split(".")[0], BUILT_IN_ORIGIN)
            if value is None and key in SHORT_NAMES:
                value, origin = short_value(policy, key), f"policy {policy.name}"
            lock_file = origin_of(self.locked_settings, key)
            value_text = _shown_value(
                _hide_values(value) if _HIDDEN_VALUES.fullmatch(key) else value
            )
            rows.append((key, value_text, f"{origin}, fixed" if lock_file else origin))
        return rows

    def remarks(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return titles, each with its sentences: on problems, and on settings that need trust."""
        untrusted_settings = self.untrusted_settings
        untrusted_sentences = tuple(
            f"{setting.words} ({setting.origin})" for setting in untrusted_settings
        )
        remarks = [("What is wrong", self.problems), (NEEDS_TRUST_TITLE, untrusted_sentences)]
        return [(title, sentences) for title, sentences in remarks if sentences]


def is_of_project_alone(origin: str) -> bool:
    """Return whether a value comes from a project's files alone, given its origin."""
    return all(name.startswith(PROJECT_ORIGIN) for name in origin.split(", then ")) and bool(origin)


def load(
    start_folder: Path,
    environment: Mapping[str, str],
    overrides: Mapping[str, Any] | None = None,
    *,
    folders: ConfigFolders | None = None,
) -> LoadedConfig:
    """Read every layer from ``start_folder`` upwards and merge them.

    ``overrides`` are options of a call, by dotted setting name; None means "not given".
    """
    folders = folders or ConfigFolders.of_platform(environment)
    merge_state = LayerMerge()
    layers = list(setting_layers(start_folder, environment, folders, merge_state.problems))
    project = find_project(start_folder)
    folders = _with_admin_folder(folders, layers)
    digest = trusted_digest(layers, folders, start_folder)
    for layer in layers:
        if layer.is_project and not digest and not trusted_by(layers, layer.folder):
            agents, commands = ONLY_BUILT_INS
            if "agent" in layer.data or "command" in layer.data:
                agents, commands = names_outside_projects(start_folder, folders)
            baseline = SettingsBaseline(layer.folder, merge_state.merged_config(), agents, commands)
            merge_untrusted(merge_state, layer, baseline)
        else:
            merge_state.add(layer)
    options: dict[str, Any] = {}
    for key, option in (overrides or {}).items():
        if option is not None:
            put_at(options, tuple(key.split(".")), option)
    merge_state.add(Layer("option", options, start_folder))
    value = merge_state.merged_config()
    return LoadedConfig(
        value,
        merge_state.origins,
        (*merge_state.problems, *wrong_names(value, merge_state.origins)),
        dict(merge_state.locked_settings),
        merge_state.locked_rules,
        tuple(merge_state.untrusted_settings),
        digest,
        frozenset(merge_state.limited_settings),
        configured_state_folder(layers),
        trusted_by(layers, project),
    )


def _with_admin_folder(folders: ConfigFolders, layers: Sequence[Layer]) -> ConfigFolders:
    """Return the folders with the state folder that an administrator named, if any."""
    state_folder = configured_state_folder(layers)
    return dataclasses.replace(folders, state=state_folder) if state_folder is not None else folders


ONLY_BUILT_INS: tuple[frozenset[str], frozenset[str]] = (frozenset(BUILT_IN_AGENTS), frozenset())
"""The names of the built-in agents, and of the built-in commands, of which there are none."""


def trusted_digest(layers: Sequence[Layer], folders: ConfigFolders, start_folder: Path) -> str:
    """Return the digest of the project's settings if the user trusted them, else ""."""
    project_digest = _project_digest(layers, folders, start_folder)
    trust_store = TrustStore(folders.trust_folder, find_project(start_folder))
    return project_digest if trust_store.is_trusted(project_digest) else ""


def _project_digest(layers: Sequence[Layer], folders: ConfigFolders, start_folder: Path) -> str:
    project_layers = [layer for layer in layers if layer.is_project]
    project = find_project(start_folder)
    *_, top_folder = folders_upwards(start_folder, folders.home)
    base_folders = [project, *(layer.folder.resolve() for layer in project_layers)]
    tree_root = (
        top_folder
        if (top_folder / ".git").exists()
        else min(base_folders, key=lambda folder: len(folder.parts))
    )
    return digest_of(project_layers, (project, start_folder), tree_root)


def still_trusted(start_folder: Path, environment: Mapping[str, str], digest: str) -> bool:
    """Return whether the project's settings, and the files they run, still have this digest."""
    folders = ConfigFolders.of_platform(environment)
    layers = list(setting_layers(start_folder, environment, folders, []))
    return _project_digest(layers, folders, start_folder) == digest


def trust_project(
    start_folder: Path,
    environment: Mapping[str, str],
    folders: ConfigFolders | None = None,
    definitions: Mapping[str, str] | None = None,
) -> list[UntrustedSetting]:
    """Trust the project's files in their present state; returns the settings that take effect.

    ``definitions`` are the files of agents, commands and skills that need trust: digest to path.
    """
    folders = folders or ConfigFolders.of_platform(environment)
    project = find_project(start_folder)
    untrusted_settings = load(start_folder, environment, folders=folders).untrusted_settings
    layers = list(setting_layers(start_folder, environment, folders, []))
    folders = _with_admin_folder(folders, layers)
    files = [
        *dict.fromkeys(s.origin for s in untrusted_settings),
        *(definitions or {}).values(),
    ]
    digests = [_project_digest(layers, folders, start_folder)] if untrusted_settings else []
    digests += definitions or {}
    if digests:
        TrustStore(folders.trust_folder, project).add(digests, files, project)
    return list(untrusted_settings)


def distrust_project(
    start_folder: Path, environment: Mapping[str, str], folders: ConfigFolders | None = None
) -> bool:
    """Revoke trust in the project's files; return whether it was trusted."""
    folders = folders or ConfigFolders.of_platform(environment)
    project = find_project(start_folder)
    layers = list(setting_layers(start_folder, environment, folders, []))
    folders = _with_admin_folder(folders, layers)
    return TrustStore(folders.trust_folder, project).remove(project)


def _setting_leaves(settings: BaseModel, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every setting that is not a table, with its dotted name."""
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        setting_path = (*path, name)
        if isinstance(value, Settings):
            leaves = _setting_leaves(value, setting_path)
            # A value that the policy table does not set is the preset's: %agent policy shows those.
            is_policy = setting_path[0] == "policy"
            yield from (leaf for leaf in leaves if not (is_policy and leaf[1] is None))
        elif isinstance(value, dict) and all(
            isinstance(inner, Settings) for inner in value.values()
        ):
            for entry, table in value.items():
                entry_path = (*setting_path, entry)
                assigned_keys = {dotted_name(*entry_path, f) for f in table.model_fields_set}
                for key, inner_value in _setting_leaves(table, entry_path):
                    if inner_value or (inner_value is not None and key in assigned_keys):
                        yield key, inner_value
            if not value:
                yield dotted_name(*setting_path), None
        else:
            yield dotted_name(*setting_path), value


def _hide_values(value: dict[str, str]) -> dict[str, str]:
    """Return variables or headers of a server with values hidden, except references, since they may be keys."""
    return {name: text if "${" in text else "…" for name, text in value.items()}


def _shown_value(value: Any) -> str:
    match value:
        case None:
            return ""
        case tuple() | list():
            return one_line("; ".join(_shown_value(item) for item in value), MAX_SHOWN_CHARS)
        case dict():
            return one_line(
                ", ".join(f"{key}: {item}" for key, item in value.items()), MAX_SHOWN_CHARS
            )
        case _:
            return one_line(str(value), MAX_SHOWN_CHARS)


def rules_from(tables: Iterable[Any]) -> Rules:
    """Return the rules of permission tables, lowest first."""
    home = str(Path.home())
    return merge_rules(*(from_config(table, home=home) for table in tables))


def names_outside_projects(
    start_folder: Path, folders: ConfigFolders
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the agents and of the commands that are defined outside projects."""
    other_folders = [f for f in definition_folders(start_folder, folders) if not f.is_project]
    agents = {
        name
        for file in read_definitions(other_folders, agent_files.AGENT_FOLDERS, folders.home, [], [])
        for name in (file.name, file.document.fields.get("name"))
        if isinstance(name, str)
    }
    commands = {
        file.name
        for file in read_definitions(
            other_folders, command_files.COMMAND_FOLDERS, folders.home, [], []
        )
    }
    return frozenset(BUILT_IN_AGENTS) | agents, frozenset(commands)
