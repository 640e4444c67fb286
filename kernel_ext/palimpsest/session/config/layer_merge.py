"""Merge layers of settings: keep valid values, and report invalid ones.

Border: no file is read here. A wrong value never stops the rest: it is left out, and a sentence
names its origin, the setting and the fix.

Permission tables are not merged key by key. In a merged table the order of rules, which decides,
would depend on which file named a permission first; so each layer's table is kept whole, lowest first.
"""

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from palimpsest.context.policy_overrides import check_number, preset_policy
from palimpsest.home_paths import home_path
from palimpsest.model.catalog.model_info import holds_address
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.config.context_policy import check_estimator, setting_names
from palimpsest.session.config.jupyter_config import TRUST_SETTINGS
from palimpsest.session.config.remote_defaults import LOCAL_HOSTS
from palimpsest.session.config.setting_files import Layer
from palimpsest.session.config.settings import Config, HookTable, PermissionTable, Settings
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.redaction.secret_removal import looks_secret
from palimpsest.transcript.values import Action

SECRET_KEY = re.compile(
    r"(^|[_-])(api|access|auth|private|secret)?[_-]?(key|token)$|secret|password|passwd|credential"
    r"|bearer|^authorization$",
    re.IGNORECASE,
)
_MAX_SHOWN_CHARS = 60
MAX_VALUE_CHARS = 200
NO_TABLE_SENTENCE = "{key} must be a table of settings, but is {value}"
ACTIONS = get_args(Action)
_TYPE_IN_FILE: Mapping[str, Any] = {
    "permission": PermissionTable,
    "instructions": list[str],
    "hidden_variables": list[str],
    "hooks": HookTable,
}
"""The type in one file, for settings whose merged type is a sequence over all files."""
_LIST_SETTINGS = ("instructions", "hidden_variables")
"""Lists to which each file adds."""
_AGENT_RULES = re.compile(r"""^agent\.("[^"]*"|[^."]+)\.permission$""")


