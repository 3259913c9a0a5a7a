# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vllm_models.py FOLDER [NAME...]: the models of vllm_architectures.py under the plugin, an engine each, on a CPU.

Per model: the kinds of requests whose answer is the same alone and beside others with other parameters, or the sentence with which the
engine did not start. Beside CI, since each takes some five seconds. Exit status 1 if one is not as vllm_architectures.py has it, an answer
differs or a layer is vLLM's own.
"""
import json
import os
import pathlib
import sys

from vllm_architectures import MODELS, config
from vllm_controls import OPTIONS, forget

from detgemm.vllm import census, hooks, probe

# Kinds of requests: what the one that is compared asks for, and what the others do.
KINDS = {
    "likeliest": ({}, {}), "seed": ({"temperature": 0.8, "seed": 3}, {}), "five of twenty": ({"logprobs": 5}, {"logprobs": 20}),
    "min_p": ({"temperature": 1.0, "seed": 5, "min_p": 0.05}, {"temperature": 1.0, "min_p": 0.3}),
    "penalties": ({"repetition_penalty": 1.3, "presence_penalty": 0.5, "frequency_penalty": 0.2, "logit_bias": {17: 3.0}},
                  {"repetition_penalty": 1.1}),
    "prompt": ({"prompt_logprobs": 5}, {"prompt_logprobs": 12}),
    "top": ({"temperature": 1.0, "seed": 9, "top_k": 20, "top_p": 0.9}, {"temperature": 0.7, "top_p": 0.5}),
}


def answers(made, company, mine, others):
    """A request alone, and at place 2 of four."""
    for prompts, at in (([made.watched[0]], 0), ([*company[:2], made.watched[0], company[2]], 2)):
        asked = [made.sampling(made.tokens, **(mine if place == at else others)) for place in range(len(prompts))]
        output = made.generate(prompts, asked)[at]
        yield probe.answer(output), repr(output.prompt_logprobs and [each and {key: entry.logprob for key, entry in each.items()}
                                                                     for each in output.prompt_logprobs])


def run(path):
    """Kinds that are equal, kinds that differ, and what is vLLM's own."""
    made = probe.Probe("detgemm", {"model": str(path), **OPTIONS})
    company, found = [made.prompt(30), made.prompt(7), made.prompt(150)], {True: [], False: []}
    for kind, (mine, others) in KINDS.items():
        alone, together = answers(made, company, mine, others)
        found[alone == together].append(kind)
    foreign = census.foreign(made.llm)
    made.llm.llm_engine.engine_core.shutdown()
    return found[True], found[False], foreign


def main():
    from vllm.model_executor.models import registry
    registry._run_in_subprocess = lambda look: look()  # a process of its own would take ten seconds
    folder, *names = sys.argv[1:]
    hooks.leave_out([])
    wrong = []
    for name in names or MODELS:
        path = pathlib.Path(folder, name.replace(" ", "-"))
        path.mkdir(parents=True, exist_ok=True)
        (path / "config.json").write_text(json.dumps(config(name)))
        words = MODELS[name][3]
        try:
            equal, differ, foreign = run(path)
        except Exception as raised:  # whatever vLLM wraps the sentence in
            right = words and "detgemm: " in str(raised) and words in str(raised)
            print(f"{name}: not started: {raised}", flush=True)
        else:
            right = not (words or differ or foreign)
            print(f"{name}: equal {equal}, differ {differ}, vLLM's own {foreign}", flush=True)
        wrong += [] if right else [name]
        forget()
    print(f"{len(names or MODELS)} models, not as vllm_architectures.py has them: {wrong}", flush=True)
    os._exit(bool(wrong))  # the engines' threads need not be joined


if __name__ == "__main__":
    main()
