# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Which reductions of a program ran under a contract, and which did not."""
import collections

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from detgemm import _library as lib
from detgemm.torch import switch, switch_sums

# Reductions whose result does not depend on the order in which elements are met.
EXACT = set("""max min amax amin aminmax argmax argmin any all sort topk kthvalue median nanmedian unique2 _unique2
    count_nonzero nonzero isin equal histc msort mode searchsorted bucketize cummax cummin
    max_pool2d_with_indices""".split())

# Operators that move, make or describe elements, or work element by element without PyTorch's tag for it.
MOVES = set("""clone copy_ copy cat stack hstack vstack index gather index_select embedding take masked_select
    masked_fill masked_fill_ masked_scatter where tril triu tril_ triu_ flip roll repeat repeat_interleave
    constant_pad_nd scatter scatter_ index_fill index_fill_ index_copy index_copy_ slice_scatter select_scatter
    select_backward slice_backward empty empty_like empty_strided empty_permuted new_empty new_empty_strided
    new_zeros new_ones new_full zeros zeros_like ones ones_like full full_like arange linspace eye scalar_tensor
    rand rand_like randn randn_like randint randperm uniform_ normal_ bernoulli bernoulli_ exponential_
    multinomial random_ fill_ zero_ resize_ set_ contiguous _to_copy to detach detach_ lift lift_fresh lift_fresh_copy
    item _local_scalar_dense is_nonzero record_stream _reshape_copy _unsafe_view pin_memory _pin_memory is_pinned
    native_dropout native_dropout_backward _fused_dropout alias _assert_async _assert_scalar sym_size
    complex view_as_real_copy unfold_copy meshgrid one_hot diag_embed split_with_sizes_copy
    _foreach_zero_ _foreach_copy_ _pad_sequence im2col pixel_shuffle _conj_physical resolve_conj resolve_neg
    prim_device dropout rotary_embedding glu floor_divide""".split())

# Operators that add over a dimension in an order that PyTorch chooses.
REDUCES = set("""sum nansum mean nanmean prod norm linalg_vector_norm var std var_mean std_mean logsumexp cumsum
    cumprod logcumsumexp cumsum_ _softmax _log_softmax _softmax_backward_data _log_softmax_backward_data
    _safe_softmax native_layer_norm native_layer_norm_backward _fused_rms_norm _fused_rms_norm_backward rms_norm
    native_group_norm native_group_norm_backward native_batch_norm native_batch_norm_backward batch_norm
    cudnn_batch_norm _native_batch_norm_legit convolution convolution_backward _convolution cudnn_convolution
    mkldnn_convolution _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu
    _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention _scaled_dot_product_attention_math
    _scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward
    _scaled_dot_product_efficient_attention_backward _scaled_dot_product_cudnn_attention_backward
    _flash_attention_forward _flash_attention_backward _efficient_attention_forward _efficient_attention_backward
    _grouped_mm _scaled_grouped_mm _scaled_mm _addmm_activation _int_mm addbmm linalg_multi_dot
    embedding_dense_backward _embedding_bag _embedding_bag_backward embedding_bag index_add index_add_ scatter_add
    scatter_add_ scatter_reduce scatter_reduce_ index_reduce index_put index_put_ _index_put_impl_
    _unsafe_index_put nll_loss_forward nll_loss_backward nll_loss2d_forward mse_loss l1_loss smooth_l1_loss
    huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div avg_pool2d adaptive_avg_pool2d
    _adaptive_avg_pool2d upsample_bilinear2d trace dist cdist _cdist_forward cross_entropy_loss _foreach_norm
    bincount gather_backward grid_sampler_2d segment_reduce _fft_r2c _fft_c2c _fft_c2r linalg_solve_ex linalg_inv_ex
    linalg_lu_factor_ex linalg_cholesky_ex linalg_qr linalg_svd _linalg_svd _linalg_eigh linalg_eig
    _thnn_fused_lstm_cell _cudnn_rnn""".split())
_PRODUCTS = {name.partition(".")[0] for name in switch.covered()}

# Operators of this package that compute rows in a written order, with a sentence each; other modules of it
# add theirs. Their results depend on nothing but the row.
ROW_LOCAL = {}

# Operators of this package that round numbers to what a leaf or a block of them needs: maxima and sums that are exact, so
# they have no order.
ROUNDS = {"snap", "quantize"}

CONTRACT, ROW, OUTSIDE, UNKNOWN = "contract", "row-local", "outside", "unknown"


def _is_view(func):
    returns = func._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)


def _inexact(dtype):
    return isinstance(dtype, torch.dtype) and (dtype.is_floating_point or dtype.is_complex)


def _adds_integers(name, args, options, tensors):
    """Whether all that a reduction adds are integers, into an integer: such sums are exact."""
    kinds = [*(x.dtype for x in tensors), *args, *options.values()]
    return name != "logsumexp" and not any(_inexact(kind) for kind in kinds)


