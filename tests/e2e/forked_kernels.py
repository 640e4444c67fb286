"""Kernel specs whose kernels are forked from one process that has already imported the modules they need.

A kernel with the package takes one second for its imports, and each of two hundred tests starts one; litellm is none of
them, since no model of these tests is asked through it. Forks have only the loaded modules in common: the application, the shell and every
connection are made in the fork. Tests about the start of kernels use ordinary kernels.
"""

import json
import sys
from importlib import import_module
from pathlib import Path

from tests.harness import process_forks

IMPORTED = (
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.logger",
    "IPython.core.magics",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "ipykernel.debugger",
    "ipykernel.eventloops",
    "ipykernel.kernelapp",
    "ipykernel.zmqshell",
    "psutil",
    "palimpsest.app.wiring",
    "palimpsest.frontends.frontend",
    "palimpsest.frontends.kernel.cell_recorder",
    "palimpsest.frontends.kernel.main_thread",
    "palimpsest.frontends.magic.completion",
    "palimpsest.ipython_extension",
    "palimpsest.model.rehearsal.rehearsal_model",
    "palimpsest.testing.scripted_model",
    "palimpsest.session.engine",
)
STARTED = "started"
"""Name of the kernel spec with an ordinary start."""


def kernel_forks() -> str:
    """Return the address of this test process's server that forks kernels."""
    # Without the option the debugger would warn when it is imported.
    return process_forks.fork_server((f"{__name__}:import_all",), "-Xfrozen_modules=off")


def import_all() -> None:
    """Import the modules that kernels of these tests import."""
    for name in IMPORTED:
        import_module(name)
    import_module("palimpsest.model.tokenizer").load("o200k_base")
    redacted_value = import_module("palimpsest.transcript.redaction.secret_removal").redacted_value
    scrub = import_module("palimpsest.transcript.redaction.secret_patterns").scrub
    clean_schema = import_module("palimpsest.tools.calls.json_schema").clean_schema
    for tool in import_module("palimpsest.tools.registration.builtin_tools").builtin_tools(
        kernel=True
    ):
        # A process makes each schema once, and remembers that it holds no secret.
        redacted_value(clean_schema(tool.arguments), scrub)


def kernel_specs(share: Path, address: str | None) -> None:
    """Write kernel specs: ``python3`` is forked, and ``STARTED`` is this environment's ordinary kernel."""
    real = Path(sys.prefix, "share", "jupyter", "kernels", "python3", "kernel.json")
    ordinary = json.loads(real.read_text())
    specs = {STARTED: ordinary}
    if address is not None:
        start = [sys.executable, "-IS", process_forks.__file__, "start", address]
        start += ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
        specs["python3"] = ordinary | {"argv": start}
    for name, spec in specs.items():
        folder = share / "kernels" / name
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(json.dumps(spec))
