# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of operands like those of language models: pairs of matrices, rows x K, of bf16 numbers as float64."""
import numpy

import rule


def scaled(x, generator):
    """Every row times a number between 1 and 2, so that no row sits at a lucky place between two powers of two."""
    return x * 2.0 ** generator.random((x.shape[0], 1))


def normal(rows, k, generator):
    return generator.standard_normal((rows, k)), generator.standard_normal((rows, k))


def channels(rows, k, generator):
    """One product in a hundred is 20 to 60 times as large in A: the outlier channels of activations."""
    a, b = normal(rows, k, generator)
    hot = generator.choice(k, max(1, k // 100), replace=False)
    a[:, hot] *= generator.uniform(20, 60, len(hot))
    return a, b


def spike(rows, k, generator):
    """One product of all K is 1000 times as large in A."""
    a, b = normal(rows, k, generator)
    a[:, generator.integers(k)] *= 1000
    return a, b


def hidden(rows, k, generator):
    """The same with weights of a thousandth on that channel, so that it weighs no more than others: the worst case for a
    grid that a whole leaf shares."""
    a, b = normal(rows, k, generator)
    hot = generator.integers(k)
    a[:, hot] *= 1000
    b[:, hot] /= 1000
    return a, b


def lognormal(rows, k, generator):
    """Magnitudes e^n with n normal, of either sign, in both operands."""
    return tuple(numpy.exp(x) * numpy.where(generator.random((rows, k)) < 0.5, -1, 1)
                 for x in normal(rows, k, generator))


def swiglu(rows, k, generator):
    """A = silu(g) u, what the second matrix of a gated feed-forward layer reads; weights with heavier tails (Student's t
    of 5 degrees of freedom)."""
    gate, up = normal(rows, k, generator)
    return gate / (1 + numpy.exp(-gate)) * up, generator.standard_t(5, (rows, k))


def gradient(rows, k, generator):
    """dW = dY^T X, where K counts tokens: every token's gradient has a size of its own (e^(1.5 n)), and so have
    activations, a little (e^(0.3 n))."""
    a, b = normal(rows, k, generator)
    return (a * numpy.exp(1.5 * generator.standard_normal(k)) * 1e-4,
            b * numpy.exp(0.3 * generator.standard_normal(k)))


KINDS = {"normal": normal, "outlier channels": channels, "one channel of 1000x": spike,
         "1000x on weights of 1/1000": hidden, "lognormal": lognormal, "SwiGLU": swiglu, "gradient": gradient}


def draw(kind, rows, k, seed):
    """A and B, rows x K each."""
    generator = numpy.random.default_rng([seed, k, list(KINDS).index(kind)])
    a, b = KINDS[kind](rows, k, generator)
    return rule.to_bf16(scaled(a, generator)), rule.to_bf16(scaled(b, generator))
