"""What is said to one family of models beside what is said to all.

Border: pure; which paragraph is whose stands in the profile (``transcript/provider``). Each one answers a
habit of the family that costs turns or tokens in notebook work, and is no longer than that.
"""

from palimpsest.transcript.provider_profile.profile import guidance_of
from palimpsest.transcript.provider_profile.provider_table import Guidance

MODEL_GUIDANCE: dict[Guidance, str] = {
    "codex": """\
- This is a notebook and no terminal: there is no apply_patch. Files are changed with edit and write, and what
  can be computed in the kernel is computed with python, not in a shell.
- No preamble and no plan before the work: call the tools, several at once where none needs another's
  result. When the work is done, say in a few lines what came out.""",
    "reasoning": """\
- Do not end a turn with a plan that you could carry out yourself: carry it out, then say what came
  out. Before a series of calls, one line says what they are for.
- Calls that do not need each other's results go into one answer.""",
    "gpt": """\
- Go on until the request is met. When you say that you will do something, call the tool in the same
  answer; an announcement alone ends the turn.
- Do not answer from memory what a tool can look up here.""",
    "gemini": """\
- Call a tool instead of writing its name or its code into the answer. Call only the tools that are
  listed, with the arguments they name.
- Keep what you say between calls to a line; the conclusion comes once, at the end.""",
    "claude": """\
- Calls that do not need each other's results go into one answer.
- Do what was asked, no more: no extra files, no summaries in files, no tests nobody asked for.""",
    "other": """\
- Call one tool at a time, with arguments exactly as its description names them, and wait for the
  result. Never write a call into the text of an answer.
- When the same call has failed twice, stop and say what is in the way.""",
}


def manner(model_id: str) -> Guidance:
    """Return which of them a model is given."""
    return guidance_of(model_id)
