"""Settings: what there is to set, and how the layers are laid over each other.

Border: the environment and the start directory are handed in; reading files is
``config_files``' work. A wrong value never stops the rest from loading: it is left out, and a
sentence names the file, the setting and the fix.

Permission tables are not merged key by key. In a merged table the order of rules, which decides,
would depend on which file named a permission first; so each layer's table stays whole, low to high.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from palimpsest.render.escape import code_span, inline, one_line
from palimpsest.session.config_files import Layer, Places, layers
from palimpsest.transcript.scrub import looks_secret
from palimpsest.transcript.values import Action, Price

Count = Annotated[int, Field(gt=0)]
Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PermissionTable = Action | dict[str, Action | dict[str, Action]]
"""A word for everything, or by permission, or by permission and pattern; the last match wins."""

BUILT_IN = "built in"
SECRET_KEY = re.compile(
    r"(^|[_-])(api|access|auth|private|secret)?[_-]?(key|token)$|secret|password|passwd|credential"
    r"|bearer|^authorization$",
    re.IGNORECASE,
)
NOT_USED_YET = frozenset(
    {
        "command",
        "compaction",
        "history_limit",
        "dm_history_limit",
        "dms",
        "mcp",
        "hooks",
        "share",
        "snapshot",
        "retention",
        "budget",
    }
)
"""Settings of later versions: accepted and named, so that one file serves both."""
_SHOWN_CHARS = 60


class Settings(BaseModel):
    """A table of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PriceSettings(Settings):
    """US dollars per million tokens."""

    input: Cost | None = None
    output: Cost | None = None
    cache_read: Cost | None = None
    cache_write: Cost | None = None


class ModelSettings(Settings):
    """What is known of one model; for what the built-in table does not know, or has wrong."""

    window: Count | None = None
    """Tokens of context, input and output together."""
    input: Count | None = None
    """Most tokens of input, where it is less than the window."""
    output: Count | None = None
    """Most tokens of one answer."""
    price: PriceSettings = PriceSettings()
    api_base: str | None = None
    """Address of a server that speaks the provider's protocol."""

    def known_price(self) -> Price | None:
        """Return the price that was set, or None."""
        given = self.price.model_dump(exclude_none=True)
        return Price(**given) if given else None


class ToolOutput(Settings):
    """When a tool's output is shortened for the model."""

    max_lines: Count = 2_000
    max_bytes: Count = 50_000
    direction: Literal["head", "tail", "auto"] = "auto"


class AgentSettings(Settings):
    """An agent: a built-in one changed, or a new one."""

    description: str | None = None
    model: str | None = None
    prompt: str | None = None
    """Replaces the header of the system prompt."""
    steps: Count | None = None
    permission: tuple[PermissionTable, ...] = ()
    """One table per layer, low to high; a file writes one table or word."""


class Config(Settings):
    """Every setting, with its built-in value."""

    model: str | None = None
    """``provider/name``; without it, what is there: a key, a local Ollama, else rehearsal."""
    small_model: str | None = None
    """For titles; without it, the session's model."""
    variant: str | None = None
    """Reasoning effort."""
    models: dict[str, ModelSettings] = {}
    context_tokens: Count | None = None
    """Hard cap on every model's window."""
    policy: str = "palimpsest"
    """Name of the context policy."""
    tool_output: ToolOutput = ToolOutput()
    permission: tuple[PermissionTable, ...] = ()
    """One table per layer, low to high; a file writes one table or word."""
    agent: dict[str, AgentSettings] = {}
    default_agent: str = "build"
    instructions: tuple[str, ...] = ()
    """Files read into the system prompt, of all layers; absolute, may hold ``*``."""
    max_steps: Count | None = None
    """Model requests in one turn."""
    system: str | None = None
    """Words added to every system prompt."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The settings that hold, where each came from, and what was wrong."""

    value: Config
    origins: dict[str, str] = field(default_factory=dict)
    """By dotted key; what is not here is built in."""
    problems: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    """Settings that this version accepts and does not use yet, with their origin."""

    def rows(self) -> list[tuple[str, str, str]]:
        """Return every setting as name, value and origin."""
        found = []
        for key, value in _leaves(self.value):
            origin = self.origins.get(key) or self.origins.get(key.split(".")[0], BUILT_IN)
            found.append((key, _shown(value), origin))
        return found

    def table(self) -> str:
        """Return every setting as Markdown, with what was wrong and what is not used yet."""
        lines = ["| setting | value | from |", "|---|---|---|"]
        for row in self.rows():
            key, value, origin = (cell.replace("|", "¦") for cell in row)
            lines.append(f"| {code_span(key)} | {code_span(value) or '—'} | {inline(origin)} |")
        text = "\n".join(lines)
        for title, sentences in (
            ("**What is wrong**", self.problems),
            ("**Accepted, not used yet**", self.unused),
        ):
            if sentences:
                text += f"\n\n{title}\n\n" + "\n".join(f"- {inline(words)}" for words in sentences)
        return text


