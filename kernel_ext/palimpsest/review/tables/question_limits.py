"""Maximum lengths of the names and prices in a question or link of a page, and the sentence on a refused value."""

from pydantic_core import ErrorDetails

MAX_NAME_CHARS = 300
"""Maximum characters of a policy's or model's name in a place and in a question."""
MAX_PRICES_CHARS = 8_000
"""Maximum characters of the prices that the user gave: enough for a few hundred models."""


def refusal_text(problem: ErrorDetails) -> str:
    """Return why a value is refused, for a user: which values are possible, or which is the least."""
    context = problem.get("ctx", {})
    match problem["type"]:
        case "literal_error":
            return f"there are {context['expected']}"
        case "greater_than_equal":
            return f"the least is {context['ge']}"
        case _:
            return problem["msg"]
