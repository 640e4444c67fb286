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
from palimpsest.session.config.layer_merge import LayerMerge, UntrustedSetting, dotted, split
from palimpsest.session.config.name_checks import wrong_names
from palimpsest.session.config.setting_files import (
    PROJECTS,
    ConfigFolders,
    Layer,
    layers,
    origin_of,
    upwards,
)
from palimpsest.session.config.settings import Config, Settings
from palimpsest.session.definitions import agent_files, command_files
from palimpsest.session.definitions.agents import BUILT_IN as BUILT_IN_AGENTS
from palimpsest.session.definitions.project_definitions import folders, read_definitions
from palimpsest.session.trust.admin_trust import state_named_by, trusted_by
from palimpsest.session.trust.trust_store import TrustStore, digest_of
from palimpsest.session.trust.untrusted_allow_list import SettingsBaseline
from palimpsest.session.trust.untrusted_layer import lay_untrusted, put_at
from palimpsest.store.log.store_factory import find_project
from palimpsest.tools.permission_rules.permissions import Rules, as_limits, from_config, merge

__all__ = ["Config", "ConfigFolders", "LoadedConfig", "load"]

BUILT_IN = "built in"
_NAMED_ONLY = re.compile(r"mcp\..*\.(env|headers)")
WAITS = "Waits until you trust this project with %agent config trust"


@dataclass(frozen=True)
class LoadedConfig:
    """The merged settings, where each came from, and what was wrong."""

    value: Config
    origins: dict[str, str] = field(default_factory=dict)
    """Origin by dotted setting name; what is not in it is built in."""
    problems: tuple[str, ...] = ()
    locked: Mapping[str, str] = field(default_factory=dict)
    """Settings that an administrator locked, and the file that locks each."""
    locked_rules: tuple[Any, ...] = ()
    """The permission tables that are locked."""
    held: tuple[UntrustedSetting, ...] = ()
    """Settings from the project's files that need the user's trust."""
    trusted: str = ""
    """The digest of the project's settings, if the user trusted them; empty where none needed it."""
    limited: frozenset[tuple[str, int]] = frozenset()
    """What applies of an untrusted project: the setting, and the index of its permission table."""

    state: Path | None = None
    """The folder for users' decisions that an administrator named."""
    trusted_by: str = ""
    """The administrator's file that trusts the project for every user; empty for none."""

    def rules(self, key: str, tables: Sequence[Any]) -> Rules:
        """Return the rules of a setting's tables; those of an untrusted project only tighten."""
        found: list[Rules] = []
        for at, table in enumerate(tables):
            rules = rules_from((table,))
            found.append(as_limits(rules) if (key, at) in self.limited else rules)
        return tuple(rule for rules in found for rule in rules)

    def models(self) -> frozenset[str]:
        """Return the models that the settings name; a project's file may not name one by its server's address."""
        value = self.value
        named = (value.model, value.small_model, value.compaction.model)
        agents = (one.model for one in value.agent.values())
        return frozenset(one for one in (*named, *agents, *value.models) if one)

    def own_tables(self, key: str) -> frozenset[str]:
        """Return the entries of a table of settings that are not set by the project alone."""
        found = (split(one) for one, by in self.origins.items() if not is_projects(by))
        return frozenset(path[1] for path in found if path[0] == key and len(path) > 1)

    def is_limited(self, key: str) -> bool:
        """Return whether the merged value comes from an untrusted project."""
        return (key, 0) in self.limited and is_projects(self.origins.get(key, ""))

    @cached_property
    def policy(self) -> ConfiguredPolicy:
        """The context policy that the settings make."""
        return configured_policy(self.value, self.locked)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return every setting as name, value and origin."""
        found = []
        policy = self.policy.policy
        for key, value in _leaves(self.value):
            origin = self.origins.get(key) or self.origins.get(key.split(".")[0], BUILT_IN)
            if value is None and key in SHORT_NAMES:
                value, origin = short_value(policy, key), f"policy {policy.name}"
            fixed = origin_of(self.locked, key)
            shown = _shown(_named_only(value) if _NAMED_ONLY.fullmatch(key) else value)
            found.append((key, shown, f"{origin}, fixed" if fixed else origin))
        return found

    def remarks(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return titles with sentences: what is wrong, what is not used, what needs trust."""
        found = (
            ("What is wrong", self.problems),
            (WAITS, tuple(f"{one.words} ({one.origin})" for one in self.held)),
        )
        return [(title, sentences) for title, sentences in found if sentences]


def is_projects(origin: str) -> bool:
    """Return whether a value comes from a project's files alone, given its origin."""
    return all(one.startswith(PROJECTS) for one in origin.split(", then ")) and bool(origin)


