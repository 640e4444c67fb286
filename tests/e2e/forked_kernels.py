"""Kernel specs whose kernels are forked from one process that has already imported the modules they need.

A kernel with the package takes two seconds for its imports, and each of two hundred tests starts one; litellm is none of
them, since no model of these tests is asked through it. Forks have only the loaded modules in common: the application, the shell and every
connection are made in the fork. Tests about the start of kernels use ordinary kernels.
"""

import json
import sys
from pathlib import Path

from tests.harness import kernel_imports, process_forks

STARTED = "started"
"""Name of the kernel spec with an ordinary start."""


def kernel_forks() -> str:
    """Return the address of this test process's server that forks kernels."""
    # Without the option the debugger would warn when it is imported.
    return process_forks.fork_server(
        (f"{kernel_imports.__name__}:import_all",), "-Xfrozen_modules=off"
    )


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
