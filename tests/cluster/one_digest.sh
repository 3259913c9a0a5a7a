#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# one_digest.sh MPIEXEC PROGRAM: every rank of 1, 2, 3 and 4 processes prints the same digest.
set -u
here=$(dirname "$0") all=""
for ranks in 1 2 3 4; do
  out=$("$here/mpirun.sh" "$1" "$ranks" "$2") || { echo "$out"; exit 1; }
  echo "$out"
  [ "$(grep -c 'digest of D' <<<"$out")" = "$ranks" ] || { echo "$ranks ranks did not print $ranks lines"; exit 1; }
  all+="$out"$'\n'
done
digests=$(grep -o 'digest of D [0-9a-f]*' <<<"$all" | sort -u)
[ "$(wc -l <<<"$digests")" = 1 ] || { echo "the digests differ: $digests"; exit 1; }
