"""The bench beside pi: its ratios, its table, and what it says where pi cannot be had."""

import sys
from pathlib import Path

import pytest
from tests.bench import bench_peers, pi_package
from tests.bench.agent_runs import Cost
from tests.bench.bench_peers import Costs, costs_of, markdown, rows_of

from palimpsest.model.script import says

OURS = Costs(6.0, 9.0, 40.0, 400.0, 300.0)
PI = Costs(3.0, 3.0, 10.0, 200.0, 150.0)


def test_a_step_and_a_delta_cost_what_a_longer_turn_costs_more() -> None:
    cpu = {
        "answer": 2.0,
        "steps": 2.0 + bench_peers.READS * 0.05,
        "deltas": 2.0 + bench_peers.DELTAS * 0.0002,
    }
    rounds = [
        {name: Cost(seconds + more, seconds + 1, 100.0) for name, seconds in cpu.items()}
        for more in (0.0, 0.0, 7.0)  # one slow round changes no median
    ]

    found = costs_of(rounds)

    assert found.start_seconds == 2.0
    assert found.start_wall_seconds == 3.0
    assert found.step_ms == pytest.approx(50)
    assert found.delta_us == pytest.approx(200)
    assert found.peak_megabytes == 100.0


def test_a_figure_is_over_where_it_is_more_than_its_multiple_of_pi() -> None:
    figures = [bench_peers._figure(row, "") for row in rows_of("script", OURS, PI)]

    assert [figure.over for figure in figures] == [True] * 5
    assert figures[2].target == 2 * PI.step_ms
    assert "4.0 times pi's" in figures[2].verdict()
    assert not any(bench_peers._figure(row, "").over for row in rows_of("script", PI, PI))


def test_without_pi_our_figures_stand_with_the_reason_and_no_verdict() -> None:
    figures = [
        bench_peers._figure(row, "pi was not measured: no npm.")
        for row in rows_of("script", OURS, None)
    ]

    assert [figure.over for figure in figures] == [False] * 5
    assert {figure.verdict() for figure in figures} == {"pi was not measured: no npm."}
    assert "pi was not measured: no npm." in markdown(
        rows_of("script", OURS, None), "pi was not measured: no npm."
    )


def test_a_delta_of_pi_within_the_noise_has_no_ratio() -> None:
    none = Costs(3.0, 3.0, 10.0, -2.0, 150.0)

    row = rows_of("script", OURS, none)[3]

    assert row.ratio is None
    assert bench_peers._figure(row, "").target is None


def test_the_table_has_a_cell_for_each_agent_in_each_row() -> None:
    rows = [*rows_of("script", OURS, PI), *rows_of("kernel", OURS, PI)]

    table = markdown(rows, "").split("\n\n")[0].splitlines()

    assert len({line.count("|") for line in table}) == 1
    assert (
        table[0]
        == "| CPU unless said | script | kernel | pi | of pi's: script, kernel | to reach |"
    )
    assert "| 40 ms | 40 ms | 10 ms | 4.0, 4.0 | at most 2 |" in table[4]


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


@pytest.mark.slow
def test_a_script_is_run_to_its_end_and_its_cpu_is_counted() -> None:
    cost = bench_peers.in_script((says("Done."),))

    assert cost.cpu_seconds > 0
    assert cost.wall_seconds > 0
    assert cost.peak_megabytes > 10


@pytest.mark.slow
def test_a_run_that_leaves_an_answer_unused_is_refused() -> None:
    with pytest.raises(RuntimeError, match="1 requests came instead of 2"):
        bench_peers.in_script((says("Done."), says("Nobody asks for this.")))
