// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/arguments.hpp"

#include <cstring>

namespace detgemm::fuzz {
namespace {

void initialised(detgemm_status_t code) { require(code == DETGEMM_OK, "init accepts sizeof"); }

/// Whether all elements of a well-formed view lie in [begin, end); ill-formed and empty ones have
/// none to touch. Counted in 128 bits, apart from the library's own arithmetic.
template <class View>
bool lies_in(const View& v, std::uintptr_t begin, std::uintptr_t end) {
  const std::size_t size = detgemm_dtype_size(v.dtype);
  if (v.rows <= 0 || v.cols <= 0 || size == 0) return true;
  const bool row_negative = v.rows > 1 && v.row_stride < 0;
  const bool col_negative = v.cols > 1 && v.col_stride < 0;
  if (row_negative || col_negative) return true;
  const __int128 last = (v.rows > 1 ? static_cast<__int128>(v.rows - 1) * v.row_stride : 0) +
                        (v.cols > 1 ? static_cast<__int128>(v.cols - 1) * v.col_stride : 0);
  const auto at = static_cast<__int128>(reinterpret_cast<std::uintptr_t>(v.data));
  return at >= begin && at + (last + 1) * static_cast<__int128>(size) <= end;
}

/// Anything that a reader could not follow out of the room behind the struct.
std::uint32_t odd_size(Bytes& bytes, std::size_t known) {
  const auto size = static_cast<std::uint32_t>(bytes.odd_integer());
  return size > known + kTail && size <= 4096 ? static_cast<std::uint32_t>(known + size % kTail)
                                              : size;
}

/// visit(address, bytes) for every element, row by row.
template <class Visit>
void each_element(const detgemm_matrix_t& v, Visit&& visit) {
  const std::size_t size = detgemm_dtype_size(v.dtype);
  for (std::int64_t i = 0; i < v.rows && v.cols > 0; ++i) {
    for (std::int64_t j = 0; j < v.cols; ++j) {
      const std::int64_t at =
          (v.rows > 1 ? i * v.row_stride : 0) + (v.cols > 1 ? j * v.col_stride : 0);
      visit(static_cast<const std::uint8_t*>(v.data) + at * static_cast<std::int64_t>(size), size);
    }
  }
}

}  // namespace

Arguments::Arguments(Bytes& bytes) {
  initialised(detgemm_contract_init(contract.get(), sizeof(detgemm_contract_t)));
  initialised(detgemm_gemm_spec_init(spec.get(), sizeof(detgemm_gemm_spec_t)));
  initialised(detgemm_const_matrix_init(a.get(), sizeof(detgemm_const_matrix_t)));
  initialised(detgemm_const_matrix_init(b.get(), sizeof(detgemm_const_matrix_t)));
  initialised(detgemm_const_matrix_init(c.get(), sizeof(detgemm_const_matrix_t)));
  initialised(detgemm_matrix_init(d.get(), sizeof(detgemm_matrix_t)));
  initialised(detgemm_vector_init(bias.get(), sizeof(detgemm_vector_t)));
  initialised(detgemm_stream_init(stream.get(), sizeof(detgemm_stream_t)));
  initialised(detgemm_operands_init(operands.get(), sizeof(detgemm_operands_t)));
  initialised(detgemm_plan_options_init(plan_options.get(), sizeof(detgemm_plan_options_t)));
  initialised(detgemm_gemm_options_init(gemm_options.get(), sizeof(detgemm_gemm_options_t)));
  initialised(detgemm_run_info_init(info.get(), sizeof(detgemm_run_info_t)));
  std::uint64_t noise = bytes.number<std::uint16_t>();
  for (std::size_t i = 0; i < kBlock; i += sizeof noise) {
    noise = noise * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(block_.data() + i, &noise, sizeof noise);
  }
  build(bytes);
  for (int count = bytes.below(4); count > 0; --count) spoil(bytes);
  before_ = block_;
}

template <class View>
void Arguments::place(Bytes& bytes, View& view, std::int64_t rows, std::int64_t cols,
                      detgemm_dtype_t type) {
  view.rows = rows;
  view.cols = cols;
  view.dtype = type;
  const std::int64_t padding = bytes.below(3);
  const bool by_rows = !bytes.one_in(2);
  view.row_stride = by_rows ? cols + padding : 1;
  view.col_stride = by_rows ? 1 : rows + padding;
  used_ += 8 * static_cast<std::size_t>(bytes.below(3));
  view.data = block_.data() + used_;
  used_ += static_cast<std::size_t>((by_rows ? rows : cols) * ((by_rows ? cols : rows) + padding)) *
           detgemm_dtype_size(type);
  used_ = (used_ + 7) / 8 * 8;
}

void Arguments::build(Bytes& bytes) {
  const std::size_t contracts = detgemm_contract_count();
  initialised(
      detgemm_contract_at(static_cast<std::size_t>(bytes.byte()) % contracts, contract.get()));
  contract.value.reduction = bytes.below(3);
  if (contract.value.reduction != DETGEMM_CHAIN) {
    contract.value.leaf_k = contract.value.k_block * (1 + bytes.below(3));
  }
  contract.value.output = bytes.below(3);
  const std::int64_t m = bytes.below(6);
  detgemm_gemm_spec_t& s = spec.value;
  s.contract = contract.get();
  s.n = bytes.below(7);
  s.k = bytes.below(70);
  s.op_a = bytes.below(2);
  s.op_b = bytes.below(2);
  s.activation = bytes.below(5);
  s.alpha = bytes.one_in(2) ? bytes.number<float>() : 1.0F;
  s.continue_from_c = contract.value.reduction != DETGEMM_TREE && bytes.one_in(4) ? 1 : 0;
  s.beta = s.continue_from_c == 0 && bytes.one_in(2) ? bytes.number<float>() : 0.0F;
  s.bias = bytes.one_in(2) ? bytes.below(3) : DETGEMM_NONE;
  const detgemm_dtype_t input =
      contract.value.input == DETGEMM_TF32 ? DETGEMM_FP32 : contract.value.input;
  place(bytes, a.value, s.op_a != 0 ? s.k : m, s.op_a != 0 ? m : s.k, input);
  place(bytes, b.value, s.op_b != 0 ? s.n : s.k, s.op_b != 0 ? s.k : s.n, input);
  place(bytes, d.value, m, s.n, contract.value.output);
  place(bytes, c.value, m, s.n, s.continue_from_c != 0 ? DETGEMM_FP32 : contract.value.output);
  bias.value.dtype = s.bias == DETGEMM_NONE ? DETGEMM_FP32 : s.bias;
  bias.value.size = s.n;
  bias.value.data = block_.data() + used_;
  used_ += 32;
  if (bytes.one_in(4)) {  // in place
    c.value.data = d.value.data;
    c.value.row_stride = d.value.row_stride;
    c.value.col_stride = d.value.col_stride;
  }
  operands.value.a = a.get();
  operands.value.b = b.get();
  operands.value.c = c.get();
  operands.value.d = d.get();
  operands.value.bias = bias.get();
  root_count = std::size_t{1} << bytes.below(3);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    initialised(detgemm_const_matrix_init(roots[i].get(), sizeof(detgemm_const_matrix_t)));
    place(bytes, roots[i].value, m, s.n, DETGEMM_FP32);
    root_pointers[i] = roots[i].get();
  }
  used_ = (used_ + 255) / 256 * 256;
  workspace = block_.data() + used_;
  workspace_bytes = kBlock - used_;
  detgemm_gemm_options_t& g = gemm_options.value;
  g.op_a = s.op_a;
  g.op_b = s.op_b;
  g.activation = s.activation;
  g.alpha = s.alpha;
  g.beta = s.beta;
  g.continue_from_c = s.continue_from_c;
  g.c = c.get();
  if (s.bias != DETGEMM_NONE) g.bias = bias.get();
}

