"""Report a request that a hook wrote: its messages are stored whole, and the origin of each is unknown.

Border: values from the record and its blob; nothing is projected, since it is not recorded how the
hook made the messages.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from palimpsest.model.wire.provider_messages import prompt_text
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.context_report.context_report import ContextReport
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.request_items import RequestItem

KIND_OF_ROLE = {"system": "system", "assistant": "assistant", "tool": "output"}
HOOK_ITEM_NAME = "written by a hook"


def hook_request_report(
    report: ContextReport,
    request: StepRequest,
    read_blob: Callable[[str], bytes],
    scrub: Callable[[str], str],
) -> ContextReport:
    """Return the report with the messages of the hook that wrote the request; unchanged where no hook wrote it."""
    if request.opaque is None:
        return report
    messages: list[dict[str, Any]] = json.loads(read_blob(request.opaque.sha256))
    tools = [item for item in report.items if item.kind == "tools"]
    items = [
        _item(message, context_item.tokens, report.calibration, scrub)
        for message, context_item in zip(messages, request.items, strict=False)
    ]
    by = request.opaque_by or "A hook"
    return replace(report, items=(*items, *tools), reductions=(), opaque_by=by)


def _item(
    message: Mapping[str, Any], tokens: int, ratio: float, scrub: Callable[[str], str]
) -> RequestItem:
    kind = KIND_OF_ROLE.get(str(message["role"]), "user")
    words = one_line(scrub(prompt_text((message,)).removeprefix(str(message["role"]))))  # type: ignore[arg-type]
    return RequestItem(kind=kind, name=HOOK_ITEM_NAME, words=words, tokens=round(tokens * ratio))
