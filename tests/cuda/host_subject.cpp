// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/host_subject.hpp"

namespace detgemm::test {

HostSubject::Copy HostSubject::down(const Arena& arena, cudaStream_t stream) {
  auto memory = host_device().allocate(arena.bytes());
  must(memory.status(), "host memory");
  Copy copy{Memory(*memory), static_cast<char*>(*memory) + arena.first()};
  must(cudaMemcpyAsync(*memory, arena.memory(), arena.bytes(), cudaMemcpyDeviceToHost, stream),
       "copying down");
  return copy;
}

void HostSubject::run(const Plan& plan, const Scene& scene, const Operands& on_device,
                      RunInfo* info) {
  const cudaStream_t stream = scene.stream();
  const Problem& p = scene.problem();
  const Copy a = down(scene.a(), stream);
  const Copy b = down(scene.b(), stream);
  const Copy c = down(scene.c(), stream);
  const Copy bias = down(scene.bias(), stream);
  const Copy scale_a = down(scene.scale_a(), stream);
  const Copy scale_b = down(scene.scale_b(), stream);
  const Copy d = down(scene.d(), stream);
  must(cudaStreamSynchronize(stream), "copying down");
  const Operands operands = operands_of(
      p, {a.array, b.array, c.array, d.array, bias.array, scale_a.array, scale_b.array});
  auto bytes = plan.workspace_bytes(on_device.d.rows);
  must(bytes.status(), "the workspace");
  auto scratch = host_device().allocate(*bytes);
  must(scratch.status(), "host memory");
  const Memory keep(*scratch);
  must(plan.run({}, operands, {*scratch, *bytes}, info), p.text().c_str());
  must(cudaMemcpyAsync(scene.d().memory(), d.memory.get(), scene.d().bytes(),
                       cudaMemcpyHostToDevice, stream),
       "copying up");
  must(cudaStreamSynchronize(stream), "copying up");
}

}  // namespace detgemm::test
