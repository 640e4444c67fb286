#!/usr/bin/env bash
# Run every check, show what the failing ones say, and name each with its verdict.
# Changes nothing; `make fix` mends what a tool can mend.
set -uo pipefail
cd "$(dirname "$0")/.."
said=$(mktemp)
trap 'rm -f "$said"' EXIT
verdict=0

step() {
  local name=$1
  shift
  if "$@" >"$said" 2>&1; then
    printf 'ok      %s\n' "$name"
  else
    verdict=1
    cat "$said"
    printf 'failed  %s (%s)\n' "$name" "$*"
  fi
}

step format ruff format --check .
step lint ruff check .
step types mypy
step layers env PYTHONPATH=kernel_ext lint-imports --no-cache
step spelling codespell
step pages python scripts/wrap_pages.py --check
step protocol python scripts/protocol.py --check
step 'front end' env -C labextension jlpm check
exit "$verdict"
