"""Run a cell of the notebook on the main thread for a page that requested it on the control channel.

Border: one execute request, run by the kernel's own ``execute_request``, so that number, outputs, history, questions and
reply are those of a cell that a person runs. A request on the shell channel would wait for ever while a cell waits for
the agent; a job runs in that cell's wait, and without one in the kernel's idle loop, behind the running cell. IPython counts a cell
when it begins, and ipykernel reads the counter again for the cell's reply; so a cell that contains others would get the
number of the last one.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import copy_context
from typing import Any

from IPython.core.async_helpers import _should_be_async

from palimpsest.frontends.kernel.code_execution import flush_figures, run_to_end
from palimpsest.frontends.kernel.jobs import Job
from palimpsest.frontends.process_guard.attribute_patches import patched_attribute
from palimpsest.frontends.process_guard.event_loop import protected_iteration, running_loop
from palimpsest.transcript.errors import UserError

NO_AWAIT_IN_CELL = (
    "The cell has a top-level 'await', which cannot run now: %agent waits in its blocking form (under %%time or "
    "%%capture, in a loop or function, or with %autoawait off), where the main loop stands still. The user can run it "
    "when this turn has ended."
)
_KERNEL_STATE = ("_allow_stdin", "_sys_raw_input", "_save_getpass")
"""Attributes in which ipykernel keeps how the running cell asks questions; an inner cell would overwrite them."""
_SHELL_STATE = ("_last_traceback", "_last_traceback_during_displayhook")
"""Attributes in which the shell keeps the running cell's error."""


class NestedNumbers:
    """Gives inner cells the numbers after the outer one; restores the counter with the outer cell's reply."""

    def __init__(self, running_cell_count: Callable[[], int]) -> None:
        self._running_cell_count = running_cell_count
        self._outer_request_id = ""
        self._next_number = 0

    def has_running_cell(self) -> bool:
        """Return whether a cell runs, so that another one would be an inner one."""
        return self._running_cell_count() > 0

    @contextmanager
    def numbering_inner_cell(self, kernel: Any) -> Iterator[None]:
        """Within the block, number an inner cell of the running one."""
        shell = kernel.shell
        outer_count = shell.execution_count
        outer_request_id = _request_id(kernel.get_parent("shell"))
        if outer_request_id != self._outer_request_id:
            self._outer_request_id, self._next_number = outer_request_id, outer_count
            self._count_on_after_reply(kernel, outer_request_id)
        shell.execution_count = max(self._next_number, outer_count)
        try:
            yield
        finally:
            self._next_number = shell.execution_count
            shell.execution_count = outer_count

    def _count_on_after_reply(self, kernel: Any, outer_request_id: str) -> None:
        """Continue the count behind the inner cells once the outer cell's reply is made."""
        finish_metadata = kernel.finish_metadata

        def finish_and_count(parent: Any, metadata: Any, reply_content: Any) -> Any:
            if _request_id(parent) == outer_request_id:
                vars(kernel).pop("finish_metadata", None)
                kernel.shell.execution_count = max(kernel.shell.execution_count, self._next_number)
                self._outer_request_id = ""
            return finish_metadata(parent, metadata, reply_content)

        kernel.finish_metadata = finish_and_count


def _request_id(message: Any) -> str:
    return str((message or {}).get("header", {}).get("msg_id", ""))


