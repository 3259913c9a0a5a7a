# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vLLM on detgemm: `vllm serve MODEL --quantization detgemm`. See docs/vllm.md.

vLLM calls `register` in every one of its processes, by the entry point `vllm.general_plugins`. It adds the name
"detgemm" to the choices of `quantization` and changes nothing for other choices.
"""


def register():
    """Registers the quantization method and the layers; safe to call more than once."""
    from detgemm.vllm import config, layers
    config.register()
    layers.register()
