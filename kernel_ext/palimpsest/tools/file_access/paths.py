"""Resolve the paths that tools receive, determine which files are protected, and ask for permission where needed.

Border: resolves and asks, opens no file. Real paths are compared, so a link inside the project to a
place outside it counts as outside.

A table names the protected files, key files and control files, by their real path. Reading a *key file* asks, and
searches skip it; writing one asks. Writing a *control file* asks, since it determines which code runs later: hooks,
settings, agents, startup files. Neither kind is allowed by an "always", by a rule for a folder, or by a mode other than ``bypass``.
A hard link under another name is not recognised, since its original name cannot be found.
"""

import difflib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

from palimpsest.home_paths import home_path
from palimpsest.tools.tool import ToolContext
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.strings.relative_paths import (
    comparable_names,
    comparable_path,
    disk_name,
    recorded_name,
)

OWN_FOLDER = ".palimpsest"
MAX_WIDE_PARTS = 2
"""Maximum path parts of a folder that always counts as wide, such as ``/`` and ``/etc``."""
MAX_SHOWN_CHARS = 200
"""Maximum characters of an invalid path in an error message."""
MAX_SIMILAR_NAMES = 3
MIN_SIMILARITY = 0.5
"""Minimum similarity (0 to 1) of a name that is proposed in place of a missing one."""

Protection = Literal["key", "control"]

DATA_SUFFIXES = """
    json jsonc json5 toml yaml yml ini cfg conf config txt csv tsv xml env properties plist db sqlite enc
    asc gpg php
"""
"""Suffixes of data files, which replace ``.@`` below, so that ``credentials.go`` and ``secrets.md`` do not match."""

KEY_NAMES = """
    .env *.env .env.* .env-* .env_* *.env.* .envrc *.envrc .flaskenv .renviron
    .netrc _netrc .authinfo .pgpass pgpass.conf .my.cnf .mylogin.cnf .htpasswd .passwd
    .pypirc .npmrc .yarnrc.yml .git-credentials pip.conf pip.ini auth.toml auth.json .auth.json
    credentials .credentials credentials.@ .credentials.@ *-credentials.json *_credentials.json
    *_creds.json *-creds.json creds.json gha-creds-*.json client_secret*.json
    service-account*.json service_account*.json serviceaccount*.json *-service-account.json
    *_service_account.json *firebase-adminsdk*.json
    secret secrets .secret .secrets secret.@ secrets.@ secrets.py *.secret *.secrets *-secrets.y*ml
    *_secrets.y*ml token .token *.token token.json token.txt *_token.txt stored_tokens
    password.@ passwords.@ passwords api_key api_key.@ api_keys.@ apikey apikey.@ apikeys.@ api-key.@
    *.apikey keys.cfg kaggle.json .databrickscfg .s3cfg .boto .dockercfg .dockerconfigjson
    .vault-token .vault_pass* vault_pass* .vault-pass* vault-pass* vault.yml vault.yaml
    .terraformrc terraform.rc *.tfrc.json *.tfstate *.tfstate.* *.tfvars *.tfvars.json
    kubeconfig *.kubeconfig rclone.conf wp-config.php
    *.key *.pem *.p8 *.p12 *.pfx *.pkcs12 *.ppk *.jks *.jceks *.keystore *.truststore *.bks *.kdb *.kdbx
    *.keyring *.keychain *.keychain-db keyring_pass.cfg *.ovpn secring.gpg
    *id_rsa *id_dsa *id_ecdsa *id_ed25519 *id_ecdsa_sk *id_ed25519_sk .xauthority .iceauthority .*_history
    jupyter_cookie_secret notebook_cookie_secret jupyterhub_cookie_secret jupyterhub.sqlite
    kernel-????????-*.json jpserver-*.json nbserver-*.json
"""
"""Names, and patterns of names, of files that usually contain keys."""

KEY_PLACES = """
    .ssh/* .gnupg/* .aws/* .azure/* .oci/* .kube/* .docker/config.json .config/gcloud/* gcloud/legacy_credentials/*
    containers/auth.json .config/gh/* .config/hub .config/glab-cli/* .config/doctl/* .config/github-copilot/*
    .huggingface/* huggingface/token .m2/settings*.xml .gradle/gradle.properties .nuget/* .composer/auth.json
    .snowflake/* .snowsql/* .password-store/* keyrings/* library/keychains/* .local/share/python_keyring/*
    .jupyter/jupyter*config.json jupyter/runtime/* .ipython/*/security/* wireguard/*.conf
    io.datasette.llm/keys.json run/secrets/* etc/ssl/private/* etc/shadow* etc/gshadow* etc/sudoers*
    proc/*/environ proc/*/mem proc/*/task/*/environ proc/*/task/*/mem
"""
"""Ends of paths of key files; a star at the end matches everything below the folder."""