def _accumulates(name, args, options):
    """Of reductions, whether this call is of a form that adds: index_put adds where it accumulates."""
    if name in ("index_put", "index_put_", "_index_put_impl_", "_unsafe_index_put"):
        return bool(args[3] if len(args) > 3 else options.get("accumulate", False))
    return True


def verdict_of(func, args, options):
    """(verdict, why) of one call, or None for an operator that adds nothing together."""
    name = func._schema.name.partition("::")[2]
    space = func.namespace
    tensors = [x for x in (*args, *options.values()) if isinstance(x, torch.Tensor)]
    if space in ("detgemm", "detgemm_vllm"):
        if name in ROUNDS:
            return None
        if name in ROW_LOCAL:
            return ROW, ROW_LOCAL[name]
        texts = [x for x in (*args, *options.values()) if isinstance(x, str) and "/" in x]
        return (CONTRACT, texts[0]) if texts else (UNKNOWN, "")
    if space == "profiler":
        return None  # marks of where a program is
    if space not in ("aten", "prims", "prim"):
        return UNKNOWN, ""
    # Sparse and nested tensors have kernels of their own, which the switch does not replace.
    plain = all(x.layout is torch.strided and not x.is_nested for x in tensors)
    if name in _PRODUCTS:
        which = 1 if name.startswith(("add", "badd")) else 0
        text = switch.contract_now(args[which]) if plain else None
        return (CONTRACT, text) if text else (OUTSIDE, "")
    if plain and name in switch_sums.NAMES and not func._schema.overload_name.endswith("out") and (text := switch.sums_now(name, args, options)):
        return CONTRACT, text
    if name in REDUCES:
        if _adds_integers(name, args, options, tensors):
            return None
        return (OUTSIDE, "") if _accumulates(name, args, options) else None
    if name in ("scatter", "scatter_") and "reduce" in func._schema.overload_name:
        return None if _adds_integers(name, args, options, tensors) else (OUTSIDE, "")
    if name in EXACT or name in MOVES or torch.Tag.pointwise in func.tags or _is_view(func):
        return None
    if name.rstrip("_") in EXACT | MOVES or name.startswith(("_foreach_", "_fused_adam", "_amp_")):
        return None
    if not tensors and not any(isinstance(x, (list, tuple)) for x in args):
        return None  # makes a tensor from numbers
    return UNKNOWN, ""


class Report:
    """What `audit` found: `rows` are tuples of (operator, type, verdict, contract or order, calls).

    Verdicts: "contract", "row-local" (an operator of this package with a written order), "outside" (a reduction
    whose order PyTorch chooses) and "unknown" (an operator that is in no table; treat it as outside).
    `separate` counts decoder layers that could not be one node of autograd, by (class, reason): same bits, slower.
    """

    def __init__(self):
        self._calls = collections.Counter()
        self.separate = collections.Counter()

    def add(self, func, dtype, verdict, why):
        self._calls[str(func).removesuffix(".default"), dtype, verdict, why] += 1

    @property
    def rows(self):
        order = {UNKNOWN: 0, OUTSIDE: 1, ROW: 2, CONTRACT: 3}
        return sorted(((op, dtype, verdict, why, calls)
                       for (op, dtype, verdict, why), calls in self._calls.items()),
                      key=lambda row: (order[row[2]], row))

    @property
    def uncovered(self):
        """The rows that are neither under a contract nor row-local."""
        return [row for row in self.rows if row[2] in (OUTSIDE, UNKNOWN)]

    def require_clean(self, allow=()):
        """Raises a sentence with every uncovered operator that `allow` does not name."""
        left = sorted({row[0] for row in self.uncovered} - set(allow))
        if left:
            raise lib.DetgemmError("audit: reductions ran outside of a contract: " + ", ".join(left))

    def __str__(self):
        lines = [f"{calls:8d}  {verdict:9s}  {op:36s} {dtype:10s} {why}".rstrip() for op, dtype, verdict, why, calls in self.rows]
        lines = lines or ["no reduction was seen"]
        return "\n".join(lines + [f"{calls:8d}  {layer} in separate operators, same bits but slower: {why}"
                                  for (layer, why), calls in sorted(self.separate.items())])


def note_separate(layer, why):
    """Counts a decoder layer that takes its own forward pass, in every audit that is entered."""
    for mode in _get_current_dispatch_mode_stack():
        if isinstance(mode, audit):
            mode.report.separate[type(layer).__name__, why] += 1


class audit(TorchDispatchMode):  # reads as a statement: with audit() as report
    """Lists every operator that adds over a dimension while it is entered, forward and backward.

    An operator that is in no table here is "unknown", never fine. Kernels that are launched outside of
    PyTorch's dispatcher (a Triton kernel called directly, a graph replay) are not seen: run the program eagerly.
    """

    def __enter__(self):
        self.report = Report()
        super().__enter__()
        return self.report

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        options = kwargs or {}
        found = verdict_of(func, args, options)
        if found is not None:
            dtype = next((str(x.dtype).removeprefix("torch.") for x in (*args, *options.values())
                          if isinstance(x, torch.Tensor)), "")
            self.report.add(func, dtype, *found)
        return func(*args, **options)