void* Arguments::odd_pointer(Bytes& bytes) {
  switch (bytes.below(4)) {
    case 0:
      return nullptr;
    case 1:
      return reinterpret_cast<void*>(UINTPTR_MAX - bytes.byte());
    default:
      return block_.data() + bytes.number<std::uint16_t>() % kBlock;
  }
}

template <class View>
void Arguments::spoil_view(Bytes& bytes, View& view) {
  switch (bytes.below(7)) {
    case 0:
      view.data = odd_pointer(bytes);
      break;
    case 1:
      view.rows = bytes.odd_integer();
      break;
    case 2:
      view.cols = bytes.odd_integer();
      break;
    case 3:
      view.row_stride = bytes.odd_integer();
      break;
    case 4:
      view.col_stride = bytes.odd_integer();
      break;
    case 5:
      view.dtype = static_cast<detgemm_dtype_t>(bytes.odd_integer());
      break;
    default:
      view.struct_size = odd_size(bytes, sizeof view);
      break;
  }
}

void Arguments::spoil(Bytes& bytes) {
  const auto any32 = [&] { return static_cast<std::int32_t>(bytes.odd_integer()); };
  detgemm_gemm_spec_t& s = spec.value;
  detgemm_contract_t& k = contract.value;
  switch (bytes.below(26)) {
    case 0:
      return spoil_view(bytes, a.value);
    case 1:
      return spoil_view(bytes, b.value);
    case 2:
      return spoil_view(bytes, c.value);
    case 3:
      return spoil_view(bytes, d.value);
    case 4:
      return spoil_view(bytes, roots[bytes.below(4)].value);
    case 5:
      bias.value.data = odd_pointer(bytes);
      break;
    case 6:
      bias.value.size = bytes.odd_integer();
      break;
    case 7:
      bias.value.dtype = any32();
      break;
    case 8:
      stream.value.kind = any32();
      break;
    case 9:
      workspace = odd_pointer(bytes);
      break;
    case 10:
      workspace_bytes = static_cast<std::size_t>(bytes.odd_integer());
      break;
    case 11:
      s.n = bytes.odd_integer();
      break;
    case 12:
      s.k = bytes.odd_integer();
      break;
    case 13:
      (bytes.one_in(2) ? s.op_a : s.op_b) = any32();
      break;
    case 14:
      s.activation = gemm_options.value.activation = any32();
      break;
    case 15:
      s.bias = any32();
      break;
    case 16:
      s.continue_from_c = gemm_options.value.continue_from_c = any32();
      break;
    case 17:
      s.struct_size = odd_size(bytes, sizeof s);
      break;
    case 18:
      k.leaf_k = bytes.odd_integer();
      break;
    case 19:
      (&k.version)[bytes.below(7)] = any32();
      break;
    case 20:
      k.output = any32();
      break;
    case 21: {
      // Any of the structs ends elsewhere, with something in its tail.
      detgemm_operands_t& o = operands.value;
      struct {
        std::uint32_t* field;
        std::size_t known;
      } const sizes[] = {{&o.struct_size, sizeof o},
                         {&k.struct_size, sizeof k},
                         {&stream.value.struct_size, sizeof stream.value},
                         {&plan_options.value.struct_size, sizeof plan_options.value},
                         {&info.value.struct_size, sizeof info.value},
                         {&gemm_options.value.struct_size, sizeof gemm_options.value}};
      const auto& [field, known] = sizes[bytes.below(6)];
      *field = odd_size(bytes, known);
      operands.room[sizeof o + bytes.byte()] = bytes.byte();
      break;
    }
    case 22: {
      detgemm_operands_t& o = operands.value;
      switch (bytes.below(5)) {
        case 0:
          o.a = nullptr;
          break;
        case 1:
          o.b = nullptr;
          break;
        case 2:
          o.c = gemm_options.value.c = nullptr;
          break;
        case 3:
          o.d = nullptr;
          break;
        default:
          o.bias = gemm_options.value.bias = nullptr;
          break;
      }
      break;
    }
    case 23:
      root_count = bytes.below(5);
      break;
    case 24:
      switch (bytes.below(4)) {
        case 0:
          plan_options.value.max_workers = any32();
          break;
        case 1:
          plan_options.value.stable = any32();
          break;
        case 2:
          gemm_options.value.max_workers = any32();
          break;
        default:
          gemm_options.value.stable = any32();
          break;
      }
      break;
    default:
      for (int i = bytes.below(12); i > 0; --i) variant += static_cast<char>(bytes.byte() | 1);
      backend = variant;
      plan_options.value.variant = gemm_options.value.variant = variant.c_str();
      gemm_options.value.backend = backend.c_str();
      break;
  }
}

