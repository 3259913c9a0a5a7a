# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Which contracts a layer computes under."""
import dataclasses

import torch

from detgemm import _library as lib
from detgemm.contract import contract as parsed
from detgemm.torch.operators import input_type


@dataclasses.dataclass(frozen=True)
class Policy:
    """The contracts of a linear layer, as texts.

    forward  Y = X.W^T + bias
    dgrad    dX = dY.W
    wgrad    dW = dY^T.X and the sum of dY's rows; its output must be fp32, so that gradients can be
             accumulated in fp32 without another rounding. With `fold:LEAF` micro-batches that are cut at
             multiples of LEAF rows give the bits of the uncut batch; with `chain` at multiples of the
             contract's k block (16 for hopper/bf16).

    All three read the same number format. There is no default policy.
    """

    forward: str
    dgrad: str
    wgrad: str
    input: torch.dtype = dataclasses.field(init=False, repr=False, compare=False)  # of activations and weights
    step: int = dataclasses.field(init=False, repr=False, compare=False)  # micro-batches are multiples of it

    def __post_init__(self):
        inputs = {name: parsed(getattr(self, name)).input for name in ("forward", "dgrad", "wgrad")}
        for name in inputs:
            if parsed(getattr(self, name)).reduction == "scaled":
                raise lib.DetgemmError(f'policy: {name} is "{getattr(self, name)}": a layer has no scales; use chain, fold or '
                                       "tree, or call scaled_gemm")
        if len(set(inputs.values())) != 1:
            said = ", ".join(f"{name} reads {dtype}" for name, dtype in inputs.items())
            raise lib.DetgemmError(f"policy: {said}: all three must read the same number format")
        if parsed(self.wgrad).output != "fp32":
            raise lib.DetgemmError(f'policy: wgrad is "{self.wgrad}": its output must be fp32')
        if parsed(self.wgrad).reduction == "tree":
            raise lib.DetgemmError(f'policy: wgrad is "{self.wgrad}": a tree cannot be continued, so '
                                   "gradients cannot be accumulated; use chain or fold")
        # Kept as values: torch.compile reads them while it traces.
        object.__setattr__(self, "input", input_type(self.forward))
        wgrad = parsed(self.wgrad)
        object.__setattr__(self, "step", wgrad.leaf_k or wgrad.k_block)
