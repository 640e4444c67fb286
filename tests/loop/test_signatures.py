"""A function's signature says what of a run it can touch: the session's log, the requests or the tool calls.

Only what drives a turn takes all of it. A function that is handed the whole run may read and write anything, and whoever
follows the run through the program has to look into each of them.
"""

import ast
from pathlib import Path

import palimpsest

PACKAGE = Path(palimpsest.__file__).resolve().parent
DRIVERS = {
    "loop/turn.py": {"run_turn", "__init__"},
    "loop/step.py": {"run_step", "_run_request"},
    "loop/context_management/compaction.py": {"run_compaction", "_write_summary"},
    "session/open_sessions/live_session.py": {"_request_turn_summary"},
}


def test_only_what_drives_a_turn_takes_the_whole_run() -> None:
    found: dict[str, set[str]] = {}
    for folder in ("loop", "session"):
        for file in sorted((PACKAGE / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    continue
                given = (*node.args.args, *node.args.kwonlyargs)
                kinds = {
                    ast.unparse(argument.annotation)
                    for argument in given
                    if argument.annotation is not None
                }
                if "RunContext" in kinds:
                    found.setdefault(file.relative_to(PACKAGE).as_posix(), set()).add(node.name)

    assert found == DRIVERS
