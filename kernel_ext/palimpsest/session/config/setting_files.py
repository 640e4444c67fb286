"""Find the sources of settings, lowest precedence first, parse them, and enforce those that are locked.

Border: reads files and nothing else; ``layer_merge`` interprets the settings, and rejects values of files, of the
environment and of a call's options that are locked; ``LockedSettings`` is for choices by prompts, commands,
agents and logs. The order of the sources is: what an administrator set, the organisation's file, the user's,
the one named in ``PALIMPSEST_CONFIG``, the project's from the outermost folder inwards, and then the
environment. A file is TOML, or JSON with comments.
"""

import json
import os
import re
import stat
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jupyter_core.paths import ENV_CONFIG_PATH, SYSTEM_CONFIG_PATH, jupyter_config_dir

from palimpsest.home_paths import home_path
from palimpsest.session.config import jupyter_config, remote_defaults
from palimpsest.session.config.settings import REPLAY_BY_FREEDOM, Config
from palimpsest.session.config.state_folder import state_folder
from palimpsest.tools.file_access.file_contents import UnreadableForPrompt, read_for_prompt
from palimpsest.transcript.errors import ConfigError

MAX_DEPTH = 30
"""Maximum nesting of tables and lists in a file."""
MAX_FILE_BYTES = 1_000_000
"""Maximum bytes of a file; a larger one is refused."""
PROJECT_ORIGIN = "project's file"
"""Prefix of the origin of a project's file."""
SUFFIXES = (".toml", ".json", ".jsonc")
"""A file is TOML, or JSON with comments under either of its suffixes; lowest precedence first."""
FILE_NAMES = tuple(f"config{kind}" for kind in SUFFIXES)
PROJECT_NAMES = tuple(
    f"{name}{kind}" for name in ("palimpsest", ".palimpsest/config") for kind in SUFFIXES
)
SHARE_MODES = {True: "auto", False: "disabled"}
"""The meaning of OpenCode's older boolean form of the setting ``share``."""
AUTO_SHARE_VARIABLE = "PALIMPSEST_AUTO_SHARE"
SWITCHES_OFF = {"PALIMPSEST_DISABLE_AUTOCOMPACT": "auto", "PALIMPSEST_DISABLE_PRUNE": "prune"}
"""Environment flags, and the setting in the table ``compaction`` that each switches off."""
OUTPUT_TOKENS_VARIABLE = "PALIMPSEST_OUTPUT_TOKEN_MAX"
REPLAY_VARIABLE = "PALIMPSEST_REPLAY"
"""Environment variable of the setting ``replay``."""
_COMMENT_OR_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\\n])*"|,(?=\s*[}\]])')


@dataclass(frozen=True, slots=True)
class Layer:
    """The settings from one source."""

    origin: str
    """How the source is named to the user."""
    data: Mapping[str, Any]
    folder: Path
    """The folder to which its relative paths refer."""
    is_project: bool = False
    """Whether it came with the project, so that another person may have written it."""
    may_lock: bool = False

    def __post_init__(self) -> None:
        """Read OpenCode's older form of ``share``, from whichever source it comes."""
        share = self.data.get("share")
        if isinstance(share, bool):
            object.__setattr__(self, "data", {**self.data, "share": SHARE_MODES[share]})


@dataclass(frozen=True, slots=True)
class ConfigFolders:
    """The folders that hold configuration of the organisation and of the user, lowest precedence first."""

    organisation_folders: tuple[Path, ...]
    user: tuple[Path, ...]
    home: Path
    admin: tuple[Path, ...] = ()
    """Jupyter's and IPython's configuration folders that only an administrator can write."""
    cache: Path | None = None
    """The folder for fetched files; None stores none."""
    state: Path | None = None
    """The folder for the user's decisions; if None, the folder of the user's configuration."""

    @property
    def trust_folder(self) -> Path | None:
        """The folder in which the user's trust decisions are stored."""
        return self.state or (self.user[0] if self.user else None)

    @classmethod
    def of_platform(cls, environment: Mapping[str, str]) -> "ConfigFolders":
        """Return the folders where Jupyter and the platform keep configuration."""
        home = Path(environment.get("HOME") or Path.home())
        jupyter = environment.get("JUPYTER_CONFIG_DIR") or jupyter_config_dir()
        return cls(
            organisation_folders=tuple(
                Path(folder) / "palimpsest"
                for folder in (*reversed(SYSTEM_CONFIG_PATH), *ENV_CONFIG_PATH)
            ),
            user=(
                Path(jupyter) / "palimpsest",
                _own_folder(environment, home, "APPDATA", "XDG_CONFIG_HOME", ".config"),
            ),
            home=home,
            admin=jupyter_config.usual_folders(environment),
            cache=_own_folder(environment, home, "LOCALAPPDATA", "XDG_CACHE_HOME", ".cache"),
            state=state_folder(),
        )


