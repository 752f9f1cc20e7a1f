#!/usr/bin/python3
"""The proof is proven: loadtest finds each flawed guard under the fault that its flaw waits for, and nothing in any
sound one under the same faults. The table of both is run/fault.c; a flawed guard without a row in it is a failure.

A run in which the fault did nothing proves nothing, nor does one whose flaw kept still: it is tried again. A sound
guard that fails once has failed.

Needs BUILD_DIR; runs at the root."""
import concurrent.futures, json, subprocess, sys, tempfile

sys.path.insert(0, 'app/test/support')
from blackbox import BIN, check, checks_end

FAULTS = ('pause', 'kill', 'stop', 'cut', 'slow')
SIDE_BY_SIDE = 5  # they sleep most of the time
TRIES = 4
UNPROVEN = ('void', 'hid its flaw')
NONE_WANTED = ('oversold', 'undersold', 'duplicates', 'stuck_locks')
COSTS = ('accepted_per_s', 'accepted_p99_ms', 'round_trips_per_order')


def compare(folder, guards, *flags):
    told = subprocess.run([f'{BIN}/loadtest', '--guard', guards, *flags, '--repeat', '1', '--quiet', '--out', folder],
                          capture_output=True, text=True)
    with open(f'{folder}/result.json') as file:
        return told, json.load(file)['comparison']['guards']


def prove(folder, fault):
    """The rows of all guards that it can touch, and what was said last."""
    guards, rows = 'all', {}
    for _ in range(TRIES):
        told, found = compare(f'{folder}/{fault}', guards, '--fault', fault)
        rows.update((row['guard'], row) for row in found)
        again = [guard for guard, row in rows.items() if row['result'] in UNPROVEN]
        if not again:
            break
        guards = ','.join(again) if len(again) > 1 else f'{again[0]},script'
    return rows, told


def main(folder):
    flawed = set()
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        proven = list(pool.map(lambda fault: prove(folder, fault), FAULTS))
    for fault, (rows, told) in zip(FAULTS, proven):
        for guard, row in rows.items():
            is_sound = row['expected'] == 'sound'
            wanted = 'held' if is_sound else 'showed its flaw'
            check(f'{fault}: {guard}: {wanted}', row['result'] == wanted, (row, told.stdout, told.stderr))
            flawed |= set() if is_sound else {guard}
    _, rows = compare(f'{folder}/calm', 'setnx,mutex')  # where no fault is named: in calm, then under its own
    found = [(row['guard'], row['fault']) for row in rows]
    check('each in calm and under its own fault', found == [(guard, fault) for guard in ('mutex', 'setnx') for fault in (None, 'kill')], found)
    calm = rows[0]
    check('a sound guard breaks nothing', all(calm[name]['most'] == 0 for name in NONE_WANTED), calm)
    check('what it costs is told', all(calm[name]['median'] > 0 for name in COSTS) and 0 <= calm['inversions']['median'] <= 1, calm)
    check('setnx looks sound in calm, and is not', [row['result'] for row in rows[2:]] == ['held', 'showed its flaw'], rows)
    check('it is said which promise fell', rows[3]['fallen'] == ['no undersell'], rows[3])
    help_text = subprocess.run([f'{BIN}/seckilld', '--help'], capture_output=True, text=True).stdout
    check('each flawed guard has its fault', len(flawed) == help_text.count('FLAWED, needs --lab'), sorted(flawed))


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
