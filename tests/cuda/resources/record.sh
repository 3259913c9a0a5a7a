#!/bin/sh
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# record.sh [--quiet] OBJECT COMMAND...: runs a compiler and keeps what it said of device code beside
# the object, as OBJECT.ptxas. The statistics of `ptxas -v` stay there; the rest is shown too, unless
# --quiet and the compiler succeeded.
quiet=no
if [ "$1" = --quiet ]; then
  quiet=yes
  shift
fi
object=$1
shift
mkdir -p "$(dirname "$object")"
"$@" 2>"$object.ptxas"
status=$?
usual='[0-9]+ bytes gmem|Compiling entry function|Function properties|Used [0-9]+ reg|Compile time'
if [ $quiet = yes ] && [ $status = 0 ]; then exit 0; fi
grep -vE "^ptxas info +: ($usual)|^ +[0-9]+ bytes stack frame" "$object.ptxas" >&2
exit $status
