// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/bad_input/table.hpp"

namespace detgemm {
namespace {

constexpr auto kInvalid = Errc::invalid_argument;

template <class T>
T* moved(T* data, std::ptrdiff_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(data) +
                              static_cast<std::uintptr_t>(bytes));
}
/// D where another array is, `bytes` further on.
void put_d(Problem& p, const void* at, std::ptrdiff_t bytes) {
  p.operands.d.data = moved(const_cast<void*>(at), bytes);
}

constexpr BadInput kOverlaps[] = {
    {"d_on_a", Call::run, kInvalid,
     R"(d at \[0x.*, 0x.*\) overlaps a at .*: they must not share memory)",
     [](Problem& p) { put_d(p, p.operands.a.data, 0); }},
    {"d_on_the_tail_of_a", Call::run, kInvalid,
     R"(d at .* overlaps a at .*: they must not share memory)",
     [](Problem& p) { put_d(p, p.operands.a.data, Problem::m * Problem::k * 2 - 4); }},
    {"d_before_a", Call::run, kInvalid, R"(d at .* overlaps a at .*: they must not share memory)",
     [](Problem& p) { put_d(p, p.operands.a.data, 4 - Problem::m * Problem::n * 4); }},
    {"d_on_b", Call::run, kInvalid, R"(d at .* overlaps b at .*: they must not share memory)",
     [](Problem& p) { put_d(p, p.operands.b.data, 64); }},
    {"d_on_bias", Call::run, kInvalid, R"(d at .* overlaps bias at .*: they must not share memory)",
     [](Problem& p) { put_d(p, p.operands.bias.data, 0); }},
    {"d_on_c_a_row_later", Call::run, kInvalid, R"(d at .* overlaps c at .*: it must be c itself)",
     [](Problem& p) { put_d(p, p.operands.c.data, Problem::n * 4); }},
    {"d_on_c_with_another_stride", Call::run, kInvalid, R"(d at .* overlaps c at .*: .* strides)",
     [](Problem& p) {
       put_d(p, p.operands.c.data, 0);
       p.operands.d.row_stride = Problem::n + 1;
     }},
    {"d_on_c_transposed", Call::run, kInvalid, R"(d at .* overlaps c at .*: .* strides)",
     [](Problem& p) {
       put_d(p, p.operands.c.data, 0);
       p.operands.d.row_stride = 1;
       p.operands.d.col_stride = Problem::m;
     }},
    {"narrow_d_on_continued_c", Call::run, kInvalid, R"(d at .* overlaps c at .*: .* dtype)",
     [](Problem& p) {
       p.spec.contract.reduction = {};
       p.spec.contract.output = DType::bf16;
       p.spec.continue_from_c = true;
       p.spec.beta = 0.0F;
       p.operands.d.dtype = DType::bf16;
       put_d(p, p.operands.c.data, 0);
     }},
    {"d_in_the_padding_of_a", Call::run, kInvalid,
     R"(d at .* overlaps a at .*: they must not share memory)",
     [](Problem& p) {
       p.operands.a.row_stride = 64;  // the gap after A is long enough for three more
       put_d(p, p.operands.a.data, 64);
     }},
};

constexpr BadInput kWorkspaces[] = {
    {"one_byte_short", Call::run, kInvalid, R"(workspace\.bytes is 1023: .* at least 1024)",
     [](Problem& p) { p.workspace.bytes = 1023; }, true},
    {"forgotten", Call::run, kInvalid, R"(workspace\.bytes is 0: .* at least 1024)",
     [](Problem& p) { p.workspace = {}; }, true},
    {"null_with_bytes", Call::run, kInvalid, R"(workspace\.data is null: this m needs 1024 bytes)",
     [](Problem& p) { p.workspace.data = nullptr; }, true},
    {"misaligned", Call::run, kInvalid, R"(workspace\.data is 0x[0-9a-f]{16}: .* multiple of 256)",
     [](Problem& p) { p.workspace.data = moved(p.workspace.data, 128); }, true},
    {"beyond_address_space", Call::run, kInvalid,
     R"(workspace\.data is 0xffffffffffffff00: 4096 bytes .* within the address space)",
     [](Problem& p) { p.workspace.data = reinterpret_cast<void*>(UINTPTR_MAX - 255); }, true},
    {"ends_behind_last_address", Call::run, kInvalid,
     R"(workspace\.data is 0xfffffffffffff000: 4096 bytes .* within the address space)",
     [](Problem& p) { p.workspace.data = reinterpret_cast<void*>(UINTPTR_MAX - 4095); }, true},
    {"length_beyond_address_space", Call::run, kInvalid,
     R"(workspace\.data is .*: 18446744073709551615 bytes .* within the address space)",
     [](Problem& p) { p.workspace.bytes = SIZE_MAX; }, true},
    {"on_d", Call::run, kInvalid, R"(workspace at .* overlaps d at .*: they must not share memory)",
     [](Problem& p) { p.operands.d.data = moved(p.workspace.data, 512); }, true},
    {"on_a", Call::run, kInvalid, R"(workspace at .* overlaps a at .*: they must not share memory)",
     [](Problem& p) { p.operands.a.data = moved(p.workspace.data, 512); }, true},
    {"on_b", Call::run, kInvalid, R"(workspace at .* overlaps b at .*: they must not share memory)",
     [](Problem& p) { p.operands.b.data = p.workspace.data; }, true},
    {"on_d_beyond_what_is_needed", Call::run, kInvalid,
     R"(workspace at .* overlaps d at .*: they must not share memory)",
     [](Problem& p) { p.operands.d.data = moved(p.workspace.data, 2044 - 4 * 6 * 4); }, true},
    {"on_c", Call::run, kInvalid, R"(workspace at .* overlaps c at .*: they must not share memory)",
     [](Problem& p) { p.operands.c.data = moved(p.workspace.data, 1020); }, true},
    {"on_bias", Call::run, kInvalid,
     R"(workspace at .* overlaps bias at .*: they must not share memory)",
     [](Problem& p) { p.operands.bias.data = p.workspace.data; }, true},
    {"on_a_root", Call::combine, kInvalid,
     R"(workspace at .* overlaps roots\[1\] at .*: they must not share memory)",
     [](Problem& p) { p.roots[1].data = p.workspace.data; }, true},
};

}  // namespace

std::span<const BadInput> bad_overlaps() { return kOverlaps; }
std::span<const BadInput> bad_workspaces() { return kWorkspaces; }

}  // namespace detgemm
