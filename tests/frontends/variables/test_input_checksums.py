"""Checksums of what code reads mean the same in every process, and change with the contents."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.frontends.variables.variable_fingerprints import input_checksums

MAKE = """
import numpy as np, pandas as pd
values = {
    "number": 3, "text": "é", "many": [1, "a", {"b": (2.5, None)}, {3, 4}], "none": None,
    "array": np.arange(12.0).reshape(3, 4), "names": np.array(["a", "b"], dtype=object),
    "frame": pd.DataFrame({"x": [1, 2], "y": ["u", "v"], "z": pd.Categorical(["p", "q"])}),
    "series": pd.Series([1.5, float("nan")], index=["k", "l"]),
}
"""
NAMES = ("number", "text", "many", "none", "array", "names", "frame", "series")
CODE = "print(" + ", ".join(NAMES) + ")"


def made() -> dict[str, object]:
    space: dict[str, object] = {}
    exec(MAKE, space)  # the test's own text
    values: dict[str, object] = space["values"]  # type: ignore[assignment]  # as above
    return values


def test_another_process_makes_the_same_checksums() -> None:
    ask = f"{MAKE}\nimport json\nfrom {input_checksums.__module__} import input_checksums\n"
    ask += f"print(json.dumps(input_checksums({CODE!r}, values, seconds={LAST_RESORT_SECONDS})))"
    checksums = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", ask],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                check=True,
            ).stdout
        )
        for seed in ("1", "2")
    ]

    assert (
        checksums[0] == checksums[1] == input_checksums(CODE, made(), seconds=LAST_RESORT_SECONDS)
    )
    assert set(NAMES) - set(checksums[0]) <= {"frame"}  # categories have no lasting checksum


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("number", 4),
        ("text", "e"),
        ("many", [1, "a", {"b": (2.5, 0)}, {3, 4}]),
        ("none", 0),
        ("array", np.arange(12.0).reshape(4, 3)),
        ("names", np.array(["a", "c"], dtype=object)),
        ("series", pd.Series([1.5, 2.0], index=["k", "l"])),
    ],
)
def test_another_value_has_another_checksum(name: str, change: object) -> None:
    before, after = (input_checksums(name, {name: value}) for value in (made()[name], change))

    assert before[name] != after[name]


def test_what_has_no_lasting_checksum_is_left_out() -> None:
    class Own:
        def __repr__(self) -> str:
            raise AssertionError("code of the user ran")

    space = {"own": Own(), "pd": pd, "call": len, "big": np.zeros(2_000_000)}

    assert input_checksums("call(own, pd, big, missing)", space) == {}
    assert input_checksums("%time own", space) == {}