HARMLESS_NAMES = """
    *.env.example *.env.sample *.env.template *.env.dist *.env.schema .env.d.ts *.pub known_hosts
    *.key.pub secrets.baseline .secrets.baseline
"""
"""Names that look like key files but are meant to be read."""

CONTROL_NAMES = """
    palimpsest.* .git git~1 .gitmodules .gitattributes .gitconfig .gitignore_global .hgrc
    .pre-commit-config.yaml lefthook.y*ml .lefthook.y*ml .gitlab-ci.y*ml jenkinsfile .travis.y*ml
    azure-pipelines.y*ml bitbucket-pipelines.y*ml appveyor.y*ml .appveyor.y*ml .drone.y*ml .woodpecker.y*ml
    .devcontainer.json *.code-workspace agents.md agents.local.md claude.md claude.local.md context.md
    gemini.md .cursorrules .windsurfrules .clinerules skill.md .mcp.json mcp.json mcp_config.json
    opencode.json opencode.jsonc .claude.json
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin
    .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .xprofile .xinitrc .xsession config.fish
    crontab .vimrc .gvimrc .nvimrc .exrc .emacs .dir-locals.el .screenrc .tmux.conf .wgetrc .curlrc
    sitecustomize.py usercustomize.py *.pth conftest.py setup.py setup.cfg pyproject.toml tox.ini pytest.ini
    noxfile.py .pdbrc .pythonrc .pythonrc.py .pythonstartup .pylintrc pylintrc hatch_build.py .rprofile
    rprofile.site package.json makefile gnumakefile justfile .justfile taskfile.y*ml rakefile
    .mise.toml mise.toml .tool-versions
    jupyter*config.py jupyter*config.json ipython*config.py kernel.json authorized_keys
"""
"""Names of control files, which determine code that runs, permissions, or the instructions of an agent."""

CONTROL_PLACES = """
    .palimpsest/* palimp~1/* .git/* git~1/* .hg/* .svn/* .githooks/* .husky/* .github/* .gitlab/* .circleci/*
    .buildkite/* .woodpecker/* .vscode/* .idea/* .fleet/* .zed/* .devcontainer/* .cursor/* .windsurf/*
    .agents/* .claude/* .opencode/* .codex/* .gemini/* .config/opencode/* .config/palimpsest/*
    .config/fish/* .config/autostart/* .config/systemd/* .config/git/* .local/bin/* launchagents/*
    .jupyter/* .ipython/* etc/jupyter/* etc/ipython/* share/jupyter/* site-packages/* dist-packages/*
    .local/state/palimpsest/* palimpsest/grants/* palimpsest/trusted.json
    .julia/config/* .emacs.d/* .vim/* .config/nvim/*
"""
"""Folders in which all files are control files."""

