"""Create errors that IPython shows as one sentence, without a traceback.

Border: the sentence may quote a model, a file or a server, so terminal control characters are escaped.
"""

from IPython.core.error import UsageError

from palimpsest.transcript.visible_text import visible_text


def usage_error(sentence: object) -> UsageError:
    """Return an error with this sentence, or the message of another error, as its message."""
    return UsageError(visible_text(str(sentence)))
