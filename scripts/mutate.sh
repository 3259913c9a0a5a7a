#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Plants small faults in the library and counts those that the tests notice; see
# tests/mutation/README.md. Takes the options of tests/mutation/mutate.py, for example --sample 50
# or --planted. Not a part of scripts/test.sh: 150 mutants take some 25 minutes of one processor.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
exec nice python3 tests/mutation/mutate.py "$@"
