"""Generate code that loads a data file, and a name for its variable."""

import re
from itertools import chain, count
from keyword import iskeyword

from palimpsest.model.rehearsal.generation.pandas_code import quote
from palimpsest.model.rehearsal.parsing.vocabulary import word_set

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


TAKEN = word_set(
    "pd plt np list dict set str int float type id input print len sum min max map filter range"
)
"""Names that a table is not given."""


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
    return f"{name}_data" if not name.isidentifier() or iskeyword(name) or name in TAKEN else name


def free_name(name: str, taken: set[str]) -> str:
    """Return the name, numbered if it is taken."""
    numbered = (f"{name}_{number}" for number in count(2))
    return next(one for one in chain((name,), numbered) if one not in taken)
