# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""detgemm for PyTorch 2.10 and newer.

Operators `torch.ops.detgemm.*`; `linear` and `Linear` with gradients under contracts; `convert` for a whole
model; `aten`, a switch for a whole program; `audit`, which says what a switch did not cover; `bisect` and
`digest` to compare two runs. `grouped_gemm` and `grouped_linear` for mixtures of experts; `scaled_gemm` and
`quantize` for fp8 with block scales; `moe` for a whole layer of experts under contracts. Beside products: `rms_norm`,
`softmax`, `log_softmax`, `attention` and `embedding` in written orders, log-probabilities of a head by `linear_log_prob`, and
`detgemm.torch.transformers`, which puts a model on all of them.
"""
from detgemm.torch.switch import aten
from detgemm.torch.attend import attention
from detgemm.torch.auditing import audit
from detgemm.torch.combining import combine_experts
from detgemm.torch.compare import bisect, digest, same_bits
from detgemm.torch.embeddings import Embedding, embedding
from detgemm.torch.gradient_tree import GradientTree
from detgemm.torch.grouped import grouped_accumulate_, grouped_gemm, grouped_linear
from detgemm.torch.layers import Linear, convert, linear
from detgemm.torch.log_prob_linear import LogProbs, linear_log_prob
from detgemm.torch.log_prob import log_probs_of
from detgemm.torch.main_grad import check_cuts, main_grads
from detgemm.torch.mixture import moe, run_experts, top_experts
from detgemm.torch.ops import bmm, clear_plans, gemm, prepare, stats, sum_rows_
from detgemm.torch.policy import Policy
from detgemm.torch.quantizing import gather_quantize, silu_mul_quantize
from detgemm.torch.rows import RMSNorm, log_softmax, rms_norm, softmax, token_log_probs
from detgemm.torch.routed import route, routed_experts
from detgemm.torch.routing import gather_rows, segment_offsets, segments
from detgemm.torch.scaled import quantize, scaled_gemm
from detgemm.torch.snapping import check_snapped, is_snapped, snap, snap_weights

__all__ = ["Embedding", "GradientTree", "Linear", "LogProbs", "Policy", "RMSNorm", "aten", "attention", "audit", "bisect", "bmm", "check_cuts",
           "check_snapped", "clear_plans", "combine_experts", "convert", "digest", "embedding", "gather_quantize",
           "gather_rows", "gemm", "grouped_accumulate_", "grouped_gemm", "grouped_linear", "linear", "linear_log_prob",
           "log_probs_of", "log_softmax", "main_grads", "is_snapped", "moe", "prepare", "quantize", "rms_norm", "route",
           "routed_experts", "run_experts", "same_bits", "scaled_gemm", "segment_offsets", "segments", "silu_mul_quantize", "snap", "snap_weights", "softmax",
           "stats", "sum_rows_", "token_log_probs", "top_experts"]
