# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The rows of tests/golden/logsum16.txt, which the reference computed: roots, results, gradients and nodes of parts."""
import pathlib

import pytest
import torch

from detgemm.torch import shards
from detgemm.torch.plain import log_prob as plain
from detgemm.torch.log_prob_sharded import STRIPE

PAGE = pathlib.Path(__file__).parents[1] / "golden/logsum16.txt"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="tests/golden/logsum16.txt is not beside these tests")
TYPES = {"bf16": (torch.int16, torch.bfloat16, 4), "fp32": (torch.int32, torch.float32, 8)}


def signed(word, digits):
    value = int(word, 16)
    return value - (1 << 4 * digits) if value >> (4 * digits - 1) else value


def numbers(words, integer, dtype, digits):
    return torch.tensor([signed(words[i:i + digits], digits) for i in range(0, len(words), digits)], dtype=integer).view(dtype)


def number(word):
    return None if word == "-" else numbers(word, *TYPES["fp32"])


def word(tensor):
    """A NaN of a root has any payload; those of results are canonical already."""
    return f"{torch.where(tensor != tensor, 0x7fffffff, tensor.view(torch.int32)).item() & 0xffffffff:08x}"


def computed(line):
    """What the plain form says of a line, in the line's words."""
    given, _, said = line.partition(" = ")
    kind, valid, scale, target, a, b, c, begin, end, z = given.split()
    valid, begin, end, ids = int(valid), int(begin), int(end), torch.tensor([[int(target)]])
    z, scale = numbers(z, *TYPES[kind])[None], number(scale)
    here = z[:, :valid]
    nodes = plain.nodes(here, scale, True)
    root = plain.root(nodes)
    x = plain.scaled(z, scale).gather(1, ids.clamp(min=0)) if z.numel() else torch.zeros(1, 1)
    k, r, lse, entropy, logp, x = plain.finish(nodes, x, ids, valid)
    upstream = [torch.zeros(1) if a == "-" else number(a), number(b), number(c)]
    g = plain.gradient(here, scale, ids[0], 0, *upstream, k, r, lse, entropy, torch.bfloat16)[0]
    g = torch.cat([g, torch.zeros(z.shape[1] - valid, dtype=g.dtype)])
    parts = []
    for first, last, level in shards.stripes(begin, min(end, valid), STRIPE, False):
        parts += shards.pieces(level, first // 16 >> level, plain.nodes(z[:, first:last], scale, True, level))
    listed = ",".join(f"{node.k.item()}:{word(node.s)}:{word(node.a)}" for _, _, node in shards.merged(parts)) or "-"
    return [str(root.k.item()), word(root.s), word(root.a), *map(word, (lse, logp, entropy, x, r)),
            "".join(f"{bits & 0xffff:04x}" for bits in g.view(torch.int16).tolist()), listed], said.split()


def test_every_row():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert len(lines) > 200
    differing = [line[:100] for line in lines if (lambda found: found[0] != found[1])(computed(line))]
    assert not differing, (len(differing), differing[:3])
