"""A request that is asked directly gets the answer that it gets through litellm: events, usage, cost, finish, error."""

import re
from typing import Any

import pytest
from tests.model.adapter_requests import info, request, run
from tests.sample_size import thinned

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.direct.direct_model import USER_AGENT, DirectModel
from palimpsest.model.errors.retry import is_retryable
from palimpsest.model.interface import StreamEvent
from palimpsest.model.script import (
    ModelAnswer,
    calls,
    fails,
    out_of_quota,
    overflows,
    says,
    thinks,
    unauthorized,
    writes,
)
from palimpsest.testing import FaultServer, isolated_session
from palimpsest.transcript.errors import ErrorValue

pytestmark = pytest.mark.usefixtures("litellm")

SOURCE = {"url": "https://penguins.example/gentoo", "title": "Gentoo"}
ANSWERS: dict[str, ModelAnswer] = {
    "words": says("Three penguins, 企鹅 🐧 and é."),
    "letters": says("Grüße 🐧\r\nzwei").in_pieces(1),
    "thinking": thinks("Hm. Let me see.").says("Yes."),
    "withheld thinking": thinks("Hm.", redacted="c2VhbGVk").says("Yes."),
    "thinking and calls": thinks("Hm.").says("Look.").calls("python", code="1").calls("python"),
    "calls in letters": calls("python", code='print("a\\n")').in_pieces(1),
    "the same id twice": calls("python", call_id="c", code="1").calls("python", call_id="c", code="2"),
    "no JSON": writes("python", '{"code": '),
    "an empty input": writes("python", ""),
    "an unknown tool": calls("nobody_offered", a=1),
    "citations": says("See ").cites("this", SOURCE).says("."),
    "nothing": says(""),
    "cached": says("Hi.").reports(input=20, output=9, cache_read=100, cache_write=50),
    "a report of thinking": thinks("Hm.").says("Hi.").reports(input=20, output=9, reasoning=5),
    "no report": says("One two three.").reports_nothing(),
    "length": says("Cut off").finishes("length"),
    "filtered": says("").finishes("content_filter"),
    "an unknown finish": says("Well.").finishes("something_new"),
    "a failed finish": says("Well.").finishes("error"),
    "cut": says("Half of").disconnects(),
    "cut in a call": calls("python", code="1").disconnects(),
    "ended early": says("Half of").ends_early(),
    "ended before a word": says("").ends_early(),
    "no JSON in the stream": says("Half of").malformed(),
    "an error in the stream": says("Half of").errs("The server is overloaded.", "overloaded_error"),
    "an error at the beginning": says("").errs("The server is overloaded."),
    "500": fails(500, "It broke."),
    "502": fails(502, "Bad gateway"),
    "503 with a delay": fails(503, "Wait.", retry_after=7),
    "529": fails(529, "Overloaded"),
    "429": fails(429, "Too many requests.", retry_after=2),
    "400": fails(400, "The parameter 'x' is wrong."),
    "404": fails(404, "There is no model 'y'."),
    "401": unauthorized(),
    "quota": out_of_quota(),
    "too long": overflows(),
    "too long, in Anthropic's words": overflows("anthropic"),
}  # fmt: skip
"""All that the fault server plays; each is one answer of a model."""

NUMBERED = re.compile(r"127\.0\.0\.1:\d+|(?:provider|call|toolu)_(?:[0-9a-f]{32}|\d+)")
FAILED = "litellm quotes its own objects; the finish itself is told here"
MALFORMED = "litellm passes over what it cannot read, and with it a part of the answer"
REASONS: dict[tuple[str, str], str] = {
    ("openai", "a failed finish"): FAILED,
    ("my-server", "a failed finish"): FAILED,
    ("anthropic", "no JSON in the stream"): MALFORMED,
    ("hosted_vllm", "no JSON in the stream"): MALFORMED,
    ("anthropic, by proxy", "no JSON in the stream"): MALFORMED,
}
"""Answers that are told in another way, by provider and name, and why."""


def comparable(value: str) -> str:
    """Return a text with one name for each address and each id that was made up."""
    names: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"{found[0].partition('_')[0][:9]}#{len(names)}")

    return NUMBERED.sub(named, value)


def told(error: ErrorValue | None) -> tuple[str, str, Any, Any, bool] | None:
    """Return what of an error a person and the loop see; ours keeps the code and body of one in a stream, too."""
    if error is None:
        return None
    status, headers = getattr(error, "status", None), getattr(error, "headers", None)
    return (
        error.type,
        comparable(str(getattr(error, "message", ""))),
        status,
        headers,
        is_retryable(error),
    )


Answered = tuple[list[StreamEvent], ErrorValue | None]


def compare(case: tuple[str, str], ours: Answered, theirs: Answered) -> None:
    """Assert that what came of a case, of a provider and an answer's name, is the same, or differs where it is said why."""
    if case in REASONS:
        assert told(ours[1]) != told(theirs[1]), "no exception any more"
    else:
        assert comparable(repr(ours[0])) == comparable(repr(theirs[0]))
        assert told(ours[1]) == told(theirs[1])


async def answered(
    answer: ModelAnswer, provider: str, model: Any, **fields: Any
) -> tuple[list[StreamEvent], ErrorValue | None, int]:
    # The fault server counts the prompt by its bytes, and litellm writes spaces into JSON.
    counted = answer.reports(input=20, output=9) if answer.usage == "natural" else answer
    async with FaultServer(counted) as server:
        asked = request(info(provider, server, **fields))
        events, error = await run(asked, model)
        return events, error, len(server.requests)


PROVIDERS = ("openai", "anthropic", "hosted_vllm", "my-server")
CASES = [
    (name, provider)
    for name in ANSWERS
    for provider in PROVIDERS
    # An answer in Anthropic's format begins with a report.
    if (name, provider) != ("no report", "anthropic")
]


@pytest.mark.parametrize(("name", "provider"), thinned(CASES, 6))
async def test_an_answer_is_the_same_on_both_ways(name: str, provider: str) -> None:
    litellm = LitellmModel(read_timeout_seconds=20.0)
    ours = DirectModel(litellm, read_timeout_seconds=20.0)

    events, error, asked = await answered(ANSWERS[name], provider, ours)
    theirs, their_error, asked_by_them = await answered(ANSWERS[name], provider, litellm)

    compare((provider, name), (events, error), (theirs, their_error))
    assert (asked, asked_by_them) == (1, 1), "nothing is sent twice"


@pytest.mark.parametrize("way", [True, False])
def test_the_setting_goes_back_to_litellm(way: bool) -> None:  # noqa: FBT001 - a row of the table
    with FaultServer(says("Hello.")) as server:
        settings = {**server.settings(), "direct": way}
        with isolated_session(settings=settings, environment={"OPENAI_API_KEY": "sk-1"}) as session:
            answer = session.prompt("Hello?")

    assert "Hello." in str(answer)
    assert (server.requests[0].headers["user-agent"] == USER_AGENT) is way