def _own_folder(
    environment: Mapping[str, str], home: Path, windows: str, variable: str, usual_path: str
) -> Path:
    if sys.platform == "win32" and environment.get(windows):
        return Path(environment[windows]) / "palimpsest"
    folder_path = environment.get(variable)
    return (Path(folder_path) if folder_path else home / usual_path) / "palimpsest"


def setting_layers(
    start_folder: Path,
    environment: Mapping[str, str],
    config_folders: ConfigFolders,
    problems: list[str],
) -> Iterator[Layer]:
    """Yield the layers that exist, lowest precedence first; unreadable ones are reported in ``problems``."""
    reader = _ConfigReader(config_folders.home, problems)
    admin_files = jupyter_config.read_jupyter_config(config_folders.admin, problems)
    for origin, folder, defaults, locked_values in admin_files:
        yield Layer(origin, defaults, folder)
        yield Layer(origin, locked_values, folder, may_lock=True)
    for folder in config_folders.organisation_folders:
        for name in FILE_NAMES:
            for layer in reader.read_file(folder / name, "organisation's file", may_lock=True):
                yield from _with_remote_defaults(layer, config_folders, reader)
    for folder in config_folders.user:
        for name in FILE_NAMES:
            yield from reader.read_file(folder / name, "user's file")
    if named_file := environment.get("PALIMPSEST_CONFIG"):
        path = (start_folder / home_path(named_file)).resolve()
        yield from reader.read_file(path, "PALIMPSEST_CONFIG", must_exist=True)
    folders = list(folders_upwards(start_folder, config_folders.home))
    repository = next((candidate for candidate in folders if (candidate / ".git").exists()), None)
    for folder in reversed(folders):
        for name in PROJECT_NAMES:
            yield from reader.read_file(
                folder / name, PROJECT_ORIGIN, outer_folder=repository or folder
            )
    yield from _environment_layers(start_folder, environment, reader)


def _with_remote_defaults(
    layer: Layer, config_folders: ConfigFolders, reader: "_ConfigReader"
) -> Iterator[Layer]:
    """Yield the defaults that an organisation's file refers to by ``url``, and then the file itself."""
    data = dict(layer.data)
    url = data.pop("url", None)
    if isinstance(url, str):
        remote = remote_defaults.fetch_text(url, config_folders.cache)
        if remote.problem:
            reader.problems.append(f"{layer.origin}: {remote.problem}")
        if remote.text is not None:
            is_json, origin = remote.text.lstrip().startswith("{"), f"organisation's {url}"
            for defaults in reader.layers_of_text(
                remote.text, origin, layer.folder, is_json=is_json
            ):
                yield replace(defaults, may_lock=True)
    elif url is not None:
        reader.problems.append(f"{layer.origin}: url must be an address, but is {url!r}.")
    yield replace(layer, data=data)


def _environment_layers(
    start_folder: Path, environment: Mapping[str, str], reader: "_ConfigReader"
) -> Iterator[Layer]:
    if text := environment.get("PALIMPSEST_CONFIG_CONTENT", "").strip():
        yield from reader.layers_of_text(
            text, "PALIMPSEST_CONFIG_CONTENT", start_folder, is_json=text.startswith("{")
        )
    if text := environment.get("PALIMPSEST_PERMISSION", "").strip():
        origin = "PALIMPSEST_PERMISSION"
        if text.startswith("{"):
            for layer in reader.layers_of_text(text, origin, start_folder, is_json=True):
                yield Layer(origin, {"permission": layer.data}, start_folder)
        else:
            yield Layer(origin, {"permission": text}, start_folder)
    yield from _flag_layers(start_folder, environment, reader.problems)


def _flag_layers(
    start_folder: Path, environment: Mapping[str, str], problems: list[str]
) -> Iterator[Layer]:
    data_by_flag: dict[str, dict[str, Any]] = {
        flag: {"compaction": {name: False}} for flag, name in SWITCHES_OFF.items()
    }
    data_by_flag[AUTO_SHARE_VARIABLE] = {"share": "auto"}
    for flag, data in data_by_flag.items():
        flag_text = environment.get(flag, "").strip().lower()
        if flag_text in ("1", "true", "yes", "on"):
            yield Layer(flag, data, start_folder)
        elif flag_text not in ("", "0", "false", "no", "off"):
            problems.append(f"{flag} is 1 or 0, not {environment[flag]!r}.")
    if flag_text := environment.get(REPLAY_VARIABLE, "").strip().lower():
        if flag_text in REPLAY_BY_FREEDOM:
            yield Layer(REPLAY_VARIABLE, {"replay": flag_text}, start_folder)
        else:
            modes = ", ".join(REPLAY_BY_FREEDOM)
            problems.append(
                f"{REPLAY_VARIABLE} is one of {modes}, not {environment[REPLAY_VARIABLE]!r}."
            )
    if number := environment.get(OUTPUT_TOKENS_VARIABLE, "").strip():
        if number.isdecimal() and int(number) > 0:
            cap_settings = {"policy": {"overflow": {"output_cap": int(number)}}}
            yield Layer(OUTPUT_TOKENS_VARIABLE, cap_settings, start_folder)
        else:
            problems.append(
                f"{OUTPUT_TOKENS_VARIABLE} is a whole number of at least 1, not {number!r}."
            )


