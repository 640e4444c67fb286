"""Check the conditions of ``--fail-if`` for the rows of a report, with a baseline."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from palimpsest.frontends.command_line.condition import Condition, Row, UnknownValue
from palimpsest.frontends.operation_text.command_report import SCHEMA_VERSION
from palimpsest.store.disk import NoFile, TooLarge, read_small
from palimpsest.transcript.errors import UserError

MAX_BASELINE_BYTES = 64_000_000
_NO_ROW = (
    "there is no row beside the baseline; compare several, or name an earlier report by --baseline"
)
_NAME_COLUMNS = ("policy", "session", "title", "origin", "model")


def row_groups(values: Mapping[str, Any]) -> list[list[Row]]:
    """Return the rows of a report in groups; the first row of each group is its baseline.

    Usage that a session reported is left out: replays are compared with replays only.
    """
    if "comparisons" in values:
        from palimpsest.review.comparison.policy_comparison import REPORTED_NAME

        return [
            [
                {"session": comparison.get("session"), **_reproduction_columns(comparison), **row}
                for row in _dicts(comparison.get("rows"))
                if row.get("policy") != REPORTED_NAME
            ]
            for comparison in _dicts(values["comparisons"])
        ]
    if values.get("command") == "inspect":
        return [
            [{**session, **_reproduction_columns(session)}]
            for session in _dicts(values.get("sessions"))
        ]
    return [list(_dicts(values.get("sessions")))]


def _reproduction_columns(values: Mapping[str, Any]) -> Row:
    """Return columns on how exactly a replay reproduces a recording: share of requests, difference in cost."""
    proof = values.get("proof")
    if not isinstance(proof, dict):
        return {}
    cost_difference = proof.get("money_apart")
    return {
        "proof": proof.get("share"),
        "proof_money": abs(cost_difference) if isinstance(cost_difference, int | float) else None,
    }


def failed_conditions(
    conditions: Sequence[Condition], values: Mapping[str, Any], baseline: Mapping[str, Any] | None
) -> list[str]:
    """Return a sentence for each row for which a condition holds; the row that is the baseline is judged by none.

    Raises UserError for an unknown column, and for a condition that could be checked for no row.
    """
    groups = [group for group in row_groups(values) if group]
    baseline_rows = [row for group in row_groups(baseline or {}) for row in group]
    if baseline is not None and not baseline_rows:
        raise UserError("The baseline holds no row; give a report that was written by --json.")
    sentences: list[str] = []
    for condition in conditions:
        unknown_columns: list[str] = []
        checked_count = 0
        for row in (row for group in groups for row in group):
            condition.check([key for key in row if key not in _NAME_COLUMNS])
        for row, baseline_row in _judged_rows(groups, baseline_rows, condition):
            try:
                holds = condition.holds_for(row, baseline_row)
            except UnknownValue as error:
                unknown_columns.append(str(error))
                continue
            checked_count += 1
            if holds:
                sentences.append(_failure_sentence(condition, row, baseline_row))
        if not checked_count:
            reason = f"{unknown_columns[0]!r} is not known" if unknown_columns else _NO_ROW
            raise UserError(f"The condition {condition.text!r} cannot be checked: {reason}.")
    return sentences


def read_baseline(path: Path) -> Mapping[str, Any]:
    """Return an earlier report; raises UserError with one sentence."""
    try:
        baseline = json.loads(read_small(path, MAX_BASELINE_BYTES, follow=True))
    except (OSError, TooLarge, NoFile, ValueError, RecursionError) as error:
        raise UserError(f"{str(path)!r} is no report that was written by --json.") from error
    if not isinstance(baseline, dict) or not isinstance(baseline.get("schema"), int):
        raise UserError(f"{str(path)!r} is no report that was written by --json.")
    if baseline["schema"] > SCHEMA_VERSION:
        raise UserError(f"{str(path)!r} was written by a newer Palimpsest; update this one.")
    return baseline


def _judged_rows(
    groups: Sequence[Sequence[Row]], baseline_rows: Sequence[Row], condition: Condition
) -> Iterator[tuple[Row, Row]]:
    """Yield each row that a condition judges, with its baseline.

    Without an earlier report the first row of several is what the others are judged by; a row alone is judged by
    numbers only.
    """
    for group in groups:
        if baseline_rows:
            yield from ((row, _matching_row(row, baseline_rows)) for row in group)
        elif len(group) > 1:
            yield from ((row, group[0]) for row in group[1:])
        elif not condition.needs_baseline:
            yield group[0], {}


def _matching_row(row: Row, baseline_rows: Sequence[Row]) -> Row:
    """Return the row of an earlier report to compare with: the one with the same policy and session, or the first."""
    policy, session = row.get("policy"), row.get("session")
    same_policy_rows = [
        candidate
        for candidate in baseline_rows
        if policy is None or candidate.get("policy") == policy
    ]
    same_session_rows = [
        candidate for candidate in same_policy_rows if candidate.get("session") == session
    ]
    return (same_session_rows or same_policy_rows or baseline_rows)[0]


def _failure_sentence(condition: Condition, row: Row, baseline_row: Row) -> str:
    name = row.get("policy") or row.get("title") or row.get("session")
    numbers = [f"{variable} {_number_text(row.get(variable))}" for variable in condition.names]
    if condition.needs_baseline:
        numbers += [
            f"baseline {_number_text(baseline_row.get(variable))}" for variable in condition.names
        ]
    return f"{condition.text} holds for {str(name)!r}: {', '.join(numbers)}."


def _number_text(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
