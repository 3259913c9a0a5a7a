/* SPDX-FileCopyrightText: 2026 The detgemm authors
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef DETGEMM_DETGEMM_MPI_H
#define DETGEMM_DETGEMM_MPI_H

/* The transport over MPI, in C (component `mpi`). */

#include <mpi.h>

#include "detgemm/detgemm_cluster.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The ranks of `comm`, which is duplicated; collective over it. MPI stays initialised as long as
 * anything that was made from the transport lives. */
DETGEMM_API detgemm_status_t detgemm_transport_mpi(MPI_Comm comm, detgemm_transport_t** transport);

#ifdef __cplusplus
}
#endif

#endif
