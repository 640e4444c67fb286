"""Check ``--fail-if`` against the rows of a report, with the baseline in its first row or in an earlier report."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from palimpsest.frontends.command_line.condition import Condition, Row, UnknownValue
from palimpsest.frontends.operation_text.command_report import SCHEMA_VERSION
from palimpsest.review.comparison.policy_comparison import REPORTED
from palimpsest.store.disk import NoFile, TooLarge, read_small
from palimpsest.transcript.errors import UserError

MOST_BASELINE_BYTES = 64_000_000
_NAMES = ("policy", "session", "title", "origin", "model")


def row_groups(values: Mapping[str, Any]) -> list[list[Row]]:
    """Return the rows of a report's values: each group begins with its baseline.

    What a session reported is no row of a policy: a replay is compared with replays.
    """
    if "comparisons" in values:
        return [
            [
                {"session": one.get("session"), **_proof(one), **row}
                for row in _dicts(one.get("rows"))
                if row.get("policy") != REPORTED
            ]
            for one in _dicts(values["comparisons"])
        ]
    if values.get("command") == "inspect":
        return [[{**one, **_proof(one)}] for one in _dicts(values.get("sessions"))]
    return [list(_dicts(values.get("sessions")))]


def _proof(values: Mapping[str, Any]) -> Row:
    """Return how well a recording is reproduced as columns: the share of its requests, and how far its money is away."""
    proof = values.get("proof")
    if not isinstance(proof, dict):
        return {}
    apart = proof.get("money_apart")
    return {
        "proof": proof.get("share"),
        "proof_money": abs(apart) if isinstance(apart, int | float) else None,
    }


def failed(
    conditions: Sequence[Condition], values: Mapping[str, Any], baseline: Mapping[str, Any] | None
) -> list[str]:
    """Return a sentence for each row for which a condition holds.

    Raises UserError for an unknown column, and where no row's values are known.
    """
    groups = [one for one in row_groups(values) if one]
    earlier = [row for group in row_groups(baseline or {}) for row in group]
    if baseline is not None and not earlier:
        raise UserError("The baseline holds no row; give a report that was written by --json.")
    found: list[str] = []
    for condition in conditions:
        unknown: list[str] = []
        checked = 0
        for row, before in _with_baseline(groups, earlier):
            condition.check([key for key in row if key not in _NAMES])
            try:
                holds = condition.holds(row, before)
            except UnknownValue as error:
                unknown.append(str(error))
                continue
            checked += 1
            if holds:
                found.append(_sentence(condition, row, before))
        if not checked:
            why = f"{unknown[0]!r} is not known" if unknown else "there is no row"
            raise UserError(f"The condition {condition.text!r} cannot be checked: {why}.")
    return found


def read_baseline(path: Path) -> Mapping[str, Any]:
    """Return an earlier report; raises UserError with one sentence."""
    try:
        found = json.loads(read_small(path, MOST_BASELINE_BYTES, follow=True))
    except (OSError, TooLarge, NoFile, ValueError, RecursionError) as error:
        raise UserError(f"{str(path)!r} is no report that was written by --json.") from error
    if not isinstance(found, dict) or not isinstance(found.get("schema"), int):
        raise UserError(f"{str(path)!r} is no report that was written by --json.")
    if found["schema"] > SCHEMA_VERSION:
        raise UserError(f"{str(path)!r} was written by a newer Palimpsest; update this one.")
    return found


def _with_baseline(
    groups: Sequence[Sequence[Row]], earlier: Sequence[Row]
) -> Iterator[tuple[Row, Row]]:
    for group in groups:
        for row in group:
            yield row, _earlier(row, earlier) if earlier else group[0]


def _earlier(row: Row, earlier: Sequence[Row]) -> Row:
    """Return the row of an earlier report that a row is compared with: of the same name, or the first."""
    policy, session = row.get("policy"), row.get("session")
    alike = [one for one in earlier if policy is None or one.get("policy") == policy]
    same = [one for one in alike if one.get("session") == session]
    return (same or alike or earlier)[0]


def _sentence(condition: Condition, row: Row, before: Row) -> str:
    name = row.get("policy") or row.get("title") or row.get("session")
    told = [f"{one} {_number(row.get(one))}" for one in condition.names]
    if condition.needs_baseline:
        told += [f"baseline {_number(before.get(one))}" for one in condition.names]
    return f"{condition.text} holds for {str(name)!r}: {', '.join(told)}."


def _number(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
