"""DP-SGD side by side: hush, plain JAX, vmap(grad), plain PyTorch and Opacus.

Run `python benchmarks/sgd.py [--part speed|digits] [--no-peers]`. Every process keeps
to one core. Rates are examples per second of CPU time, the best of `ROUNDS` short runs
that take turns within a process; hush's include secret batches and exact noise. Opacus
runs in an environment of its own (`.bench/peers-sgd`) and prints JSON.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 5
PEERS = ["torch==2.13.0", "opacus==1.6.0"]
RECORDS = 8192
SPLITS = 36
BATCHES = (256, 2048)


def images():
    import numpy as np

    rng = np.random.default_rng(0)
    x = rng.normal(size=(RECORDS, 28, 28)).astype(np.float32)
    return x, rng.integers(0, 10, RECORDS).astype(np.int32)


def jax_models():
    import jax
    import numpy as np

    rng = np.random.default_rng(1)

    def weight(*shape):
        fan = np.prod(shape[:-1])
        return (rng.normal(size=shape) / np.sqrt(fan)).astype(np.float32)

    def bias(size):
        return np.zeros(size, np.float32)

    def mlp(p, x):
        return jax.nn.relu(x.reshape(-1) @ p[0] + p[1]) @ p[2] + p[3]

    def conv(x, kernel, padding):
        return jax.lax.conv_general_dilated(
            x,
            kernel,
            (2, 2),
            padding,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )

    def cnn(p, x):
        h = jax.nn.relu(conv(x[None, :, :, None], p[0], [(3, 3), (3, 3)]) + p[1])
        h = jax.nn.relu(conv(h, p[2], "VALID") + p[3]).reshape(-1)
        return jax.nn.relu(h @ p[4] + p[5]) @ p[6] + p[7]

    yield (
        "MLP 784-256-10",
        mlp,
        [weight(784, 256), bias(256), weight(256, 10), bias(10)],
    )
    yield (
        "small CNN",
        cnn,
        [
            weight(8, 8, 1, 16),
            bias(16),
            weight(4, 4, 16, 32),
            bias(32),
            weight(1152, 32),
            bias(32),
            weight(32, 10),
            bias(10),
        ],
    )


def raced(runs, examples, clock=time.process_time):
    """Examples per CPU second of each run, taking turns."""
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return {name: examples[name] / seconds for name, seconds in best.items()}


def jax_speed():
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax

    from hush.learn import sgd
    from hush.noise import SECURE

    x, y = images()
    found = {}
    for model, apply, params in jax_models():

        def loss(p, row, apply=apply):
            return -jax.nn.log_softmax(apply(p, row[0]))[row[1]]

        for batch in BATCHES:
            steps = (40 if batch == 256 else 12) // (1 if model[0] == "M" else 5)
            slots = jnp.asarray(
                np.random.default_rng(2).integers(0, RECORDS, (steps, batch))
            )
            data = (jnp.asarray(x), jnp.asarray(y))

            def plain(p, rows, loss=loss):
                return jax.grad(lambda p: jax.vmap(loss, (None, 0))(p, rows).mean())(p)

            def each(p, rows, loss=loss):
                g = jax.vmap(jax.grad(loss), (None, 0))(p, rows)
                square = sum(
                    jnp.sum(leaf**2, range(1, leaf.ndim)) for leaf in jax.tree.leaves(g)
                )
                w = jnp.minimum(1, 1 / jnp.sqrt(square))
                return jax.tree.map(lambda leaf: jnp.tensordot(w, leaf, 1) / len(w), g)

            def looped(gradient, count, data=data, slots=slots):
                @jax.jit
                def run(p, data, slots):
                    def one(i, p):
                        rows = jax.tree.map(lambda leaf: leaf[slots[i]], data)
                        g = gradient(p, rows)
                        return jax.tree.map(lambda a, b: a - 0.1 * b, p, g)

                    return jax.lax.fori_loop(0, count, one, p)

                compiled = run.lower(params, data, slots).compile()  # noqa: B023
                memory[gradient.__name__] = (  # noqa: B023
                    compiled.memory_analysis().temp_size_in_bytes
                )
                again = params  # noqa: B023
                return lambda: jax.block_until_ready(compiled(again, data, slots))

            memory = {}
            runs = {"JAX plain": looped(plain, steps)}
            if not model.startswith("MLP"):  # XLA is slow at convolutions in loops
                single = jax.jit(
                    lambda p, at, data=data, plain=plain: jax.tree.map(
                        lambda a, b: a - 0.1 * b,
                        p,
                        plain(p, jax.tree.map(lambda leaf: leaf[at], data)),
                    )
                )

                def stepwise(p=params, single=single, slots=slots):
                    for at in slots:
                        p = single(p, at)
                    jax.block_until_ready(p)

                runs["JAX plain"] = stepwise
            examples = {"JAX plain": batch * steps}
            for sampling in ("fixed-size", "poisson"):
                program, plan = sgd.plan(
                    loss, params, data, std=1.0, batch=batch, steps=steps,
                    sampling=sampling, optimizer=optax.sgd(0.1),
                )  # fmt: skip

                def hushed(program=program, plan=plan, data=data):
                    for state in program.advance(plan, program.start(), data, SECURE):
                        last = state  # not waited for: noise is drawn meanwhile
                    jax.block_until_ready(last.params)

                runs[f"hush, {sampling}"] = hushed
                examples[f"hush, {sampling}"] = batch * steps
            if model.startswith("MLP"):
                own = device(program, plan, data, runs)
                examples["hush, poisson, device only"] = batch * program.steps_per_call(
                    plan
                )
            else:
                slots_ = jnp.zeros(plan.rows, jnp.int32)
                empty = program._empty(plan)
                own = program._pass.lower(plan, params, data, slots_, empty).compile()
            rates = raced(runs, examples)
            if model.startswith("MLP") and batch == 256:  # others take minutes, or GBs
                name = "JAX vmap(grad)"  # by itself: it spoils the caches for the rest
                rates |= raced({name: looped(each, 1)}, {name: batch})
            found[f"{model}|{batch}"] = rates
            own = own.memory_analysis().temp_size_in_bytes
            found[f"{model}|{batch}|memory"] = own / memory["plain"]
            print(model, batch, rates, own / memory["plain"], file=sys.stderr)
    return found


def device(program, plan, data, runs):
    """Add the step without batches and noise of the host, and return its program."""
    import jax
    import jax.numpy as jnp

    ahead, passes = program.steps_per_call(plan), -(-plan.batch // plan.rows)
    given = (
        data,
        jnp.zeros((ahead, passes, plan.rows), jnp.int32),
        jnp.full(ahead, passes, jnp.int32),
        jnp.zeros((ahead, plan.dimension), jnp.uint32),
        jnp.int32(ahead),
    )
    own = program._compiled.lower(plan, program.start(), *given).compile()
    state = [program.start()]  # steps go on where the last run ended

    def run():
        state[0] = jax.block_until_ready(own(state[0], *given))[0]

    runs["hush, poisson, device only"] = run
    return own


def torch_speed():
    import warnings

    warnings.simplefilter("ignore")
    import torch
    from opacus import GradSampleModule
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
    from torch import nn

    torch.set_num_threads(1)
    x, y = (torch.as_tensor(each) for each in images())
    y = y.long()

    def models():
        mlp = [nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)]
        yield "MLP 784-256-10", lambda: nn.Sequential(*mlp)
        cnn = [
            nn.Unflatten(1, (1, 28)),
            nn.Conv2d(1, 16, 8, 2, 3),
            nn.ReLU(),
            nn.Conv2d(16, 32, 4, 2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(1152, 32),
            nn.ReLU(),
            nn.Linear(32, 10),
        ]
        yield "small CNN", lambda: nn.Sequential(*cnn)

    def setup(kind, net, batch):
        criterion = nn.CrossEntropyLoss()
        if kind == "plain":
            return net, torch.optim.SGD(net.parameters(), 0.1), criterion
        options = {"noise_multiplier": 1.0, "max_grad_norm": 1.0}
        options["expected_batch_size"] = batch
        if kind == "hooks":
            net = GradSampleModule(net)
            inner = torch.optim.SGD(net.parameters(), 0.1)
            return net, DPOptimizer(inner, **options), criterion
        net = GradSampleModuleFastGradientClipping(
            net, max_grad_norm=1.0, use_ghost_clipping=True
        )
        inner = torch.optim.SGD(net.parameters(), 0.1)
        optimizer = DPOptimizerFastGradientClipping(inner, **options)
        return net, optimizer, DPLossFastGradientClipping(net, optimizer, criterion)

    found = {}
    for model, make in models():
        for batch in BATCHES:
            runs, examples = {}, {}
            for kind in ("plain", "hooks", "ghost"):
                import copy

                steps = (6 if batch == 256 else 2) if kind != "hooks" else 1
                net, optimizer, criterion = setup(kind, copy.deepcopy(make()), batch)

                def run(net=net, optimizer=optimizer, criterion=criterion, s=steps):
                    for _ in range(s):
                        at = torch.randint(0, RECORDS, (batch,))  # noqa: B023
                        optimizer.zero_grad()
                        criterion(net(x[at]), y[at]).backward()
                        optimizer.step()

                name = f"torch {kind}" if kind == "plain" else f"Opacus {kind}"
                runs[name], examples[name] = run, batch * steps
            found[f"{model}|{batch}"] = raced(runs, examples)
            print(model, batch, found[f"{model}|{batch}"], file=sys.stderr)
    return found


def digits():
    """Held-out accuracy of a small network with the defaults, and CPU seconds."""
    import jax
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from hush.learn import sgd

    x, y = load_digits(return_X_y=True)
    x, found = (x / 8 - 0.6).astype(np.float32), {}  # pixels are 0 to 16
    bends = {"tanh": jax.numpy.tanh, "relu": jax.nn.relu}
    for (bend, bent), epsilon in itertools.product(bends.items(), (1.0, 3.0, 8.0)):

        def apply(p, x, bent=bent):
            return bent(x @ p["a"] + p["b"]) @ p["c"] + p["d"]

        def loss(p, row, apply=apply):
            return -jax.nn.log_softmax(apply(p, row[0]))[row[1]]

        scores = []
        for seed in range(SPLITS):
            rng = np.random.default_rng(seed)
            start = {
                "a": (rng.normal(size=(64, 64)) * np.sqrt(2 / 64)).astype(np.float32),
                "b": np.zeros(64, np.float32),
                "c": (rng.normal(size=(64, 10)) / 100).astype(np.float32),
                "d": np.zeros(10, np.float32),
            }
            a, b, c, d = train_test_split(x, y, test_size=0.2, random_state=seed)
            began = time.process_time()
            model = sgd.train(loss, start, (a, c), epsilon=epsilon, delta=1e-5)
            first = time.process_time() - began
            guess = np.argmax(apply(model.average, b), axis=1)
            scores.append(float(np.mean(guess == d)))
        name = f"{bend}, epsilon {epsilon:g}"
        found[name] = [float(np.mean(scores)), float(np.std(scores)), first]
        print(name, found[name], file=sys.stderr)
    program, plan = sgd.plan(loss, start, (a, c), std=5.0, steps=180, batch=len(a))
    times = []
    for _ in range(8):
        from hush.noise import SECURE

        began = time.process_time()
        for state in program.advance(plan, program.start(), [a, c], SECURE):
            last = state
        jax.block_until_ready(last.params)
        times.append(time.process_time() - began)
    found["180 steps"] = [times[0], min(times)]
    return found


PARTS = {"jax": jax_speed, "torch": torch_speed, "digits": digits}


def measured(part, python=sys.executable):
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    done = subprocess.run(
        [str(python), __file__, "--one", part],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **threads, "XLA_FLAGS": flags},
    )
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", choices=PARTS)
    parser.add_argument("--part", choices=["speed", "digits"])
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    given = parser.parse_args()
    if given.one:
        if hasattr(os, "sched_setaffinity"):  # two threads on one core would both slow
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(json.dumps(PARTS[given.one]()))
        return
    if given.part != "digits":
        sys.path.insert(0, str(Path(__file__).parent))
        from peers import environment

        ours = measured("jax")
        peers = environment("peers-sgd", *PEERS) if given.peers else None
        theirs = measured("torch", peers) if peers else {}
        print("| model | batch | way | examples per CPU second | of plain |")
        print("|---|---|---|---|---|")
        for key, rates in ours.items():
            if key.endswith("memory"):
                print(f"| {key.replace('|', ' | ')} | {rates:.2f} of plain | |")
                continue
            for name, rate in {**rates, **theirs.get(key, {})}.items():
                base = (
                    "torch plain" if name.startswith(("torch", "Op")) else "JAX plain"
                )
                own = {**rates, **theirs.get(key, {})}[base]
                cells = key.replace("|", " | ")
                print(f"| {cells} | {name} | {rate:,.0f} | {rate / own:.2f} |")
    if given.part != "speed":
        print(json.dumps(measured("digits")))


if __name__ == "__main__":
    main()
