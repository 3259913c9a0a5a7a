// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// nccl_library_main KIND [LIBRARY]: loads a library as a program would, and prints what
// cluster::nccl says of a communicator that is none.

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "detgemm/nccl.hpp"

int main(int argc, char** argv) {
  using namespace detgemm;
  if (argc < 2) return 2;
  if (argc > 2 && dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  int something = 0;
  const auto kind = std::strcmp(argv[1], "hip") == 0 ? DeviceKind::hip : DeviceKind::cuda;
  std::printf("%s\n", cluster::nccl(&something, kind).status().message().c_str());
  return 0;
}
