"""Exceptions of provider clients become the error values that the recorded OpenCode stored.

``classify`` is what the adapter to litellm calls for every exception. The recording names the
exceptions of another language; here each is the one that Python's clients raise for the same
event. Differences on purpose, each a rule over the case:

- whether a failure is an abort is told by who stopped it (the stage's abort), not guessed from
  the failure that the stop caused;
- words are ours; they are compared only where they are the provider's own;
- a 404 is a wrong name for a model, which no second attempt makes right.
"""

import asyncio
import json
from typing import Any

from tests.golden.data import load
from tests.golden.upstream import ERRORS

from palimpsest.model.errors.classification import classify
from palimpsest.model.errors.retry import is_retryable

Case = dict[str, Any]


class DecodingError(Exception):
    """httpx's exception for a body that cannot be decoded."""


class APIError(Exception):
    """litellm's exception for an error object in the stream."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(json.dumps(body))
        self.body = body


class MidStreamFallbackError(Exception):
    """litellm's exception for a stream that broke."""

    def __init__(self, original: Exception) -> None:
        super().__init__(str(original))
        self.original_exception = original


class AuthenticationError(Exception):
    """litellm's exception for a missing key."""


class ReadTimeout(TimeoutError):
    """httpx's exception for a read timeout."""


def exception_of(case: Case) -> BaseException | None:
    """Return the exception that Python's clients raise for the recorded event; None if there is none."""
    desc = case["desc"]
    if desc.startswith("stream error object code="):
        code = desc.partition("code=")[2]
        return MidStreamFallbackError(APIError({"error": {"code": code, "message": "msg"}}))
    if "AbortError" in desc:
        return asyncio.CancelledError()
    if "ECONNRESET" in desc:
        return ConnectionResetError(104, "Connection reset by peer")
    if "Zlib" in desc:
        return DecodingError("Error -3 while decompressing data: incorrect header check")
    if "key" in desc.lower():
        return AuthenticationError("Missing API key")
    if "timeout" in desc.lower():
        return ReadTimeout("timed out")
    if desc in {"plain Error", "object", "string"}:
        return Exception(case["result"]["data"]["message"])
    return None


def is_told_by_who_stopped(case: Case) -> bool:
    """An abort is recognised by its cause, the stop, not by the exception that the stop raises."""
    return bool(case["ctx"].get("aborted"))


def test_every_exception_becomes_the_recorded_kind() -> None:
    ours: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    for case in load("opencode", "error_mapping"):
        raised = exception_of(case)
        if raised is None or is_told_by_who_stopped(case):
            continue
        error = classify(raised, case["ctx"]["providerID"])
        recorded = case["result"]
        ours[case["desc"]] = error.type, is_retryable(error)
        again = bool(recorded["data"].get("isRetryable"))
        theirs[case["desc"]] = ERRORS[recorded["name"]], again

    assert ours == theirs
    assert ours


def test_the_providers_own_words_are_kept() -> None:
    for case in load("opencode", "error_mapping"):
        raised, recorded = exception_of(case), case["result"]
        if raised is None or recorded["data"].get("message") not in {"msg", "boom", '{"a":1}'}:
            continue
        error = classify(raised, case["ctx"]["providerID"])

        assert recorded["data"]["message"] in error.message, case["desc"]
