"""Convert rows to columns of JSON and back, for files that may come from any source.

A value has exactly the expected fields, each of its Python type, with texts of bounded length, numbers of bounded size
and few levels. A file with any other value is rejected as a whole.
"""

from itertools import starmap
from typing import Any, Self, get_type_hints

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, create_model, model_validator
from pydantic_core import CoreSchema, core_schema

MAX_TEXT_CHARS = 2_000
"""Maximum characters of one text; the long texts of a session are only in its log."""
MAX_NUMBER = 1 << 53
"""Maximum absolute value of a number; up to it any JSON reader keeps whole numbers exact."""
MAX_LEVELS = 10
"""Maximum levels of lists and objects below a value."""


class KeptValue(BaseModel):
    """A value of a file; read strictly, without conversions."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if not _is_bounded(dict(self), MAX_LEVELS):
            raise ValueError(
                "A text is too long, a number too large, or something nested too deeply."
            )
        return self


class AsColumns:
    """Marks a field of rows, instances of a dataclass, that is written as one list for each field of the dataclass."""

    def __init__(self, row_type: type) -> None:
        self._row_type = row_type

    def __get_pydantic_core_schema__(
        self, _source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema by which the rows are read and written."""
        fields: dict[str, Any] = {
            name: (list[hint], ...)  # type: ignore[valid-type]  # known at run time
            for name, hint in get_type_hints(self._row_type).items()
        }
        columns = create_model(self._row_type.__name__, __base__=KeptValue, **fields)

        def rows_of(value: BaseModel) -> tuple[object, ...]:
            return tuple(starmap(self._row_type, zip(*vars(value).values(), strict=True)))

        def columns_of(rows: tuple[object, ...]) -> dict[str, list[Any]]:
            return {name: [getattr(row, name) for row in rows] for name in fields}

        return core_schema.no_info_after_validator_function(
            rows_of,
            handler.generate_schema(columns),
            serialization=core_schema.plain_serializer_function_ser_schema(columns_of),
        )


def _is_bounded(value: object, depth: int) -> bool:
    match value:
        case None:
            return True
        case str():
            return len(value) <= MAX_TEXT_CHARS
        case int() | float():
            return abs(value) <= MAX_NUMBER  # NaN is refused, since it compares as false
        case list() | tuple():
            return depth > 0 and all(_is_bounded(element, depth - 1) for element in value)
        case dict():
            elements = (*value, *value.values())
            return depth > 0 and all(_is_bounded(element, depth - 1) for element in elements)
        case BaseModel() if not isinstance(value, KeptValue):
            return _is_bounded(dict(value), depth)
        case _:
            return True
