# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""megatron_gpt.py RESULT RANKS RUN...: trains a tiny GPT of Megatron Core on a CPU, and writes the weights of every run.

RUN is ARM:MICRO. ARM: "ours", detgemm's specification; "ddp", ours with main_grad from Megatron's DistributedDataParallel;
"stock", Megatron's local one; "faulty", ours whose gradients of weights take all sequences of a micro-batch as one; "moe", ours
with experts; "mixed", whose experts take a micro-batch's sequences from the last to the first; "head", ours with head and loss as
one operation and sequences of 32 tokens; "plain", ours with such sequences. MICRO: sequences per micro-batch, of
SEQUENCES. Or RUN is "loss:ours", "loss:stock", "refused", "outer" or "audit". Ranks are processes,
connected by gloo; each writes its share to RESULT.<rank>. test_megatron.py compares.
"""
import contextlib
import os
import sys

import torch

SEQUENCES, LENGTH, STEPS, VOCABULARY, HIDDEN, FEATURES, LAYERS = 8, 24, 3, 512, 128, 256, 2
TREE = "hopper/bf16/tree:64->bf16"
MOE = dict(num_moe_experts=4, moe_ffn_hidden_size=64, moe_router_topk=2)


def initialise(rank, ranks, meeting):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank))
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    from megatron.core import parallel_state
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=ranks)


def policy():
    import detgemm.torch as dt
    return dt.Policy("hopper/bf16/chain->bf16", "hopper/bf16/chain->bf16", "hopper/bf16/fold:16->fp32")


def config(**changes):
    from megatron.core.parallel_state import get_tensor_model_parallel_world_size
    from megatron.core.transformer.transformer_config import TransformerConfig
    given = dict(
        num_layers=LAYERS, hidden_size=HIDDEN, ffn_hidden_size=FEATURES, num_attention_heads=4, num_query_groups=2, kv_channels=32,
        use_cpu_initialization=True, params_dtype=torch.bfloat16, bf16=True, pipeline_dtype=torch.bfloat16,
        gradient_accumulation_fusion=False, add_bias_linear=False, normalization="RMSNorm", layernorm_epsilon=1e-6,
        gated_linear_unit=True, activation_func=torch.nn.functional.silu, attention_dropout=0.0, hidden_dropout=0.0,
        bias_dropout_fusion=False, bias_activation_fusion=False, masked_softmax_fusion=False, apply_rope_fusion=False,
        tensor_model_parallel_size=get_tensor_model_parallel_world_size())
    return TransformerConfig(**{**given, **changes})


def build(arm, across_ranks=TREE, **changes):
    import detgemm.megatron
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    torch.manual_seed(0)
    if arm != "stock":
        experts = arm in ("moe", "mixed")
        changes.update(MOE if experts else {})
        spec = detgemm.megatron.get_gpt_layer_spec(policy(), across_ranks=across_ranks, experts=experts)
    else:
        spec = get_gpt_layer_local_spec(normalization="RMSNorm")
    model = GPTModel(config=config(**changes), transformer_layer_spec=spec, vocab_size=VOCABULARY, max_sequence_length=LENGTH,
                     position_embedding_type="rope")
    if arm != "stock":
        detgemm.megatron.use(model, policy(), across_ranks=across_ranks, fused_head=arm == "head")
    return model.bfloat16()


def on_a_cpu():
    """Megatron Core names a CUDA device where it makes rotary frequencies and, in its own attention, buffers."""
    from megatron.core import tensor_parallel
    torch.cuda.current_device = lambda: "cpu"
    tensor_parallel.get_cuda_rng_tracker().fork = lambda *_: contextlib.nullcontext()


def losses(model, tokens):
    places = torch.arange(LENGTH).expand(len(tokens), LENGTH)
    later = torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool).triu(1)
    return model(tokens[:, :-1], places, later, labels=tokens[:, 1:].contiguous())


def wrapped(model):
    """Megatron's DistributedDataParallel, whose buffers the gradients are."""
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
    return DistributedDataParallel(model.config, DistributedDataParallelConfig(grad_reduce_in_fp32=True), model)