def load(
    start: Path,
    environment: Mapping[str, str],
    overrides: Mapping[str, Any] | None = None,
    *,
    places: Places | None = None,
) -> LoadedConfig:
    """Read every layer from ``start`` upwards and lay them over each other.

    ``overrides`` are options of a call, by dotted key; None means "not given".
    """
    loading = _Loading()
    for layer in layers(start, environment, places or Places.usual(environment), loading.problems):
        loading.add(layer)
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    loading.add(Layer("option", _nested(given), start))
    return loading.finish()


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for dotted, value in flat.items():
        *path, last = dotted.split(".")
        table = data
        for name in path:
            table = table.setdefault(name, {})
        table[last] = value
    return data


class _Loading:
    """Lays checked layers over each other.

    Responsibilities: keep what is right, say what is wrong, remember where each value came from,
    and hold what an administrator locked.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._data: dict[str, Any] = {}
        self._origins: dict[str, str] = {}
        self._unused: list[str] = []
        self._locked: dict[str, str] = {}

    def add(self, layer: Layer) -> None:
        """Lay a layer over what is there."""
        data = dict(layer.data)
        locked = data.pop("locked", None) if layer.may_lock else None
        self._table(data, Config, (), layer, self._data)
        for name in locked if isinstance(locked, list) else ():
            if isinstance(name, str):
                self._locked.setdefault(name, layer.origin)

    def finish(self) -> LoadedConfig:
        """Return what was loaded."""
        return LoadedConfig(
            Config.model_validate(self._data),
            self._origins,
            tuple(self.problems),
            tuple(self._unused),
        )

    def _table(
        self,
        given: Mapping[str, Any],
        settings: type[BaseModel],
        path: tuple[str, ...],
        layer: Layer,
        into: dict[str, Any],
    ) -> None:
        for name, value in given.items():
            key = _dotted(*path, name)
            if self._is_secret(name, value, settings):
                self._wrong(
                    layer,
                    f"{key} looks like a key or password, and those are never read from files: "
                    "put it in the environment and take it out of here",
                )
            elif name not in settings.model_fields:
                self._unknown(name, key, settings, layer)
            elif not self._is_locked(key, layer):
                self._setting(value, settings.model_fields[name].annotation, key, layer, into, name)

    def _setting(
        self,
        value: Any,
        annotation: Any,
        key: str,
        layer: Layer,
        into: dict[str, Any],
        name: str,
    ) -> None:
        path = tuple(_split(key))
        inner = _table_type(annotation)
        entries = _entry_type(annotation)
        if (inner or entries) and not isinstance(value, Mapping):
            self._wrong(layer, f"{key} must be a table of settings, but is {_quoted(value)}")
        elif inner is not None:
            self._table(value, inner, path, layer, into.setdefault(name, {}))
        elif entries is not None:
            self._entries(value, entries, path, layer, into.setdefault(name, {}))
        else:
            self._leaf(value, annotation, key, layer, into, name)

    def _entries(
        self,
        value: Mapping[str, Any],
        entry: type[BaseModel],
        path: tuple[str, ...],
        layer: Layer,
        into: dict[str, Any],
    ) -> None:
        for name, given in value.items():
            key = _dotted(*path, name)
            if not isinstance(given, Mapping):
                self._wrong(layer, f"{key} must be a table of settings, but is {_quoted(given)}")
            elif not self._is_locked(key, layer):
                self._table(given, entry, (*path, name), layer, into.setdefault(name, {}))

    def _leaf(
        self,
        value: Any,
        annotation: Any,
        key: str,
        layer: Layer,
        into: dict[str, Any],
        name: str,
    ) -> None:
        layered = name in ("permission", "instructions")
        expected: Any = annotation
        if name == "permission":
            expected = PermissionTable
        elif name == "instructions":
            expected = list[str]
        try:
            checked = TypeAdapter(expected).validate_python(value, strict=True)
        except ValidationError as error:
            self._wrong(layer, f"{key} {_complaint(error)}, but it is {_quoted(value)}")
            return
        if name == "api_base" and layer.is_project and not _is_here(checked):
            self._wrong(
                layer,
                f"{key} may not lead to another machine from a project's file, because your key "
                "would go there: set it in your own configuration",
            )
            return
        if name == "instructions":
            checked = [_absolute(one, layer.base) for one in checked]
        if layered:
            before = into.get(name, [])
            into[name] = before + (checked if name == "instructions" else [checked])
            was = self._origins.get(key)
            self._origins[key] = f"{was}, then {layer.origin}" if was else layer.origin
        else:
            into[name] = checked
            self._origins[key] = layer.origin

    def _unknown(self, name: str, key: str, settings: type[BaseModel], layer: Layer) -> None:
        if settings is Config and name in NOT_USED_YET:
            self._unused.append(f"{key} ({layer.origin})")
            return
        if name == "locked":
            self._wrong(layer, "locked is for the organisation's file only")
            return
        known = [*settings.model_fields, *(NOT_USED_YET if settings is Config else ())]
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {_quoted(close[0])}?" if close else "%agent config lists them all"
        self._wrong(layer, f"there is no setting {_quoted(key)}; {hint}")

    def _is_locked(self, key: str, layer: Layer) -> bool:
        for name, origin in self._locked.items():
            if key == name or key.startswith(name + "."):
                self._wrong(layer, f"{key} is fixed by the {origin}, and this value is not used")
                return True
        return False

    def _is_secret(self, name: str, value: Any, settings: type[BaseModel]) -> bool:
        named = name not in settings.model_fields and name not in NOT_USED_YET
        return (named and SECRET_KEY.search(name) is not None) or _holds_secret(value)

    def _wrong(self, layer: Layer, words: str) -> None:
        end = "" if words.endswith("?") else "."
        self.problems.append(f"{layer.origin}: {words}{end}")


def _dotted(*path: str) -> str:
    return ".".join(f'"{name}"' if re.search(r'[."\s]', name) else name for name in path)


def _split(key: str) -> list[str]:
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|([^."]+)', key)]


def _table_type(annotation: Any) -> type[BaseModel] | None:
    """Return the table that a setting is, if it is one."""
    is_table = isinstance(annotation, type) and issubclass(annotation, Settings)
    return annotation if is_table else None


def _entry_type(annotation: Any) -> type[BaseModel] | None:
    """Return the tables that a setting holds by name, if it does."""
    if get_origin(annotation) is dict:
        return _table_type(get_args(annotation)[1])
    return None


def _complaint(error: ValidationError) -> str:
    """Return in words what was expected."""
    first = error.errors(include_url=False, include_input=False)[0]
    words = first["msg"].replace("Input ", "", 1).replace("a valid integer", "a whole number")
    where = ".".join(str(one) for one in first["loc"] if isinstance(one, int))
    return f"at position {where} {words}" if where else words


def _holds_secret(value: Any) -> bool:
    match value:
        case str():
            return looks_secret(value)
        case Mapping():
            return any(_holds_secret(one) for one in value.values() if isinstance(one, str))
        case list():
            return any(_holds_secret(one) for one in value)
        case _:
            return False


def _quoted(value: Any) -> str:
    return one_line(repr(value), _SHOWN_CHARS)


def _is_here(address: str | None) -> bool:
    """Tell whether an address leads to this machine."""
    try:
        host = urlsplit(address or "").hostname
    except ValueError:
        return False
    return host in ("localhost", "127.0.0.1", "::1")


def _absolute(name: str, base: Path) -> str:
    path = Path(name).expanduser() if name.startswith("~") else base / name
    return str(path)


def _leaves(settings: BaseModel, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every setting that holds a value of its own, with its dotted key."""
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        where = (*path, name)
        if isinstance(value, Settings):
            yield from _leaves(value, where)
        elif isinstance(value, dict) and all(isinstance(v, Settings) for v in value.values()):
            for entry, table in value.items():
                yield from (leaf for leaf in _leaves(table, (*where, entry)) if leaf[1])
            if not value:
                yield _dotted(*where), None
        else:
            yield _dotted(*where), value


def _shown(value: Any) -> str:
    match value:
        case None | () | {}:
            return ""
        case tuple():
            return one_line("; ".join(_shown(one) for one in value), 200)
        case dict():
            return one_line(", ".join(f"{key}: {one}" for key, one in value.items()), 200)
        case _:
            return one_line(str(value), 200)
