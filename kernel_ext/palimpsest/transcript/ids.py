"""Generate ids that sort by time and do not overflow.

An id is a prefix, 16 hex digits of time and counter, and ten characters of entropy. OpenCode
keeps 48 bits of the same number; it wrapped in August 2026 and broke every older session,
so the field here has 64 bits, and the journal defines the order anyway.
"""

from collections.abc import Callable
from typing import Literal

Prefix = Literal["ses", "msg", "prt", "per", "que", "pmt", "req", "dec", "note"]

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ENTROPY_LENGTH = 10
NUMBER_DIGITS = 16
COUNTER_RANGE = 4096
FIELD_MASK = (1 << 64) - 1


def encode(
    prefix: Prefix, time_ms: int, counter: int, entropy: bytes, *, descending: bool = False
) -> str:
    """Build one id from its time in milliseconds, a counter within it and random bytes."""
    number = (time_ms * COUNTER_RANGE + counter) & FIELD_MASK
    if descending:
        number ^= FIELD_MASK
    tail = "".join(ALPHABET[byte % len(ALPHABET)] for byte in entropy[:ENTROPY_LENGTH])
    return f"{prefix}_{number:016x}{tail}"


def time_of(identifier: str, *, descending: bool = False) -> int:
    """Return the time, in milliseconds since 1970, at which an id was created."""
    number = int(identifier.partition("_")[2][:NUMBER_DIGITS], 16)
    if descending:
        number ^= FIELD_MASK
    return number // COUNTER_RANGE


def short_id(identifier: str) -> str:
    """Return the end of an id, by which the user or a model can name it within its session."""
    return identifier.partition("_")[2][-ENTROPY_LENGTH:]


class Ids:
    """Generates ids in rising order from a clock and a source of entropy.

    The clock may stand still or step back; the ids of one ``Ids`` still rise.
    """

    def __init__(self, clock: Callable[[], int], entropy: Callable[[int], bytes]) -> None:
        self._clock = clock
        self._entropy = entropy
        self._last_number = 0

    def new(self, prefix: Prefix, *, descending: bool = False) -> str:
        """Return a new id; sessions have descending ids, so that the newest sorts first."""
        self._last_number = max(self._last_number + 1, self._clock() * COUNTER_RANGE + 1)
        time_ms, counter = divmod(self._last_number, COUNTER_RANGE)
        entropy = self._entropy(ENTROPY_LENGTH)
        return encode(prefix, time_ms, counter, entropy, descending=descending)

    def part(self, session_id: str, message_id: str) -> dict[str, str]:
        """Return the ids of a new part of a message, by the names of its fields."""
        return {"id": self.new("prt"), "session_id": session_id, "message_id": message_id}
