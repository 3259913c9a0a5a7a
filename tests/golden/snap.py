#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""snap.py PROGRAM [--backend NAME] [--file NAME] [--write]: compares the digests of snap.txt with those of `PROGRAM run`.

PROGRAM is the detgemm command. Each line of snap.txt, or of the snap3.txt beside it, is a product of random operands, which the command makes
alike on every machine: CONTRACT M N K DISTRIBUTION SEED DIGEST. Any backend on any vendor's device must print
the same digests; the last line printed is one digest over all of them.
"""
import argparse
import json
import pathlib
import subprocess
import sys



def digest_of(program, backend, contract, m, n, k, dist, seed):
    words = [program, 'run', '--json', '--contract', contract, '--m', m, '--n', n, '--k', k, '--dist', dist,
             '--seed', seed] + (['--backend', backend] if backend else [])
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{" ".join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}')
    answer = json.loads(done.stdout)
    return answer['digests']['d'], answer['backend']


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('program')
    parser.add_argument('--backend', default='')
    parser.add_argument('--file', default='snap.txt', help='beside this program')
    parser.add_argument('--write', action='store_true', help='write the digests found into the file')
    options = parser.parse_args()
    file = pathlib.Path(__file__).with_name(options.file)
    lines, wrong, count, whole = [], 0, 0, 0xcbf29ce484222325
    who = set()
    for line in file.read_text().splitlines():
        if line.startswith('#') or not line.strip():
            lines.append(line)
            continue
        *problem, wanted = line.split()
        found, backend = digest_of(options.program, options.backend, *problem)
        who.add(backend)
        count += 1
        lines.append(' '.join([*problem, found]))
        if found != wanted:
            wrong += 1
            print(f'{" ".join(problem)}: {found}, and the file says {wanted}')
        for byte in found.encode('ascii'):
            whole = ((whole ^ byte) * 0x100000001b3) % 2**64
    if options.write:
        file.write_text('\n'.join(lines) + '\n')
        wrong = 0
    print(f'{count} products of {file.stem} on {", ".join(sorted(who))}, {wrong} with another digest, all: {whole:016x}')
    sys.exit(1 if wrong or not count else 0)


if __name__ == '__main__':
    main()