def train(arm, micro):
    """The weights after STEPS of Adam with fp32 masters, the last step's gradients, and the first step's losses."""
    model = build(arm)
    parameters = dict(model.named_parameters())
    grads = {name: torch.zeros(p.shape) for name, p in parameters.items()}
    if arm == "ddp":
        model = wrapped(model)
        grads = {name: p.main_grad for name, p in parameters.items()}
    elif arm != "stock":
        for name, p in parameters.items():  # as Megatron's DistributedDataParallel does
            p.main_grad, p.grad_added_to_main_grad = grads[name], False
    masters = {name: p.detach().float().clone() for name, p in parameters.items()}
    adam = torch.optim.Adam(masters.values(), lr=1e-3, betas=(0.9, 0.99))
    source, first = torch.Generator().manual_seed(1), []
    for step in range(STEPS):
        for grad in grads.values():
            grad.zero_()
        if arm == "ddp":
            model.zero_grad_buffer()
        for part in torch.randint(0, VOCABULARY, (SEQUENCES, LENGTH + 1), generator=source).split(micro):
            loss = losses(model, part)
            first += [loss.detach()] if step == 0 else []
            (loss.sum() / (SEQUENCES * LENGTH)).backward()
            for name, p in parameters.items() if arm != "ddp" else ():
                if not getattr(p, "grad_added_to_main_grad", False):
                    grads[name] += p.grad
                p.grad = None
        if arm == "ddp":
            model.finish_grad_sync()
        for name, master in masters.items():
            master.grad = grads[name]
        adam.step()
        with torch.no_grad():
            for name, p in parameters.items():
                p.copy_(masters[name])
    return {**{name: p.detach() for name, p in parameters.items()}, **{f"{name}.main_grad": grad.clone() for name, grad in grads.items()},
            "losses": torch.cat(first)}


def loss(arm):
    """Losses and this rank's gradients of logits that cancel and have very different sizes."""
    from conftest import bits
    from megatron.core import parallel_state, tensor_parallel

    import detgemm.megatron
    group = parallel_state.get_tensor_model_parallel_group()
    whole = bits((40, 16, 4 * VOCABULARY), torch.float32)
    whole[0, 0, 1:] = -float("inf")
    whole[1, 1, 7], whole[2], whole[3:] = float("nan"), whole[2] * 1e-30, whole[3:] * 0.02
    mine = whole.chunk(group.size(), -1)[group.rank()].bfloat16().requires_grad_()
    labels = torch.randint(0, whole.shape[-1], (40, 16), generator=torch.Generator().manual_seed(2))
    if arm == "ours":
        found = detgemm.megatron.vocab_parallel_cross_entropy(mine, labels, group)
    else:
        found = tensor_parallel.vocab_parallel_cross_entropy(mine.clone(), labels)
    found.backward(bits((40, 16), torch.float32, 1))
    return {"losses": found.detach(), "grad": mine.grad, "logits": mine.detach(), "labels": labels}


REFUSED = {"LayerNorm": dict(normalization="LayerNorm"), "biases": dict(add_bias_linear=True), "dropout": dict(hidden_dropout=0.1),
           "fusion": dict(bias_dropout_fusion=True), "no tree": dict(across_ranks="hopper/bf16/chain->bf16"),
           "leaves": dict(across_ranks="hopper/bf16/tree:96->bf16"), "stock": dict(arm="stock"), "type": dict(across_ranks="hopper/fp16/tree:64->fp16"),
           "no experts": MOE, "auxiliary loss": dict(arm="moe", moe_aux_loss_coeff=0.01), "gelu": dict(arm="moe", activation_func=torch.nn.functional.gelu)}


