#!/usr/bin/env bash
# Resolve the locks anew, for every platform and every Python from 3.11 on.
# The locks hold names, versions and hashes, and no address of a registry.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
  "${VENV:-.venv}/bin/uv" --quiet pip compile --universal --python-version 3.11 --generate-hashes --no-header "$@"
}
compile requirements/bootstrap.in --output-file requirements/bootstrap.lock
compile --extra lab --extra test --extra check pyproject.toml requirements/dev.in --output-file requirements/dev.lock
compile requirements/proxy.in --output-file requirements/proxy.lock
