#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Builds Kokkos with OpenMP and Serial into .deps/kokkos, unless one is there or Kokkos_ROOT names
# another. Debian's own package knows Serial only, so it is the fallback and not the first choice.
# The sources are the Kokkos 3.4.01 inside the source package pykokkos-base 0.0.7 on PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "${Kokkos_ROOT:-}" ]; then
  echo "setup: Kokkos from Kokkos_ROOT=$Kokkos_ROOT"
  exit 0
fi
if [ -e .deps/kokkos/lib/cmake/Kokkos/KokkosConfig.cmake ]; then
  exit 0
fi

package=pykokkos-base==0.0.7
sha256=6339daced1e81a2748f381847d8717cd77d824407da3c263b9491b5630c642b0
work=$PWD/.deps/kokkos-work
prefix=$PWD/.deps/kokkos
rm -rf "$work"
mkdir -p "$work"
echo "$package --hash=sha256:$sha256" >"$work/requirements.txt"

# This Kokkos uses the types of <cstdint> without including it, which GCC 13 no longer does by itself.
build() {
  python3 -m pip download --quiet --no-deps --no-binary pykokkos-base --require-hashes \
    --requirement "$work/requirements.txt" --dest "$work" &&
    tar -xzf "$work"/pykokkos-base-*.tar.gz -C "$work" --strip-components=2 \
      --wildcards '*/external/kokkos' &&
    cmake -S "$work/kokkos" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS=${CXXFLAGS:-} -include cstdint" \
      -DCMAKE_CXX_STANDARD=17 -DCMAKE_CXX_EXTENSIONS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
      -DBUILD_SHARED_LIBS=OFF -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_OPENMP=ON \
      -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX="$prefix" &&
    cmake --build "$work/build" &&
    cmake --install "$work/build" &&
    install -D -m 644 "$work/kokkos/LICENSE" "$prefix/share/doc/kokkos/LICENSE"
}

echo "setup: building Kokkos with OpenMP into .deps/kokkos, once; about a minute on two idle cores"
if build >"$work/log" 2>&1; then
  rm -rf "$work"
else
  tail -n 5 "$work/log" >&2
  rm -rf "$prefix"
  echo "setup: Kokkos with OpenMP could not be built (log in .deps/kokkos-work/log); where an" >&2
  echo "setup: installed Kokkos is found (Debian: libtrilinos-kokkos-dev, one thread), the reference uses that one" >&2
fi
