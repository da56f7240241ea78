"""The local model: encode and estimate, hush beside pure-ldp.

Run with `make bench` or `python benchmarks/local.py`. hush runs a million people, with
exact laws and secure randomness. pure-ldp works person by person in Python, so it runs
a part of them and its time is multiplied; the table says how many. Seconds are those of
the processor, so that other work on the machine counts little.
"""

import resource
import time

import numpy as np
import peers

from hush.local import (
    HadamardResponse,
    HeavyHitters,
    HybridMean,
    LocalHashing,
    PiecewiseMean,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    VectorMean,
)

PEOPLE, SIZE = 10**6, 1000

PURE_LDP = """
import json, sys, time, types, warnings
warnings.simplefilter("ignore")
import numpy as np
# RAPPOR imports libraries that the package does not ask for; it is not measured here.
rappor = "pure_ldp.frequency_oracles.rappor"
sys.modules[rappor] = types.ModuleType(rappor)
import pure_ldp.frequency_oracles.local_hashing.lh_client as lh_client
import pure_ldp.frequency_oracles.local_hashing.lh_server as lh_server
import xxhash
class Hash:                       # xxhash takes neither text nor such large seeds now
    def xxh32(self, text, seed):
        return xxhash.xxh32(text.encode(), seed=seed & 0xFFFFFFFF)
lh_client.xxhash = lh_server.xxhash = Hash()
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import (
    HadamardResponseClient, HadamardResponseServer)
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
size, epsilon = 1000, 1.0
hadamard = HadamardResponseServer(epsilon, size)
pairs = {
    "RandomizedResponse": (DEClient(epsilon, size), DEServer(epsilon, size), 10**5),
    "UnaryEncoding": (UEClient(epsilon, size, use_oue=True),
                      UEServer(epsilon, size, use_oue=True), 10**4),
    "LocalHashing": (LHClient(epsilon, size, use_olh=True),
                     LHServer(epsilon, size, use_olh=True), 10**4),
    "HadamardResponse": (HadamardResponseClient(
        epsilon, size, hash_funcs=hadamard.get_hash_funcs()), hadamard, 10**4),
}
out = {}
for name, (client, server, people) in pairs.items():
    values = np.random.default_rng(1).integers(1, size + 1, people).tolist()
    try:
        start = time.process_time()
        for value in values:
            server.aggregate(client.privatise(value))
        for value in range(1, size + 1):
            server.estimate(value, suppress_warnings=True)
        out[name] = [time.process_time() - start, people]
    except Exception as failure:
        out[name] = [None, type(failure).__name__ + ": " + str(failure)[:80]]
print(json.dumps(out))
"""


def values() -> np.ndarray:
    return np.random.default_rng(1).integers(0, SIZE, PEOPLE)


def timed(call, repeat: int = 3) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def frequency() -> list[str]:
    python = peers.environment("pure-ldp", "pure-ldp==1.2.0")
    theirs = peers.run(python, PURE_LDP, 1800)
    people = values()
    lines = [
        "| oracle (10⁶ people, 1000 categories, ε = 1) | bytes | encode s | estimate s "
        "| hush s | pure-ldp s (people run) | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for make in (
        RandomizedResponse,
        HadamardResponse,
        LocalHashing,
        UnaryEncoding,
        SubsetSelection,
    ):
        oracle = make(1.0, SIZE)
        reports = oracle.encode(people)
        encode = timed(lambda o=oracle: o.encode(people))
        estimate = timed(lambda o=oracle, r=reports: o.estimate(r))
        whole = encode + estimate
        seconds, ran = theirs.get(make.__name__, [None, "none"])
        peer, ratio = f"– ({ran})", "–"
        if seconds is not None:
            scaled = seconds * PEOPLE / ran
            peer, ratio = f"{scaled:,.1f} ({ran:,})", f"{scaled / whole:,.0f}×"
        lines.append(
            f"| {make.__name__} | {oracle.width} | {encode:.3f} | {estimate:.3f} "
            f"| {whole:.3f} | {peer} | {ratio} |"
        )
    return lines


def hitters(runs: int = 10) -> list[str]:
    """Names found among people whose values follow Zipf's law with exponent 1.1."""
    chances = np.arange(1, 10**4 + 1) ** -1.1
    lines = [
        "| heavy hitters, 10⁶ people, 48 bits, 10⁴ values by Zipf 1.1 | found, mean of "
        f"{runs} | invented | seconds |",
        "|---|---|---|---|",
    ]
    for epsilon in (1.0, 2.0, 4.0):
        finder, found, invented, seconds = HeavyHitters(epsilon, bits=48), 0, 0, 0.0
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            names = rng.integers(0, 2**48, chances.size)
            held = names[rng.choice(names.size, PEOPLE, p=chances / chances.sum())]
            start = time.process_time()
            told = finder.find(finder.encode(held)).values
            seconds += time.process_time() - start
            found += told.size
            invented += int((~np.isin(told, held)).sum())
        lines.append(
            f"| ε = {epsilon:g} | {found / runs:.1f} | {invented} "
            f"| {seconds / runs:.1f} |"
        )
    return lines


def others() -> list[str]:
    rng = np.random.default_rng(2)
    numbers, points = rng.random(PEOPLE), rng.normal(size=(10**5, 32))
    common = np.where(
        rng.random(PEOPLE) < 0.1, 123_456_789, rng.integers(0, 2**32, PEOPLE)
    )
    lines = ["| task | seconds |", "|---|---|"]
    for name, randomizer, data in (
        ("piecewise mean, 10⁶ people", PiecewiseMean(1.0, (0, 1)), numbers),
        ("hybrid mean, 10⁶ people", HybridMean(1.0, (0, 1)), numbers),
        ("vector mean, 10⁵ × 32, ε = 1, one pair", VectorMean(1.0, 32, 1, 1), points),
        ("vector mean, 10⁵ × 32, ε = 1", VectorMean(1.0, 32), points),
        ("vector mean, 10⁵ × 32, ε = 4", VectorMean(4.0, 32), points),
    ):
        seconds = timed(lambda r=randomizer, d=data: r.estimate(r.encode(d)), 2)
        lines.append(f"| {name} | {seconds:.3f} |")
    finder = HeavyHitters(2.0, bits=32)
    seconds = timed(lambda: finder.find(finder.encode(common)), 1)
    lines.append(f"| heavy hitters of 32 bits, 10⁶ people | {seconds:.3f} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines.append(f"| peak memory of all of the above, MiB | {peak:.0f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(frequency()), "\n", sep="")
    print("\n".join(others()), "\n", sep="")
    print("\n".join(hitters()))
