r"""Find the shell commands in code for IPython: ``!ls``, ``%sx``, ``%%bash``, ``get_ipython().system``.

Border: pure text. Finds commands that IPython itself passes to a shell, by their syntax; shell commands of Python
code (``subprocess``, ``os.system``, a name computed at run time) are not detected.
"""

import re

from palimpsest.lazy_patterns import lazy_pattern

CELL_MAGIC = lazy_pattern(
    r"\s*%%(bash|sh|zsh|script|system|sx|!|perl|ruby|cmd)(?![\w-])(.*)", re.DOTALL
)
"""A cell whose complete text is passed to a program."""
SHELL_LINE = lazy_pattern(
    r"""^[ \t]*
    (?:[A-Za-z_][\w.,\s\[\]'"*]*=[ \t]*)?       # files = !ls
    (?:%{1,2}\w+[^\n]*?[ \t])?                  # %time !ls
    (?:!{1,2}|%(?:sx|system|sc)\b)[ \t]*
    (?P<command>(?:[^\n\\]|\\.|\\\n)*)""",
    re.MULTILINE | re.VERBOSE | re.DOTALL,
)
ALIASES = "ls|ll|lf|lk|ldir|lx|cat|cp|mv|rm|mkdir|rmdir|man|less|more|pip|conda|mamba|micromamba|uv"
"""Shell commands that IPython has as magics, with or without a percent sign."""
ALIAS_LINE = lazy_pattern(
    rf"^[ \t]*(?P<command>(?:%(?:{ALIASES})\b[^\n]*|(?:{ALIASES})(?:[ \t]+[-\w./~$\"'*][^\n=]*)?[ \t]*$))",
    re.MULTILINE,
)
SHELL_CALL = lazy_pattern(
    r"\.\s*(?:system|system_raw|system_piped|getoutput|run_line_magic|run_cell_magic|magic)\s*\("
)


def shell_commands(code: str) -> tuple[str, ...]:
    r"""Return the recognised shell commands in a piece of code.

    >>> shell_commands("x = 1\nfiles = !ls -l {x}")
    ('ls -l {x}',)
    >>> shell_commands("%%bash\nrm x")
    ('rm x',)
    """
    cell = CELL_MAGIC.match(code)
    if cell:
        return (cell[2].strip() or cell[1],)
    commands = [match["command"].strip() for match in SHELL_LINE.finditer(code)]
    commands += [match["command"].strip().lstrip("%") for match in ALIAS_LINE.finditer(code)]
    if "get_ipython" in code and SHELL_CALL.search(code):
        commands.append(code.strip())
    return tuple(dict.fromkeys(text for text in commands if text and not text.startswith("=")))
