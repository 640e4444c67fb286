"""Lesson 1: where the tokens of a long session go."""

from collections import defaultdict
from functools import partial

from palimpsest.lessons.exercise_checks import check_function
from palimpsest.lessons.lesson_plan import Exercise, LessonPlan, LessonSessions, Prediction
from palimpsest.lessons.prediction_kinds import NumberKind
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.values import CHARS_PER_TOKEN


def largest_request(session: SessionReview) -> int:
    """Return the number of the request with the most reported tokens."""
    requests = session.timeline.requests
    return 1 + max(range(len(requests)), key=lambda index: reported_tokens(session, index + 1))


def reported_tokens(session: SessionReview, request: int) -> int:
    """Return the tokens of a request as the provider reported them, 0 where it did not."""
    usage = session.timeline.requests[request - 1].usage
    return usage.prompt if usage is not None else 0


def percent_by_kind(session: SessionReview, request: int) -> dict[str, float]:
    """Return the tokens of each kind of item in a request, in per cent of all that it shows."""
    tokens_of_kind: defaultdict[str, float] = defaultdict(float)
    for block in session.request(request).blocks:
        tokens_of_kind[block.kind] += block.tokens
    total_tokens = sum(tokens_of_kind.values())
    return {kind: 100 * tokens / total_tokens for kind, tokens in tokens_of_kind.items()}


def output_share(session: SessionReview) -> float:
    """Return the share of tool results in the largest request, in per cent of all that it shows."""
    return percent_by_kind(session, largest_request(session)).get("output", 0.0)


def rule_of_thumb_error(session: SessionReview) -> float:
    """Return by how many per cent four characters a token are too few for the largest request."""
    number = largest_request(session)
    chars = sum(block.chars for block in session.request(number).blocks)
    return 100 * (1 - chars / CHARS_PER_TOKEN / reported_tokens(session, number))


def _share_surprise(sessions: LessonSessions, truth: float) -> str:
    percents = percent_by_kind(sessions["pi"], largest_request(sessions["pi"]))
    return (
        f"{truth:.0f} % are results of tools, and {percents['call']:.0f} % are the calls, which the agent wrote itself. All "
        f"that the person typed is {percents['user']:.1f} %."
    )


def _thumb_surprise(sessions: LessonSessions, truth: float) -> str:
    request = largest_request(sessions["pi"])
    return (
        f"Four characters a token come out {truth:.0f} % too low at request {request}: code, paths and numbers take more "
        "tokens than prose. A limit that is counted so acts too late."
    )


def _wrong_kinds(value: object, expected: object) -> str:
    if not isinstance(value, dict):
        return "Return a dict: a key for each kind, such as 'output', and its tokens in per cent."
    assert isinstance(expected, dict)
    missing_kinds = sorted(expected.keys() - value.keys())
    if missing_kinds:
        return f"The kind {missing_kinds[0]!r} lacks. Each block of session.request(n).blocks has a kind."
    total_percent = sum(number for number in value.values() if isinstance(number, int | float))
    if abs(total_percent - 100) > 0.05:
        return (
            f"Your shares come to {total_percent:,.4g}; in per cent of all blocks they come to 100."
        )
    return "The shares come to 100 but differ. Is it the request with the most input tokens, and are these its tokens?"


TOKEN_KINDS = LessonPlan(
    number=1,
    title="Where do the tokens go?",
    question="What fills the context window of an agent after 453 requests?",
    notebook="01-where-do-the-tokens-go",
    recordings={
        "pi": "pi_large_session.jsonl",
        "claude": "claude_code_spotter/8463c716-a2ea-4c14-9efa-87158ebd9f20.jsonl",
    },
    predictions=(
        Prediction(
            "share",
            "Of all that the largest request shows, how many per cent are results of tools?",
            NumberKind("%"),
            lambda sessions: output_share(sessions["pi"]),
            _share_surprise,
        ),
        Prediction(
            "thumb",
            "Four characters a token is a common rule of thumb. By how many per cent is it too low there?",
            NumberKind("%"),
            lambda sessions: rule_of_thumb_error(sessions["pi"]),
            _thumb_surprise,
        ),
    ),
    exercises=(
        Exercise(
            "kinds",
            "Write kinds_at_the_peak(session): the share of each kind in the largest request, in per cent.",
            (
                (
                    "session.requests.to_dataframe() has a column `input`; session.request(n).blocks are the blocks of one "
                    "request."
                ),
                "A block has .kind and .tokens. Add the tokens up by kind, then divide by their sum.",
                (
                    "n = int(requests.loc[requests['input'].idxmax(), 'request']); then for block in "
                    "session.request(n).blocks: tokens[block.kind] += block.tokens"
                ),
            ),
            partial(
                check_function,
                truth=lambda session: percent_by_kind(session, largest_request(session)),
                names=("pi", "claude"),
                example="kinds_at_the_peak",
                wrong=_wrong_kinds,
            ),
        ),
    ),
    meaning=(
        (
            "Half of the window are results: files that were read, output of commands. A third are the calls, since an edit "
            "of a file is a call that holds the old and the new text. What the person typed is next to nothing. Whoever wants "
            "to save tokens looks at results and calls, not at prompts."
        ),
        (
            "And no tokens were counted until now: many agents take four characters for a token. For code that is too few "
            "tokens, and a limit that is counted so acts too late."
        ),
    ),
    hide=("tracks", "window", "totals", "figures"),
    keep_hidden=("breaks",),
)
