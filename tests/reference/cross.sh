#!/bin/sh
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# cross.sh ROOT OUT COMPILER EMULATOR: builds the test of the floating-point guard for AArch64 and runs
# it. Says "skipped: " and why where one of the two programs is missing.
set -eu
root=$1 out=$2 compiler=$3 emulator=$4
case $compiler in *NOTFOUND)
  echo "skipped: there is no aarch64-linux-gnu-g++ (Debian: g++-aarch64-linux-gnu)"
  exit 0 ;;
esac
mkdir -p "$out"
"$compiler" -std=c++20 -O2 -ffp-contract=off -Wall -Wextra -Werror -static -I "$root" \
  -I "$root/core/include" "$root/tests/reference/mode_main.cpp" -o "$out/mode_aarch64"
case $emulator in *NOTFOUND)
  echo "skipped: built for AArch64 and not run, there is no qemu-aarch64 (Debian: qemu-user)"
  exit 0 ;;
esac
"$emulator" "$out/mode_aarch64"
