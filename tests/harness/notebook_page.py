"""A page that shows a notebook of a test's kernel: it answers what its cells hold."""

import queue
import threading
import uuid
from types import TracebackType
from typing import Any

from tests.harness.changed_cells import applied
from tests.harness.kernel import Client, Kernel, Message, Run
from tests.waiting import LAST_RESORT_SECONDS, eventually

from palimpsest.frontends.user_cells.requested_cells import RUN_KEY
from palimpsest.transcript.context_values.cell_changes import CellChange


class NotebookPage:
    """A client of the kernel that watches it as a page does, answers ``cells`` notices, and changes and runs cells.

    Its cells are what a test puts into ``cells``, what it was asked is in ``asked``, and which changes in ``changed``;
    a page that is not ``awake`` answers nothing. With ``runs``, cells are run by ``runner``, whose user answers their
    questions.
    """

    def __init__(self, kernel: Kernel, path: str = "a.ipynb", *, runs: bool = False) -> None:
        self.path = path
        self.cells: list[Message] = []
        self.deleted: list[str] = []
        self.asked: list[Message] = []
        self.changed: list[Message] = []
        self.visible = True
        self.awake = True
        self.name = uuid.uuid4().hex
        self.runs: queue.Queue[str] = queue.Queue()
        """The ids of the execute requests of cells that it was asked to run."""
        self.run_requests: list[str] = []
        """The ids of the runs that it was asked for."""
        self.run_fields: Message = {}
        """What its execute requests have in place of what was asked for."""
        self.runner: Client = kernel.second_client() if runs else kernel.client
        if runs:
            self.runner.wait_until_ready()
        self._kernel_client = kernel.client
        self._client = kernel.second_client()
        self._client.wait_until_ready()
        self._open = True
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def __enter__(self) -> "NotebookPage":
        eventually(lambda: self._begun)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open = False
        self._thread.join(LAST_RESORT_SECONDS)
        self._client.request(type="unwatch", client=self.name)
        self._client.close()
        if self.runner is not self._kernel_client:
            self.runner.close()

    def finish_run(self) -> Run:
        """Wait for the end of the next cell that it was asked to run."""
        return self.runner.finish(self.runs.get(timeout=LAST_RESORT_SECONDS), channel="control")

    def shows(self, *sources: str, **by_id: Any) -> None:
        """Show code cells ``cell-1`` and so on with these sources, and others by their ids."""
        numbered: dict[str, Any] = {f"cell-{n}": source for n, source in enumerate(sources, 1)}
        self.cells = [
            {"id": one, **(held if isinstance(held, dict) else {"source": held})}
            for one, held in (numbered | by_id).items()
        ]

    _begun = False

    def _answer(self) -> None:
        self._client.request(type="watch", client=self.name, pings=True, cells=True)
        self._begun = True
        seen = 0
        while self._open:
            try:
                notice = self._client.wait(_asks, timeout=0.1, since=seen)
            except AssertionError:
                continue
            seen = self._client.iopub.index(notice) + 1
            content = notice["content"]
            if content["kind"] in ("change-cells", "run-cell"):
                if content["client"] != self.name:
                    continue
                if content["kind"] == "run-cell":
                    self._run(content)
                else:
                    self.changed.append(content)
                    self._change(content)
                continue
            self.asked.append(content)
            if self.awake:
                self._tell(content)

    def _change(self, wanted: Message) -> None:
        changes = [CellChange.model_validate(change) for change in wanted["changes"]]
        self.cells, results = applied(self.cells, changes)
        self._client.request(
            type="cells-changed",
            client=self.name,
            request=wanted["request"],
            results=[result.model_dump(mode="json", exclude_none=True) for result in results],
        )

    def _run(self, asked: Message) -> None:
        self.run_requests.append(asked["request"])
        cell = next((one for one in self.cells if one["id"] == asked["cell"]), None)
        result: Message = {"cell": asked["cell"]}
        if cell is None or cell["source"] != asked["source"]:
            result["problem"] = "missing" if cell is None else "changed"
            result["source"] = cell and cell["source"]
        else:
            request = {
                "code": cell["source"],
                "cellId": cell["id"],
                RUN_KEY: asked["request"],
                **self.run_fields,
            }
            self.runs.put(self.runner.send(stdin=True, channel="control", **request))
        self._client.request(
            type="cells-changed", client=self.name, request=asked["request"], results=[result]
        )

    def _tell(self, wanted: Message) -> None:
        cells = [cell for cell in self.cells if wanted.get("cell") in (None, cell["id"])]
        half = len(cells) // 2
        pieces = [cells[:half], cells[half:]]
        for number, piece in enumerate(pieces):
            self._client.request(
                type="cells",
                client=self.name,
                request=wanted["request"],
                notebooks=[
                    {
                        "path": self.path,
                        "cells": piece,
                        "deleted": self.deleted,
                        "visible": self.visible,
                    }
                ],
                last=number == len(pieces) - 1,
            )


def _asks(message: Message) -> bool:
    return message["header"]["msg_type"] == "palimpsest_notice" and message["content"].get(
        "kind"
    ) in ("cells", "change-cells", "run-cell")
