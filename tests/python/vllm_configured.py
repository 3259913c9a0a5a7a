# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vllm_configured.py FOLDER: imports a release of vLLM, registers the plugin twice and configures an engine, which is not started.

FOLDER has a model's config.json. The release is the one that Python finds first; its compiled parts need not be there.
"""
import sys

import vllm
from vllm.engine.arg_utils import EngineArgs
from vllm.platforms import current_platform

import detgemm.vllm
from detgemm.vllm import config, settings


def main():
    for _ in range(2):
        detgemm.vllm.register()
    made = EngineArgs(model=sys.argv[1], load_format="dummy", skip_tokenizer_init=True, quantization="detgemm", enforce_eager=True,
                      max_model_len=512, dtype="bfloat16").create_engine_config()
    if not isinstance(made.quant_config, config.DetgemmConfig):
        sys.exit(f"quant_config is {made.quant_config}")
    settings.check(made, current_platform.is_cuda())
    print(f"configured: {vllm.__file__}")


if __name__ == "__main__":
    main()