def load(
    start: Path,
    environment: Mapping[str, str],
    overrides: Mapping[str, Any] | None = None,
    *,
    places: ConfigFolders | None = None,
) -> LoadedConfig:
    """Read every layer from ``start`` upwards and merge them.

    ``overrides`` are options of a call, by dotted setting name; None means "not given".
    """
    places = places or ConfigFolders.usual(environment)
    loading = LayerMerge()
    found = list(layers(start, environment, places, loading.problems))
    project = find_project(start)
    places = _placed(places, found)
    digest = trusted(found, places, start)
    for layer in found:
        if layer.is_project and not digest and not trusted_by(found, layer.base):
            agents, commands = NOBODY
            if "agent" in layer.data or "command" in layer.data:
                agents, commands = own_names(start, places)
            ground = SettingsBaseline(layer.base, loading.value(), agents, commands)
            lay_untrusted(loading, layer, ground)
        else:
            loading.add(layer)
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    options: dict[str, Any] = {}
    for key, one in given.items():
        put_at(options, tuple(key.split(".")), one)
    loading.add(Layer("option", options, start))
    value = loading.value()
    return LoadedConfig(
        value,
        loading.origins,
        (*loading.problems, *wrong_names(value, loading.origins)),
        dict(loading.locked),
        loading.locked_rules,
        tuple(loading.held),
        digest,
        frozenset(loading.limited),
        state_named_by(found),
        trusted_by(found, project),
    )


def _placed(places: ConfigFolders, found: Sequence[Layer]) -> ConfigFolders:
    """Return the folders with the state folder that an administrator named, if any."""
    state = state_named_by(found)
    return dataclasses.replace(places, state=state) if state is not None else places


NOBODY: tuple[frozenset[str], frozenset[str]] = (frozenset(BUILT_IN_AGENTS), frozenset())


def trusted(found: Sequence[Layer], places: ConfigFolders, start: Path) -> str:
    """Return the digest of the project's settings if the user trusted them, else ""."""
    digest = _digest(found, places, start)
    return digest if TrustStore(places.kept, find_project(start)).has(digest) else ""


def _digest(found: Sequence[Layer], places: ConfigFolders, start: Path) -> str:
    said = [layer for layer in found if layer.is_project]
    project = find_project(start)
    *_, top = upwards(start, places.home)
    folders = [project, *(layer.base.resolve() for layer in said)]
    tree = top if (top / ".git").exists() else min(folders, key=lambda folder: len(folder.parts))
    return digest_of(said, (project, start), tree)


def still_trusted(start: Path, environment: Mapping[str, str], digest: str) -> bool:
    """Return whether the project's settings, and the files they run, still have this digest."""
    places = ConfigFolders.usual(environment)
    return _digest(list(layers(start, environment, places, [])), places, start) == digest


def trust(
    start: Path,
    environment: Mapping[str, str],
    places: ConfigFolders | None = None,
    definitions: Mapping[str, str] | None = None,
) -> list[UntrustedSetting]:
    """Trust the project's files as they are now; returns the settings that take effect by that.

    ``definitions`` are the files of agents, commands and skills that need trust: digest to path.
    """
    places = places or ConfigFolders.usual(environment)
    project = find_project(start)
    held = load(start, environment, places=places).held
    found = list(layers(start, environment, places, []))
    places = _placed(places, found)
    files = [*dict.fromkeys(one.origin for one in held), *(definitions or {}).values()]
    digests = [*([_digest(found, places, start)] if held else []), *(definitions or {})]
    if digests:
        TrustStore(places.kept, project).add(digests, files, project)
    return list(held)


def distrust(
    start: Path, environment: Mapping[str, str], places: ConfigFolders | None = None
) -> bool:
    """Revoke trust in the project's files; returns False when it was not trusted."""
    places = places or ConfigFolders.usual(environment)
    project = find_project(start)
    places = _placed(places, list(layers(start, environment, places, [])))
    return TrustStore(places.kept, project).remove(project)


def _leaves(settings: BaseModel, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every setting that is not a table, with its dotted name."""
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        where = (*path, name)
        if isinstance(value, Settings):
            inner = _leaves(value, where)
            # A value that the policy table does not set is the preset's: %agent policy shows those.
            in_policy = where[0] == "policy"
            yield from (leaf for leaf in inner if not (in_policy and leaf[1] is None))
        elif isinstance(value, dict) and all(isinstance(v, Settings) for v in value.values()):
            for entry, table in value.items():
                written = {dotted(*where, entry, one) for one in table.model_fields_set}
                for key, one in _leaves(table, (*where, entry)):
                    if one or (one is not None and key in written):
                        yield key, one
            if not value:
                yield dotted(*where), None
        else:
            yield dotted(*where), value


def _named_only(value: dict[str, str]) -> dict[str, str]:
    """Return variables or headers of a server with values hidden that may be keys: only references are shown."""
    return {name: one if "${" in one else "…" for name, one in value.items()}


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case tuple() | list():
            return one_line("; ".join(_shown(one) for one in value), 200)
        case dict():
            return one_line(", ".join(f"{key}: {one}" for key, one in value.items()), 200)
        case _:
            return one_line(str(value), 200)


def rules_from(tables: Iterable[Any]) -> Rules:
    """Return the rules of permission tables, lowest first."""
    home = str(Path.home())
    return merge(*(from_config(table, home=home) for table in tables))


def own_names(start: Path, places: ConfigFolders) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the agents and of the commands that are defined outside projects."""
    own = [one for one in folders(start, places) if not one.is_project]
    agents = {
        name
        for file in read_definitions(own, agent_files.KINDS, places.home, [], [])
        for name in (file.name, file.document.head.get("name"))
        if isinstance(name, str)
    }
    commands = {
        file.name for file in read_definitions(own, command_files.KINDS, places.home, [], [])
    }
    return frozenset(BUILT_IN_AGENTS) | agents, frozenset(commands)
