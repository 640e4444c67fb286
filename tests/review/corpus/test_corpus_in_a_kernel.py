"""A corpus is compared from a notebook's cell: on processes, and here where a policy is the cell's own."""

from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.review.corpus.corpus_folder import recordings

CELL = """
import palimpsest
from palimpsest import policies

@palimpsest.policy
def newest_three(view):
    for index in view.outputs[:-3]:
        yield policies.clear(index)

corpus = palimpsest.corpus("recordings", cache=False)
names = ["raw", "sweagent.last_n n=3"]
by_processes = corpus.compare(names)
by_the_cell = corpus.compare([*names, newest_three])
assert by_processes.policies == by_the_cell.policies[:2]
assert by_processes.problems == by_the_cell.problems == ()
print(by_the_cell.table.records()[2]["policy"], len(by_the_cell.policies[2]))
"""


@pytest.mark.soak  # with each commit tests/review/corpus/test_corpus.py compares them; this adds a kernel and its processes
@pytest.mark.slow
def test_a_cell_compares_policies_over_many_sessions(tmp_path: Path) -> None:
    recordings(tmp_path / "recordings")

    with Kernel(cwd=tmp_path) as kernel:
        ran = kernel.run(CELL)

    assert ran.status == "ok", ran.reply
    assert ran.stream() == "newest_three 4\n"