def refused():
    """The sentence of each model that must not be built."""
    import detgemm.megatron
    said = {}
    for name, changes in REFUSED.items():
        try:
            model = build(**{"arm": "ours", **changes})
            detgemm.megatron.use(model, policy())
            said[name] = "it was built"
        except Exception as raised:
            said[name] = str(raised)
    group = torch.distributed.group.WORLD
    for name, buffer, slices, closed in (("buffers", torch.zeros(4, 4).t()[1:], 1, 1), ("no slice", torch.zeros(4), 4, 3), ("slice", torch.zeros(4), 2, 3),
                                         ("slices", torch.zeros(4), 0, 1)):
        try:
            tree = detgemm.megatron.GradientTree([buffer], group, slices)
            for _ in range(closed):
                tree.close_slice()
            tree.finish()
            said[name] = "it was joined"
        except Exception as raised:
            said[name] = str(raised)
    import detgemm.torch as dt
    halves = dt.Policy("hopper/fp16/chain->fp16", "hopper/fp16/chain->fp16", "hopper/fp16/fold:16->fp32")
    model = build("stock")
    try:
        detgemm.megatron.use(model, halves, fused_head=True)
        said["head"] = "it was used"
    except Exception as raised:
        said["head"] = f"{type(model.output_layer).__module__}: {raised}"
    places, tokens = torch.arange(LENGTH).expand(1, LENGTH), torch.zeros(1, LENGTH, dtype=torch.int64)
    try:
        losses(build("head"), torch.zeros(1, LENGTH + 1, dtype=torch.int64))
        said["length"] = "it ran"
    except Exception as raised:
        said["length"] = str(raised)
    model = build("ours")
    for name, mask in (("mask", torch.zeros(1, 1, LENGTH, LENGTH, dtype=torch.bool)), ("shape", torch.zeros(1, 1, LENGTH, 1, dtype=torch.bool))):
        try:
            model(tokens, places, mask, labels=tokens)
            said[name] = "it ran"
        except Exception as raised:
            said[name] = str(raised)
    return said


def audit():
    """What a micro-batch adds together, forward and backward, as rows of the audit."""
    import detgemm.torch as dt
    model = build("ours")
    for p in model.parameters():
        p.main_grad = torch.zeros(p.shape)
    tokens = torch.randint(0, VOCABULARY, (2, LENGTH + 1), generator=torch.Generator().manual_seed(1))
    with dt.audit() as report:
        values = losses(model, tokens)
        values.backward(torch.full_like(values, 1 / 64))
    return report.rows


def one_after_all(acc, dy, x, contract):
    """The planted fault: rows in the order of memory, all sequences of a micro-batch in one product."""
    torch.ops.detgemm.accumulate_(acc, dy.flatten(0, -2).t(), x.flatten(0, -2), contract)


def outer():
    """dW of whole steps, which is one product, and of one sequence after the other; three sequences of 32."""
    from conftest import bits

    from detgemm.megatron import linear
    dy, x = bits((32, 3, 40), torch.bfloat16), bits((32, 3, 24), torch.bfloat16, 1)
    found = {}
    for name, contract in (("whole", "hopper/bf16/fold:16->fp32"), ("parts", "hopper/bf16/fold:16->fp32"), ("other", "hopper/bf16/fold:64->fp32")):
        found[name] = bits((40, 24), torch.float32, 2)
        pieces = [(dy, x)] if name != "parts" else [(dy[:, at:at + 1], x[:, at:at + 1]) for at in range(3)]
        for rows, columns in pieces:
            linear.add_outer(found[name], rows, columns, contract)
    return found


def one(run):
    global LENGTH
    from detgemm.megatron import experts, linear
    kind, _, which = run.partition(":")
    LENGTH = 32 if kind in ("head", "plain") else 24
    if kind in ("refused", "audit", "outer"):
        return globals()[kind]()
    if kind == "loss":
        return loss(which)
    right = linear.add_outer, experts.sequences_of
    if kind == "faulty":
        linear.add_outer = one_after_all
    if kind == "mixed":
        experts.sequences_of = range
    try:
        return train(kind, int(which))
    finally:
        linear.add_outer, experts.sequences_of = right


def work(rank, result, ranks, runs, meeting):
    torch.set_num_threads(1)
    initialise(rank, ranks, meeting)
    on_a_cpu()
    torch.save({run: one(run) for run in runs}, f"{result}.{rank}")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def main():
    result, ranks, runs = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    meeting = result + ".meeting"
    if ranks == 1:
        work(0, result, 1, runs, meeting)
    else:
        torch.multiprocessing.spawn(work, (result, ranks, runs, meeting), nprocs=ranks)


if __name__ == "__main__":
    main()
