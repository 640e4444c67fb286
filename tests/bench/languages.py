"""Compare estimated with real token counts for English, code and Chinese.

Two providers: one counts as o200k_base does, which is our own tokenizer; the other as cl100k_base, for a
provider whose tokenizer is not available offline. After the first reported usage our counts are calibrated
by the report on another text in the same language.
"""

import inspect
from pathlib import Path

from tests.bench.figure import Figure
from tests.store.record_builders import assistant

import palimpsest.store.log.journal as code_of_one
import palimpsest.store.log.jsonl_store as code_of_another
from palimpsest.loop.model_requests.request_builder import calibration_ratio
from palimpsest.model.tokenizer import chars_over_four, counter
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Facts, StepRequest
from palimpsest.transcript.session_record.events import Event, MessageUpdated, Record, StepRequested
from palimpsest.transcript.values import BlobRef, ModelInfo, ModelRef, Usage

OFF_PERCENT = 10.0
"""Maximum error of a calibrated count: half of the reserve of a window of 200,000 tokens."""
DOCS = Path(__file__).parents[2] / "docs"
CHINESE = tuple(Path(__file__).with_name("chinese.txt").read_text(encoding="utf-8").split("\n\n"))
TEXTS = {
    "English": (
        (DOCS / "magic.md").read_text(encoding="utf-8"),
        (DOCS / "api.md").read_text(encoding="utf-8"),
    ),
    "code": (inspect.getsource(code_of_one), inspect.getsource(code_of_another)),
    "Chinese": (CHINESE[0], CHINESE[1]),
}
"""Two texts of each language: the report on the first calibrates the estimate of the second."""
PROVIDERS = {"o200k": "tiktoken/o200k_base", "cl100k": "tiktoken/cl100k_base"}
INFO = ModelInfo(ref=ModelRef(provider="bench", name="bench"), window=200_000, output_limit=8_000)
BLOB = BlobRef(sha256="0" * 64, bytes=2)


def languages() -> list[Figure]:
    """Return the error of each estimator, for each language and provider."""
    ours = counter("tiktoken/o200k_base")
    figures = []
    for language, (known, text) in TEXTS.items():
        for provider, estimator in PROVIDERS.items():
            real = counter(estimator)
            ratio = calibrated(estimated=ours(known), reported=real(known))
            name = f"{language}, {real(text):,} tokens of {provider}"
            figures += [
                _off(f"{name}: chars/4", chars_over_four(text), real(text)),
                _off(f"{name}: ours", ours(text), real(text)),
                _off(f"{name}: calibrated", round(ours(text) * ratio), real(text), OFF_PERCENT),
            ]
    return figures


def calibrated(*, estimated: int, reported: int) -> float:
    """Return the calibration ratio that a session computes from one request and its report."""
    request = StepRequest(
        id="req_1",
        message_id="msg_2",
        model=INFO,
        projection=1,
        facts=Facts(now=0, estimator="", window=INFO.window, reserve=0),
        system=BLOB,
        tools=BLOB,
        sha256="",
        tokens=estimated,
    )
    answer = assistant("msg_2").info.model_copy(update={"tokens": Usage(input=reported)})
    events: tuple[Event, ...] = (StepRequested(request=request), MessageUpdated(info=answer))
    state = State()
    for seq, event in enumerate(events, 1):
        state.apply(Record(seq=seq, ts=seq, event=event))
    return calibration_ratio(state, INFO)


def _off(name: str, estimate: int, real: int, target: float | None = None) -> Figure:
    share = estimate / real
    return Figure(name, abs(share - 1) * 100, "%", target, f"sees {share:.2f} of it")
