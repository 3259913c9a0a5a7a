# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The main loop of a tile's kernel, found in its compiled text, and what one wave issues in it."""
import heapq
import re


class Tile:
    """A tile: outputs, the rows of shared memory that are filled for both operands, its waves, the
    workgroups that a compute unit holds, and whether half of the waves run half a step behind."""

    def __init__(self, m, n, filled, waves, workgroups, phased):
        self.m, self.n, self.filled = m, n, filled
        self.waves, self.workgroups, self.phased = waves, workgroups, phased

    def blocks(self):
        """32 x 32 blocks of one wave."""
        return self.m * self.n // (1024 * self.waves)


TILES = {"256x256": Tile(256, 256, 512, 8, 1, True), "256x224": Tile(256, 224, 512, 8, 1, True),
         "256x192": Tile(256, 192, 512, 8, 1, True), "160x256": Tile(160, 256, 512, 8, 1, True),
         "256x128": Tile(256, 128, 384, 8, 1, True),
         "128x128": Tile(128, 128, 256, 4, 2, False), "64x64": Tile(64, 64, 128, 4, 3, False)}
BRANCH = re.compile(r"s_(?:c?branch)\w*\s+(\.LBB\w+)")


def pieces(kernel):
    """The kernel's text cut at every label and behind every branch: (name, lines, successors)."""
    cut = []
    for label, lines in kernel.blocks():
        name, part = label, []
        for line in lines:
            part.append(line)
            if BRANCH.match(line):
                cut.append((name, part))
                name, part = f"{label}/{len(cut)}", []
        cut.append((name, part))
    found = {}
    for i, (name, lines) in enumerate(cut):
        after = [cut[i + 1][0]] if i + 1 < len(cut) else []
        last = lines[-1] if lines else ""
        branch = BRANCH.match(last)
        if branch:
            after = [branch.group(1)] + (after if last.startswith("s_cbranch") else [])
        elif last.startswith("s_endpgm"):
            after = []
        found[name] = (lines, after)
    return found


def lds_bytes(line):
    """Bytes that a wave moves to or from shared memory."""
    match = re.match(r"ds_(?:read|write)(2?)(?:st64)?_b(\d+)", line)
    return 64 * int(match.group(2)) // 8 * (2 if match.group(1) else 1) if match else 0


def load_bytes(line):
    """Bytes that a wave loads from global memory in whole chunks."""
    match = re.match(r"global_load_dwordx(\d)", line)
    return 64 * 4 * int(match.group(1)) if match else 0


def totals(lines):
    """What one wave issues."""
    c = {"mfma": 0, "valu": 0, "salu": 0, "waits": 0, "lds": 0, "lds_bytes": 0, "loads": 0,
         "load_bytes": 0}
    for line in lines:
        c["lds_bytes"] += lds_bytes(line)
        c["load_bytes"] += load_bytes(line)
        for kind, pattern in (("mfma", "v_mfma"), ("lds", "ds_"), ("loads", "global_load"),
                              ("waits", "s_(waitcnt|barrier|nop|setprio)"), ("valu", "v_"),
                              ("salu", "s_")):
            if re.match(pattern, line):
                c[kind] += 1
                break
    return c


def main_loop(kernel, tile, stage):
    """The instructions of one whole stage of `stage` k that ends no leaf: the shortest way from the
    first matrix instructions back to them that multiplies a stage, writes one to shared memory and
    loads one. None where there is no such way."""
    graph = pieces(kernel)
    start = next(name for name, (lines, _) in graph.items() if any("v_mfma" in x for x in lines))
    share = tile.filled * stage * 2 // tile.waves  # bytes of a stage per wave
    sizes = {}
    for name, (lines, _) in graph.items():
        wrote = sum(lds_bytes(x) for x in lines if x.startswith("ds_write"))
        sizes[name] = (wrote, sum(map(load_bytes, lines)), sum("v_mfma" in x for x in lines),
                       any(re.match("global_load_ushort|global_store", x) for x in lines))
    queue = [(0, start, 0, 0, 0, ())]
    seen = set()
    while queue:
        cost, name, wrote, loaded, mfma, path = heapq.heappop(queue)
        if path and name == start:
            if (wrote, loaded, mfma) == (share, share, tile.blocks() * stage // 8):
                return [line for piece in path for line in graph[piece][0]]
            continue
        if (name, wrote, loaded, mfma) in seen or name in path or sizes[name][3]:
            continue
        seen.add((name, wrote, loaded, mfma))
        more = sizes[name]
        state = (wrote + more[0], loaded + more[1], mfma + more[2])
        if state[0] > share or state[1] > share:
            continue
        for after in graph[name][1]:
            heapq.heappush(queue, (cost + len(graph[name][0]), after, *state, path + (name,)))
    return None


def moves(loop, halves):
    """What a wave issues between two runs of matrix instructions, for each half of a stage."""
    per_run = sum("v_mfma" in line for line in loop) // halves
    parts = [[] for _ in range(halves)]
    done = 0
    for line in loop:
        if "v_mfma" in line:
            done += 1
        elif done % per_run == 0:
            parts[done // per_run % halves].append(line)
    return [totals(part) for part in parts]
