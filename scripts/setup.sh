#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Installs what the build and the tests need and this machine lacks; quick when nothing is missing.
# On Debian and Ubuntu it asks apt (as root or through sudo); elsewhere it prints what to install.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build python3 pkg-config libgtest-dev libbenchmark-dev libcli11-dev
  nlohmann-json3-dev libopenblas-dev libtrilinos-kokkos-dev)

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not a Debian system; needed are a C++20 compiler, CMake >= 3.25, Ninja,"
  echo "setup: Python 3, pkg-config, GoogleTest, Google Benchmark, CLI11, nlohmann_json, OpenBLAS"
  echo "setup: and Kokkos >= 3.4 (docs/building.md says how to get one)"
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
    missing+=("$package")
  fi
done
if [ ${#missing[@]} -ne 0 ]; then
  echo "setup: installing ${missing[*]}"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: needs root for: apt-get install ${missing[*]}"; exit 1; }
    as_root=(sudo)
  fi
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
