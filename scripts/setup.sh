#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# setup.sh [--host | --all] [--yes]: installs what this machine lacks; quick when nothing is missing.
#   (nothing)  what building the library and its command needs
#   --host     and what the tests and benchmarks of the host need
#   --all      and the compilers of the AMD kernels (clang-19, lld-19: 130 MB; clang-22, lld-22 for gfx950: as
#              much), whose tests emulate a GPU
#   --yes      do not ask before installing; without a terminal nothing is asked
# On Debian and Ubuntu it asks apt (as root or through sudo); elsewhere see setup_elsewhere.sh.
# Kokkos with OpenMP is built under .deps/kokkos, see docs/building.md. No GPU toolkit of NVIDIA's is
# installed.
set -euo pipefail
cd "$(dirname "$0")/.."

scope=build ask=yes
for word in "$@"; do
  case $word in
    --host) scope=host ;;
    --all) scope=all ;;
    --yes) ask=no ;;
    *)
      echo "setup.sh: option is \"$word\": it must be --host, --all or --yes" >&2
      exit 2
      ;;
  esac
done

packages=(g++ cmake ninja-build make python3 python3-pip python3-venv pkg-config git ca-certificates
  libcli11-dev nlohmann-json3-dev libopenblas0) # OpenBLAS is what scripts/demo.sh compares with
# Without these, tests are skipped and say so. Not every release has them.
optional=()
if [ $scope != build ]; then
  packages+=(ccache file dpkg-dev libgtest-dev libopenblas-dev libtrilinos-kokkos-dev)
  # Ranks of clusters that are processes.
  optional+=(libopenmpi-dev openmpi-bin)
  optional+=(clang-format-14 doxygen)
fi
if [ $scope = all ]; then
  optional+=(clang-19 lld-19)
  optional+=(clang-22 lld-22) # knows gfx950, which clang 19 does not
fi

if ! command -v dpkg-query >/dev/null; then
  exec scripts/setup_elsewhere.sh $scope $ask
fi

# Ubuntu 22.04 has GCC 11, and GCC 12 beside it.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }
if [ -z "${CXX:-}" ] && [ "$(. /etc/os-release && echo "${VERSION_ID:-}")" = 22.04 ]; then packages+=(g++-12); fi

absent() { # those of the packages that are not installed
  local package
  for package in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
      installed) ;;
      *) echo "$package" ;;
    esac
  done
}
offered() { # those of the packages that apt can install
  local package
  for package in "$@"; do
    case $(apt-cache policy "$package" 2>/dev/null) in
      *"Candidate: (none)"* | "") ;;
      *) echo "$package" ;;
    esac
  done
}

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo)
fi
agreed=no
agree() { # asks once, if somebody is there to be asked
  [ $agreed = no ] || return 0
  echo "setup: missing Debian packages: $*"
  if [ $ask = yes ] && [ -t 0 ] && [ -t 1 ]; then
    read -r -p "setup: install them with ${as_root[*]:+${as_root[*]} }apt-get? [Y/n] " answer
    case $answer in
      "" | y* | Y*) ;;
      *)
        echo "setup: nothing was installed; the command is: apt-get install $*" >&2
        exit 1
        ;;
    esac
  fi
  agreed=yes
}

mapfile -t missing < <(absent "${packages[@]}")
mapfile -t extra < <(absent "${optional[@]}")
if [ ${#missing[@]} -ne 0 ]; then
  if [ ${#as_root[@]} -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "setup: needs root for: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  agree "${missing[@]}" "${extra[@]}"
  "${as_root[@]}" apt-get update -qq
elif [ ${#as_root[@]} -ne 0 ] && ! sudo -n true 2>/dev/null; then
  extra=() # not worth asking for a password
fi
if [ ${#extra[@]} -ne 0 ]; then
  mapfile -t extra < <(offered "${extra[@]}")
fi
missing+=("${extra[@]}")
if [ ${#missing[@]} -ne 0 ]; then
  agree "${missing[@]}"
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "${missing[@]}" >/dev/null
fi

# The presets need CMake 3.25; Ubuntu 22.04 has 3.22. PyPI's goes into .deps/tools, which scripts/options.sh finds.
found=$(PATH=$PWD/.deps/tools/bin:$PATH cmake --version | sed -n 's/^cmake version //p')
if ! at_least 3.25 "$found"; then
  echo "setup: CMake is $found and 3.25 is needed: installing one under .deps/tools"
  python3 -m venv .deps/tools
  .deps/tools/bin/python -m pip install --quiet 'cmake>=3.25,<4'
fi
. scripts/options.sh # Kokkos is built with the compiler that the scripts take

scripts/kokkos.sh
