"""Make the error that IPython shows as one sentence, without a traceback.

Border: the sentence may quote a model, a file or a server, so what would steer a terminal is shown as an escape.
"""

from IPython.core.error import UsageError

from palimpsest.transcript.visible_text import visible


def usage_error(sentence: object) -> UsageError:
    """Return the error whose message is this sentence, or that of another error."""
    return UsageError(visible(str(sentence)))
