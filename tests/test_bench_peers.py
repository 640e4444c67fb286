"""The bench beside pi: its ratios, its table, and what it says where pi cannot be had."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.bench import bench_peers, long_session, pi_package
from tests.bench.agent_runs import Cost
from tests.bench.bench_peers import DELTAS, READS, Part, least, markdown, opening_rows, rows_of

WAYS = bench_peers.parts_with(["pi"], long_session.LongSession(Path(), "ses_1", "ses_2", ""))
PART, LITELLM = WAYS[0], WAYS[-1]
NO_NPM = "pi was not measured: no npm."


def costs(start: float, step_ms: float, delta_us: float, peak: float) -> dict[str, Cost]:
    """Return what an agent took that needs so long to start, for a step and for a delta."""
    cpu = {
        "answer": start,
        "steps": start + READS * step_ms / 1_000,
        "deltas": start + DELTAS * delta_us / 1_000_000,
    }
    return {name: Cost(seconds, seconds + 1, peak) for name, seconds in cpu.items()}


OURS, PI = costs(6.0, 40.0, 400.0, 300.0), costs(3.0, 10.0, 200.0, 150.0)


def found(
    part: Part, pi: Mapping[str, Cost] | None, **ours: Mapping[str, Cost]
) -> list[bench_peers.Row]:
    return rows_of(part, ours if pi is None else {**ours, bench_peers.PI: pi})


def test_a_step_and_a_delta_cost_what_a_longer_turn_costs_more() -> None:
    rows = found(PART, None, script=OURS)

    assert [row.ours for row in rows] == [6.0, 7.0, pytest.approx(40), pytest.approx(400), 300.0]


def test_the_least_of_several_rounds_counts() -> None:
    slow = {
        name: Cost(
            *(9 * value for value in (one.cpu_seconds, one.wall_seconds, one.peak_megabytes))
        )
        for name, one in PI.items()
    }

    assert least([slow, PI, slow]) == PI


def test_a_figure_is_over_where_it_is_more_than_its_multiple_of_pi() -> None:
    figures = [bench_peers._figure(row, "") for row in found(PART, PI, script=OURS)]

    assert [figure.over for figure in figures] == [True] * 5
    assert figures[2].target == 20
    assert "4.0 times pi's" in figures[2].verdict()
    assert not any(bench_peers._figure(row, "").over for row in found(PART, PI, script=PI))


def test_without_pi_our_figures_stand_with_the_reason_and_no_verdict() -> None:
    rows = found(PART, None, script=OURS)
    figures = [bench_peers._figure(row, NO_NPM) for row in rows]

    assert [figure.over for figure in figures] == [False] * 5
    assert {figure.verdict() for figure in figures} == {NO_NPM}
    assert NO_NPM in markdown(rows, NO_NPM)
    assert not any(
        bench_peers.PI in part.runs
        for part in bench_peers.parts_with(
            None, long_session.LongSession(Path(), "ses_1", "ses_2", "")
        )
    )


def test_a_delta_of_pi_within_the_noise_has_no_ratio() -> None:
    row = found(PART, costs(3.0, 10.0, -2.0, 150.0), script=OURS)[3]

    assert row.ratio is None
    assert bench_peers._figure(row, "").target is None


def test_what_only_we_do_has_a_target_of_its_own() -> None:
    rows = opening_rows(
        [
            {"open": 50.0, "fork": 150.0, "page": 1.0, "older": 21.0},
            {"open": 60.0, "fork": 140.0, "page": 2.0, "older": 19.0},
        ]
    )

    assert [(row.ours, bench_peers._figure(row, "").over) for row in rows] == [
        (50.0, False),
        (140.0, True),
        (1.0, False),
        (19.0, False),
    ]


def test_through_litellm_nothing_is_promised() -> None:
    rows = found(LITELLM, None, script=OURS)

    assert not any(bench_peers._figure(row, "").over for row in rows)
    assert "to reach" not in markdown(rows, "")


def test_each_table_has_a_cell_for_each_agent_in_each_row() -> None:
    rows = [
        *found(PART, PI, script=OURS, kernel=PI),
        *found(LITELLM, None, script=OURS, kernel=OURS),
    ]

    tables = [table.splitlines() for table in markdown(rows, "").split("\n\n")[:-1]]

    assert [len({line.count("|") for line in table}) for table in tables] == [1, 1]
    assert tables[0][0] == (
        "| OpenAI's chat completions; CPU unless said | script | kernel | pi | of pi's: script, kernel | to reach |"
    )
    assert (
        "| a step with one read | 40 ms | 10 ms | 10 ms | 4.0, 1.0 | at most 2 times pi's |"
        in tables[0]
    )
    assert "| a step with one read | 40 ms | 40 ms |" in tables[1]


def test_the_long_session_is_one_path_of_entries_whose_calls_have_results() -> None:
    entries = list(long_session._entries())
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]

    assert len(messages) == long_session.MESSAGES
    assert [entry["parentId"] for entry in entries] == [
        None,
        *(entry["id"] for entry in entries[:-1]),
    ]
    compactions = [number for number, entry in enumerate(entries) if entry["type"] == "compaction"]
    assert len(entries) - compactions[-1] - 1 == 4 * long_session.KEPT_TURNS


def test_where_npm_cannot_install_pi_a_sentence_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\necho 'npm error network is unreachable' >&2\nexit 1\n")
    node.chmod(0o755)
    monkeypatch.setattr(pi_package, "FOLDER", tmp_path / "peers")
    monkeypatch.setattr(pi_package, "ENTRY", tmp_path / "peers" / "pi" / "dist" / "cli.js")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "npm").symlink_to(node)

    with pytest.raises(pi_package.NoPi) as missing:
        pi_package.pi_command()

    assert str(missing.value) == (
        "pi was not measured: npm error network is unreachable. Install it with "
        f"`npm install --prefix build/peers --ignore-scripts {pi_package.PACKAGE}@{pi_package.RELEASE}`."
    )
