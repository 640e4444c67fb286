"""Generate the front end's TypeScript types from the pydantic models, or check that they are current.

The models of ``transcript`` and of ``frontends/protocol``, the operations and their answers become one JSON schema, with the
dataclasses that they hold, from which json-schema-to-typescript generates the types. Notices leave out fields that are None (``Record.wire``), so
a field that may be None is optional in TypeScript.
"""

import argparse
import ast
import importlib
import importlib.util
import inspect
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = ROOT / "labextension"
TARGET = EXTENSION / "src" / "protocol" / "generated.ts"
MODULES = (
    "palimpsest.transcript.values",
    "palimpsest.transcript.errors",
    "palimpsest.transcript.parts",
    "palimpsest.transcript.messages",
    "palimpsest.transcript.session_record.sessions",
    "palimpsest.transcript.context_values.decisions",
    "palimpsest.transcript.context_values.prompt_mentions",
    "palimpsest.transcript.context_values.page_cells",
    "palimpsest.transcript.context_values.cell_changes",
    "palimpsest.transcript.session_record.events",
    "palimpsest.review.timeline_view.view_values",
    "palimpsest.review.timeline_view.comparison_values",
    "palimpsest.review.timeline_view.view_queries",
    "palimpsest.review.tables.inspector_place",
    *(
        f"palimpsest.frontends.protocol.{name}"
        for name in ("connection", "choices", "transcript", "segments", "answers")
    ),
)
OMITTED = {
    *("Value", "PartBase", "Record", "CommandBase", "PromptBase", "TurnSegment", "ToolSpec"),
}
"""Base classes, and the record, whose form on the wire is the notice."""
CONSTANTS = {
    "PROTOCOL_VERSION": ("palimpsest.frontends.protocol.connection", "PROTOCOL_VERSION"),
    "RUN_KEY": ("palimpsest.frontends.user_cells.requested_cells", "RUN_KEY"),
    "VIEW_VERSION": ("palimpsest.review.timeline_view.view_values", "VIEW_VERSION"),
    "STATE_WORDS": ("palimpsest.review.tables.explanation", "STATE_PHRASES"),
    "GONE_STATES": ("palimpsest.transcript.timeline", "GONE_STATES"),
    "ROLES": ("palimpsest.review.request_contents.request_blocks", "ROLE_OF_KIND"),
    "MAX_BLOCKS": ("palimpsest.review.timeline_view.view_queries", "MAX_BLOCKS"),
    "EXCERPT_CHARS": ("palimpsest.review.timeline_view.view_queries", "MAX_EXCERPT_CHARS"),
    "MAX_SEARCHED": ("palimpsest.review.timeline_view.view_queries", "MAX_SEARCHED"),
    "MAX_USES": ("palimpsest.review.timeline_view.view_queries", "MAX_USES"),
    "MAX_USED_NAMES": ("palimpsest.review.timeline_view.view_queries", "MAX_USED_NAMES"),
    "BLOCK_CHARS": ("palimpsest.review.timeline_view.view_queries", "MAX_BLOCK_CHARS"),
    "INSPECTOR_TABS": ("palimpsest.review.tables.inspector_place", "INSPECTOR_TABS"),
    "INSPECTOR_PARTS": ("palimpsest.review.timeline_view.inspector_parts", "INSPECTOR_PARTS"),
    "MAX_FACTOR_RATIO": ("palimpsest.context_policies.prompt_cache.ruler", "MAX_FACTOR_RATIO"),
    "MIN_SCALED_TOKENS": ("palimpsest.context_policies.prompt_cache.ruler", "MIN_SCALED_TOKENS"),
}
"""Tables and bounds that a page needs as values, by their names there."""
TABLE = "palimpsest.frontends.operation_table"
CHANNEL = "palimpsest.frontends.page_channel.channel"
REFERENCE = "#/$defs/"


def modules() -> list[ModuleType]:
    """Import the modules whose models a front end receives."""
    return [importlib.import_module(name) for name in MODULES if importlib.util.find_spec(name)]


