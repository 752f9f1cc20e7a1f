#!/usr/bin/python3
"""The proof is proven: loadtest finds each flawed guard under the fault that its flaw waits for, and nothing in any
sound one under the same faults. The table of both is run/fault.c; a flawed guard without a row in it is a failure.

A run in which the fault did nothing proves nothing, nor does one whose flaw kept still: it is tried again. A sound
guard that fails once has failed.

Needs BUILD_DIR; runs at the root."""
import json, subprocess, sys, tempfile

sys.path.insert(0, 'app/test/support')
from blackbox import BIN, check, checks_end

FAULTS = ('pause', 'kill', 'stop', 'slow')
TRIES = 4
UNPROVEN = ('void', 'hid its flaw')


def compare(folder, guards, fault):
    told = subprocess.run([f'{BIN}/loadtest', '--guard', guards, '--fault', fault, '--repeat', '1', '--quiet', '--out', folder],
                          capture_output=True, text=True)
    with open(f'{folder}/result.json') as file:
        return told, json.load(file)['comparison']['guards']


def main(folder):
    flawed = set()
    for fault in FAULTS:
        guards, rows = 'all', {}
        for _ in range(TRIES):
            told, found = compare(f'{folder}/{fault}', guards, fault)
            rows.update((row['guard'], row) for row in found)
            again = [guard for guard, row in rows.items() if row['result'] in UNPROVEN]
            if not again:
                break
            guards = ','.join(again) if len(again) > 1 else f'{again[0]},script'
        for guard, row in rows.items():
            wanted = 'held' if row['expected'] == 'sound' else 'showed its flaw'
            check(f'{fault}: {guard}: {wanted}', row['result'] == wanted, (row, told.stdout, told.stderr))
            flawed |= {guard} - ({guard} if row['expected'] == 'sound' else set())
    help_text = subprocess.run([f'{BIN}/seckilld', '--help'], capture_output=True, text=True).stdout
    check('each flawed guard has its fault', len(flawed) == help_text.count('FLAWED, needs --lab'), sorted(flawed))


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
