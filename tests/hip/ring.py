# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The ring of a wide stream in its compiled text: every turn waits for its own stage and for none of those that were loaded after it.

    turn       wait | A to shared memory | barrier | multiply | load a later stage into the same registers

Where a path through a turn loads nothing, a compiler cannot count what is in flight, and waits for more: with an exit in each turn it
drained the ring once in a round."""
import re

# Blocks of 16 rows and of 16 columns of a wave, and stages of the ring under chain and under fold and tree (hip/gfx9/stream_tile.hpp).
RINGS = {"32": (2, 1, 8, 8), "64": (4, 1, 8, 8), "48x128": (3, 2, 6, 5), "64x128": (4, 2, 5, 4), "80x128": (5, 2, 4, 3),
         "96x128": (6, 2, 4, 0)}
NAME = re.compile(r"mfma_\w+?_stream(\d[\dx]*)_(chain|leaves)_k_k")
WAIT = re.compile(r"s_waitcnt .*?vmcnt\((\d+)\)")


def turns(kernel, products):
    """The blocks that write A, meet at a barrier and multiply a stage: the fewest loads in flight that each of them allows."""
    for _, lines in kernel.blocks():
        barrier = next((i for i, line in enumerate(lines) if line == "s_barrier"), None)
        if barrier is None or sum("v_mfma" in line for line in lines[barrier:]) != products:
            continue
        if any(line.startswith("ds_write") for line in lines[:barrier]):
            yield min((int(found[1]) for found in map(WAIT.match, lines) if found), default=None)


def required(name):
    """Of a wide stream: turns per round, products per turn, and loads in flight that every turn must allow. None of another kernel."""
    match = NAME.match(name)
    if not match:
        return None
    rows, columns, *stages = RINGS[match[1]]
    depth = stages[match[2] == "leaves"]
    loads = rows + columns * (4 if columns == 1 else 2)  # of 8 bytes; with two columns of 16
    return depth, 4 * rows * columns, (depth - 1) * loads


def faults(kernel):
    """Sentences about one kernel; none of what is no wide stream."""
    if not required(kernel.name):
        return
    depth, products, least = required(kernel.name)
    allowed = list(turns(kernel, products))
    if len(allowed) != depth or None in allowed or min(allowed) < least:
        yield f"turns of its ring allow {allowed} loads in flight: {depth} turns must allow {least}"