class LayerMerge:
    """Merges valid values of each layer over those before it, with origins, problems and an administrator's locks."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.data: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.locked_settings: dict[str, str] = {}
        """Settings that an administrator locked, and the file that locks each."""
        self.locked_rules: tuple[Any, ...] = ()
        """The permission tables that were in force when permissions were locked."""
        self.untrusted_settings: list[UntrustedSetting] = []
        """Settings from a project's files that take effect only once the user trusts the project."""
        self.limited_settings: set[tuple[str, int]] = set()
        """Settings of an untrusted project that apply, each with the index of its permission table."""

    def add(self, layer: Layer) -> None:
        """Merge a layer over those before it."""
        self._layer = layer
        data = dict(layer.data)
        locked_table = data.pop("locked", None) if layer.may_lock else None
        for name in TRUST_SETTINGS if layer.may_lock else ():
            if name in data and not _are_folders(data.pop(name)):
                self._report_problem(f"{name} must name folders by their whole path")
        self._merge_table(data, Config, (), self.data)
        for name in locked_table if isinstance(locked_table, list) else ():
            if isinstance(name, str):
                self._lock_setting(name, data)

    def _lock_setting(self, name: str, data: Mapping[str, Any]) -> None:
        first_name = next(iter(split_name(name)), "")
        if name not in data and first_name not in Config.model_fields:
            self._report_problem(f"there is no setting {_quote(name)} to lock")
            return
        self.locked_settings.setdefault(name, self._layer.origin)
        if first_name == "permission" and not self.locked_rules:
            self.locked_rules = tuple(self.data.get("permission", ()))

    def merged_config(self) -> Config:
        """Return the merged settings."""
        return Config.model_validate(self.data)

    def _merge_table(
        self,
        given_table: Mapping[str, Any],
        settings: type[BaseModel],
        path: tuple[str, ...],
        target: dict[str, Any],
    ) -> None:
        for name, value in given_table.items():
            key = dotted_name(*path, name)
            if self._is_secret(name, value, settings):
                self._report_problem(
                    f"{key} looks like a key or password, and those are never read from files: "
                    "put it in the environment and take it out of here"
                )
            elif name not in settings.model_fields:
                self._report_unknown(name, key, settings)
            elif not self._report_locked(key):
                expected_type = _constrained_type(settings.model_fields[name])
                self._merge_setting(value, expected_type, key, target, name)

    def _merge_setting(
        self, value: Any, annotation: Any, key: str, target: dict[str, Any], name: str
    ) -> None:
        path = tuple(split_name(key))
        if path == ("policy",) and isinstance(value, str):
            value = {"base": value}
        if path == ("retention",) and isinstance(value, int | float):
            value = {"texts": value}
        table_type = _table_type(annotation)
        entry_type = _entry_type(annotation)
        if (table_type or entry_type) and not isinstance(value, Mapping):
            self._report_problem(NO_TABLE_SENTENCE.format(key=key, value=_quote(value)))
        elif table_type is not None:
            self._merge_table(value, table_type, path, target.setdefault(name, {}))
        elif entry_type is not None:
            self._merge_entries(value, entry_type, path, target.setdefault(name, {}))
        else:
            self._merge_value(value, annotation, key, target, name)

    def _merge_entries(
        self,
        value: Mapping[str, Any],
        entry: type[BaseModel],
        path: tuple[str, ...],
        target: dict[str, Any],
    ) -> None:
        for name, entry_value in value.items():
            key = dotted_name(*path, name)
            if path == ("models",) and self._report_redirection("model", name, key):
                continue
            if not isinstance(entry_value, Mapping):
                self._report_problem(NO_TABLE_SENTENCE.format(key=key, value=_quote(entry_value)))
            elif not self._report_locked(key):
                self._merge_table(entry_value, entry, (*path, name), target.setdefault(name, {}))

    def _merge_value(
        self, value: Any, annotation: Any, key: str, target: dict[str, Any], name: str
    ) -> None:
        is_layered = name in ("permission", *_LIST_SETTINGS) or key == "hooks"
        if name == "permission" and isinstance(value, Mapping):
            value, complaints = _valid_rules(value, key)
            for complaint in complaints:
                self._report_problem(complaint)
            if complaints and not value:
                return
        try:
            expected_type = _TYPE_IN_FILE.get(key if key == "hooks" else name, annotation)
            if expected_type is HookTable:  # a list or a table: check the form that was written
                expected_type = get_args(HookTable)[isinstance(value, Mapping)]
            checked_value = TypeAdapter(expected_type).validate_python(value, strict=True)
        except ValidationError as error:
            hint = _closest_word_question(value, annotation)
            self._report_problem(f"{key} {_complaint(error)}, but it is {_quote(value)}{hint}")
            return
        if key.startswith("policy.") and (complaint := _wrong_number(key, value)):
            self.problems.append(f"{self._layer.origin}: {complaint}")
            return
        if self._report_redirection(name, checked_value, key):
            return
        if name == "instructions":
            checked_value = [str(self._layer.folder / home_path(path)) for path in checked_value]
        origin, earlier_origin = self._layer.origin, self.origins.get(key)
        if is_layered:
            added_values = checked_value if name in _LIST_SETTINGS else [checked_value]
            checked_value = target.get(name, []) + added_values
            origin = f"{earlier_origin}, then {origin}" if earlier_origin else origin
        target[name], self.origins[key] = checked_value, origin

    def _report_redirection(self, name: str, value: Any, key: str) -> bool:
        """Report a project's setting that would send requests and keys elsewhere, even if the project is trusted.

        Returns whether it would.
        """
        if not self._layer.is_project:
            return False
        if name == "api_base" and not _is_local(value):
            effect_text = "lead to another machine"
        elif name in ("model", "small_model") and holds_address(str(value)):
            effect_text = "name the address of a server"
        else:
            return False
        self._report_problem(
            f"{key} may not {effect_text} from a project's file, because your key "
            "would go there: set it in your own configuration"
        )
        return True

    def _report_unknown(self, name: str, key: str, settings: type[BaseModel]) -> None:
        if name in ("locked", *TRUST_SETTINGS):
            self._report_problem(f"{name} is for the organisation's file only")
            return
        names = list(settings.model_fields)
        # Swapped letters are a more likely mistake than a missing letter.
        same_letters = [setting for setting in names if sorted(setting) == sorted(str(name))]
        close_names = same_letters or difflib.get_close_matches(str(name), names, 1)
        hint = "%agent config lists them all"
        if close_names:
            hint = f"did you mean {_quote(close_names[0])}?"
        self._report_problem(f"there is no setting {_quote(key)}; {hint}")

    def _report_locked(self, key: str) -> bool:
        """Report a value of a locked setting; returns whether the setting is locked."""
        # An agent's rules come last, so they would undo what is locked for all agents.
        key_names = (*setting_names(key), _AGENT_RULES.sub("permission", key))
        for name, origin in self.locked_settings.items():
            if any(key_name == name or key_name.startswith(f"{name}.") for key_name in key_names):
                self._report_problem(f"{key} is fixed by the {origin}, and this value is not used")
                return True
        return False

    def _is_secret(self, name: str, value: Any, settings: type[BaseModel]) -> bool:
        name = str(name)
        is_setting = name in settings.model_fields
        if isinstance(value, int) and name.endswith("token"):
            return False  # a misspelt setting with a number of tokens
        return (not is_setting and SECRET_KEY.search(name) is not None) or _holds_secret(value)

    def _report_problem(self, problem: str) -> None:
        full_stop = "" if problem.endswith("?") else "."
        self.problems.append(f"{self._layer.origin}: {problem}{full_stop}")


