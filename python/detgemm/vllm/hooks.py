# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What the plugin replaces in vLLM, by name. A check takes one of them away and must fail then."""

NAMES = {
    "linear": "products of linear layers",
    "head": "the product of the head",
    "experts": "experts: the choice, their products and sums",
    "norm": "RMSNorm and Gemma's, with the residual and without",
    "silu": "silu(gate) * up, and gelu(gate) * up",
    "rotary": "rotary embedding",
    "attention": "invariant attention: vLLM's own mode on a GPU, detgemm's paged attention on a CPU",
    "logprobs": "log-probabilities, and which tokens are likeliest",
    "sampling": "softmax and masks of sampling, min_p among them",
}
PRODUCTS = ("linear", "head")
_left_out = set()
_chosen = False
ORDERS = ("lanes", "logsum16")  # of log-probabilities: docs/python-orders.md and docs/log-prob.md
_order = ORDERS[0]
_products_only = False


def leave_out(names):
    """Leaves hooks out of engines that are built afterwards in this process; for checks."""
    for name in names:
        if name not in NAMES:
            raise ValueError(f'detgemm: the hook is "{name}": it must be of {", ".join(NAMES)}')
    _left_out.clear()
    _left_out.update(names)


def used(name):
    return name not in _left_out and (name in PRODUCTS or not _products_only)


def choose(order=ORDERS[0], products_only=False):
    """Notes that an engine of this process has quantization="detgemm"; the sampler has no configuration to read.
    products_only: everything but products is vLLM's own."""
    global _chosen, _order, _products_only
    _chosen, _order, _products_only = True, order, products_only


def order():
    """The order in which log-probabilities are summed."""
    return _order


def active(name):
    """Whether a hook without a layer is to compute."""
    return _chosen and used(name)
