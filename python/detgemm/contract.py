# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Contracts: what decides the bits of a product."""
import ctypes
import functools

from detgemm import _library as lib


class Contract:
    """A contract, read from text such as "hopper/bf16/tree:512->bf16".

    `text` is its short form, `canonical` spells out every field, and `digest` is a 64-bit number that is
    the same on every platform. `input` and `output` are names of number formats, `arithmetic` and
    `reduction` names of what they say, `leaf_k` the products per leaf (0 for a chain) and `k_block` the
    products that one step fuses. A text that is no contract raises `DetgemmError`.
    """

    __slots__ = ("_struct", "text")

    def __init__(self, text):
        self._struct = lib.ContractStruct()
        lib.check("contract_init", ctypes.byref(self._struct),
                  ctypes.c_size_t(ctypes.sizeof(self._struct)))
        if not isinstance(text, str):
            raise lib.DetgemmError(f"contract is {text!r}: it must be text such as "
                                   '"hopper/bf16/chain->bf16"')
        lib.check("contract_parse", lib.encoded("contract", text), ctypes.byref(self._struct))
        self.text = lib.text_of("contract_text", ctypes.byref(self._struct))

    def __repr__(self):
        return f"Contract({self.text!r})"

    def __str__(self):
        return self.text

    def __eq__(self, other):
        return isinstance(other, Contract) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    @property
    def struct(self):
        """The C interface's struct."""
        return self._struct

    @property
    def input(self):
        return lib.DTYPES[self._struct.input]

    @property
    def output(self):
        return lib.DTYPES[self._struct.output]

    @property
    def arithmetic(self):
        return lib.text("arithmetic_name", self._struct.arithmetic)

    @property
    def reduction(self):
        return lib.text("reduction_name", self._struct.reduction)

    @property
    def leaf_k(self):
        return self._struct.leaf_k

    @property
    def k_block(self):
        return self._struct.k_block

    @property
    def canonical(self):
        return lib.text_of("contract_canonical", ctypes.byref(self._struct))

    @property
    def digest(self):
        number = ctypes.c_uint64()
        lib.check("contract_digest", ctypes.byref(self._struct), ctypes.byref(number))
        return number.value

    @property
    def evidence(self):
        """What is known about the arithmetic, in one sentence."""
        return lib.text("evidence", self._struct.arithmetic)

    def with_output(self, output):
        """The same contract with another output format."""
        return contract(self.text.split("->")[0] + "->" + output)


@functools.lru_cache(maxsize=4096)
def contract(text):
    """`Contract(text)`, parsed once."""
    return Contract(text)
