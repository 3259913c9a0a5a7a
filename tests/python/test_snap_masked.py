# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""bench/snap/masked.py on a small BERT with random weights: what is loaded, what is masked, what an arm computes."""
import json
import pathlib
import sys

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("ml_dtypes")

STUDY = pathlib.Path(__file__).parents[2] / "bench/snap"
pytestmark = pytest.mark.skipif(not STUDY.exists(), reason="bench/snap is not beside these tests")
if STUDY.exists():
    sys.path.insert(0, str(STUDY))
    import masked
    import model as study

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
SHAPE = dict(vocab_size=25, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
             max_position_embeddings=48)
HEADS = {"cls.chain.weight": torch.ones(2, 64), "cls.chain.bias": torch.ones(2)}


def bert():
    torch.manual_seed(3)
    made = transformers.BertForMaskedLM(transformers.BertConfig(**SHAPE)).eval()
    with torch.no_grad():
        for name, parameter in made.named_parameters():  # biases count, and predictions differ from place to place
            parameter.copy_(torch.randn(parameter.shape) * (0.3 if name.endswith("bias") else 0.1) + ("LayerNorm.w" in name))
    return made


@pytest.fixture
def folder(tmp_path):
    """A checkpoint in the older layout, which has heads of its own beside BERT's, and 20 sequences of letters."""
    made = bert()
    made.config.save_pretrained(tmp_path)
    state = {name: value.clone() for name, value in made.state_dict().items()}
    torch.save({**state, **HEADS}, tmp_path / "pytorch_model.bin")
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS]))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": false}')
    order = torch.randint(20, (20, 40), generator=torch.Generator().manual_seed(4))
    (tmp_path / "text").write_text("\n".join(" ".join(LETTERS[i] for i in row[:20 + n]) for n, row in enumerate(order)) + "\n\n")
    return tmp_path


def arm_weights(model):
    """The model with weights rounded to bf16, as every arm has them."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.bfloat16().float())
    return model


def pairs_of(folder, draws=2):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return tokenizer, masked.masked(tokenizer, (folder / "text").read_text().splitlines()[:20], draws, 48)


def test_every_weight_is_loaded_and_other_heads_are_named(folder):
    found, left_out = masked.load(folder)
    stored = torch.load(folder / "pytorch_model.bin", weights_only=True)
    assert left_out == sorted(HEADS)
    assert set(stored) - set(found.state_dict()) == set(HEADS)
    for name, value in found.state_dict().items():
        assert torch.equal(value, stored[name]), name


@pytest.mark.parametrize("name", ["bert.encoder.layer.1.output.dense.bias", "cls.predictions.transform.dense.weight"])
def test_a_missing_weight_is_an_error(folder, name):
    stored = torch.load(folder / "pytorch_model.bin", weights_only=True)
    del stored[name]
    torch.save(stored, folder / "pytorch_model.bin")
    with pytest.raises(SystemExit, match=name.replace(".", r"\.")):
        masked.load(folder)


def test_a_seventh_of_the_letters_is_masked_and_nothing_else(folder):
    tokenizer, pairs = pairs_of(folder)
    lines = (folder / "text").read_text().splitlines()
    for (rows, hidden), line in zip(pairs, lines):
        letters = line.split()
        assert rows.shape == hidden.shape == (2, len(letters) + 2)
        assert ((rows == tokenizer.mask_token_id) == (hidden >= 0)).all()
        assert ((hidden >= 0).sum(1) == round(0.15 * len(letters))).all() and not torch.equal(hidden[0], hidden[1])
        for row in torch.where(hidden >= 0, hidden, rows):
            assert tokenizer.convert_ids_to_tokens(row.tolist()) == ["[CLS]", *letters, "[SEP]"]
    assert all(torch.equal(x, y) for one, other in zip(pairs, pairs_of(folder)[1]) for x, y in zip(one, other))
    with pytest.raises(SystemExit, match="48 in all at most"):
        masked.masked(tokenizer, [" ".join("A" * 47)], 1, 48)


def test_arms_against_the_model_itself(folder):
    """`exact` is transformers' own output; bf16, and the arms that round as much, stay near to it; fp8 with its biases does too."""
    found, _ = masked.load(folder)
    _, pairs = pairs_of(folder)
    arms = masked.measure(found, pairs)  # rounds the weights to bf16
    with torch.no_grad():
        log_p = torch.cat([found(rows).logits[hidden >= 0] for rows, hidden in pairs]).log_softmax(-1)
    answers = torch.cat([hidden[hidden >= 0] for _, hidden in pairs])
    exact = (-log_p.gather(-1, answers[:, None]).mean()).exp().item()
    kl = {arm["arm"]: arm["kl"] for arm in arms}
    assert list(kl) == list(study.ARMS) and kl["exact"] == 0
    assert arms[0]["perplexity"] == pytest.approx(exact, rel=1e-6)
    assert 0 < kl["bf16, PyTorch"] < 1e-3
    for arm in arms[2:-1]:
        assert 0 < arm["kl"] < 3 * kl["bf16, PyTorch"], arm
    assert 2 * kl["bf16, PyTorch"] < kl["fp8 e4m3, scaled rows"] < 0.1


