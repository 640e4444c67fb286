"""Keep the newest user turns, when a policy limits how many are sent."""

from palimpsest.transcript.flat import FlatMessages


def limit(messages: FlatMessages, turns: int | None) -> FlatMessages:
    """Drop what precedes the newest ``turns`` user messages; None or less than one keeps all."""
    if turns is None or turns < 1:
        return messages
    seen = 0
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role != "user":
            continue
        seen += 1
        if seen == turns:
            return messages[position:]
    return messages
