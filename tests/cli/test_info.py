# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""`info` and `explain`: what they say, for people and for programs."""

import re

import command

NAMES = ["reference", "cuda", "hip", "reference-device"]


class Info(command.CommandTest):
    """`detgemm info`."""

    def test_build(self):
        answer = self.ask("info")
        self.assertEqual(answer["command"], "info")
        self.assertRegex(answer["version"], r"^\d+\.\d+\.\d+$")
        for key in ("commit", "compiler", "system"):
            self.assertTrue(answer[key], key)
        self.assertIn("-ffp-contract=off", answer["flags"])
        self.assertIn("build_type", answer)
        self.assertEqual(answer["devices"][0]["kind"], "host")

    def test_every_backend_of_the_project_is_listed(self):
        backends = {backend["name"]: backend for backend in self.ask("info")["backends"]}
        text = command.run("info").out
        for name in NAMES:
            with self.subTest(backend=name):
                backend = backends[name]
                self.assertEqual(backend["available"], backend["reason"] is None)
                self.assertLessEqual(backend["available"], backend["built"])
                self.assertEqual(backend["available"], bool(backend["variants"]))
                self.assertIn(name, text)
                if not backend["available"]:
                    self.assertIn(backend["reason"], text)

    def test_absent_backends_come_last(self):
        there = [backend["available"] for backend in self.ask("info")["backends"]]
        self.assertEqual(there, sorted(there, reverse=True))

    def test_devices_of_available_backends(self):
        answer = self.ask("info")
        text = command.run("info").out
        kinds = {"host"} | {b["name"] for b in answer["backends"]
                            if b["available"] and b["name"] in ("cuda", "hip")}
        self.assertEqual({device["kind"] for device in answer["devices"]}, kinds)
        for device in answer["devices"]:
            if "number" not in device:
                continue
            with self.subTest(device=device["description"]):
                self.assertIn(f"{device['kind']} {device['number']}", text)
                self.assertIn(device["description"], text)
                self.assertRegex(device["capability"], r"^\d+\.\d+$|^gfx")
                self.assertGreater(device["processors"], 0)
                self.assertGreater(device["memory_bytes"], 1 << 30)
                self.assertTrue(device["driver"] and device["runtime"])

    def test_contracts(self):
        answer = self.ask("info")
        contracts = {entry["contract"]: entry for entry in answer["contracts"]}
        self.assertEqual(contracts["hopper/bf16/chain->fp32"]["k_block"], 16)
        self.assertEqual(contracts["hopper/e4m3/chain->fp32"]["k_block"], 32)
        self.assertEqual(contracts["ieee_fma/fp32/chain->fp32"]["k_block"], 1)
        there = next(b["available"] for b in answer["backends"] if b["name"] == "reference")
        for listed in ("snap/bf16/fold:128->fp32", "snap3/bf16/fold:128->fp32", "snap3/fp32/fold:128->fp32",
                       "hopper/e4m3/scaled:128->fp32", "hopper/e5m2/scaled:128->fp32"):
            self.assertEqual(contracts[listed]["backends"]["reference"]["supported"], there, listed)
        arithmetics = [text.split("/")[0] for text in contracts]
        self.assertEqual(len(set(arithmetics)), 8)
        self.assertEqual(arithmetics, sorted(arithmetics, key=arithmetics.index), "one group per arithmetic")
        digests = [entry["digest"] for entry in answer["contracts"]]
        self.assertEqual(len(digests), len(set(digests)))
        for text, entry in contracts.items():
            with self.subTest(contract=text):
                self.assertRegex(entry["digest"], "^[0-9a-f]{16}$")
                self.assertEqual(entry["digest"], self.ask("digest", "--contract", text)["digest"])
                for backend in entry["backends"].values():
                    self.assertEqual(backend["supported"], backend["reason"] is None)
                if text.startswith("cdna"):
                    self.assertEqual(entry["evidence"], "published model, not run on AMD hardware")

    def test_text_marks_unmeasured_arithmetics(self):
        text = command.run("info").out
        for name in ("cdna3", "cdna2"):
            self.assertIn(f"{name}: published model, not run on AMD hardware", text)
        self.assertIn("hopper: measured on an NVIDIA H200", text)

    def test_every_contract_has_its_columns_apart(self):
        contracts = self.ask("info")["contracts"]
        text = command.run("info").out
        for entry in contracts:
            self.assertRegex(text, rf"(?m)^    {re.escape(entry['contract'])} +k_block {entry['k_block']} +{entry['digest']}  ")


