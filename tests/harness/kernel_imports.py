"""What a kernel with the package imports and builds until its agent has answered, for processes that fork kernels.

litellm is not part of it: no model of these tests is asked through it, but in tests of its import.
"""

import sys
from importlib import import_module

from pydantic import BaseModel

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
    "palimpsest.frontends.user_cells.cell_recorder",
    "palimpsest.frontends.kernel.main_thread",
    "palimpsest.frontends.magic.completion",
    "palimpsest.ipython_extension",
    "palimpsest.frontends.inspector.saved_output",
    "palimpsest.rehearsal.rehearsal_model",
    "palimpsest.public.recorded_session",
    "palimpsest.public.session_object",
    "palimpsest.render.reports.saved_inspector",
    "palimpsest.review.timeline_view.report_data",
    "palimpsest.review.timeline_view.view_summary",
    "palimpsest.testing.scripted_model",
    "palimpsest.session.engine",
    "palimpsest.session.open_sessions.storage_cleanup",
    "tests.harness.kernel_session",
)


def import_all() -> None:
    """Import the modules that kernels of the tests import, and build what each process builds once."""
    for name in IMPORTED:
        import_module(name)
    # A kernel imports them with its first line that begins with %agent.
    for operations in import_module(
        "palimpsest.frontends.operation_base.operation_modules"
    ).MODULES:
        import_module(f"palimpsest.frontends.operations.{operations.name}")
    complete(BaseModel)
    import_module("palimpsest.model.tokenizer").load_encoding("o200k_base")
    redacted_value = import_module("palimpsest.transcript.redaction.secret_removal").redacted_value
    scrub = import_module("palimpsest.transcript.redaction.secret_patterns").scrub
    model_schema = import_module("palimpsest.tools.calls.json_schema").model_schema
    for tool in import_module("palimpsest.tools.registration.builtin_tools").builtin_tools(
        kernel=True
    ):
        # A process makes each schema once, and remembers that it holds no secret.
        redacted_value(model_schema(tool.arguments), scrub)
    assert "litellm" not in sys.modules


def complete(model: type[BaseModel]) -> None:
    """Build the validators of our models under a class, which are built at their first use."""
    for subclass in model.__subclasses__():
        if subclass.__module__.startswith("palimpsest.") and not subclass.__pydantic_complete__:
            subclass.model_rebuild(raise_errors=False)
        complete(subclass)
