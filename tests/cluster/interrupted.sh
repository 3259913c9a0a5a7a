#!/bin/sh
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# interrupted.sh DETGEMM: Ctrl-C ends a job of ranks as it ends any other run: at once, although the
# other ranks are in the middle of a call and would wait for the first one for 300 s.
begun=$(date +%s)
timeout --preserve-status -s INT 3 "$1" conform --transport threads:3 --full >/dev/null
code=$? took=$(($(date +%s) - begun))
[ $code = 130 ] || { echo "wrong: exit code $code, not 130"; exit 1; }
[ $took -lt 60 ] || { echo "wrong: it took $took s"; exit 1; }
echo "passed: it ended after $took s"
