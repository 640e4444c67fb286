"""Read the first fields of a JSON document whose rest is not known, to recognise its format.

Nothing here raises: a text that is no JSON object has no fields.
"""

from dataclasses import dataclass, field
from json import JSONDecoder

from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import Json

_DECODER = JSONDecoder()
_BLANKS = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first fields of an object: those with whole values, and the one whose value breaks off."""

    fields: Json = field(default_factory=dict)
    cut_name: str = ""
    """Name of the field whose value breaks off; empty where none does."""
    cut_text: str = ""
    """The text of that value, as far as it is there."""

    def value(self, name: str) -> JsonValue:
        """Return a field's value; one without content where the field is missing or its value breaks off."""
        return JsonValue(self.fields.get(name))

    def cut_text_of(self, name: str) -> str:
        """Return the text of a value that breaks off; empty for any other field."""
        return self.cut_text if name == self.cut_name else ""

    def object_at(self, name: str) -> "Beginning":
        """Return the beginning of the object in a field, whole or not."""
        value = self.value(name)
        return Beginning(value.fields()) if value else object_beginning(self.cut_text_of(name))

    def objects_at(self, name: str) -> list[JsonValue]:
        """Return the whole objects at the beginning of a list, whole or not."""
        value = self.value(name)
        return value.objects() if name in self.fields else list_beginning(self.cut_text_of(name))


def document_text(start: bytes) -> str:
    """Return the text of a file's first bytes, without what cannot be decoded at its end."""
    return start.decode("utf-8-sig", "ignore").lstrip(_BLANKS)


def is_one_document(text: str) -> bool:
    """Return whether a text is one document rather than JSON lines: a list, or an object of more than one line."""
    if text.startswith("["):
        return True
    first_line, _, rest = text.partition("\n")
    has_more_lines = rest[:1] in {" ", "\t", '"', "\r", "\n"} and bool(rest.strip())
    return has_more_lines and not isinstance(JsonValue(first_line).decoded().raw, dict)


def object_beginning(text: str) -> Beginning:
    """Return the first fields of an object whose text may break off."""
    whole_fields: Json = {}
    if not text.startswith("{"):
        return Beginning()
    position = _after_blanks(text, 1)
    while text[position : position + 1] == '"':
        name, end = _value_and_end(text, position)
        position = _after_blanks(text, _after_blanks(text, end) + 1)
        value, end = _value_and_end(text, position)
        if not isinstance(name, str) or text[end : end + 1] == "":
            rest = text[position:]
            if rest and isinstance(name, str):
                return Beginning(whole_fields, name, rest)
            break
        whole_fields[name] = value
        position = _after_blanks(text, end)
        if text[position : position + 1] != ",":
            break
        position = _after_blanks(text, position + 1)
    return Beginning(whole_fields)


def list_beginning(text: str) -> list[JsonValue]:
    """Return the whole objects at the beginning of a list whose text may break off."""
    values: list[JsonValue] = []
    if not text.startswith("["):
        return values
    position = _after_blanks(text, 1)
    while text[position : position + 1] == "{":
        value, end = _value_and_end(text, position)
        if not isinstance(value, dict):
            break
        values.append(JsonValue(value))
        position = _after_blanks(text, _after_blanks(text, end) + 1)
    return values


def _value_and_end(text: str, position: int) -> tuple[object, int]:
    """Return the value at a position and its end; the end of the text where the value breaks off."""
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None, len(text)


def _after_blanks(text: str, position: int) -> int:
    while text[position : position + 1] and text[position] in _BLANKS:
        position += 1
    return position
