"""Tell which cells the present prompt names, for a call that would change them.

Border: pure; messages in, names out.
"""

from palimpsest.session.prompts.prompt_syntax import notebook_mentions
from palimpsest.transcript.messages import Messages, UserMessage
from palimpsest.transcript.parts import TextPart


def mentioned_cells(messages: Messages) -> frozenset[str]:
    """Return the numbers of the cells that the user names in the present prompt, and in prompts that joined its turn."""
    numbers: set[str] = set()
    for message in reversed(messages):
        info = message.info
        if not isinstance(info, UserMessage) or info.by_engine:
            continue
        texts = [
            part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic
        ]
        numbers.update(
            mention.target
            for text in texts
            for mention in notebook_mentions(text)
            if mention.kind in ("cell", "out", "error") and mention.target
        )
        if not info.joins:
            break
    return frozenset(numbers)