bool Arguments::inside() const {
  const auto begin = reinterpret_cast<std::uintptr_t>(block_.data());
  const std::uintptr_t end = begin + kBlock;
  bool in = lies_in(a.value, begin, end) && lies_in(b.value, begin, end) &&
            lies_in(c.value, begin, end) && lies_in(d.value, begin, end);
  for (const auto& root : roots) in = in && lies_in(root.value, begin, end);
  const detgemm_const_matrix_t row{0, bias.value.dtype, bias.value.data, 1, bias.value.size, 0, 1};
  in = in && lies_in(row, begin, end);
  const auto scratch = reinterpret_cast<std::uintptr_t>(workspace);
  return in && (workspace_bytes == 0 || workspace == nullptr ||
                (scratch >= begin && scratch < end && workspace_bytes <= end - scratch));
}

bool Arguments::unchanged() const {
  return std::memcmp(block_.data(), before_.data(), kBlock) == 0;
}

bool Arguments::only_d_changed() const {
  std::array<std::uint8_t, kBlock> expected = before_;
  const auto allow = [&](const void* at, std::size_t count) {
    std::memcpy(expected.data() + (static_cast<const std::uint8_t*>(at) - block_.data()), at,
                count);
  };
  each_element(d.value, allow);
  if (workspace != nullptr && workspace_bytes != 0) allow(workspace, workspace_bytes);
  return std::memcmp(expected.data(), block_.data(), kBlock) == 0;
}

std::vector<std::uint8_t> Arguments::elements_of_d() const {
  std::vector<std::uint8_t> bytes;
  each_element(d.value, [&](const std::uint8_t* at, std::size_t size) {
    bytes.insert(bytes.end(), at, at + size);
  });
  return bytes;
}

void Arguments::restore() { block_ = before_; }

}  // namespace detgemm::fuzz
