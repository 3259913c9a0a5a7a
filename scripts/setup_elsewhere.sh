#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# setup_elsewhere.sh SCOPE ASK: what setup.sh does on a system without dpkg (RHEL, Rocky, Alma, Fedora,
# SLES, openSUSE). SCOPE is build, host or all; ASK is yes or no. It looks for tools, not for packages,
# because on a cluster they come from modules. What is missing is installed with dnf or zypper where this
# is root, otherwise named, with a way that needs no root. Libraries are downloaded and checked by CMake
# where they are absent (docs/building.md). Exit status 1 where something is still missing.
set -euo pipefail
cd "$(dirname "$0")/.."
scope=$1 ask=$2

# at_least MINIMUM VERSION: whether a version such as 3.26.5 reaches 3.25.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

lacking=()
# look: fills `lacking` with the tools that are absent or too old.
look() {
  lacking=()
  local compiler=${CXX:-c++} version
  version=$("$compiler" -dumpfullversion -dumpversion 2>/dev/null || true)
  if ! "$compiler" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null \
    <<<'template <class T> requires(sizeof(T) > 0) void f(T); int main() {}'; then
    lacking+=("a C++20 compiler, GCC 12 or newer or Clang 14 or newer (\$CXX or c++ is ${version:-absent})")
  fi
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p' || true)
  if [ -z "$version" ] || ! at_least 3.25 "$version"; then
    lacking+=("CMake 3.25 or newer (found: ${version:-none})")
  fi
  command -v ninja >/dev/null || command -v ninja-build >/dev/null || lacking+=("Ninja")
  python3 -m pip --version >/dev/null 2>&1 || lacking+=("Python 3.9 or newer with pip")
  command -v git >/dev/null || lacking+=("git")
  if [ "$scope" = all ]; then
    local clang found=no
    for clang in clang++-19 "${ROCM_PATH:-/opt/rocm}/llvm/bin/amdclang++" amdclang++ clang++; do
      if command -v "$clang" >/dev/null; then found=yes; fi
    done
    [ $found = yes ] || lacking+=("a clang with lld for the AMD kernels: ROCm's amdclang++, or clang and lld")
  fi
}

# Names of packages, of RHEL 9 and Fedora, and of SLES 15 and openSUSE.
install_with() {
  local answer command
  case $1 in
    dnf) command=(dnf install -y gcc-c++ cmake ninja-build python3 python3-pip git tar) ;;
    zypper) command=(zypper --non-interactive install gcc13-c++ cmake ninja python3 python3-pip git tar) ;;
  esac
  if [ "$scope" = all ] && [ ! -d "${ROCM_PATH:-/opt/rocm}/llvm" ]; then command+=(clang lld); fi
  echo "setup: missing: $(IFS=';'; echo "${lacking[*]}")"
  if [ "$ask" = yes ] && [ -t 0 ] && [ -t 1 ]; then
    read -r -p "setup: run ${command[*]}? [Y/n] " answer
    case $answer in "" | y* | Y*) ;; *) return 0 ;; esac
  fi
  echo "setup: ${command[*]}"
  "${command[@]}" || true
}

look
if [ ${#lacking[@]} -ne 0 ] && [ "$(id -u)" -eq 0 ]; then
  for tool in dnf zypper; do
    if command -v $tool >/dev/null; then
      install_with $tool
      look
      break
    fi
  done
fi
if [ ${#lacking[@]} -ne 0 ]; then
  {
    echo "setup: this is not a Debian system, and these are missing:"
    printf 'setup:   %s\n' "${lacking[@]}"
    echo "setup: on a cluster, load modules (for example gcc/13, cmake, rocm) and set CXX; CMake and Ninja"
    echo "setup: install without root by: python3 -m pip install --user 'cmake>=3.25' ninja"
    echo "setup: on RHEL 9 a newer GCC is: dnf install gcc-toolset-13 && source /opt/rh/gcc-toolset-13/enable"
    echo "setup: on SLES 15: zypper install gcc13-c++ && export CXX=g++-13 CC=gcc-13"
    echo "setup: or build in a container: packaging/container/Containerfile.rocm"
  } >&2
  exit 1
fi
echo "setup: every tool is there; CMake downloads libraries that are absent, each checked by its SHA-256"
scripts/kokkos.sh
