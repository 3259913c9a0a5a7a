#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# mpich.sh: the transport over MPI once more with MPICH beside Open MPI (Debian: mpich, libmpich-dev), in a
# build folder of its own without Kokkos: 1, 2, 3, 4 and 8 processes, faults, and `detgemm conform`.
# 77: skipped, with the reason.
set -eu
cd "$(dirname "$0")/../.."
cc=$(command -v mpicc.mpich) && run=$(command -v mpiexec.mpich) || {
  echo "skipped: MPICH is not installed (Debian: mpich, libmpich-dev)"
  exit 77
}
cmake -S . -B build/mpich -G Ninja -DCMAKE_BUILD_TYPE=Release -DDETGEMM_ENABLE_CUDA=OFF \
  -DDETGEMM_ENABLE_HIP=OFF -DDETGEMM_ENABLE_KOKKOS=OFF -DDETGEMM_ENABLE_MPI=ON -DDETGEMM_BUILD_BENCH=OFF \
  -DDETGEMM_BUILD_EXAMPLES=OFF -DMPI_C_COMPILER="$cc" -DMPIEXEC_EXECUTABLE="$run" >/dev/null
cmake --build build/mpich --target test_cluster_mpi detgemm_cli detgemm_mpi_cli >/dev/null
tests=build/mpich/tests/cluster/test_cluster_mpi
for ranks in 1 2 3 4 8; do tests/cluster/mpirun.sh "$run" "$ranks" "$tests"; done
for fault in size contract late dead abort; do
  out=$(tests/cluster/mpirun.sh "$run" 3 "$tests" "$fault" 2>/dev/null) || true
  grep '^as expected: ' <<<"$out" || { echo "wrong: $fault: $out"; exit 1; }
done
tests/cluster/mpi_conform.sh "$run" build/mpich/core/cli/detgemm | grep -E '^(PASSED|engine|wrong|[0-9]+ of)'
