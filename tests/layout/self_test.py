#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Plants one fault at a time in a clean tree and expects the rule meant for it to speak."""
import pathlib
import sys
import tempfile

import rules

# REUSE-IgnoreStart: planted licences are not this file's
SPDX = "// SPDX-FileCopyrightText: 2026 X\n// SPDX-License-Identifier: Apache-2.0\n"

CLEAN = {
    "core/include/detgemm/types.hpp": '#include <cstdint>\n#include "detgemm/export.hpp"\n',
    "core/include/detgemm/detgemm.h": "#include <stdint.h>\n",
    "core/contract/tree.hpp": '#include "core/arithmetic/step.hpp"\n',
    "core/conformance/run.cpp": '#include "detgemm/plan.hpp"\n#include <nlohmann/json.hpp>\n',
    "core/conformance/controls/a.cpp": '#include "core/contract/tree.hpp"\n',
    "core/cli/main.cpp": '#include "core/conformance/run.hpp"\n#include <CLI/CLI.hpp>\n',
    "backends/reference/plan.cpp": '#include "core/contract/tree.hpp"\n#include <Kokkos_Core.hpp>\n',
    "backends/gpu/plan.hpp": '#include "core/contract/tree.hpp"\n#include "detgemm/backend.hpp"\n',
    "backends/cuda/plan.cpp": '#include "cuda/launch.hpp"\n',
    "cuda/sm90/kernel.cu": '#include "core/contract/tree.hpp"\n#include <cuda_fp16.h>\n',
    "cuda/sm90/tile/tile.hpp": '#include "detgemm/types.hpp"\n#include <cuda.h>\n'
                               'static_assert(sizeof(f<1, 2>()) == 4,\n'
                               '              "A tile (of \\"f\\") has "  // and its\n'
                               '              "four; bytes.");\n',
    "cuda/sm90/ptx/control.cuh": 'asm volatile("griddepcontrol.wait;" ::: "memory");\n',
    "tests/cuda/resources/planted/spilled.cu": 'asm volatile("wgmma.fence;" ::: "memory");\n',
    "hip/gfx942/kernel.hip": '#include "hip/launch.hpp"\n',
    "docs/index.md": "| a | b |\n|---|---|\n| " + "x" * 160 + " | c \\| d |\n" + "y" * 300 + "\n",
    "docs/plain/index.html": "<p>alone</p>\n",
    "tests/golden/long.json": "[\n" + "1,\n" * 700 + "2]\n",
    "tests/unit/any.cpp": '#include "core/api/checks.hpp"\n#include <gtest/gtest.h>\n',
}

