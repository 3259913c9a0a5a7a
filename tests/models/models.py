# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Plain-integer models of the contract's steps, written apart from the C++ ones.

dot(unit, a, b, c) -> raw fp32 bits of c + sum a[k]*b[k], operands as raw bit patterns; len(a) is a
multiple of the unit's L, k-blocks are chained ascending. No floating point is used anywhere.
Source: core/contract/CONTRACT.md; the models were compared with MMA-Sim (arXiv 2511.10909) and with
the hardware samples of Khattak and Mikaitis (arXiv 2512.07004).
"""

# format: (total bits, exponent bits, mantissa bits, bias, kind)
#   kind 'ieee': all-ones exponent is Inf/NaN;  'fn': only S.1111.111 is NaN, no Inf (OCP e4m3)
FMT = {
    'fp32': (32, 8, 23, 127, 'ieee'),
    'bf16': (16, 8, 7, 127, 'ieee'),
    'fp16': (16, 5, 10, 15, 'ieee'),
    'tf32': (32, 8, 10, 127, 'ieee'),   # fp32 container, low 13 bits dropped before anything else
    'e5m2': (8, 5, 2, 15, 'ieee'),
    'e4m3': (8, 4, 3, 7, 'fn'),
}
NAN, PINF, NINF, NZERO = 0x7FFFFFFF, 0x7F800000, 0xFF800000, 0x80000000


def decode(fmt, x):
    """-> (cls, s, m, e): cls 'nan' | 'inf' | 'num'; value = (-1)^s * m * 2^(e - M), M = mantissa bits.
    e >= emin always; a subnormal (and zero) has e = emin and m < 2^M."""
    n, eb, mb, bias, kind = FMT[fmt]
    if fmt == 'tf32':
        x >>= 13
        n = 19
    s = (x >> (n - 1)) & 1
    ex = (x >> mb) & ((1 << eb) - 1)
    m = x & ((1 << mb) - 1)
    top = (1 << eb) - 1
    if kind == 'ieee' and ex == top:
        return ('nan' if m else 'inf', s, m, 0)
    if kind == 'fn' and ex == top and m == (1 << mb) - 1:
        return ('nan', s, m, 0)
    if ex == 0:
        return ('num', s, m, 1 - bias)
    return ('num', s, m | (1 << mb), ex - bias)


def specials(fmt, A, B, C, prod_limit):
    """Inf/NaN algebra common to all units. -> raw bits, or None when everything is finite.
    prod_limit: |a*b| >= 2^128 counts as Inf (CDNA3)."""
    pos = neg = False
    mb = FMT[fmt][2]
    for (ca, sa, ma, ea), (cb, sb, mbb, eb) in zip(A, B):
        if ca == 'nan' or cb == 'nan':
            return NAN
        s = sa ^ sb
        if ca == 'inf' or cb == 'inf':
            if (ca == 'num' and ma == 0) or (cb == 'num' and mbb == 0):
                return NAN
        elif prod_limit and (ma * mbb) and (ma * mbb).bit_length() - 1 + ea + eb - 2 * mb >= 128:
            pass
        else:
            continue
        pos, neg = pos or not s, neg or bool(s)
    if C[0] == 'nan':
        return NAN
    if C[0] == 'inf':
        pos, neg = pos or not C[1], neg or bool(C[1])
    if pos and neg:
        return NAN
    return PINF if pos else NINF if neg else None


def shift_trunc(m, k):
    """m * 2^k for m >= 0, dropping bits below 1 (toward zero)."""
    return m << k if k >= 0 else m >> -k


def shift_floor(v, k):
    """v * 2^k for signed v, toward minus infinity (Python's >> on ints is floor)."""
    return v << k if k >= 0 else v >> -k


def pack_rz(S, lsb, keep):
    """S * 2^lsb, rounded toward zero to `keep` significant bits (fixed point below 2^-126), as fp32."""
    if S == 0:
        return 0                                    # exact zero: +0
    s, v = (1, -S) if S < 0 else (0, S)
    t = v.bit_length() - 1 + lsb                    # floor(log2 |value|)
    if t >= 128:
        return NINF if s else PINF
    ulp = max(t, -126) - (keep - 1)
    q = shift_trunc(v, lsb - ulp) << (24 - keep)    # in units of 2^(max(t,-126)-23)
    if q == 0:
        return 0                                    # also a negative sum truncated to zero: +0 (measured, H200)
    if t >= -126:
        r = ((t + 127) << 23) | (q - (1 << 23))
    else:
        r = q
    return (s << 31) | r


def pack_rne(S, lsb):
    """S * 2^lsb rounded to nearest even fp32, IEEE overflow, gradual underflow. Exact zero: +0."""
    if S == 0:
        return 0
    s, v = (1, -S) if S < 0 else (0, S)
    t = v.bit_length() - 1 + lsb
    ulp = max(t, -126) - 23
    k = ulp - lsb
    if k <= 0:
        q = v << -k
    else:
        q, r, h = v >> k, v & ((1 << k) - 1), 1 << (k - 1)
        if r > h or (r == h and q & 1):
            q += 1
    # q in [0, 2^24]; adding works across binades because the encoding is monotone
    bits = q if t < -126 else (((t + 126) << 23) + q)
    if bits >= PINF:
        bits = PINF
    return (s << 31) | bits


def step_tfdpa(fmt, F, floor, keep, a, b, c):
    """NVIDIA: one fused truncated step."""
    mb = FMT[fmt][2]
    A = [decode(fmt, x) for x in a]
    B = [decode(fmt, x) for x in b]
    C = decode('fp32', c)
    sp = specials(fmt, A, B, C, False)
    if sp is not None:
        return sp
    terms = []                                       # (sign, integer, exponent, fractional bits)
    for (_, sa, ma, ea), (_, sb, mb2, eb) in zip(A, B):
        if ma and mb2:
            terms.append((sa ^ sb, ma * mb2, ea + eb, 2 * mb))
    if C[2]:
        terms.append((C[1], C[2], C[3], 23))
    E = max([t[2] for t in terms] + [floor])
    S = 0
    for s, m, e, f in terms:
        v = shift_trunc(m, F - f - (E - e))
        S += -v if s else v
    return pack_rz(S, E - F, keep)


def step_cdna3(fmt, a, b, c):
    mb = FMT[fmt][2]
    A = [decode(fmt, x) for x in a]
    B = [decode(fmt, x) for x in b]
    C = decode('fp32', c)
    sp = specials(fmt, A, B, C, True)
    if sp is not None:
        return sp
    terms = [(sa ^ sb, ma * mb2, ea + eb)
             for (_, sa, ma, ea), (_, sb, mb2, eb) in zip(A, B) if ma and mb2]
    ec = C[3]                                        # -126 for zero and subnormal c
    E = ec
    S = 0
    if terms:
        Ep = max(t[2] for t in terms)
        for s, m, e in terms:
            v = shift_trunc(m, 24 - 2 * mb - (Ep - e))
            S += -v if s else v                      # unit 2^(Ep-24)
        E = max(Ep, ec)
        S = shift_floor(S, (Ep - 24) - (E - 32))     # unit 2^(E-32)
    mc = -C[2] if C[1] else C[2]                     # unit 2^(ec-23)
    Sc = shift_floor(mc, (ec - 23) - (E - 24))       # unit 2^(E-24)
    T = S + (Sc << 8)                                # unit 2^(E-32)
    lsb = E - 32
    if T == 0:
        return 0
    t = abs(T).bit_length() - 1 + lsb
    ulp = max(t, -126) - 31
    if ulp > lsb:
        T >>= ulp - lsb                              # floor
        lsb = ulp
    return pack_rne(T, lsb)


# ---- CDNA2: every operation is an fp32 operation with flush to zero ----
def _ftz(bits):
    return bits & NZERO if (bits & 0x7F800000) == 0 else bits    # keeps the sign


def _add_ftz(x, y):
    X, Y = decode('fp32', x), decode('fp32', y)
    if X[0] == 'nan' or Y[0] == 'nan':
        return NAN
    if X[0] == 'inf' or Y[0] == 'inf':
        if X[0] == Y[0] and X[1] != Y[1]:
            return NAN
        return x if X[0] == 'inf' else y
    lsb = min(X[3], Y[3]) - 23
    v = 0
    for _, s, m, e in (X, Y):
        w = m << (e - 23 - lsb)
        v += -w if s else w
    if v == 0:
        return NZERO if (X[1] and Y[1]) else 0       # IEEE: -0 only from (-0)+(-0)
    return _ftz(pack_rne(v, lsb))


def _mul_ftz(fmt, x, y):
    X, Y = decode(fmt, x), decode(fmt, y)
    mb = FMT[fmt][2]

    def flush(Z):                                    # subnormal and zero of either sign -> +0
        return ('num', 0, 0, Z[3]) if Z[0] == 'num' and Z[2] < (1 << mb) else Z
    X, Y = flush(X), flush(Y)
    if X[0] == 'nan' or Y[0] == 'nan':
        return NAN
    s = X[1] ^ Y[1]
    if X[0] == 'inf' or Y[0] == 'inf':
        if (X[0] == 'num' and X[2] == 0) or (Y[0] == 'num' and Y[2] == 0):
            return NAN
        return NINF if s else PINF
    m = X[2] * Y[2]
    if m == 0:
        return s << 31
    return _ftz(pack_rne(-m if s else m, X[3] + Y[3] - 2 * mb))   # product fits 24 bits: exact, or Inf, or flushed


def step_cdna2(fmt, a, b, c):
    p = [_mul_ftz(fmt, x, y) for x, y in zip(a, b)]
    C = c if (c & 0x7F800000) else 0                 # subnormal c and -0 -> +0
    s = _add_ftz(_add_ftz(p[0], p[1]), _add_ftz(p[2], p[3]))
    return _add_ftz(C, s)


UNITS = {}
for f in ('bf16', 'fp16'):
    UNITS['hopper/' + f] = ('nvidia', f, 16, 25, -133, 24)
    UNITS['ampere/' + f] = ('nvidia', f, 8, 24, -132, 24)
    UNITS['cdna3/' + f] = ('cdna3', f, 8)
    UNITS['cdna2/' + f] = ('cdna2', f, 4)
UNITS['hopper/tf32'] = ('nvidia', 'tf32', 8, 25, -133, 24)
UNITS['ampere/tf32'] = ('nvidia', 'tf32', 4, 24, -132, 24)
for f in ('e4m3', 'e5m2'):
    UNITS['hopper/' + f] = ('nvidia', f, 32, 13, -133, 14)
    UNITS['blackwell/' + f] = ('nvidia', f, 32, 25, -133, 24)
for f in ('bf16', 'fp16', 'tf32'):
    UNITS['blackwell/' + f] = UNITS['hopper/' + f]


def step(unit, a, b, c):
    kind, fmt = UNITS[unit][:2]
    if kind == 'nvidia':
        return step_tfdpa(fmt, *UNITS[unit][3:], a, b, c)
    d = step_cdna3(fmt, a, b, c) if kind == 'cdna3' else step_cdna2(fmt, a, b, c)
    return 0 if d == NZERO else d    # the contract's zero is +0


def dot(unit, a, b, c):
    length = UNITS[unit][2]
    assert len(a) == len(b) and len(a) % length == 0
    for i in range(0, len(a), length):
        c = step(unit, a[i:i + length], b[i:i + length], c)
    return c
