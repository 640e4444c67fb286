"""Frozen dataclasses with many fields, of which many are made: each field is stored directly.

The standard library's ``__init__`` of a frozen class calls ``object.__setattr__`` for each field, which takes twice as long. Border:
the standard library only.
"""

from dataclasses import MISSING, Field, fields
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")


def with_direct_init(dataclass: type[T]) -> type[T]:
    """Return a frozen dataclass with slots, whose ``__init__`` is replaced by a faster one when it is first called.

    It has the same parameters. A class with ``__post_init__``, or with fields that are no parameters, is refused.
    """
    kind: Any = dataclass
    if hasattr(kind, "__post_init__") or not all(field.init for field in fields(kind)):
        raise TypeError(f"{kind.__name__} needs the __init__ of the standard library.")
    standard_init = kind.__init__

    @wraps(standard_init)
    def first_init(self: Any, *arguments: Any, **named: Any) -> None:
        if kind.__init__ is first_init:
            kind.__init__ = _direct_init(kind, standard_init)
        standard_init(self, *arguments, **named)

    kind.__init__ = first_init
    return dataclass


def _direct_init(dataclass: Any, standard_init: Any) -> Any:
    names_in_source: dict[str, Any] = {"made_anew": MISSING}
    parameters, lines = ["self"], []
    for field in fields(dataclass):
        names_in_source[f"store_{field.name}"] = vars(dataclass)[field.name].__set__
        parameters.append(_parameter(field, names_in_source))
        value = field.name
        if field.default_factory is not MISSING:
            value = f"make_{field.name}() if {field.name} is made_anew else {field.name}"
        lines.append(f"    store_{field.name}(self, {value})")
    source = "\n".join([f"def __init__({', '.join(parameters)}):", *lines])
    exec(source, names_in_source)
    return wraps(standard_init)(names_in_source["__init__"])


def _parameter(field: "Field[Any]", names_in_source: dict[str, Any]) -> str:
    """Return a field as a parameter, and add its default to the names that the source uses."""
    if field.default_factory is not MISSING:
        names_in_source[f"make_{field.name}"] = field.default_factory
        return f"{field.name}=made_anew"
    if field.default is MISSING:
        return field.name
    names_in_source[f"default_{field.name}"] = field.default
    return f"{field.name}=default_{field.name}"
