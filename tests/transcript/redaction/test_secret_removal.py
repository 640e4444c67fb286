"""Secret environment variables are recognised by name or by value, and harmless ones are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.tools.execution.bash import child_environment
from palimpsest.tools.mcp.client import environment_for
from palimpsest.tools.mcp.values import McpServerSpec
from palimpsest.transcript.redaction.secret_names import is_secret_name
from palimpsest.transcript.redaction.secret_patterns import scrub_values
from palimpsest.transcript.redaction.secret_removal import contains_password, secret_values

SECRET = """
    OPENAI_API_KEY HF_TOKEN SMTP_PASS MYSQL_PWD PGPASSWORD DB_PASSWD REDIS_PASS GCP_CREDS AWS_SECRET_ACCESS_KEY
    AZURE_STORAGE_SAS BLOB_SAS_TOKEN SENTRY_DSN GITHUB_PAT smtpPassword dbPwd accountKey API_KEY_2 TOKEN1 MYSQLPASS HFTOKEN
    JUPYTERHUB_API_TOKEN SESSION_COOKIE SLACK_WEBHOOK_URL BASIC_AUTH PROXY_AUTHORIZATION OAUTH2_CLIENT ENCRYPTION_KEY
    GOOGLE_APPLICATION_CREDENTIALS AZURE_STORAGE_CONNECTION_STRING ConnStr DJANGO_SECRET mypasswordfile x-api-key PRIVATE_PEM
    OPENAIAPIKEY VAULT_SECRETS ssh_passphrase ROOT_PW db.password JWT_SIGNING TOTP_SEED
"""

HARMLESS = """
    PATH HOME PWD OLDPWD LANG LC_ALL USER SHELL TERM DISPLAY SSH_AUTH_SOCK XAUTHORITY TOKENIZERS_PARALLELISM GIT_AUTHOR_NAME
    GIT_AUTHOR_EMAIL AUTHOR PATTERN KEYBOARD_LAYOUT MONKEY_COUNT COMPASS_URL BYPASS_CACHE GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS
    SSH_PUBLIC_KEY VIRTUAL_ENV CONDA_PREFIX PYTHONPATH JPY_SESSION_NAME CUDA_VISIBLE_DEVICES OMP_NUM_THREADS KUBECONFIG AWS_PROFILE
    AWS_REGION NODE_ENV HOSTNAME LS_COLORS XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS TZ EDITOR PAGER LD_LIBRARY_PATH
    MPLBACKEND PIP_INDEX_URL http_proxy NO_PROXY SLURM_JOB_ID PASSED KEYWORD TURKEY df species tokenizer
"""

PEM = "RSA PRIVATE" + " KEY"
WITH_PASSWORD = [
    "postgres://u:p@h",
    "postgres://u:p@h:5432/db",
    "postgresql+psycopg2://ada:s3/cret@db.example/x",
    "redis://:hunter2@cache:6379/0",
    "mongodb+srv://ada:%24x@cluster.example/test",
    "amqp://guest:guest@mq//",
    "https://ada:pw@example.org/repo.git",
    "Server=db;Database=x;User Id=sa;Password=abc12;",
    "DRIVER={x};SERVER=db;UID=sa;PWD=abc",
    "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=YWJj;EndpointSuffix=core",
    "Endpoint=sb://x.example/;SharedAccessKeyName=root;SharedAccessKey=YWJj=",
    "host=db user=ada password=abc dbname=x",
    "jdbc:mysql://db/x?user=ada&password=abc",
    "https://x.example/c?sv=2022&sig=abcd%3D",
]

WITHOUT = [
    "postgres://ada@db:5432/x",
    "https://example.org:8080/path@2x.png",
    "http://proxy.example:3128",
    "http://[::1]:8888/@x",
    "/home/ada/.local/bin:/usr/bin:/bin",
    "module=a;key",
    "a=1;b=2",
    "rs=0:di=01;34:ln=01;36:*.key=00;33",
    "-O2 -march=native",
    "unix:path=/run/user/1000/bus,guid=0",
    "()  { echo a; }",
    "passwords are asked for",
    "",
]


@pytest.mark.parametrize("name", SECRET.split())
def test_a_name_says_that_it_is_a_secret(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_name(name.lower()) or not name.isupper()
    assert name not in child_environment({name: "opensesame-1"})


@pytest.mark.parametrize("name", HARMLESS.split())
def test_other_names_are_kept(name: str) -> None:
    assert not is_secret_name(name)
    assert child_environment({name: "value"})[name] in ("value", "cat", "true", "dumb")


@pytest.mark.parametrize("value", WITH_PASSWORD)
def test_a_value_with_a_password_is_kept_from_programs(value: str) -> None:
    assert contains_password(value)
    assert "DATABASE_URL" not in child_environment({"DATABASE_URL": value})
    environment = {"HTTPS_PROXY": value, "PATH": "/bin"}
    assert "HTTPS_PROXY" not in environment_for(McpServerSpec("x", command="x"), environment)


@pytest.mark.parametrize("value", WITHOUT)
def test_other_values_are_kept(value: str) -> None:
    assert not contains_password(value)
    assert child_environment({"SOME_SETTING": value})["SOME_SETTING"] == value


@pytest.mark.parametrize(
    "value",
    [
        "AKIA" + "IOSFODNN7EXAMPLE",
        "gh" + "p_" + "a1B2" * 9,
        "s" + "k-proj-abcDEF0123456789abcdef",
        "xox" + "b-123456789012-abcdefABCDEF",
        "eyJhbGciOiJIUzI1" + ".eyJzdWIiOiIxMjM0" + ".SflKxwRJSMeKKF2QT4",
        f"-----BEGIN {PEM}-----\nMIIEpAIBAAKCAQEA0\n-----END {PEM}-----",
    ],
)
def test_a_value_in_the_form_of_a_key_is_kept_from_programs(value: str) -> None:
    assert "OTHER" not in child_environment({"OTHER": value})
    assert "OTHER" not in child_environment({"OTHER": f"--option {value} --more"})


def test_a_variable_that_repeats_a_secret_goes_too() -> None:
    environment = {"SMTP_PASS": "correct-horse-1", "MAILER": "smtp user correct-horse-1"}

    assert {"SMTP_PASS", "MAILER"}.isdisjoint(child_environment(environment))


def test_what_is_held_back_is_taken_out_of_outputs() -> None:
    address = "postgres://ada:hunter2@db/x"
    environment = {
        "SMTP_PASS": "correct-horse-1",
        "GCP_CREDS": "creds-of-cloud-1",
        "DATABASE_URL": address,
        "OTHER_URL": "https://ada:a-long-password@db/x",
    }

    values = secret_values(environment)

    for shown in ("correct-horse-1", "creds-of-cloud-1", address, "a-long-password"):
        assert shown not in scrub_values(f"it is {shown}.", values)
    assert scrub_values("hunter ada db", values) == "hunter ada db"


@given(st.text(max_size=80))
def test_any_text_is_judged(text: str) -> None:
    assert isinstance(contains_password(text), bool)
    assert isinstance(is_secret_name(text), bool)


def test_a_long_value_takes_no_long_time() -> None:
    for word in ("://a:", "://:", "password=", ";key ", "a_" * 12 + "token", "@"):
        contains_password(word * 20_000)
