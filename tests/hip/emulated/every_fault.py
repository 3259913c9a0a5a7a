# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A fault in every compiled kernel, one kernel at a time, which the sweep of every_kernel.py must find."""
import concurrent.futures
import json
import pathlib
import re
import shutil
import tempfile

import every_kernel
import planted

# That a sweep compares, and products of its largest problem, before it looks again among more and longer ones: few problems round an
# operand along K, fill a stream's ring of stages, or have roots or groups.
OUTPUTS, PRODUCTS, MORE_OUTPUTS, MORE_PRODUCTS, OF_GROUPS = 30_000, 1e6, 600_000, 1e7, 3_000_000


def same_factor(lines):
    """Multiplies a number by itself. Divisions of whole numbers have v_fmac_f32 too, before the products."""
    for name in ("v_pk_fma_f32", "v_fmac_f32"):
        for i, line in enumerate(lines):
            if line.strip().startswith(name):
                lines[i] = re.sub(r"(v_\w+ [^,]+, )([^,]+), ([^,]+)", r"\1\2, \2", line)
                return


def difference(lines):
    """Subtracts where sums are due."""
    lines[:] = [line.replace("v_add_f32", "v_sub_f32") for line in lines]


def lost_store(lines):
    """Leaves the last store out."""
    del lines[max(i for i, line in enumerate(lines) if line.strip().startswith("global_store"))]


FAULTS = (("mfma", [planted.wrong_lanes]), ("simt", [same_factor]), ("snap", [planted.whole_rest, planted.finer_grid]),
          ("combine", [difference]), ("place", [lost_store]))


def faulty(kernel, lines):
    """The name of the first fault for a kernel of this kind that its text has a place for, and the text with it."""
    for fault in next(faults for start, faults in FAULTS if kernel.startswith(start)):
        changed = list(lines)
        fault(changed)
        if changed != lines:
            return fault.__name__, changed
    raise ValueError(f"{kernel}: no fault has a place in it")


def unit_of(kernel, chip):
    """The unit of the sweep, or the contract of groups, that runs a kernel."""
    own = every_kernel.ARITHMETIC.get(chip)
    matrix = re.fullmatch(r"mfma_(bf16|fp16)_([0-9a-z]+)_(chain|leaves)_([a-z]+)_([a-z]+?)(_groups)?", kernel)
    if matrix:
        kind, tile, reduction, a, b, groups = matrix.groups()
        contract = f"{own}/{kind}/{'chain' if reduction == 'chain' else 'tree'}"
        return contract if groups else f"{contract}/{tile}/{'nowhere' if a == 'any' else f'{a},{b}'}"
    vector = re.fullmatch(r"(simt|mfma_fp32)_(\w\w?\w?\w?)_(\d+x\d+)_(chain|leaves)(_groups)?", kernel)
    if vector:
        how, kind, tile, reduction, groups = vector.groups()
        contract = f"ieee_fma/{kind}/{'chain' if reduction == 'chain' else 'tree'}"
        return contract if groups else f"{contract}/{f'simt-{tile}' if how == 'simt' else 'mfma-fp32'}/drawn"
    snaps = re.fullmatch(r"(snap3?)_(?:(bf16|fp32)_)?along_\w+", kernel)
    if snaps:
        return f"{snaps[1]}/{snaps[2] or 'bf16'}/tree/simt-64x64/drawn"
    return "ieee_fma/fp32/tree/roots"


def planted_code(code, chip, kernel, to):
    """Makes a code folder of one chip whose text has the fault, and returns the fault's name. The code object, by which a
    text is found, stays."""
    name = None
    (to / chip).mkdir()
    shutil.copy(code / f"{chip}.hsaco", to)
    for source in (code / chip).glob("*.s"):
        text = source.read_text()
        start = text.find(f"\n{kernel}:")
        if start < 0:
            (to / chip / source.name).symlink_to(source)
            continue
        end = text.index(".Lfunc_end", start)
        name, lines = faulty(kernel, text[start:end].split("\n"))
        (to / chip / source.name).write_text(text[:start] + "\n".join(lines) + text[end:])
    return name


def verdict(runs, chip, kernel, code=None):
    """equal, bits or refused: what the sweep says of a kernel, as it is or from another code folder."""
    unit = unit_of(kernel, chip)
    if kernel.endswith("_groups"):
        done = runs.groups(chip, unit, 7, OF_GROUPS, 60, code)
        differs, stopped = "of D's memory differs" in done.stdout, "failed: hip" in done.stdout
        equal = done.returncode == 0 and f"compiled {kernel} " in done.stdout
    else:
        done = runs.sweep(chip, unit, OUTPUTS, PRODUCTS, 60, code)
        if done.returncode == 0:
            done = runs.sweep(chip, unit, MORE_OUTPUTS, MORE_PRODUCTS, 60, code)
        differs, stopped = "WRONG bits of" in done.stdout, "WRONG hip: " in done.stdout
        equal = done.returncode == 0
    return "bits" if differs else "refused" if stopped else "equal" if equal else done.stdout[-500:] + done.stderr[-500:]


def every_fault(runs):
    """Plants one fault in each kernel; whether all were found. Kernels of an earlier run's OUT/faults.json are left out:
    keep_key has refused those of other texts."""
    options = runs.options
    file = options.out / "faults.json"
    found = json.loads(file.read_text()) if file.exists() else {}
    jobs = [(chip, kernel) for chip in options.chips.split(",") for kernel in every_kernel.kernels_of(options.code, chip)
            if re.search(options.only, kernel) and f"{chip} {kernel}" not in found]

    def one(job):
        if runs.left() <= 0:
            return
        chip, kernel = job
        with tempfile.TemporaryDirectory() as folder:
            name = planted_code(options.code, chip, kernel, pathlib.Path(folder))
            found[f"{chip} {kernel}"] = [name, verdict(runs, chip, kernel, folder)]

    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        list(pool.map(one, jobs))
    file.write_text(json.dumps(found, indent=0, sort_keys=True))
    missed = {name: said for name, (_, said) in found.items() if said not in ("bits", "refused")}
    for name, said in missed.items():
        print(f"{name}: {said}")
    left = sum(f"{chip} {kernel}" not in found for chip, kernel in jobs)
    print(f"{len(found)} faults planted, {sum(said == 'bits' for _, said in found.values())} found by bits, "
          f"{sum(said == 'refused' for _, said in found.values())} by the interpreter's refusal, {len(missed)} missed, {left} not planted yet")
    return not missed and not left