# (rule, file, text that replaces or makes it; of a folder, five files in it)
FAULTS = [
    ("folders", "core/contract/a.hpp", SPDX + "#include <cuda_runtime.h>\n"),
    ("folders", "core/arithmetic/a.hpp", SPDX + "#include <Kokkos_Core.hpp>\n"),
    ("folders", "core/include/detgemm/a.hpp", SPDX + '#include "core/contract/tree.hpp"\n'),
    ("folders", "core/api/a.cpp", SPDX + '#include "backends/reference/plan.hpp"\n'),
    ("folders", "core/conformance/a.cpp", SPDX + '#include "backends/skeleton/skeleton.hpp"\n'),
    ("folders", "core/conformance/a.cpp", SPDX + '#include "core/contract/tree.hpp"\n'),
    ("folders", "core/conformance/controls/a.cpp", SPDX + '#include "backends/reference/plan.hpp"\n'),
    ("folders", "core/conformance/controls/a.cpp", SPDX + '#include "tests/controls/engines/a.hpp"\n'),
    ("folders", "core/cli/a.cpp", SPDX + '  #  include "core/api/checks.hpp"\n'),
    ("folders", "core/cli/a.cpp", SPDX + '#include "tests/controls/engines/control.hpp"\n'),
    ("folders", "core/capi/a.cpp", SPDX + '#include "core/contract/tree.hpp"\n'),
    ("folders", "cuda/sm90/a.cu", SPDX + '#include "detgemm/plan.hpp"\n'),
    ("folders", "cuda/sm90/a.cuh", SPDX + '#include "detgemm/backend.hpp"\n'),
    ("folders", "core/contract/a.hpp", SPDX + '#include "cuda/launch.hpp"\n'),
    ("folders", "cuda/sm90/a.cu", SPDX + '#include "hip/launch.hpp"\n'),
    ("folders", "hip/gfx942/a.hip", SPDX + '#include "backends/hip/plan.hpp"\n'),
    ("folders", "backends/cuda/a.cpp", SPDX + '#include "cuda/sm90/kernel.cuh"\n'),
    ("folders", "cuda/snap/a.cpp", SPDX + '#include "cuda/sm90/host/launch.hpp"\n'),
    ("folders", "cuda/simt/a.cpp", SPDX + '#include "cuda/host/context.hpp"\n'),
    ("folders", "cluster/peers/a.cpp", SPDX + '#include "cluster/join/join.hpp"\n'),
    ("folders", "cluster/join/a.cpp", SPDX + '#include "cluster/api/overlap.hpp"\n'),
    ("folders", "cuda/a.hpp", SPDX + '#include "cuda/simt/tile.hpp"\n'),
    ("folders", "backends/gpu/a.hpp", SPDX + "#include <cuda_runtime_api.h>\n"),
    ("folders", "backends/gpu/a.hpp", SPDX + '#include "detgemm/cuda.hpp"\n'),
    ("folders", "backends/gpu/a.hpp", SPDX + '#include "backends/hip/runtime.hpp"\n'),
    ("folders", "backends/a.cpp", SPDX + "#include <Kokkos_Core.hpp>\n"),
    ("licences", "core/api/a.cpp", "int x;\n"),
    ("licences", "cmake/a.cmake", "# SPDX-License-Identifier: Apache-2.0\n"),
    ("ascii_only", "core/api/a.cpp", SPDX + "// caf\u00e9\n"),
    ("lengths", "core/api/a.cpp", SPDX + "int x;\n" * 600),
    ("plain_arithmetic", "CMakeLists.txt", SPDX + "add_compile_options(-ffast-math)\n"),
    ("plain_arithmetic", "CMakePresets.json", '{ "CMAKE_CXX_FLAGS": "-Ofast" }\n'),
    ("plain_arithmetic", "cuda/CMakeLists.txt", SPDX + "--use_fast_math\n"),
    ("plain_arithmetic", "core/CMakeLists.txt", SPDX + "-ffp-contract=fast\n"),
    ("machine_paths", "docs/a.md", "see /home/somebody/notes\n"),
    ("assembly", "cuda/sm90/a.cuh", SPDX + 'asm volatile("exit;");\n'),
    ("assembly", "cuda/simt/a.cu", SPDX + 'void f() { asm("exit;"); }\n'),
    ("assembly", "tests/cuda/a.cu", SPDX + 'asm volatile ("exit;");\n'),
    ("assertions", "cuda/sm90/a.hpp", SPDX + "static_assert(kN == 8);\n"),
    ("assertions", "cuda/simt/a.cuh", SPDX + 'static_assert(kN == 8, "N");\n'),
    ("assertions", "hip/gfx9/a.hip", SPDX + "static_assert(f(1, 2) &&\n    kN == 8);\n"),
    ("assertions", "core/api/a.cpp", SPDX + "static_assert(kN == 8);  // \"N\" has to be 8\n"),
    ("assertions", "core/api/a.cpp", SPDX + "static_assert(kN == 8,\n  g(\"N has to be 8\"));\n"),
    ("cells", "docs/a.md", "| a | b |\n|---|---|\n| c | " + "d" * 161 + " |\n"),
    ("cells", "docs/a.md", "| c | d \\| " + "e" * 160 + " |\n"),
    ("cells", "docs/bench/index.md", "text\n\n| " + "d" * 200 + " | e |\n"),
    ("cells", "docs/a.md", "```\n| " + "e" * 170 + " |\n```\n| " + "e" * 170 + " |\n"),
    ("data", "tests/results/a.json", "[\n" + "1,\n" * 600 + "2]\n"),
    ("data", "bench/results/a.json", '["' + "x" * 100_000 + '"]\n'),
    ("one_page", "docs/index.html", "<p>the same again</p>\n"),
    ("sums", "tests/gcn/emulator/", SPDX + "int x;\n" * 597),
    ("median", "core/api/a.cpp", None),
]

# REUSE-IgnoreEnd


def write(root, name, text):
    path = pathlib.Path(root) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def spoken(fault):
    """The rules that speak about a clean tree with this fault in it."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in CLEAN.items():
            write(root, name, SPDX + text)
        if fault is not None:
            _, name, text = fault
            if text is None:  # long files all over
                for other in CLEAN:
                    write(root, other, SPDX + "int x;\n" * 200)
            else:
                for file in [name] if name[-1] != "/" else [f"{name}{i}.cpp" for i in range(6)]:
                    write(root, file, text)
        return {rule for rule, *_ in rules.check(root)[0]}


def main():
    wrong = []
    if spoken(None):
        wrong.append(f"the clean tree is refused by {spoken(None)}")
    for fault in FAULTS:
        heard = spoken(fault)
        if heard != {fault[0]}:
            wrong.append(f"{fault[1]}: expected {fault[0]}, heard {heard or 'nothing'}: {fault[2]!r}")
    if not list(rules.one_way({"a": ["b/"], "b": ["a/"]})) or list(rules.one_way({"a": [], "b": ["a/x.hpp"]})):
        wrong.append("one_way does not tell two folders that include each other from one above another")
    print("\n".join(wrong + [f"{len(FAULTS)} faults planted, {len(wrong)} not found as meant"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
