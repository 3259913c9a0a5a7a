#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""lossy_link.py PORT...: a switch in user space that delays and loses Ethernet frames.

It forwards frames between network devices (veth ends) of the namespace that it runs in. Some kernels have
netem for this, but not all. It needs root, Linux and Python's standard library, and nothing else may forward
between these ports: they must not belong to a bridge.

Every frame that comes in is delayed by --delay plus or minus a random part of --jitter, and lost with the
probability --loss. Without jitter the frames of a port keep their order. With jitter they do not: a frame
overtakes one that came before it and was delayed for longer, which is a fault that TCP has to repair too.
The n-th frame of a port has the same fate in every run with the same --seed; which frame is the n-th depends
on the time.

On SIGUSR1 every frame that still comes in is lost, as if the cable were cut while all links stay up.
On SIGTERM it says how many frames it forwarded and lost, and ends.

lossy_link.py --plain-frames DEVICE...: nothing but switch off the offloads of these devices. Between two
ends of a veth the kernel passes on segments that are longer than a frame and have no checksum yet. No real
cable carries those, so each host's end must be told to make real frames before they come here.

Exit status 77: this machine refuses raw sockets.
"""
import argparse
import ctypes
import errno
import fcntl
import heapq
import random
import select
import signal
import socket
import struct
import sys
import time

LONGEST_FRAME = 1514  # an MTU of 1500 and the Ethernet header
READ_AT_ONCE = 64  # frames per port, so that one busy port does not keep the others waiting
ETH_P_ALL, SOL_PACKET, PACKET_STATISTICS = 0x0003, 263, 6  # linux/if_packet.h
SO_RCVBUFFORCE, RECEIVE_BYTES = 33, 16 << 20
IPV4, TCP = b"\x08\x00", 6

SIOCETHTOOL = 0x8946
# Name, ETHTOOL_G... and ETHTOOL_S... of linux/ethtool.h. Segmentation stands on checksums, so these go first.
OFFLOADS = (("transmit checksums", 0x16, 0x17), ("TCP segmentation", 0x1e, 0x1f),
            ("generic segmentation", 0x23, 0x24), ("generic receive offload", 0x2b, 0x2c))


class Line:
    """What becomes of the frames that come in at one port. Times are in seconds, the rate in bits per second."""

    def __init__(self, seed, port, loss=0.0, delay=0.0, jitter=0.0, rate=None):
        # Of a text, because that is hashed to all bits of the state: neighbouring seeds differ at once.
        self.random = random.Random(f"seed {seed}, port {port}")
        self.loss, self.delay, self.jitter, self.rate = loss, delay, jitter, rate
        self.free = 0.0  # when the line has sent what it was given so far

    def fate(self, now, size):
        """When a frame that comes now arrives at the other end, or None if it is lost."""
        # Both are drawn for every frame, so that the fate of the n-th does not depend on those before it.
        lost, late = self.random.random() < self.loss, self.random.uniform(-self.jitter, self.jitter)
        if self.rate:
            now = self.free = max(now, self.free) + size * 8 / self.rate  # a lost frame took its time too
        return None if lost else now + max(0.0, self.delay + late)


class Switch:
    """Which ports a frame goes to: all others until its destination was seen as a source."""

    def __init__(self, ports):
        self.ports, self.seen = ports, {}

    def ways(self, port, frame):
        to, source = frame[0:6], frame[6:12]
        self.seen[source] = port
        group = to[0] & 1  # broadcast or multicast
        known = None if group else self.seen.get(to)
        if known is None:
            return [other for other in range(self.ports) if other != port]
        return [known] if known != port else []


class Link:
    """A line per port, the switch and the frames under way; knows no sockets."""

    def __init__(self, lines):
        self.lines, self.switch = lines, Switch(len(lines))
        self.under_way = []  # (arrival, number, when it came, port that it leaves by, frame)
        self.latest = [0.0] * len(lines)
        self.cut = False
        self.came = self.forwarded = self.lost = self.lost_tcp = self.overtook = 0
        self.waited = 0.0

    def take(self, now, port, frame):
        self.came += 1
        arrival = self.lines[port].fate(now, len(frame))
        if arrival is None or self.cut:
            self.lost += 1
            self.lost_tcp += frame[12:14] == IPV4 and frame[23:24] == bytes([TCP])
            return
        self.overtook += arrival < self.latest[port]
        self.latest[port] = max(self.latest[port], arrival)
        for way in self.switch.ways(port, frame):
            # The number keeps the order of frames that arrive at one time.
            heapq.heappush(self.under_way, (arrival, self.came, now, way, frame))

    def due(self, now):
        """(port, frame) of each that has arrived by now, in order of arrival."""
        while self.under_way and self.under_way[0][0] <= now:
            _, _, came, way, frame = heapq.heappop(self.under_way)
            self.forwarded += 1
            self.waited += now - came
            yield way, frame

    def wait(self, now, longest):
        return min(longest, max(0.0, self.under_way[0][0] - now)) if self.under_way else longest

    def __str__(self):
        mean = 1000 * self.waited / self.forwarded if self.forwarded else 0
        return (f"{self.forwarded} frames forwarded, {self.lost} lost, {self.lost_tcp} of them TCP, "
                f"{self.overtook} overtook another, {mean:.1f} ms each")


def switch_off(device):
    """Switches the offloads of a device off, and looks whether they are."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        def ethtool(command, value):
            pair = (ctypes.c_uint32 * 2)(command, value)
            fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP16x", device.encode(), ctypes.addressof(pair)))
            return pair[1]

        for name, get, put in OFFLOADS:
            try:
                ethtool(put, 0)
            except OSError as error:
                if error.errno != errno.EOPNOTSUPP:  # what the device never had need not be switched off
                    raise
            if ethtool(get, 0):
                sys.exit(f"wrong: {device} keeps its {name}, so its frames would not be those of a cable")


