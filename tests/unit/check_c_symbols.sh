#!/bin/sh
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# check_c_symbols.sh HEADER[,HEADER] C_TEST[,C_TEST] SHARED_LIBRARY [OTHER]: the functions that C headers declare, those
# that the C tests call and the C symbols that the library exports must be the same. A test may also
# call what the header OTHER declares.
set -eu
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

calls() { # names followed by a parenthesis, comments left out
  echo "$1" | tr ',' '\n' | xargs sed -e 's://.*$::' | tr '\n' ' ' | sed -e 's:/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/: :g' |
    grep -oE 'detgemm_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u
}
calls "$1" >"$work/declared"
calls "$2" >"$work/called"
if [ $# -gt 3 ]; then
  calls "$4" >"$work/other"
  comm -23 "$work/called" "$work/other" >"$work/only" && mv "$work/only" "$work/called"
fi
nm -D --defined-only "$3" | awk '{print $NF}' | grep '^detgemm_' | sort -u >"$work/exported"

status=0
for other in called exported; do
  if ! diff "$work/declared" "$work/$other" >"$work/difference"; then
    echo "declared in the header (<) and $other (>):"
    cat "$work/difference"
    status=1
  fi
done
echo "$(wc -l <"$work/declared") functions declared"
test -s "$work/declared" || status=1
exit $status