def commands() -> dict[str, type[BaseModel]]:
    """Return what a page may send, by its types: operations, and what is about its connection."""
    connection = importlib.import_module(CHANNEL).CONNECTION_COMMANDS
    return {**connection, **importlib.import_module(TABLE).TABLE.page_operations}


def answers() -> dict[str, type[BaseModel]]:
    """Return the values that operations answer to a page, by the operations' types."""
    found = importlib.import_module(TABLE).TABLE.page_operations.items()
    return {name: seen_by_a_page(get_type_hints(one.run)["return"]) for name, one in found}


def seen_by_a_page(answer: type[BaseModel]) -> type[BaseModel]:
    """Return the value that an answer is for a page: fields for the kernel alone make no type of its own."""
    (base, *_) = answer.__bases__
    added = {*answer.model_fields} - {*getattr(base, "model_fields", {})}
    is_same = added and all(answer.model_fields[name].exclude for name in added)
    return base if is_same and base.model_fields else answer


def models(sources: list[ModuleType]) -> list[type[BaseModel]]:
    """Return the models that the modules define, in order."""
    return [
        value
        for source in sources
        for value in vars(source).values()
        if inspect.isclass(value)
        and issubclass(value, BaseModel)
        and value.__module__ == source.__name__
        and value.__name__ not in OMITTED
    ]


def unions(sources: list[ModuleType]) -> dict[frozenset[str], str]:
    """Return the names of the tagged unions by the models they are made of, such as ``Part``."""
    found: dict[frozenset[str], str] = {}
    for source in sources:
        for name, value in vars(source).items():
            members = get_args(get_args(value)[0]) if get_args(value) else ()
            if members and all(
                inspect.isclass(member) and issubclass(member, BaseModel) for member in members
            ):
                found.setdefault(frozenset(member.__name__ for member in members), name)
    return found


def with_dataclasses(models: list[type[Any]]) -> set[type[Any]]:
    """Return models, and the dataclasses that their fields hold, and those that these hold."""
    found: set[type[Any]] = set()
    pending: list[Any] = [*models]
    while pending:
        one = pending.pop()
        pending += get_args(one)
        if inspect.isclass(one) and one not in found and (one in models or is_dataclass(one)):
            found.add(one)
            hints = get_type_hints(one)
            kernels = {
                name for name, field in getattr(one, "model_fields", {}).items() if field.exclude
            }
            pending += [hint for name, hint in hints.items() if name not in kernels]
    return found


def field_docs(model: type[Any]) -> dict[str, str]:
    """Return the docstrings under the fields of a model or dataclass."""
    source = ast.parse(inspect.getsource(model).lstrip())
    body = source.body[0].body if isinstance(source.body[0], ast.ClassDef) else []
    docs: dict[str, str] = {}
    for before, after in itertools.pairwise(body):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            docs[before.target.id] = inspect.cleandoc(after.value.value)
    return docs


def schema() -> dict[str, Any]:
    """Return one JSON schema with every model and every union by its name."""
    sources = modules()
    found = list(dict.fromkeys([*models(sources), *commands().values(), *answers().values()]))
    _, combined = models_json_schema([(model, "serialization") for model in found])
    names = unions(sources)
    definitions: dict[str, Any] = combined["$defs"]
    for described in with_dataclasses(found):
        fields = definitions.get(described.__name__, {}).get("properties", {})
        for name, text in field_docs(described).items():
            if name in fields:  # some are for the kernel alone
                fields[name]["description"] = text
    definitions = {name: tidy(value, names) for name, value in definitions.items()}
    for members, name in names.items():
        definitions[name] = {"anyOf": [{"$ref": REFERENCE + member} for member in sorted(members)]}
    definitions["Command"] = {
        "anyOf": [{"$ref": REFERENCE + one.__name__} for one in commands().values()]
    }
    told = {name: one for name, one in answers().items() if one.__name__ != "Done"}
    definitions["Answers"] = {
        "description": "What operations answer, by their types; all others answer `Done`.",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"$ref": REFERENCE + one.__name__} for name, one in told.items()},
        "required": list(told),
    }
    definitions["Notice"] = notice()
    return {"$defs": definitions, "anyOf": [{"$ref": REFERENCE + name} for name in definitions]}


