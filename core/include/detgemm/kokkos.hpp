// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

/// Kokkos Views as operands, and execution spaces as streams. Header-only: it compiles against the
/// application's own Kokkos, 3.4 or newer, and no other header of detgemm includes Kokkos.
///
///   Kokkos::View<float**, Kokkos::LayoutLeft> a("a", m, k), b("b", k, n), d("d", m, n);
///   auto status = detgemm::kokkos::gemm(exec, a, b, d, contract);
///
/// Views have rank 2 and any of LayoutLeft, LayoutRight and LayoutStride, in any mix:
/// strides are passed to the kernels unchanged, nothing is copied. Bits do not depend on them.

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "detgemm/matrix.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/status.hpp"
#include "detgemm/types.hpp"

namespace detgemm::kokkos {

/// The element type of a C++ type. Kokkos's half_t and bhalf_t count where they have 16 bits; on
/// hosts without such arithmetic Kokkos may make them another name of float, and they are fp32
/// then.
template <class Value>
struct Element {
  static constexpr bool known = false;
};
/// fp32.
template <>
struct Element<float> {
  static constexpr bool known = true;
  static constexpr DType dtype = DType::fp32;
};
#if defined(KOKKOS_HALF_T_IS_FLOAT) && !KOKKOS_HALF_T_IS_FLOAT
template <>
struct Element<Kokkos::Experimental::half_t> {
  static constexpr bool known = sizeof(Kokkos::Experimental::half_t) == 2;
  static constexpr DType dtype = DType::fp16;
};
#endif
#if defined(KOKKOS_BHALF_T_IS_FLOAT) && !KOKKOS_BHALF_T_IS_FLOAT
template <>
struct Element<Kokkos::Experimental::bhalf_t> {
  static constexpr bool known = sizeof(Kokkos::Experimental::bhalf_t) == 2;
  static constexpr DType dtype = DType::bf16;
};
#endif

/// A View whose elements are bits of `type`, for example as<DType::bf16>(view) of a View of
/// std::uint16_t.
template <DType type, class View>
struct As {
  View view;
};
/// Names the type of a View's bits; the elements must be as long as the type's.
template <DType type, class View>
As<type, View> as(const View& view) {
  constexpr std::size_t bytes = type == DType::fp32 || type == DType::tf32   ? 4
                                : type == DType::bf16 || type == DType::fp16 ? 2
                                                                             : 1;
  static_assert(sizeof(typename View::value_type) == bytes,
                "the View's elements must be as long as those of the type");
  return {view};
}

/// The View's memory as detgemm takes it: a ConstMatrix if its elements are const, else a Matrix.
template <DType type, class View>
auto matrix(const As<type, View>& typed) {
  static_assert(Kokkos::is_view<View>::value && View::rank == 2, "a matrix is a View of rank 2");
  using Seen = std::conditional_t<std::is_const_v<typename View::value_type>, ConstMatrix, Matrix>;
  const View& view = typed.view;
  return Seen{view.data(),
              static_cast<std::int64_t>(view.extent(0)),
              static_cast<std::int64_t>(view.extent(1)),
              static_cast<std::int64_t>(view.stride_0()),
              static_cast<std::int64_t>(view.stride_1()),
              type};
}
/// The same for a View whose element type determines the number format.
template <class View>
requires(Kokkos::is_view<View>::value) auto matrix(const View& view) {
  using Value = typename View::non_const_value_type;
  static_assert(
      Element<Value>::known,
      "the View's elements must be float, or half_t or bhalf_t where they have 16 bits; for "
      "bits in integers, name the type with detgemm::kokkos::as<DType::...>(view)");
  return matrix(As<Element<Value>::dtype, View>{view});
}

/// An execution space's queue: the stream of a GPU's, and nothing but its kind on a host.
template <class Exec>
Stream stream(const Exec& exec) {
  if constexpr (requires { exec.cuda_stream(); }) {
    return {DeviceKind::cuda, static_cast<void*>(exec.cuda_stream())};
  } else if constexpr (requires { exec.hip_stream(); }) {
    return {DeviceKind::hip, static_cast<void*>(exec.hip_stream())};
  } else {
    static_assert(Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible,
                  "detgemm computes on Kokkos's host spaces, on Cuda and on HIP");
    return {};
  }
}

namespace detail {
template <class T>
struct Held {
  using View = T;
};
template <DType type, class V>
struct Held<As<type, V>> {
  using View = V;
};
template <class Exec, class Operand>
constexpr bool reaches =
    Kokkos::SpaceAccessibility<Exec, typename Held<Operand>::View::memory_space>::accessible;
}  // namespace detail

/// D = op(A) * op(B) as detgemm::gemm, enqueued on `exec`; operands are Views or as<DType>(View).
/// On a GPU it is asynchronous and takes its scratch memory from options.workspace. On a host space
/// it waits for what was enqueued on `exec` and has finished when it returns. C and the bias, where
/// they are used, are in `options`, for example options.c = detgemm::kokkos::matrix(c). Profiling
/// tools see a region "detgemm::gemm". Not to be called from inside a Kokkos kernel.
template <class Exec, class A, class B, class D>
requires(Kokkos::is_execution_space<Exec>::value) Status
    gemm(const Exec& exec, const A& a, const B& b, const D& d, const Contract& contract,
         const GemmOptions& options = {}) {
  static_assert(detail::reaches<Exec, A> && detail::reaches<Exec, B> && detail::reaches<Exec, D>,
                "the execution space must be able to read and write the Views' memory");
  const auto out = matrix(d);
  static_assert(std::is_same_v<std::remove_const_t<decltype(out)>, Matrix>,
                "D is written, so its elements must not be const");
  const Stream queue = stream(exec);
  if (queue.kind == DeviceKind::host) exec.fence();
  Kokkos::Profiling::pushRegion("detgemm::gemm");
  Status status = detgemm::gemm(queue, matrix(a), matrix(b), out, contract, options);
  Kokkos::Profiling::popRegion();
  return status;
}

/// The same on the default instance of D's execution space.
template <class A, class B, class D>
requires(!Kokkos::is_execution_space<A>::value) Status
    gemm(const A& a, const B& b, const D& d, const Contract& contract,
         const GemmOptions& options = {}) {
  return gemm(typename detail::Held<D>::View::execution_space(), a, b, d, contract, options);
}

}  // namespace detgemm::kokkos
