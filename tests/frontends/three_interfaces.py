"""One kernel with three interfaces: a subcommand in a cell, Python in a cell, and a page's command."""

import ast
import uuid
from pathlib import Path
from typing import Any

from tests.harness.kernel import Kernel, Message, Run

WAYS = ("command", "Python", "protocol")
SETUP = """
import palimpsest
from palimpsest.model.script import calls, fails, says, stalls
from tests.harness.kernel_application import load
harness = load(get_ipython())
now = palimpsest.current_session
"""


class ThreeInterfaces:
    """A kernel with a whole application, cells to run and a page that watches.

    Responsibilities: act through one of three interfaces; inspect the resulting state; wait for notices.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        run = kernel.client.run(SETUP)
        assert run.status == "ok", run.reply["content"]
        kernel.request(type="watch", client="page")
        self._mark = 0
        self._session = ""

    @property
    def folder(self) -> Path:
        """The project folder."""
        return self.kernel.folder

    def begin(self, *answers: str, title: str = "") -> str:
        """Begin a session whose model gives these answers; earlier records are ignored from now on.

        A turn of the session before is stopped: it would take an answer that is not meant for it.
        """
        if self._session:
            self.cell(f"harness.end_turn({self._session!r})")
        self.kernel.request(type="watch", client="page")
        self.kernel.script(*answers)
        self._mark = len(self.kernel.iopub)
        begun = self.sends(type="new", title=title or None)
        self._session = str(begun["session"]["session"])
        return self._session

    def cell(self, code: str, **options: Any) -> Run:
        """Run a cell that must not fail."""
        run = self.kernel.client.run(code, **options)
        assert run.status == "ok", run.reply["content"]
        return run

    def says(self, line: str) -> str:
        """Run a subcommand in a cell and return its text output."""
        return self.cell(f"%agent {line}").markdown()

    def sends(self, **command: Any) -> Message:
        """Send a page's command and return its answer, which must not be an error."""
        found = self.outcome(self.posts(**command))
        assert "error" not in found, found
        answer: Message = found["answer"]
        return answer

    def posts(self, **command: Any) -> str:
        """Send a page's command without waiting; return its id."""
        name = command.setdefault("id", uuid.uuid4().hex)
        reply = self.kernel.request(**command)
        assert reply["status"] == "ok", reply
        return str(name)

    def outcome(self, name: str) -> Message:
        """Wait for the outcome of a command."""
        message = self.kernel.wait(
            lambda m: m["content"].get("kind") == "outcome" and m["content"].get("id") == name
        )
        found: Message = message["content"]
        return found

    def picture(self) -> Message:
        """Return the whole session as a page receives it."""
        name = self.posts(type="resync")
        message = self.kernel.wait(
            lambda m: m["content"].get("resync") == name and m["content"]["last"]
        )
        found: Message = message["content"]
        return found

    def look(self, expression: str) -> Any:
        """Evaluate an expression in the kernel and return its value, which must be a literal."""
        found = self.kernel.value(expression)
        try:
            return ast.literal_eval(found)
        except (SyntaxError, ValueError):
            raise AssertionError(f"{expression} is no plain value: {found}") from None

    def told(self, kind: str, **fields: Any) -> Message:
        """Wait for a record of the newest session, as the page receives it."""

        def found(message: Message) -> Message | None:
            if self._session not in ("", message["content"].get("session")):
                return None  # a late record of an earlier session
            for record in message["content"].get("records", ()):
                if record["type"] == kind and all(record.get(k) == v for k, v in fields.items()):
                    return dict(record)
            return None

        message = self.kernel.wait(
            lambda m: m["header"]["msg_type"] == "palimpsest_notice" and found(m), since=self._mark
        )
        found_record = found(message)
        assert found_record is not None
        return found_record

    def mark(self) -> None:
        """Make ``told`` ignore the records so far."""
        self._mark = len(self.kernel.iopub)

    def answers(self, *, prompt: str = "Hello.") -> str:
        """Send a prompt in a cell and return the text output."""
        return self.says(f"--yes {prompt}")
