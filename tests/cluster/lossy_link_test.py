#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""lossy_link_test.py: what lossy_link.py decides about frames. It needs no root and no network."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lossy_link import Line, Link, Switch

ANNA, BERTA, CARLA = (bytes([2, 0, 0, 0, 0, number]) for number in (1, 2, 3))
EVERYBODY = b"\xff" * 6


def frame(to, source, size=100):
    return to + source + b"\x08\x00" + bytes(9) + b"\x06" + bytes(size - 24)


def fates(count=5000, seed=7, port=0, **faults):
    line = Line(seed, port, **faults)
    return [line.fate(0.0, 100) for _ in range(count)]


class Lines(unittest.TestCase):
    def test_the_seed_and_the_port_decide(self):
        faults = {"loss": 0.05, "delay": 0.02, "jitter": 0.01}
        self.assertEqual(fates(**faults), fates(**faults))
        self.assertNotEqual(fates(**faults), fates(seed=8, **faults))
        self.assertNotEqual(fates(**faults), fates(port=1, **faults))

    def test_which_frames_are_lost_does_not_depend_on_the_delay(self):
        lost = [fate is None for fate in fates(loss=0.05)]
        self.assertEqual(lost, [fate is None for fate in fates(loss=0.05, delay=0.02, jitter=0.01)])

    def test_as_many_are_lost_as_were_asked_for(self):
        self.assertEqual(fates(loss=0.0).count(None), 0)
        self.assertEqual(fates(loss=1.0).count(None), 5000)
        # Six standard deviations about 250.
        self.assertLess(abs(fates(loss=0.05).count(None) - 250), 6 * (5000 * 0.05 * 0.95) ** 0.5)

    def test_delays_lie_within_the_jitter(self):
        late = fates(delay=0.02, jitter=0.01)
        self.assertTrue(all(0.01 <= fate <= 0.03 for fate in late))
        self.assertLess(min(late), 0.011)
        self.assertGreater(max(late), 0.029)

    def test_a_rate_lets_frames_wait_for_those_before_them(self):
        line = Line(1, 0, rate=8000.0)  # 1000 bytes per second
        self.assertEqual([line.fate(now, 100) for now in (0.0, 0.0, 5.0)], [0.1, 0.2, 5.1])


class Switches(unittest.TestCase):
    def test_it_floods_until_it_has_learnt(self):
        switch = Switch(3)
        self.assertEqual(switch.ways(0, frame(EVERYBODY, ANNA)), [1, 2])
        self.assertEqual(switch.ways(1, frame(ANNA, BERTA)), [0])
        self.assertEqual(switch.ways(0, frame(CARLA, ANNA)), [1, 2])
        self.assertEqual(switch.ways(0, frame(BERTA, ANNA)), [1])

    def test_a_frame_does_not_return_to_its_port(self):
        switch = Switch(2)
        switch.ways(0, frame(EVERYBODY, ANNA))
        self.assertEqual(switch.ways(0, frame(ANNA, BERTA)), [])


class Links(unittest.TestCase):
    def through(self, **faults):
        """300 frames, one per millisecond: the link, and their lengths as they leave."""
        link = Link([Line(3, port, **faults) for port in range(2)])
        for number in range(300):
            link.take(number / 1000, 0, frame(EVERYBODY, ANNA, 100 + number))
        return link, [len(sent) for _, sent in link.due(10.0)]

    def test_order_without_jitter(self):
        link, sizes = self.through(delay=0.02)
        self.assertEqual(sizes, list(range(100, 400)))
        self.assertEqual((link.forwarded, link.lost, link.overtook), (300, 0, 0))

    def test_jitter_reorders_and_is_counted(self):
        link, sizes = self.through(delay=0.02, jitter=0.01)
        self.assertEqual(sorted(sizes), list(range(100, 400)))
        self.assertNotEqual(sizes, sorted(sizes))
        self.assertGreater(link.overtook, 0)

    def test_every_frame_is_forwarded_or_counted_as_lost(self):
        link, sizes = self.through(loss=0.1)
        self.assertEqual(len(sizes) + link.lost, 300)
        self.assertGreater(link.lost, 0)
        self.assertEqual(link.lost_tcp, link.lost)

    def test_nothing_leaves_early(self):
        link = Link([Line(3, port, delay=0.02) for port in range(2)])
        link.take(1.0, 0, frame(EVERYBODY, ANNA))
        self.assertEqual(list(link.due(1.019)), [])
        self.assertAlmostEqual(link.wait(1.005, 0.2), 0.015)
        self.assertEqual(len(list(link.due(1.021))), 1)
        self.assertEqual(link.wait(1.021, 0.2), 0.2)

    def test_a_cut_loses_what_comes_after_it(self):
        link = Link([Line(3, port) for port in range(2)])
        link.take(0.0, 0, frame(EVERYBODY, ANNA))
        link.cut = True
        link.take(0.0, 0, frame(EVERYBODY, ANNA))
        self.assertEqual(len(list(link.due(1.0))), 1)
        self.assertEqual((link.forwarded, link.lost), (1, 1))


if __name__ == "__main__":
    unittest.main()