def open_port(device):
    # Protocol 0 hears nothing; a socket that heard everything from the start would have frames of all devices.
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    port.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES)
    port.bind((device, ETH_P_ALL))
    port.setblocking(False)
    return port


def frames(port):
    """The frames that have come in at a port."""
    for _ in range(READ_AT_ONCE):
        try:
            frame, address = port.recvfrom(1 << 17)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ENETDOWN:  # somebody took the link down; it may come back
                raise
            return
        if address[2] == socket.PACKET_OUTGOING:
            continue  # our own, which would go round for ever
        if len(frame) > LONGEST_FRAME:
            sys.exit(f"wrong: a frame of {len(frame)} bytes: the sender's offloads are on (--plain-frames)")
        yield frame


def forward(link, ports, ended):
    """Until ended() is true; the number of frames that came faster than they were read."""
    number = {port: index for index, port in enumerate(ports)}
    while not ended():
        readable = select.select(ports, [], [], link.wait(time.monotonic(), 0.2))[0]
        for port in readable:
            for frame in frames(port):
                link.take(time.monotonic(), number[port], frame)
        for way, frame in link.due(time.monotonic()):
            try:
                ports[way].send(frame)
            except OSError as error:
                # A link that is down, or a device that has no room: lost, as on a real switch.
                if error.errno not in (errno.ENETDOWN, errno.ENOBUFS, errno.EAGAIN):
                    raise
                link.forwarded, link.lost = link.forwarded - 1, link.lost + 1
    return sum(struct.unpack("II", port.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1] for port in ports)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ports", nargs="+", metavar="PORT", help="network devices")
    parser.add_argument("--delay", type=float, default=0, metavar="MS", help="milliseconds from port to port")
    parser.add_argument("--jitter", type=float, default=0, metavar="MS",
                        help="up to so many milliseconds more or less, at random, so that frames overtake others")
    parser.add_argument("--loss", type=float, default=0, metavar="PERCENT", help="per cent of frames that are lost")
    parser.add_argument("--rate", type=float, metavar="MBIT", help="megabits per second that a port takes in; what"
                        " comes faster waits")
    parser.add_argument("--seed", type=int, default=1, help="of loss and jitter")
    parser.add_argument("--plain-frames", action="store_true", help="only switch the devices' offloads off")
    words = parser.parse_args()
    if not 0 <= words.loss <= 100 or not 0 <= words.jitter <= words.delay or (words.rate or 1) <= 0:
        parser.error("--loss is 0 to 100, --jitter 0 to --delay, and --rate is positive")
    return words


def main():
    words = arguments()
    for device in words.ports:
        try:
            socket.if_nametoindex(device)
        except OSError:
            sys.exit(f"wrong: there is no network device {device} in this namespace")
    try:
        for device in words.ports:
            switch_off(device)
        if words.plain_frames:
            return
        ports = [open_port(device) for device in words.ports]
    except PermissionError as refused:
        print(f"skipped: raw sockets or the settings of network devices: {refused}")
        sys.exit(77)
    rate = words.rate * 1e6 if words.rate else None
    link = Link([Line(words.seed, port, words.loss / 100, words.delay / 1000, words.jitter / 1000, rate)
                 for port in range(len(ports))])
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    signal.signal(signal.SIGUSR1, lambda *_: setattr(link, "cut", True))
    print(f"forwarding between {', '.join(words.ports)}", flush=True)
    unread = forward(link, ports, lambda: ended)
    print(f"{link}, {unread} came faster than they were read", flush=True)


if __name__ == "__main__":
    main()
