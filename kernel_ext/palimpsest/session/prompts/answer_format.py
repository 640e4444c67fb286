"""Read the form that a prompt asks its answer to have: a JSON schema, or a pydantic model that says one.

Border: values only. The form is journaled with the prompt as OpenCode writes it: ``type``,
``schema`` and ``retryCount``.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, PydanticUserError

from palimpsest.tools.calls.json_schema import schema_problem
from palimpsest.transcript.errors import UserError

JSON_SCHEMA = "json_schema"
RETRIES = 1
"""How often a model that answered in words is asked for the form, where the prompt does not say."""
MOST_RETRIES = 10
WHAT = (
    "format is the JSON schema of an object, such as {'type': 'object', 'properties': {'rows': {'type': "
    "'integer'}}, 'required': ['rows']}, or a pydantic model"
)


def format_of(given: Any) -> dict[str, Any] | None:
    """Return a form as it is journaled; raises UserError for what is none."""
    if given is None:
        return None
    retries: Any = RETRIES
    schema: Any = given
    if isinstance(given, type) and issubclass(given, BaseModel):
        schema = _schema_of(given)
    elif isinstance(given, Mapping) and given.get("type") == JSON_SCHEMA:
        schema, retries = given.get("schema"), given.get("retryCount", RETRIES)
    if not isinstance(schema, Mapping):
        raise UserError(f"{WHAT}, not {given!r:.60}.")
    if (
        isinstance(retries, bool)
        or not isinstance(retries, int)
        or not 0 <= retries <= MOST_RETRIES
    ):
        raise UserError(
            f"retryCount is a whole number from 0 to {MOST_RETRIES}, not {retries!r:.60}."
        )
    _check(schema)
    return {"type": JSON_SCHEMA, "schema": dict(schema), "retryCount": retries}


def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    try:
        return model.model_json_schema()
    except (PydanticUserError, ValueError, TypeError) as problem:
        first = str(problem).split("\n", 1)[0]
        raise UserError(f"No JSON schema can be made of {model.__name__}: {first}") from None


def _check(schema: Mapping[str, Any]) -> None:
    if schema.get("type", "object") != "object" or not isinstance(
        schema.get("properties"), Mapping
    ):
        raise UserError(f"{WHAT}; this one has no properties: {schema!r:.60}.")
    problem = schema_problem(schema)
    if problem:
        raise UserError(f"The format is no JSON schema: {problem}.")


def journaled_format(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the form of a prompt that was journaled; what is none is left out."""
    try:
        return format_of(options.get("format"))
    except UserError:
        return None