def folders_upwards(start_folder: Path, home: Path) -> Iterator[Path]:
    """Yield folders from ``start_folder`` up to the repository's root, the home folder, or the file system's root."""
    start_folder = start_folder.resolve()
    for folder in (start_folder, *start_folder.parents):
        yield folder
        if (folder / ".git").exists() or folder == home.resolve():
            return


@dataclass(frozen=True, slots=True)
class _ConfigReader:
    home: Path
    problems: list[str]

    def read_file(
        self,
        path: Path,
        kind: str,
        *,
        must_exist: bool = False,
        outer_folder: Path | None = None,
        may_lock: bool = False,
    ) -> Iterator[Layer]:
        """Yield the file's layer when it exists and can be read.

        A project's file must not lead out of the folder ``outer_folder``, such as by a link.
        """
        origin = f"{kind} {short_path(path, self.home)}"
        try:
            content = self._read_content(path, outer_folder)
        except FileNotFoundError:
            if must_exist:
                self.problems.append(f"{origin} is not there.")
            return
        except (OSError, UnicodeDecodeError, ValueError, UnreadableForPrompt) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.problems.append(f"{origin} was not read: {reason}.")
            return
        is_json = path.suffix in SUFFIXES[1:]
        for layer in self.layers_of_text(content, origin, path.parent, is_json=is_json):
            yield Layer(origin, layer.data, path.parent, outer_folder is not None, may_lock)

    def layers_of_text(
        self, content: str, origin: str, folder_path: Path, *, is_json: bool
    ) -> Iterator[Layer]:
        """Yield the layer that a text holds, when it can be parsed."""
        try:
            data = json.loads(_without_comments(content)) if is_json else tomllib.loads(content)
            _check_depth(data)
        except (ValueError, RecursionError) as error:
            kind = "JSON" if is_json else "TOML"
            self.problems.append(f"{origin} is not valid {kind}: {error}. Nothing of it is used.")
            return
        if not isinstance(data, dict):
            self.problems.append(f"{origin} must hold a table of settings. Nothing of it is used.")
            return
        yield Layer(origin, data, folder_path)

    def _read_content(self, path: Path, outer_folder: Path | None) -> str:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("it is no file")  # a pipe might never end
        if outer_folder is None:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        else:
            data = read_for_prompt(path, outer_folder, MAX_FILE_BYTES + 1)
            if is_writable_by_others(path.stat(), path.parent):
                problem = "it belongs to another user, in a folder open to everybody"
                raise PermissionError(1, problem)
        if len(data) > MAX_FILE_BYTES:
            raise ValueError("it is larger than 1 MB")
        return data.decode("utf-8-sig")


def short_path(path: Path, home: Path) -> str:
    """Return a path with the home folder as ``~``."""
    try:
        return f"~/{path.relative_to(home).as_posix()}"
    except ValueError:
        return str(path)


def is_writable_by_others(status: os.stat_result, folder: Path) -> bool:
    """Return whether another user could have created a file in a world-writable folder, such as /tmp."""
    if not hasattr(os, "getuid") or status.st_uid in (0, os.getuid()):
        return False
    return bool(folder.stat().st_mode & stat.S_IWOTH)


def _check_depth(data: Any) -> None:
    """Raise ValueError for data nested deeper than any setting, before recursive code fails on it."""
    level = [data] if isinstance(data, dict | list) else []
    for _ in range(MAX_DEPTH):
        inner = [value.values() if isinstance(value, dict) else value for value in level]
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")


def _without_comments(text: str) -> str:
    text = _COMMENT_OR_STRING.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
    return _STRING_OR_COMMA.sub(lambda match: match[0] if match[0][0] == '"' else "", text)


def origin_of(locked_names: Mapping[str, str], key: str) -> str:
    """Return the origin of a setting's lock; empty where it is not locked."""
    names = [name for name in locked_names if key == name or key.startswith(f"{name}.")]
    return locked_names[names[0]] if names else ""


@dataclass(frozen=True, slots=True)
class LockedSettings:
    """The locked settings, and their values."""

    origins: Mapping[str, str] = field(default_factory=dict)
    """The origin of each lock, by the setting's dotted name."""
    config: Config = field(default_factory=Config)

    def locked_by(self, *keys: str) -> str:
        """Return the origin of the lock on the first locked one of these settings; empty where none is locked."""
        return next((origin for key in keys if (origin := origin_of(self.origins, key))), "")

    def refuse(self, key: str, requested: Any, locked_value: Any) -> None:
        """Raise ConfigError where the user asks for another value than the locked one."""
        origin = self.locked_by(key)
        if origin and requested is not None and requested != locked_value:
            state = "unset" if locked_value is None else f"fixed to {locked_value!r}"
            raise ConfigError(f"{key} is {state} by the {origin}.")

    def unless_locked(self, key: str, value: Any) -> Any:
        """Return a value that a file chooses, or None where the setting is locked."""
        return None if self.locked_by(key) else value
