# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vLLM on detgemm: `vllm serve MODEL --quantization detgemm`. See docs/vllm.md.

vLLM calls `register` in every one of its processes, by the entry point `vllm.general_plugins`. It adds the name
"detgemm" to the choices of `quantization` and changes nothing for other choices.
"""


def register():
    """Registers the quantization method, the layers and the look through a built model, the sampler and attention; safe to call
    more than once."""
    from vllm.platforms import current_platform

    from detgemm.vllm import attention, census, config, layers, rocm, sampling
    on_gpu = current_platform.is_cuda()
    config.register()
    layers.register()
    if current_platform.is_rocm():  # products alone
        rocm.register()
        return
    census.register()
    sampling.register(on_gpu)
    attention.register(on_gpu)
