# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vllm_ranks.py FOLDER RANKS RESULT: the answers of an engine of so many ranks, whose sums over K are trees.

FOLDER: a model with weights, since ranks must hold slices of the same ones. Experts belong to ranks whole.
"""
import json
import os
import pathlib
import sys

from detgemm.vllm import probe

ROW_PARALLEL = "hopper/bf16/tree:32->bf16"


def main():
    folder, ranks, result = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    from vllm import LLM, SamplingParams
    llm = LLM(model=folder, quantization="detgemm", tensor_parallel_size=ranks, skip_tokenizer_init=True, seed=0, max_model_len=512,
              enforce_eager=True, generation_config="vllm", disable_log_stats=True, num_gpu_blocks_override=64, block_size=16,
              hf_overrides={"quantization_config": {"quant_method": "detgemm", "row_parallel": ROW_PARALLEL}},
              enable_expert_parallel=ranks > 1 and "experts" in pathlib.Path(folder, "config.json").read_text(),
              distributed_executor_backend="mp" if ranks > 1 else None)
    prompts = [[(7 * i + 3 * j) % 500 + 10 for i in range(length)] for j, length in enumerate((40, 5, 130))]
    sampling = SamplingParams(temperature=0, max_tokens=5, min_tokens=5, ignore_eos=True, detokenize=False, logprobs=probe.TOP)
    outputs = llm.generate([{"prompt_token_ids": each} for each in prompts], sampling, use_tqdm=False)
    with open(result, "w", encoding="utf-8") as file:
        json.dump([b"".join(probe.answer(output)).hex() for output in outputs], file)
    llm.llm_engine.engine_core.shutdown()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