BACKUP_SUFFIXES = re.compile(
    r"(?:~|#|\.~\d+~|\.(?:bak|back|backup|old|orig|original|save|saved|swp|swo|swn|swx|un~|tmp|temp|copy|rej|"
    r"dpkg-(?:old|dist|new)|rpm(?:save|new|orig)|gz|bz2|xz|zst|zip|\d{1,14})|[ _-](?:copy|old|bak|backup)|"
    r" ?\(\d+\))$"
)
"""Suffixes that editors, packages and users add to the names of copies."""
BACKUP_PREFIXES = ("#", ".#", "~$", "._", "copy of ")
MAX_BACKUP_SUFFIXES = 4


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A path that a tool received, resolved."""

    path: Path
    """The real path, without links."""
    display_path: str
    """Relative if inside the project, else absolute; permission patterns are matched against it."""
    is_inside: bool

    @property
    def folder_pattern(self) -> str:
        """The pattern to ask ``external_directory`` for: the folder, or the file if the folder is wide."""
        folder = self.path if self.path.is_dir() else self.path.parent
        if folder != self.path and is_wide(folder):
            return str(self.path)
        return f"{str(folder).rstrip('/')}/*"

    @property
    def always_folder_patterns(self) -> list[str]:
        """The ``external_directory`` patterns an "always" would allow; none for wide folders or wildcards."""
        if self.path.is_dir() and is_wide(self.path):
            return []
        pattern = self.folder_pattern
        return [pattern] if is_literal(pattern.removesuffix("/*")) else []

    def always_patterns(self, permission: str) -> list[str]:
        """Return the patterns an "always" would allow: this file alone, or none if it is protected."""
        if is_protected(permission, self.display_path) or not is_literal(self.display_path):
            return []
        return [self.display_path]

    async def ask_permission(
        self, context: ToolContext, permission: str, title: str, diff: str | None = None
    ) -> None:
        """Ask for a permission for this file; raises PermissionDenied."""
        always = self.always_patterns(permission)
        await context.ask(permission, [self.display_path], title=title, always=always, diff=diff)


def is_literal(path: str) -> bool:
    """Return whether a path, used as a pattern, matches only itself."""
    return not any(character in path for character in "*?\\")


def is_wide(folder: Path) -> bool:
    """Return whether a folder is too broad to be allowed as a whole: the root, a home, a parent of homes."""
    home = home_path("~").resolve()
    return len(folder.parts) <= MAX_WIDE_PARTS or folder == home or folder in home.parents


def resolve_path(path: str, root: Path, cwd: Path) -> ResolvedPath:
    """Resolve a path, including links and ``~``, and determine whether it is in the project.

    Raises UserError for a path that cannot be resolved.
    """
    if not path or "\0" in path or not _is_encodable(path):
        raise UserError(f"{path!r} is not a path. Give the path of a file or folder.")
    name_on_disk = _as_on_disk(path, cwd)
    path_on_disk = home_path(name_on_disk) if name_on_disk.startswith("~") else Path(name_on_disk)
    try:
        real_path = (cwd / path_on_disk).resolve()
        real_root = root.resolve()
        with suppress(FileNotFoundError, NotADirectoryError):
            real_path.lstat()  # fails where nobody can tell whether it exists
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"The path {_short_path(path)!r} cannot be followed: {reason}.") from error
    is_inside = real_path == real_root or real_root in real_path.parents
    display_path = recorded_name(
        real_path.relative_to(real_root).as_posix() if is_inside else str(real_path)
    )
    return ResolvedPath(path=real_path, display_path=display_path, is_inside=is_inside)


def _is_encodable(path: str) -> bool:
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def native_name(path: str) -> str:
    """Return a path as Python names the file whose name is this text in UTF-8, in any locale's encoding.

    In a UTF-8 locale it is the same text. In other locales, file names on a disk are still UTF-8.
    """
    return os.fsdecode(path.encode("utf-8", "surrogateescape"))


def _as_on_disk(path: str, cwd: Path) -> str:
    """Return a path with the file name on the disk, as a listing showed it or as it was given."""
    native_path = native_name(path)
    for candidate in dict.fromkeys((native_path, disk_name(path), path)):
        with suppress(UnicodeEncodeError, OSError):
            if os.path.lexists(cwd / candidate):
                return candidate
    with suppress(UnicodeEncodeError, OSError):  # a new file in a folder that a listing showed
        folders_exist = [(cwd / name).parent.exists() for name in (native_path, disk_name(path))]
        return disk_name(path) if folders_exist == [False, True] else native_path
    return native_path


def _short_path(path: str) -> str:
    return path if len(path) <= MAX_SHOWN_CHARS else f"{path[:MAX_SHOWN_CHARS]}..."


async def resolve_permitted(
    context: ToolContext, path: str, *, writing: bool = False
) -> ResolvedPath:
    """Resolve a path, and ask for ``external_directory`` if it is outside the project.

    Raises UserError, also for writing in ``.palimpsest``, and PermissionDenied.
    """
    place = resolve_path(path, context.root, context.cwd)
    if writing and OWN_FOLDER in comparable_path(str(place.path)).split("/"):
        raise UserError(
            f"{place.display_path} belongs to the {OWN_FOLDER} folder, which holds the record of this session "
            "and is not for tools to change."
        )
    if not place.is_inside:
        pattern = place.folder_pattern
        await context.ask(
            "external_directory",
            [pattern],
            title=f"Outside the project: {place.display_path}",
            always=place.always_folder_patterns,
        )
    return place


def missing_path_error(place: ResolvedPath) -> NotFound:
    """Return the error for a path that does not exist; its message has the most similar names in the folder."""
    folder = place.path.parent
    try:
        names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    except OSError:
        names = []
    if not folder.is_dir():
        return NotFound(f"There is no {place.display_path}: its folder does not exist either.")
    missing_name = recorded_name(place.path.name).lower()
    names_by_lower_name = {name.lower(): name for name in map(recorded_name, reversed(names))}
    similar_names = difflib.get_close_matches(
        missing_name, list(names_by_lower_name), n=MAX_SIMILAR_NAMES, cutoff=MIN_SIMILARITY
    )
    similar_names += [
        lower_name
        for lower_name in names_by_lower_name
        if lower_name not in similar_names
        and (missing_name in lower_name or lower_name in missing_name)
    ]
    if not similar_names:
        return NotFound(f"There is no {place.display_path}. Use list or glob to see what is there.")
    hints = ", ".join(
        f"'{names_by_lower_name[lower_name]}'" for lower_name in similar_names[:MAX_SIMILAR_NAMES]
    )
    return NotFound(f"There is no {place.display_path}. Close names in that folder: {hints}.")


async def resolve_permitted_folder(context: ToolContext, path: str) -> ResolvedPath:
    """Resolve the path of a folder as ``resolve_permitted`` does; raises NotFound, or UserError for a file."""
    place = await resolve_permitted(context, path)
    if not place.path.exists():
        raise missing_path_error(place)
    if not place.path.is_dir():
        raise UserError(f"{place.display_path} is a file. Give a folder, or use read.")
    return place


@lru_cache(maxsize=4096)
def protection_of(path: str) -> Protection | None:
    """Return whether a file is a key or a control file, None for others; ``path`` is resolved, absolute or relative."""
    return _protection("/".join(comparable_names(path)))


def is_key_file(path: str) -> bool:
    """Return whether a file usually contains keys, so that reading it asks."""
    return protection_of(path) == "key"


def is_protected(permission: str, path: str) -> bool:
    """Return whether a permission for this path always asks: writing a protected file, or reading a key file."""
    if permission not in ("read", "edit", "write"):
        return False
    protection = protection_of(path)
    return protection == "key" or (protection == "control" and permission != "read")


@lru_cache(maxsize=4096)
def _protection(path: str) -> Protection | None:
    name = path.rpartition("/")[2]
    name_forms = _possible_originals(name)
    is_harmless = any(map(_compiled_names(HARMLESS_NAMES).match, name_forms))
    has_key_name = any(map(_compiled_names(KEY_NAMES).match, name_forms))
    key_places, control_places = _compiled_places(KEY_PLACES), _compiled_places(CONTROL_PLACES)
    if not is_harmless and (has_key_name or _matches_place(path, name_forms, key_places)):
        return "key"
    has_control_name = _compiled_names(CONTROL_NAMES).match(name) is not None
    is_control = has_control_name or _matches_place(path, [name], control_places)
    return "control" if is_control else None


def _matches_place(path: str, names: Iterable[str], places: "re.Pattern[str]") -> bool:
    folder = path.rpartition("/")[0]
    return any(places.match(f"/{folder}/{name}".replace("//", "/")) for name in names)


def _possible_originals(name: str) -> list[str]:
    """Return a name, and the names of which it may be a backup: ``.env`` for ``.env~``, ``id_rsa`` for ``.id_rsa.swp``."""
    name_forms = [name, *(name.removeprefix(prefix) for prefix in BACKUP_PREFIXES)]
    name_forms = [name_form for name_form in dict.fromkeys(name_forms) if name_form]
    for name_form in list(name_forms):
        for _ in range(MAX_BACKUP_SUFFIXES):
            shorter_name = BACKUP_SUFFIXES.sub("", name_form)
            if shorter_name in ("", name_form):
                break
            name_forms.append(shorter_name)
            if name_form.endswith((".swp", ".swo", ".swn", ".swx")):
                name_forms.append(shorter_name.removeprefix("."))
            name_form = shorter_name
    return name_forms


@cache
def _compiled_names(patterns: str) -> "re.Pattern[str]":
    suffixes = DATA_SUFFIXES.split()
    names = [
        pattern.replace(".@", f".{suffix}")
        for pattern in patterns.split()
        for suffix in (suffixes if pattern.endswith(".@") else suffixes[:1])
    ]
    return re.compile("|".join(translate(name) for name in names), re.DOTALL)


@cache
def _compiled_places(patterns: str) -> "re.Pattern[str]":
    # A star within a path matches within one name; at its end it matches all files below the folder.
    regexes = []
    for pattern in patterns.split():
        names = [re.escape(name).replace(r"\*", "[^/]*") for name in pattern.split("/")]
        end = "(?:/.*)?" if pattern.endswith("/*") else ""
        names = names[:-1] if end else names
        regexes.append("/".join(names) + end + r"\Z")
    # The common beginning is written once, since each alternative would scan the complete path again.
    return re.compile(f".*/(?:{'|'.join(regexes)})", re.DOTALL)
