"""Distribute the files of tests over processes: each kind of test has processes of its own to begin with.

Tests in a browser, tests that start kernels, and all others take different helpers: a JupyterLab with its
browser, a process that forks kernels, none. A process that keeps to one kind starts these once, and while it
waits for a page or a kernel, one that only computes goes on. A process whose kind is done helps another.
"""

from collections.abc import Iterable
from typing import Any

from xdist.scheduler import LoadScopeScheduling

PAGE = ("tests/e2e/",)
PROCESS = (
    "tests/hostile/",
    "tests/kill/",
    "tests/frontends/",
    "tests/packaging/",
    "tests/servers/",
    "tests/notebooks/",
)
KINDS = (PAGE, PROCESS, (), PAGE)
"""What the first process takes first, the second, and so on; the rest is of the kind without folders."""

FIRST = (
    "tests/e2e/",
    "tests/kill/",
    "tests/hostile/",
    "tests/frontends/",
    "tests/model/",
    "tests/loop/",
    "tests/context/",
    "tests/session/controls/",
    "tests/golden/",
    "tests/tools/",
)
"""Folders that begin first: after the browser, which a process keeps until its first test without one, those that
start kernels and servers, then those that import litellm, whose import takes a process four seconds or more of a
processor: those that help at the end take the files without it. The many short files come last, so that all
processes end together."""
LONGEST = (
    "tests/e2e/test_inspector_tab.py",
    "tests/e2e/test_inspector_views.py",
    "tests/e2e/test_panel.py",
    "tests/e2e/test_hostile_views.py",
    "tests/e2e/test_first_notebook.py",
    "tests/e2e/test_contrast.py",
    "tests/e2e/test_view.py",
    "tests/e2e/test_narrow_panel.py",
    "tests/e2e/test_inspector.py",
    "tests/e2e/test_turn_rows.py",
    "tests/e2e/test_permissions.py",
    "tests/e2e/test_step_mode.py",
    "tests/e2e/test_resend.py",
    "tests/e2e/test_hostile_clone.py",
    "tests/e2e/test_inspector_report.py",
    "tests/e2e/test_hosts.py",
    "tests/e2e/test_inspector_cell.py",
    "tests/e2e/test_long_sessions.py",
    "tests/e2e/test_live_cell.py",
    "tests/e2e/test_errors_and_retry.py",
    "tests/e2e/test_context.py",
    "tests/e2e/test_call_outcomes.py",
    "tests/e2e/test_not_loaded.py",
    "tests/e2e/test_small_window.py",
    "tests/e2e/test_context_edits.py",
    "tests/e2e/test_sessions.py",
    "tests/kill/test_kill.py",
    "tests/frontends/command_line/test_command_line.py",
    "tests/frontends/cell_turn/test_recorded_prompts.py",
    "tests/frontends/test_foreign_logs.py",
    "tests/loop/context_management/test_compaction_http.py",
    "tests/tools/mcp/test_servers.py",
    "tests/packaging/test_doc_examples.py",
    "tests/model/adapter/test_litellm_loading.py",
)
"""Files that begin first in their folders: most take ten seconds of a processor or more, and one that began last
would keep a single process busy at the end."""


def place_of(file: str) -> tuple[int, int]:
    """Return a file's place in the order in which the files begin; files without one keep their order."""
    folder = next(
        (place for place, beginning in enumerate(FIRST) if file.startswith(beginning)), len(FIRST)
    )
    return folder, LONGEST.index(file) if file in LONGEST else len(LONGEST)


def kind_of(file: str) -> tuple[str, ...]:
    """Return the kind of a file: the folders of tests that take the same helpers."""
    return next((kind for kind in (PAGE, PROCESS) if file.startswith(kind)), ())


def next_file(waiting: Iterable[str], process: int) -> str:
    """Return the file that a process takes next, by its number; the files wait in the order in which they begin.

    Of another kind than its own it takes the last one, since its helpers are started for it alone.
    """
    files = list(waiting)
    own = KINDS[process % len(KINDS)]
    of_its_kind = (file for file in files if kind_of(file) == own)
    without_pages = (file for file in reversed(files) if kind_of(file) != PAGE)
    return next(of_its_kind, None) or next(without_pages, None) or files[-1]


class FileDistribution(LoadScopeScheduling):  # type: ignore[misc]  # xdist comes without types
    """Gives a process whole files, those of its own kind first."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: Any) -> None:
        number = int(node.gateway.id.removeprefix("gw"))
        self.workqueue.move_to_end(next_file(self.workqueue, number), last=False)
        super()._assign_work_unit(node)