class CellRunJob(Job):
    """Run one execute request of a page, which has a reply in any case.

    ``request`` is the message, ``identity`` that of the page that sent it. The result is None: the cell's outputs are
    recorded like those of every cell. Raises UserError for code that cannot run now.
    """

    def __init__(
        self,
        session_id: str | None,
        kernel: Any,
        identity: Any,
        request: dict[str, Any],
        nested_numbers: NestedNumbers,
    ) -> None:
        super().__init__(session_id)
        self._kernel = kernel
        self._identity = identity
        # An error must not drop the cells that a person has queued.
        content = {**request["content"], "stop_on_error": False}
        self.request = {**request, "content": content}
        self._nested_numbers = nested_numbers
        self._stream = ControlStream(kernel)
        self._has_begun = False
        self.future.add_done_callback(self._reply_if_withdrawn)

    @property
    def request_id(self) -> str:
        """The id of the page's message, by which outputs name the cell's run."""
        return str(self.request["header"]["msg_id"])

    async def do_work(self, shell: Any, *, awaits: bool) -> None:
        """Run the cell to its end; its errors are its outputs."""
        is_async = _needs_loop(shell, self.request["content"]["code"])
        if is_async and not awaits:
            raise UserError(NO_AWAIT_IN_CELL)
        if self.interrupted:  # during the preparation, in which no KeyboardInterrupt is raised
            raise KeyboardInterrupt
        with ExitStack() as stack:
            if self._nested_numbers.has_running_cell():
                flush_figures(shell)
                stack.enter_context(_preserved_cell(self._kernel))
                stack.enter_context(self._nested_numbers.numbering_inner_cell(self._kernel))
            loop = running_loop()
            if is_async and loop is not None:
                with patched_attribute(self._kernel, "_cancel_on_sigint", self._following_task):
                    await _await_in_own_task(loop, self._execute())
            else:
                with protected_iteration(loop, lambda _: None):
                    copy_context().run(run_to_end, self._execute())

    async def _execute(self) -> None:
        """Handle the request as ipykernel's shell channel does; in a context of its own, which names the cell."""
        kernel = self._kernel
        kernel.set_parent(self._identity, self.request, "shell")
        self._has_begun = True
        publish_status(kernel, "busy", self.request)
        try:
            await kernel.execute_request(self._stream, self._identity, self.request)
        finally:
            publish_status(kernel, "idle", self.request)

    @contextmanager
    def _following_task(self, task: "asyncio.Task[Any]") -> Iterator[None]:
        """Within the block, let an interrupt cancel the cell's task, in place of ipykernel's handler."""
        self.task = task
        yield

    def _reply_if_withdrawn(self, _: object) -> None:
        """Tell the page that a cell did not run, so that it waits no longer."""
        if not self._has_begun:
            reply_aborted(self._kernel, self._stream, self._identity, self.request)


class ControlStream:
    """The control channel for replies from other threads: sends on the control thread, which owns the socket."""

    def __init__(self, kernel: Any) -> None:
        self._stream = kernel.control_stream
        self._loop = getattr(getattr(kernel, "control_thread", None), "io_loop", None)

    def send_multipart(self, parts: Any, **options: Any) -> None:
        """Send the parts of a message; returns at once."""
        if self._loop is None:  # a kernel in the process of its page
            self._stream.send_multipart(parts, **options)
        else:
            self._loop.add_callback(self._stream.send_multipart, parts, **options)


def publish_status(kernel: Any, status: str, parent: dict[str, Any]) -> None:
    """Publish whether a request is being handled."""
    content = {"execution_state": status}
    kernel.session.send(kernel.iopub_socket, "status", content, parent, ident=b"status")


def reply_aborted(kernel: Any, stream: Any, identity: Any, request: dict[str, Any]) -> None:
    """Reply to an execute request that nothing was run, as ipykernel does for cells that it drops."""
    kernel.session.send(stream, "execute_reply", {"status": "aborted"}, request, ident=identity)
    publish_status(kernel, "idle", request)


def _needs_loop(shell: Any, code: str) -> bool:
    with suppress(Exception):  # any error of a transformer is shown when the cell runs
        return bool(shell.autoawait) and _should_be_async(shell.transform_cell(code))
    return False


async def _await_in_own_task(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None]
) -> None:
    """Await a coroutine in a task, so that its context variables are its own."""
    task = loop.create_task(coroutine)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        raise
    task.result()


@contextmanager
def _preserved_cell(kernel: Any) -> Iterator[None]:
    """Within the block, another cell may run inside the running one, which continues unchanged afterwards."""
    shell = kernel.shell
    identity, parent = kernel._parent_ident["shell"], kernel.get_parent("shell")  # noqa: SLF001  # no public way
    saved_attributes = [
        (target, name, getattr(target, name))
        for target, names in ((kernel, _KERNEL_STATE), (shell, _SHELL_STATE))
        for name in names
        if hasattr(target, name)
    ]
    exec_result = shell.displayhook.exec_result
    try:
        yield
    finally:
        for target, name, value in saved_attributes:
            setattr(target, name, value)
        shell.displayhook.exec_result = exec_result
        kernel.set_parent(identity, parent, "shell")
        # Of the inner cell, pages have heard that the kernel is idle.
        publish_status(kernel, "busy", parent)
