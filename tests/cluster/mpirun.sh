#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# mpirun.sh MPIEXEC RANKS PROGRAM...: more ranks than cores, of one host, also as root, with Open MPI and with MPICH. Ranks
# share memory: TCP is left out, which warns on a machine whose only interface is the loopback.
set -u
mpiexec=$1 ranks=$2
shift 2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # Open MPI 5 and its launcher
export OMPI_MCA_btl=^tcp OMPI_MCA_btl_vader_single_copy_mechanism=none
exec "$mpiexec" -n "$ranks" "$@"
