"""All parts of code that IPython gives to a shell are found, in any notation."""

import pytest

from palimpsest.tools.permission_rules.ipython_shell import shell_commands


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("!ls", ("ls",)),
        ("!!ls -l", ("ls -l",)),
        ("x = 1\n  !rm {x}", ("rm {x}",)),
        ("files = !ls *.csv", ("ls *.csv",)),
        ("a.b, c[0] = !ls", ("ls",)),
        ("%sx ls", ("ls",)),
        ("out = %system ls", ("ls",)),
        ("%time !ls", ("ls",)),
        ("!ls \\\n  -l", ("ls \\\n  -l",)),
        ("%%bash\nrm x\nls", ("rm x\nls",)),
        ("\n%%script bash -e\nrm x", ("bash -e\nrm x",)),
        ("%%!\nls", ("ls",)),
        ("%%time\n!ls", ("ls",)),
        ("%rm -r x", ("rm -r x",)),
        ("rm -r x", ("rm -r x",)),
        ("ls", ("ls",)),
        ("%pip install x", ("pip install x",)),
        ("get_ipython().system('ls')", ("get_ipython().system('ls')",)),
        ("get_ipython().run_cell_magic('bash', '', 'ls')",) * 1
        + (("get_ipython().run_cell_magic('bash', '', 'ls')",),),
    ],
)
def test_what_goes_to_a_shell_is_found(code: str, found: tuple[str, ...]) -> None:
    assert shell_commands(code) == found


@pytest.mark.parametrize(
    "code",
    [
        "x != 3", "x = 3\ny = x != 3", "print('ls')", "ls = 3", "rm(x)", "cat.shape", "a = b % sx",
        "%matplotlib inline", "%%time\nx = 1", "df.head()  # !ls", "pip = uv", "more, less = 1, 2",
    ],
)  # fmt: skip
def test_other_code_is_left_alone(code: str) -> None:
    assert shell_commands(code) == ()
