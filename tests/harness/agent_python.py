"""Run a piece of code as the agent's Python in a test kernel, and return what the model and the user get."""

import ast
import re
from dataclasses import dataclass

from tests.harness.kernel import Kernel, Run

LABEL = re.compile(
    r"^\[(stdout|stderr|result|images|shown to the user|error|left behind|interrupted)\]\n",
    re.MULTILINE,
)


@dataclass
class PythonCall:
    """One call of the tool python."""

    output: str
    """What the model is told."""
    failed: bool
    run: Run
    """The cell that asked."""

    def section(self, name: str) -> str:
        """Return one labelled section of the output; empty if it has none of that name."""
        pieces = LABEL.split(self.output)
        return dict(zip(pieces[1::2], map(str.strip, pieces[2::2]), strict=True)).get(name, "")


def call_python(kernel: Kernel, code: str, cell: str = "%%agent -y\nhi") -> PythonCall:
    """Have the scripted model run the code once; the user's cell is ``cell``."""
    kernel.script(f"calls('python', code={code!r}).says('')", "says('Over.')")
    run = kernel.run(cell)
    told = (
        "[(getattr(p.state, 'output', None) or p.state.error, "
        "p.state.status == 'error' or bool(p.state.metadata.get('failed'))) "
        "for m in harness.frontend.channel.current_session.snapshot().messages "
        "for p in m.parts if p.type == 'tool'][-1]"
    )
    output, failed = ast.literal_eval(kernel.value(told))
    return PythonCall(output, failed, run)
