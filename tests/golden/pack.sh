#!/bin/sh
# Packs recordings for this folder: tests/golden/pack.sh FOLDER NAME... (NAME as in opencode/retry.json).
# The bytes depend on the contents only.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
from=$1
shift
tar -C "$from" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r -cf - "$@" | xz -9e > "$here/data.tar.xz"