def test_the_head_is_fp32_and_the_embeddings_are_not(folder, monkeypatch):
    """They share a weight, of which the head has a copy."""
    found, _ = masked.load(folder)
    _, pairs = pairs_of(folder, 1)
    arm, exact = study.with_arm(arm_weights(found), "bf16, PyTorch"), study.with_arm(found, "exact")
    monkeypatch.setattr(study, "compare", lambda model, logits, targets: logits(arm))
    with torch.no_grad():
        got = masked.measure(found, pairs)
        hidden = torch.cat([arm.bert(rows).last_hidden_state[hidden >= 0] for rows, hidden in pairs])
        expected = exact.cls(hidden.float())
    assert hidden.dtype == torch.bfloat16 and got.dtype == torch.float32
    assert (got - expected).abs().max() < 1e-5
    assert arm.get_input_embeddings().weight.dtype == torch.bfloat16


@pytest.mark.parametrize("arm", study.ARMS[2:] if STUDY.exists() else [])
def test_every_linear_layer_of_the_blocks_computes_as_the_arm_says(folder, arm):
    """Against the product in fp64; the head is left as it is."""
    found, _ = masked.load(folder)
    changed = study.with_arm(found, arm)
    plain = study.with_arm(found, "bf16, PyTorch")
    x = {size: torch.randn(5, size, generator=torch.Generator().manual_seed(5)).bfloat16() for size in (64, 128)}
    layers = [(name, layer) for name, layer in plain.base_model.named_modules() if isinstance(layer, torch.nn.Linear)]
    assert len(layers) == 6 * SHAPE["num_hidden_layers"]
    for name, layer in layers:
        other = changed.base_model.get_submodule(name)
        assert type(other) is not torch.nn.Linear or "forward" in vars(other), name
        got = other(x[layer.in_features]).double()
        exact = x[layer.in_features].double() @ layer.weight.double().T + layer.bias.double()
        error = (got - exact).norm() / exact.norm()
        assert got.shape == exact.shape and error < (0.06 if arm.startswith("fp8") else 0.006), (name, error)
    for module in masked.head_of(changed).modules():
        assert "forward" not in vars(module) and type(module).__module__.startswith(("torch.nn", "transformers."))


def test_the_program(folder):
    masked.main([str(folder / "out.json"), "--checkpoint", str(folder), "--text", str(folder / "text"), "--draws", "1",
                 "--name", "small"])
    text = (folder / "out.json").read_text()
    report = json.loads(text)
    (found,) = report["models"]
    assert str(folder) not in text
    assert (found["model"], found["class"], found["sequences"], found["kind"]) == ("small", "BertForMaskedLM", 20, "masked tokens")
    assert found["tokens"] == sum(round(0.15 * (20 + n)) for n in range(20)) and found["left_out"] == sorted(HEADS)
    assert [arm["arm"] for arm in found["arms"]] == list(study.ARMS)
    import plot
    table = plot.model_table(found)
    assert table[0].startswith(f"| small, {found['tokens']} masked tokens | KL") and len(table) == 2 + len(study.ARMS)
