#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Plants small faults in the library, one at a time, and counts those that the tests notice.

    tests/mutation/mutate.py [--sample N] [--seed S] [--area FOLDER] [--only TEXT] [--json FILE] [--hangs SECONDS]
                            [--planted]

Works in build/mutation: a copy of the committed sources, compiled without optimisation and with the
baseline's lanes alone. A mutant that does not compile is not counted; one that equivalent.txt lists, with
a reason, cannot be noticed. Exit 1 where fewer than 95 % of the others were killed.
"""

import argparse
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys
import time

import operators
import plan

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / 'build' / 'mutation'
SRC, BUILD = WORK / 'tree', WORK / 'build'
TIMEOUT = 3600
WANTED = 0.95


def run(command, cwd, seconds=TIMEOUT):
    """(exit status, tail of the output); a timeout is status 124."""
    try:
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return 124, 'timeout'
    return done.returncode, done.stdout.decode('utf-8', 'replace')[-2000:]


def need(command, cwd):
    status, said = run(command, cwd, 3600)
    if status != 0:
        sys.exit(f'{" ".join(map(str, command))}: {said}')


def prepare(flags):
    """A copy of what is committed, configured so that it compiles fast."""
    fresh = WORK / 'fresh'
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    archive = subprocess.run(['git', 'archive', 'HEAD'], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    subprocess.run(['tar', 'x'], cwd=fresh, input=archive.stdout, check=True)
    lists = fresh / 'backends/reference/CMakeLists.txt'
    if flags == '-O0':
        lists.write_text(lists.read_text().replace('-O3 -Wno-psabi', '-O0 -Wno-psabi'))
    tests = fresh / 'cmake/DetgemmTest.cmake'
    tests.write_text(tests.read_text().replace(
        '  if(NOT arg_OWN_MAIN)', '  target_precompile_headers(test_${name} PRIVATE <gtest/gtest.h>'
        ' <map> <string> <vector> <fstream>)\n  if(NOT arg_OWN_MAIN)', 1))
    SRC.mkdir(exist_ok=True)
    for path in fresh.rglob('*'):  # what is the same keeps its time, and is not compiled again
        there = SRC / path.relative_to(fresh)
        if path.is_dir():
            there.mkdir(parents=True, exist_ok=True)
        elif not there.exists() or there.read_bytes() != path.read_bytes():
            shutil.copy(path, there)
    need(['cmake', '-G', 'Ninja', '-S', SRC, '-B', BUILD, '-DCMAKE_BUILD_TYPE=None',
          f'-DCMAKE_CXX_FLAGS={flags}', f'-DCMAKE_C_FLAGS={flags}', '-DDETGEMM_REFERENCE_TILES=',
          '-DDETGEMM_ENABLE_CUDA=OFF', '-DDETGEMM_ENABLE_HIP=OFF', '-DDETGEMM_ENABLE_KOKKOS=ON',
          '-DDETGEMM_BUILD_BENCH=OFF', '-DDETGEMM_BUILD_EXAMPLES=OFF',
          f'-DKokkos_ROOT={ROOT}/.deps/kokkos'], ROOT)


def check(name, hangs):
    """None where it passes; else what went wrong: 'build' or the check's name."""
    targets, command = plan.CHECKS[name]
    status, said = run(['ninja', '-j2', *targets], BUILD)
    if status != 0:
        return 'build', said
    status, said = run([part.replace('{src}', str(SRC)) for part in command], BUILD, hangs)
    if status == 124:
        return f'{name}, which did not end', said
    return (name, said) if status != 0 else (None, said)


def judge(where, changed, hangs):
    """'killed by CHECK', 'does not compile' or 'survives'."""
    path = SRC / where
    text = path.read_text()
    path.write_text(changed)
    try:
        for name in plan.checks_of(where):
            verdict, _ = check(name, hangs)
            if verdict == 'build':
                return 'does not compile'
            if verdict:
                return f'killed by {verdict}'
        return 'survives'
    finally:
        path.write_text(text)


def all_mutants():
    found = []
    listed = subprocess.run(['git', 'ls-files', '--', *plan.SOURCES], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, text=True).stdout.split()
    for path in listed:
        if path.endswith(('.cpp', '.hpp', '.inc')) and not path.startswith(plan.NOT):
            found += operators.mutants(path, (ROOT / path).read_text())
    return found