class Explain(command.CommandTest):
    """`detgemm explain`. Its exit code is 3 where no backend is there, so it is not looked at."""

    def explain(self, contract, k, *more, m=8, n=64):
        """The text and the object for one problem."""
        line = ["explain", "--contract", contract, "--m", m, "--n", n, "--k", k, *more]
        text = command.run(*line)
        runs = "\n  kernel" in text.out
        self.assertEqual(text.exit, 0 if runs else 3, str(text))
        return text.out, self.ask(*line, exit_code=text.exit)

    def test_tree(self):
        text, answer = self.explain("hopper/bf16/tree:32->bf16", 150)
        contract = answer["contract"]
        self.assertEqual((contract["leaves"], contract["k_block"]), (5, 16))
        self.assertIn(contract["canonical"], text)
        self.assertIn(contract["digest"], text)
        self.assertIn(contract["evidence"], text)
        self.assertEqual(
            contract["order"],
            "+  leaves 0 to 4\n"
            "|-- +  leaves 0 to 1\n"
            "|   |-- leaf 0  k [0, 32)  2 steps of 16 products\n"
            "|   `-- leaf 1  k [32, 64)  2 steps of 16 products\n"
            "`-- +  leaves 2 to 4\n"
            "    |-- leaf 2  k [64, 96)  2 steps of 16 products\n"
            "    `-- +  leaves 3 to 4\n"
            "        |-- leaf 3  k [96, 128)  2 steps of 16 products\n"
            "        `-- leaf 4  k [128, 150)  2 steps of 16 products, "
            "the last padded with 10 zero products\n",
        )
        self.assertIn(contract["order"], text)

    def test_many_leaves_are_compressed(self):
        _, tree = self.explain("ieee_fma/fp32/tree:1", 1000000)
        self.assertEqual(tree["contract"]["order"].count("\n"), 15)
        self.assertIn("leaves 0 to 124999  ... 124999 additions", tree["contract"]["order"])
        _, fold = self.explain("hopper/bf16/fold:16", 1600)
        self.assertIn("+ ... 96 leaves ...\n  + leaf 99  k [1584, 1600)", fold["contract"]["order"])

    def test_snap3(self):
        text, answer = self.explain("snap3/fp32/tree:128->fp32", 200)
        self.assertIn("64 products, of which leaves are multiples", text)
        self.assertEqual(answer["contract"]["leaves"], 2)
        self.assertEqual(answer["contract"]["order"],
                         "+  leaves 0 to 5\n"
                         "|-- +  leaves 0 to 2\n"
                         "|   |-- leaf 0  k [0, 128)  128 products, first parts of A and B, exact in any order\n"
                         "|   `-- +  leaves 1 to 2\n"
                         "|       |-- leaf 1  k [0, 128)  128 products, first part of A, second of B, exact in any order\n"
                         "|       `-- leaf 2  k [0, 128)  128 products, second part of A, first of B, exact in any order\n"
                         "`-- +  leaves 3 to 5\n"
                         "    |-- leaf 3  k [128, 200)  72 products, first parts of A and B, exact in any order\n"
                         "    `-- +  leaves 4 to 5\n"
                         "        |-- leaf 4  k [128, 200)  72 products, first part of A, second of B, exact in any order\n"
                         "        `-- leaf 5  k [128, 200)  72 products, second part of A, first of B, exact in any order\n")

    def test_snap(self):
        text, answer = self.explain("snap/bf16/fold:128->fp32", 300)
        self.assertEqual(answer["contract"]["order"],
                         "start (+0, or C with continue)\n"
                         "  + leaf 0  k [0, 128)  128 snapped products, exact in any order\n"
                         "  + leaf 1  k [128, 256)  128 snapped products, exact in any order\n"
                         "  + leaf 2  k [256, 300)  44 snapped products, exact in any order\n")
        self.assertIn("k_block     64 products, of which leaves are multiples", text)

    def test_chain_and_nothing(self):
        _, chain = self.explain("hopper/bf16/chain", 40)
        self.assertIn("k [0, 40)  3 steps of 16 products, the last padded with 8 zero",
                      chain["contract"]["order"])
        _, nothing = self.explain("hopper/bf16/chain", 0)
        self.assertEqual(nothing["contract"]["leaves"], 0)
        self.assertIn("no products", nothing["contract"]["order"])

    def test_arrays(self):
        text, answer = self.explain("hopper/fp16/chain->bf16", 32, "--layout", "TT", "--beta",
                                    "2", "--bias-type", "fp16", "--activation", "silu")
        self.assertIn("\n  epilogue  beta 2, bias of fp16, silu\n", text)
        arrays = {name: (array["rows"], array["cols"], array["dtype"], array["bytes"])
                  for name, array in answer["problem"]["arrays"].items()}
        self.assertEqual(arrays, {
            "a": (32, 8, "fp16", 512),
            "b": (64, 32, "fp16", 4096),
            "c": (8, 64, "bf16", 1024),
            "bias": (1, 64, "fp16", 128),
            "d": (8, 64, "bf16", 1024),
        })
        self.assertEqual(answer["problem"]["bytes"], 6784)

    def test_tf32_lies_in_fp32(self):
        _, answer = self.explain("hopper/tf32/chain", 8)
        self.assertEqual(answer["problem"]["arrays"]["a"]["dtype"], "fp32")

    def test_backends(self):
        text, answer = self.explain("hopper/bf16/chain", 64)
        self.assertEqual(sorted(b["name"] for b in answer["backends"]), sorted(NAMES))
        for backend in answer["backends"]:
            with self.subTest(backend=backend["name"]):
                if backend["would_run"]:
                    self.assertIn(backend["kernel"], text)
                    self.assertTrue(backend["variants"])
                    self.assertIn("batch_invariant", backend["promises"])
                    self.assertGreaterEqual(backend["workspace_bytes"], 0)
                else:
                    self.assertIn(backend["reason"], text)
        able = [b["name"] for b in answer["backends"] if b["would_run"]]
        self.assertEqual(answer["chosen"], able[0] if able else None)

    def test_named_backend(self):
        for name in NAMES:
            with self.subTest(backend=name):
                _, answer = self.explain("hopper/bf16/chain", 64, "--backend", name)
                self.assertEqual([b["name"] for b in answer["backends"]], [name])

    def test_does_not_allocate(self):
        text, _ = self.explain("hopper/bf16/chain", 1000000, m=1000000, n=1000000)
        self.assertTrue(re.search(r"d +1000000 x 1000000 of bf16, 2000000000000 bytes", text))


if __name__ == "__main__":
    command.main()
