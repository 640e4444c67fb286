"""Make the list of prices that is shipped with the package from the installed litellm's, or check that it is current.

``model/catalog/litellm_table.py`` reads litellm's own file where litellm is installed, and this copy elsewhere. It has
the same form, with the models that write texts, what is read of each, and what the list says of whole families.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from palimpsest.model.catalog import litellm_table

MODES = (*litellm_table.CHAT_MODES, "completion")
FACTS = frozenset(
    {"litellm_provider", "mode", "max_input_tokens", "max_output_tokens", "max_tokens"}
    | {"supports_function_calling", "supports_vision", "supports_reasoning"}
    | {"supports_prompt_caching"}
)
PRICE = re.compile(
    r"(?:input_cost_per_token|output_cost_per_token|cache_read_input_token_cost"
    r"|cache_creation_input_token_cost(?:_above_1hr)?)(?:_above_\d+k_tokens)?(?:_batches|_flex|_priority)?"
)


def price_list(listed: dict[str, Any], litellm: str, date: str) -> str:
    """Return the copy of a list as JSON: where it is from, and an entry a line."""
    made = dict(_entries(listed, litellm, date))
    lines = (
        f"{json.dumps(key)}: {json.dumps(one, separators=(',', ':'))}" for key, one in made.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _entries(listed: dict[str, Any], litellm: str, date: str) -> Iterator[tuple[str, Any]]:
    yield litellm_table.COPY_ORIGIN, {"litellm": litellm, "date": date}
    for key, entry in listed.items():
        if key == litellm_table.FAMILY_DEFAULTS:
            yield key, {"rules": [*map(_rule, filter(_is_used, entry["rules"]))]}
        elif entry.get("mode") in MODES:
            yield key, _read_of(entry)


def _read_of(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what is read of an entry; an ability that it lacks and one that it denies are the same, but for tools."""
    read = {name: value for name, value in entry.items() if name in FACTS or PRICE.fullmatch(name)}
    return {
        name: value
        for name, value in read.items()
        if value is not None and (value is not False or name == "supports_function_calling")
    }


def _is_used(rule: dict[str, Any]) -> bool:
    return bool(rule.get("fill_missing_for_providers")) and isinstance(rule.get("model_info"), dict)


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    kept = {name: rule[name] for name in ("pattern", "fill_missing_for_providers")}
    return kept | {"model_info": _read_of(rule["model_info"])}


def current(date: str) -> str:
    """Return the copy of the installed litellm's list, made on a day."""
    path = litellm_table.table_path()
    if path == litellm_table.COPY:
        raise SystemExit("litellm is not installed here, so no list can be made of its.")
    return price_list(json.loads(path.read_text(encoding="utf-8")), version("litellm"), date)


def problem() -> str:
    """Return what is wrong with the shipped copy, a sentence; empty where it is what the installed litellm's list gives."""
    shipped = litellm_table.COPY.read_text(encoding="utf-8")
    made = json.loads(shipped)[litellm_table.COPY_ORIGIN]
    if current(made["date"]) == shipped:
        return ""
    return (
        f"The shipped list of prices was made of litellm {made['litellm']} on {made['date']}, and the list of litellm "
        f"{version('litellm')}, which is installed, gives another: run python scripts/price_list.py."
    )


def main() -> int:
    """Write the copy, or with --check say whether it is current."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="write nothing; fail if it is old")
    if arguments.parse_args().check:
        print(problem() or "The shipped list of prices is that of the installed litellm.")
        return int(bool(problem()))
    text = current(datetime.now(UTC).date().isoformat())
    litellm_table.COPY.write_text(text, encoding="utf-8")
    print(f"{litellm_table.COPY.name}: {len(text) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
