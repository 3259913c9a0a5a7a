# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Two result files of one kind of machine: what became slower, what stopped keeping its bits."""
import figures
import load


def every(runs):
    """Forced kernels and ceilings too."""
    return figures.latest(runs, lambda arm: True)


def rows(old, new, threshold):
    """(case, arm, old us, new us, verdict) of every arm that both files hold."""
    before, after = every([old]), every([new])
    for key, (_, _, arm) in after.items():
        if key not in before:
            continue
        was = before[key][2]
        change = arm["us"] / was["us"] - 1
        verdict = ""
        if was["batch_invariant"] is True and arm["batch_invariant"] is False \
                and arm["role"] == "detgemm":
            verdict = "REGRESSION: row 0 no longer keeps its bits"
        elif None in (was["noise"], arm["noise"]):
            verdict = "inconclusive: medians alone" if abs(change) > threshold else ""
        elif max(was["noise"], arm["noise"]) > figures.NOISY:
            verdict = "inconclusive: noisy" if abs(change) > threshold else ""
        # Beyond the threshold, and beyond what either run's own spread explains.
        elif change > threshold and arm["p10"] > was["p90"]:
            verdict = "REGRESSION" if arm["role"] == "detgemm" else "slower baseline"
        elif change < -threshold and arm["p90"] < was["p10"]:
            verdict = "faster"
        yield key[0], key[1], was["us"], arm["us"], verdict


def compare(old_path, new_path, threshold):
    """Prints the differences; True where something of ours got worse."""
    old, new = load.load(old_path), load.load(new_path)
    load.check_together([old, new])
    if (old["backend"], old["device"]) != (new["backend"], new["device"]):
        raise load.Bad(f"{old_path} comes from {old['device']} ({old['backend']}) and {new_path} "
                       f"from {new['device']} ({new['backend']}): times of two kinds of machine are not "
                       "compared")
    found = list(rows(old, new, threshold))
    if not found:
        raise load.Bad(f"{old_path} and {new_path} hold no arm of the same case")
    bad = [row for row in found if row[4].startswith("REGRESSION")]
    for case, arm, was, now, verdict in found:
        if verdict:
            print(f"{case} {arm}: {was:.4g} us -> {now:.4g} us ({100 * (now / was - 1):+.1f} %): "
                  f"{verdict}")
    gone = [key for key, (_, _, arm) in every([old]).items()
            if key not in every([new]) and arm["role"] == "detgemm"]
    print(f"{len(found)} arms compared, {len(bad)} regressions"
          + (f", {len(gone)} of ours only in {old_path}" if gone else ""))
    return bool(bad)