def equivalents():
    reasons = {}
    for line in (pathlib.Path(__file__).parent / 'equivalent.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            key, _, reason = line.rpartition(' | ')
            reasons[key] = reason
    return reasons


def draw(options):
    """The sample: the same number from each area."""
    mutants = [m for m in all_mutants()
               if m.path.startswith(options.area) and options.only in m.key()]
    areas = collections.defaultdict(list)
    for mutant in mutants:
        areas[plan.area_of(mutant.path)].append(mutant)
    chosen = []
    rng = random.Random(options.seed)
    for area in sorted(areas):
        chosen += rng.sample(areas[area], min(len(areas[area]), -(-options.sample // len(areas))))
    rng.shuffle(chosen)
    return mutants, chosen


def planted(hangs, only):
    """The faults of planted.txt with `only` in their line; the number that survive."""
    survive = 0
    for line in (pathlib.Path(__file__).parent / 'planted.txt').read_text().splitlines():
        if not line or line.startswith('#') or only not in line:
            continue
        path, before, after, what = line.split(' | ')
        text = (SRC / path).read_text()
        if text.count(before) < 1:
            sys.exit(f'{path} lacks: {before}')
        verdict = judge(path, text.replace(before, after), hangs)
        survive += not verdict.startswith('killed')
        print(f'{verdict}: {what}', flush=True)
    return survive


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--sample', type=int, default=200)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--area', default='')
    parser.add_argument('--only', default='')
    parser.add_argument('--json')
    parser.add_argument('--minutes', type=float, default=1e9, help='stop drawing after this long')
    parser.add_argument('--no-prepare', action='store_true')
    parser.add_argument('--planted', action='store_true', help='only the faults of planted.txt')
    parser.add_argument('--hangs', type=float, default=150, help='seconds; a mutant that runs longer is noticed')
    options = parser.parse_args()
    if options.planted:
        if not options.no_prepare:
            prepare(plan.FLAGS.get(options.only, '-O0'))
        sys.exit(1 if planted(options.hangs, options.only) else 0)
    mutants, chosen = draw(options)
    print(f'{len(mutants)} mutants, {len(chosen)} drawn with seed {options.seed}', flush=True)
    if not options.no_prepare:
        prepare(plan.FLAGS.get(options.area, '-O0'))
        for name in dict.fromkeys(c for m in chosen for c in plan.checks_of(m.path)):
            verdict, said = check(name, options.hangs)
            print(f'without a fault: {name} {"fails" if verdict else "passes"}', flush=True)
            if verdict:
                sys.exit(said)
    reasons = equivalents()
    counts = collections.Counter()
    by_area = collections.defaultdict(collections.Counter)
    results = []
    known = {}
    if options.json and pathlib.Path(options.json).exists():  # a run that was interrupted goes on
        for each in json.loads(pathlib.Path(options.json).read_text()):
            verdict = each.pop('verdict')
            known[operators.Mutant(**each)] = verdict
    start = time.time()
    for mutant in chosen:
        if time.time() - start > options.minutes * 60:
            break
        if mutant.key() in reasons:
            verdict = 'equivalent'
        elif mutant in known:
            verdict = known[mutant]
        else:
            lines = (SRC / mutant.path).read_text().split('\n')
            lines[mutant.line - 1] = mutant.after
            verdict = judge(mutant.path, '\n'.join(lines), options.hangs)
        kind = verdict.split(' by ')[0]
        counts[kind] += 1
        by_area[plan.area_of(mutant.path)][kind] += 1
        results.append({**mutant.__dict__, 'verdict': verdict})
        print(f'{time.time() - start:6.0f} s  {verdict}: {mutant.path}:{mutant.line} {mutant.kind}: '
              f'{mutant.before.strip()}  =>  {mutant.after.strip()}', flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    print(f'{len(results)} tried in {time.time() - start:.0f} s: {dict(counts)}')
    for area, each in sorted(by_area.items()):
        print(f'  {area}: {dict(each)}')
    counted = counts['killed'] + counts['survives']
    score = counts['killed'] / counted if counted else 0
    print(f'killed {counts["killed"]} of {counted}: {score:.1%}')
    sys.exit(0 if score >= WANTED else 1)


if __name__ == '__main__':
    main()
