#!/usr/bin/env sh
# Resolve the locks: dev first, the others constrained by it, so that all of them agree.
# What runs beside us, in an environment of its own (bench-*, ministack), is resolved freely. Needs uv.
# What is locked stays as it is where it still fits; `requirements/lock.sh --upgrade` takes the newest of all.
# No index or file URL is written into a lock.
set -eu
cd "$(dirname "$0")"
command -v uv >/dev/null || { echo "lock: uv is not installed (pip install uv)" >&2; exit 1; }
for part in dev function provider provider-dns sources runtime emulator bench-pythonic bench-pythonic06 bench-kopf ministack; do
  constraint=""
  python=3.11
  case "$part" in dev | bench-* | ministack) ;; *) constraint="-c dev.lock" ;; esac
  case "$part" in bench-pythonic06) python=3.12 ;; esac
  [ ! -e "$part.lock" ] || cp "$part.lock" "$part.new"
  # shellcheck disable=SC2086
  uv pip compile -q $* --universal --python-version $python --generate-hashes --no-header \
    --no-emit-index-url --no-emit-find-links $constraint "$part.in" -o "$part.new"
  { echo "# Hashed lock, written by \`make lock\` from requirements/$part.in."; cat "$part.new"; } > "$part.lock"
  rm "$part.new"
done