def notice() -> dict[str, Any]:
    """Return the schema of a record as a notice: the event's own fields beside its place in the journal."""
    return {
        "description": "One journal record as a front end is told it: an event and its place.",
        "allOf": [
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {name: {"type": "number"} for name in ("v", "seq", "ts")},
                "required": ["v", "seq", "ts"],
            },
            {"$ref": REFERENCE + "Event"},
        ],
    }


def tidy(node: Any, names: dict[frozenset[str], str]) -> Any:
    """Simplify a schema node: name unions, turn "or None" into "optional", drop unused keywords."""
    if isinstance(node, list):
        return [tidy(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    members = frozenset(
        str(item.get("$ref", "")).removeprefix(REFERENCE) for item in node.get("oneOf", ())
    )
    if members in names:
        return {"$ref": REFERENCE + names[members]}
    if "$ref" in node:  # with other keys beside it, the generator would copy the referenced type
        return {"$ref": node["$ref"]}
    kept = {
        key: tidy(value, names) for key, value in node.items() if key not in {"title", "default"}
    }
    if "properties" in node:
        kept["properties"], optional = without_none(
            {name: tidy(value, names) for name, value in node["properties"].items()}
        )
        kept["required"] = [name for name in node["properties"] if name not in optional]
        kept["additionalProperties"] = False
    return kept


def without_none(properties: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Remove None from the properties' types; return them and the names of those that had it."""
    kept: dict[str, Any] = {}
    optional: set[str] = set()
    for name, value in properties.items():
        choices = [item for item in value.get("anyOf", ()) if item != {"type": "null"}]
        if not choices or len(choices) == len(value["anyOf"]):
            kept[name] = value
            continue
        optional.add(name)
        described = {key: item for key, item in value.items() if key != "anyOf"}
        only = choices[0] if len(choices) == 1 else {"anyOf": choices}
        kept[name] = only if "$ref" in only else described | only
    return kept, optional


def typescript(described: dict[str, Any]) -> str:
    """Generate TypeScript from the schema."""
    node = shutil.which("node") or "node"
    done = subprocess.run(
        [node, str(EXTENSION / "scripts" / "protocol.mjs")],
        input=json.dumps(described),
        capture_output=True,
        text=True,
        check=False,
        cwd=EXTENSION,
    )
    if done.returncode:
        sys.exit(f"The TypeScript types could not be written: {done.stderr.strip()}")
    return done.stdout


def part_types() -> str:
    """Return TypeScript that lists the names of the part types as a value: a page ignores unknown types."""
    parts = importlib.import_module("palimpsest.transcript.parts")
    members = get_args(get_args(parts.Part)[0])
    names = sorted(member.model_fields["type"].default for member in members)
    listed = "".join(f"  '{name}',\n" for name in names).rstrip(",\n")
    return (
        "\n/**\n * The types of parts that this version knows.\n */\n"
        f"export const PART_TYPES: readonly Part['type'][] = [\n{listed}\n];\n"
    )


def constants() -> str:
    """Return TypeScript with the tables and bounds of the kernel by which a page shows what it was told."""
    found = (
        f"export const {name} = {json.dumps(_plain(getattr(importlib.import_module(module), place)))} as const;\n"
        for name, (module, place) in CONSTANTS.items()
    )
    return "\n" + "".join(found)


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return dict(value) if isinstance(value, Mapping) else value


def main() -> int:
    """Write the file, or with ``--check`` compare it with what would be written."""
    parser = argparse.ArgumentParser(description="TypeScript types from the pydantic values.")
    parser.add_argument("--check", action="store_true", help="only say whether they are current")
    text = typescript(schema()) + part_types() + constants()
    if not parser.parse_args().check:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text:
        print(f"{TARGET.relative_to(ROOT)} is not current: run `make protocol`.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
