r"""Find the shell commands in code for IPython: ``!ls``, ``%sx``, ``%%bash``, ``get_ipython().system``.

Border: pure text. It finds what IPython itself passes to a shell, by its syntax; shell commands of Python
code (``subprocess``, ``os.system``, a name computed at run time) are not detected.
"""

import re

from palimpsest.transcript.strings.lazy_patterns import lazy_pattern

CELL = lazy_pattern(r"\s*%%(bash|sh|zsh|script|system|sx|!|perl|ruby|cmd)(?![\w-])(.*)", re.DOTALL)
"""A cell whose whole text is passed to a program."""
LINE = lazy_pattern(
    r"""^[ \t]*
    (?:[A-Za-z_][\w.,\s\[\]'"*]*=[ \t]*)?       # files = !ls
    (?:%{1,2}\w+[^\n]*?[ \t])?                  # %time !ls
    (?:!{1,2}|%(?:sx|system|sc)\b)[ \t]*
    (?P<command>(?:[^\n\\]|\\.|\\\n)*)""",
    re.MULTILINE | re.VERBOSE | re.DOTALL,
)
ALIASES = "ls|ll|lf|lk|ldir|lx|cat|cp|mv|rm|mkdir|rmdir|man|less|more|pip|conda|mamba|micromamba|uv"
"""Shell commands that IPython has as magics, with or without a percent sign."""
ALIAS = lazy_pattern(
    rf"^[ \t]*(?P<command>(?:%(?:{ALIASES})\b[^\n]*|(?:{ALIASES})(?:[ \t]+[-\w./~$\"'*][^\n=]*)?[ \t]*$))",
    re.MULTILINE,
)
CALLED = lazy_pattern(
    r"\.\s*(?:system|system_raw|system_piped|getoutput|run_line_magic|run_cell_magic|magic)\s*\("
)


def shell_commands(code: str) -> tuple[str, ...]:
    r"""Return the shell commands in a piece of code, as far as they are recognised.

    >>> shell_commands("x = 1\nfiles = !ls -l {x}")
    ('ls -l {x}',)
    >>> shell_commands("%%bash\nrm x")
    ('rm x',)
    """
    cell = CELL.match(code)
    if cell:
        return (cell[2].strip() or cell[1],)
    found = [match["command"].strip() for match in LINE.finditer(code)]
    found += [match["command"].strip().lstrip("%") for match in ALIAS.finditer(code)]
    if "get_ipython" in code and CALLED.search(code):
        found.append(code.strip())
    return tuple(dict.fromkeys(one for one in found if one and not one.startswith("=")))