def dotted_name(*path: Any) -> str:
    """Join names into a dotted setting name, quoted as in TOML; a Python file may use numbers as names."""
    names = (str(name) for name in path)
    return ".".join(f'"{name}"' if re.search(r'[."\s]', name) else name for name in names)


def _are_folders(value: Any) -> bool:
    paths = value if isinstance(value, list | tuple) else [value]
    return all(isinstance(path, str) and path.startswith(("/", "~")) for path in paths)


def split_name(key: str) -> list[str]:
    """Split a dotted setting name into its names."""
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|([^."]+)', key)]


def _constrained_type(field: FieldInfo) -> Any:
    """Return the type of a setting with its constraints, which pydantic stores beside the type."""
    if not field.metadata:
        return field.annotation
    return Annotated[(field.annotation, *field.metadata)]


def _table_type(annotation: Any) -> type[BaseModel] | None:
    """Return the settings class of a setting that is a table; None for others."""
    if get_origin(annotation) is dict:
        return None
    for member in (annotation, *get_args(annotation)):
        if isinstance(member, type) and issubclass(member, Settings):
            return member
    return None


def _entry_type(annotation: Any) -> type[BaseModel] | None:
    """Return the settings class of the entries of a setting that is a table by name; None for others."""
    if get_origin(annotation) is dict:
        return _table_type(get_args(annotation)[1])
    return None


def _complaint(error: ValidationError) -> str:
    """Return a phrase about what was expected."""
    first_error = error.errors(include_url=False, include_input=False)[0]
    sentence = (
        first_error["msg"]
        .replace("Input ", "", 1)
        .replace("Value error, ", "", 1)
        .replace("a valid integer", "a whole number")
        .replace("a valid number", "a number")
        .replace("a valid boolean", "true or false")
    )
    positions = ".".join(str(index) for index in first_error["loc"] if isinstance(index, int))
    return f"at position {positions} {sentence}" if positions else sentence


def _valid_rules(
    table: Mapping[str, Any], key: str, depth: int = 2
) -> tuple[dict[str, Any], list[str]]:
    """Return the valid rules of a permission table, and a sentence for each invalid one.

    Valid rules are kept, since a mistake in one of them must not lift a deny beside it.
    """
    valid_rules: dict[str, Any] = {}
    problems: list[str] = []
    for name, entry in table.items():
        setting_name = f"{key}.{dotted_name(name)}"
        if isinstance(entry, Mapping) and depth > 1:
            inner_rules, inner_problems = _valid_rules(entry, setting_name, depth - 1)
            problems += inner_problems
            if inner_rules:
                valid_rules[str(name)] = inner_rules
        elif isinstance(entry, str) and entry in ACTIONS:
            valid_rules[str(name)] = entry
        else:
            hint = _closest_word_question(entry, Action)
            problems.append(
                f"{setting_name} should be 'allow', 'ask' or 'deny', but it is {_quote(entry)}{hint}"
            )
    return valid_rules, problems


def _closest_word_question(value: Any, annotation: Any) -> str:
    """Return a question whether the closest possible word was meant; empty where none is close."""
    similar_words = [
        word
        for member in (annotation, *get_args(annotation))
        for word in (member, *get_args(member))
        if isinstance(word, str)
    ]
    close_words = difflib.get_close_matches(str(value), similar_words, 1)
    return f"; did you mean {_quote(close_words[0])}?" if close_words else ""


def _wrong_number(key: str, value: Any) -> str:
    """Return one sentence about what is wrong with a context policy value; empty when it is valid."""
    name = key.removeprefix("policy.")
    try:
        if name == "base":
            preset_policy(value)
        elif check_number(name, value) and name == "estimator":
            check_estimator(value)
    except ConfigError as problem:
        return str(problem)
    return ""


def _holds_secret(value: Any) -> bool:
    match value:
        case str():
            return looks_secret(value)
        case Mapping():
            return any(_holds_secret(text) for text in value.values() if isinstance(text, str))
        case list():
            return any(_holds_secret(item) for item in value)
        case _:
            return False


def _quote(value: Any) -> str:
    return one_line(repr(value), _MAX_SHOWN_CHARS)


def _is_local(address: str | None) -> bool:
    """Return whether an address refers to this machine."""
    try:
        host = urlsplit(address or "").hostname
    except ValueError:
        return False
    return host in LOCAL_HOSTS


@dataclass(frozen=True, slots=True)
class UntrustedSetting:
    """A setting that takes effect only once the user trusts the project."""

    origin: str
    key: str
    value: Any

    @property
    def words(self) -> str:
        """The setting and its value as text, for the user."""
        value = json.dumps(self.value, ensure_ascii=False, default=str)
        return f"{self.key} = {one_line(value, MAX_VALUE_CHARS)}"
