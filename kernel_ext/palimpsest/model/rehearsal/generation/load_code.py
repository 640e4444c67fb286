"""Generate code that loads a data file, and a name for its variable."""

import re

from palimpsest.model.rehearsal.generation.pandas_code import quote

READERS = {
    "csv": "read_csv({path})",
    "gz": "read_csv({path})",
    "tsv": 'read_csv({path}, sep="\\t")',
    "parquet": "read_parquet({path})",
    "feather": "read_feather({path})",
    "xlsx": "read_excel({path})",
    "xls": "read_excel({path})",
    "json": "read_json({path})",
    "jsonl": "read_json({path}, lines=True)",
}


def load_code(path: str, name: str, module: str) -> str:
    """Return code that loads a file into variable ``name`` and ends with its column types."""
    ending = path.lower().rsplit(".", 1)[-1]
    start = "import pandas as pd" if module == "pd" else "import pandas"
    reader = READERS.get(ending, READERS["csv"]).format(path=quote(path))
    return f"{start}\n\n{name} = {module}.{reader}\n{name}.dtypes.astype(str).to_dict()"


def variable_name(path: str) -> str:
    """Return a variable name derived from a file's name."""
    stem = path.rsplit("/", 1)[-1].split(".", 1)[0]
    name = re.sub(r"\W+", "_", stem).strip("_").lower() or "data"
    name = f"data_{name}" if name[0].isdigit() else name
    return (
        f"{name}_data"
        if name in {"pd", "plt", "np"} or not name.isidentifier() or _is_keyword(name)
        else name
    )


def _is_keyword(name: str) -> bool:
    try:
        compile(f"{name} = 0", "name", "exec")
    except SyntaxError:
        return True
    return name in {
        "list",
        "dict",
        "set",
        "str",
        "int",
        "float",
        "type",
        "id",
        "input",
        "print",
        "len",
        "sum",
        "min",
        "max",
        "map",
        "filter",
        "range",
    }


def free_name(name: str, taken: set[str]) -> str:
    """Return the name, numbered if it is taken."""
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
