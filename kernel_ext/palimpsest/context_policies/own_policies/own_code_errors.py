"""Say in one sentence where the code of a person's own policy failed: which line of which cell or file.

Border: an error that did not come from the person's code is none of these; it is raised as it is.
"""

import linecache
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Any

from palimpsest.context_policies.interface.laws import ONLY_PAST, FutureItem, PolicyBreach
from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import (
    ContextPolicy,
    PolicyResult,
    PolicyView,
    SessionFacts,
)
from palimpsest.render.safety.escaping import one_line
from palimpsest.transcript.errors import UserError

MAX_ERROR_CHARS = 300
"""Maximum characters of an error's own text in the sentence."""
MAX_CODE_CHARS = 100
"""Maximum characters of the quoted line."""
_PACKAGE = __name__.partition(".")[0]


def initial_state_of(policy: ContextPolicy, facts: SessionFacts) -> Any:
    """Return a policy's state before the first request; raises PolicyBreach where a person's own code fails."""
    try:
        return policy.start(facts)
    except UserError:
        raise
    except Exception as error:
        raise_own_code_error(policy, "before the first request", error)
        raise


def policy_result_of(policy: ContextPolicy, state: Any, view: PolicyView) -> PolicyResult:
    """Return a policy's answer at a request; raises PolicyBreach where a person's own code fails."""
    when_text = f"at request {view.request.index + 1}"
    try:
        policy_result: Any = policy.step(state, view)
    except UserError:
        raise
    except Exception as error:
        raise_own_code_error(policy, when_text, error)
        raise
    if not isinstance(policy_result, PolicyResult):
        raise PolicyBreach(
            f"The policy {policy.name!r} gave {policy_result!r:.80} {when_text}; its step returns a PolicyResult."
        )
    return policy_result


def raise_own_code_error(policy: ContextPolicy, when_text: str, error: Exception) -> None:
    """Raise an error as PolicyBreach if it came from a person's own code; returns where it did not."""
    files = {*_own_files(policy)}
    if any(frame.f_code.co_filename in files for frame, _ in walk_tb(error.__traceback__)):
        raise failure_of(policy.name, files, when_text, error) from error


def failure_of(name: str, files: set[str], when_text: str, error: Exception) -> PolicyBreach:
    """Return a sentence on an error: the policy, ``when_text``, the line in ``files``, and the error's text."""
    lines = [
        (frame, number)
        for frame, number in walk_tb(error.__traceback__)
        if frame.f_code.co_filename in files
    ]
    code_place = f", {code_place_text(*lines[-1])}" if lines else ""
    text = _error_text(error)
    if isinstance(error, FutureItem):
        return PolicyBreach(
            f"The policy {name!r} breaks a law {when_text}{code_place}: {ONLY_PAST}. {text}"
        )
    error_text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    shown_error = one_line(error_text, MAX_ERROR_CHARS).rstrip(".")
    return PolicyBreach(f"The policy {name!r} failed {when_text}{code_place}: {shown_error}.")


def _error_text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # a person's own class of errors
        return ""


def code_place_text(frame: FrameType, number: int) -> str:
    """Return a line's number, its cell or file, and its code where that is known."""
    file = frame.f_code.co_filename
    code = one_line(linecache.getline(file, number), MAX_CODE_CHARS)
    quoted_code = f" ({code})" if code else ""
    return f"line {number} of {_cell_name(frame) or Path(file).name}{quoted_code}"


def _cell_name(frame: FrameType) -> str:
    """Return the name of the notebook's cell that a frame's code is from, with its number where IPython has it; empty for a file."""
    file = frame.f_code.co_filename
    if not file.startswith("<") and not Path(file).parent.name.startswith("ipykernel_"):
        return ""
    inputs, source = frame.f_globals.get("In"), "".join(linecache.getlines(file)).strip()
    if isinstance(inputs, list) and source:
        for number in range(len(inputs) - 1, 0, -1):
            if isinstance(inputs[number], str) and inputs[number].strip() == source:
                return f"cell In[{number}]"
    return "its cell"


def _own_files(policy: ContextPolicy) -> Iterator[str]:
    """Yield the files, as Python names them, with the code of a person's own policy, or of those inside a policy."""
    if not type(policy).__module__.startswith(f"{_PACKAGE}."):
        for method in (type(policy).start, type(policy).step):
            code = getattr(method, "__code__", None)
            if code is not None:
                yield code.co_filename
        return
    wrapped = getattr(policy, "policy", None)
    stages = policy.stages if isinstance(policy, Pipeline) else (wrapped,)
    for stage in stages:
        if stage is not None:
            yield from _own_files(stage)
