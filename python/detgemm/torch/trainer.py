# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""transformers' Trainer with gradients that are continued in fp32, so that weights do not depend on the cut into micro-batches."""
import torch
from transformers import TrainerCallback

from detgemm.torch.dispatch import refuse
from detgemm.torch.main_grad import main_grads


class MainGrads(TrainerCallback):
    """Trainer(..., callbacks=[MainGrads()]): every parameter's gradient is its fp32 `main_grad`, which micro-batches continue.

    For a model of `detgemm.torch.transformers.use` with fp32 weights under bf16=True, on one process with one GPU. Gradients must not be clipped
    (max_grad_norm=0), since the Trainer clips what autograd returned, and that is nothing here.
    """

    def on_train_begin(self, args, state, control, model=None, **_):
        refuse(args.max_grad_norm, f"max_grad_norm is {args.max_grad_norm}: it must be 0, since gradients are not where the Trainer clips them")
        refuse(args.world_size != 1, f"there are {args.world_size} processes: they would add gradients to each other's in an order without "
                                     "a contract")
        refuse(args.n_gpu > 1, f"one process has {args.n_gpu} GPUs: the Trainer copies the model to each (DataParallel), and copies of weights have "
                               "no main_grad; set CUDA_VISIBLE_DEVICES to one GPU")
        main_grads(model)
        left = [name for name, p in model.named_parameters() if p.requires_grad and getattr(p, "main_grad", None) is None]
        refuse(left, f"{', '.join(left[:4])} have no main_grad: call detgemm.torch.transformers.use(model, policy) first")
        low = [name for name, p in model.named_parameters() if p.requires_grad and p.dtype != torch.float32]
        refuse(low, f"{', '.join(low[:4])} are not fp32: an optimizer's weights must be; load the model in fp32 and set bf16=True")

    def on_pre_optimizer_step(self, args, state, control, model=None, **_):
        for p in model.parameters():
            if p.requires_grad:
                p.grad = p.main_grad

    def on_optimizer_step(self, args, state, control, model=None, **_):
        for p in model.parameters():
            if p.requires_grad:
                p.grad = None
                p.main_grad.zero_()
