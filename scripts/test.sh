#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Sets up, builds and runs all tests; exits nonzero when one fails or none ran.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh

cmake --preset host
cmake --build --preset host
ctest --preset host
