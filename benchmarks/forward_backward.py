"""Forward and forward + backward of RoBERTa-small: ours on each backend, `transformers`, and PyTorch by hand.

Each backend runs in a process of its own; in each, both peers run too, in turns with ours, so that a ratio compares
what the machine did in the same seconds. Run: python benchmarks/forward_backward.py
"""

import argparse
import json
import os

import numpy as np

from timing import in_its_own_process, machine, ratio, take_turns

BATCH, LENGTH, THREADS = 16, 128, 2


def batch(config):
    generator = np.random.default_rng(0)
    ids = generator.integers(5, config.vocab_size, (BATCH, LENGTH)).astype(np.int32)
    attend = np.arange(LENGTH)[None, :] < generator.integers(LENGTH // 2, LENGTH + 1, BATCH)[:, None]
    ids[~attend] = config.pad_id
    return ids, attend


def ours(config, ids, attend):
    """(forward, forward and backward) of our encoder on the chosen backend, compiled where the backend compiles."""
    from keras import ops

    from unmask import backend
    from unmask.model import Bert

    model = Bert(config, "encoder", seed=0)
    run = backend.compiled(model, lambda i, a: model(i, attend_BL=a, training=False))
    inputs = [ops.convert_to_tensor(ids), ops.convert_to_tensor(attend)]

    def loss():
        return ops.mean(ops.square(model(inputs[0], attend_BL=inputs[1], training=True)))

    step = {"torch": torch_step, "jax": jax_step, "tensorflow": tensorflow_step}[backend.current()](model, loss)
    return lambda: ops.convert_to_numpy(run(*inputs)), step


def torch_step(model, loss):
    parameters = [v.value for v in model.trainable_variables]

    def step():
        for parameter in parameters:
            parameter.grad = None
        loss().backward()

    return step


def jax_step(model, loss):
    import jax
    import keras

    trained, rest = model.trainable_variables, model.non_trainable_variables

    @jax.jit
    def gradients(values, others):
        def of(values):
            mapping = list(zip([*trained, *rest], [*values, *others], strict=True))
            with keras.StatelessScope(state_mapping=mapping) as scope:
                return loss(), [scope.get_current_value(v) for v in rest]

        return jax.value_and_grad(of, has_aux=True)(values)

    others = [v.value for v in rest]

    def step():
        (_, others[:]), found = gradients([v.value for v in trained], others)
        jax.block_until_ready(found)

    return step


def tensorflow_step(model, loss):
    import tensorflow as tf

    @tf.function(jit_compile=True)
    def gradients():
        with tf.GradientTape() as tape:
            value = loss()
        return [tf.convert_to_tensor(g) for g in tape.gradient(value, [v.value for v in model.trainable_variables])]

    def step():
        return gradients()[-1].numpy()

    return step


def torch_peer(module, call):
    import torch

    def forward():
        module.eval()
        with torch.inference_mode():
            call()

    def both():
        module.train()
        for parameter in module.parameters():
            parameter.grad = None
        call().square().mean().backward()

    return forward, both


def peers(config, ids, attend):
    import torch
    from transformers import RobertaModel

    from handwritten import Encoder
    from unmask.checkpoint.config_json import to_json

    torch.set_num_threads(THREADS)
    ids, attend = torch.tensor(ids, dtype=torch.long), torch.tensor(attend)
    hand = Encoder(config)
    settings = {
        k: v for k, v in to_json(config, "encoder").items() if k not in ("architectures", "model_type", "dtype")
    }
    theirs = RobertaModel(RobertaModel.config_class(**settings), add_pooling_layer=False)
    return {
        "by hand": torch_peer(hand, lambda: hand(ids, attend)),
        "transformers": torch_peer(theirs, lambda: theirs(ids, attention_mask=attend.long()).last_hidden_state),
    }


def worker(backend_name, dropout, rounds):
    from unmask import backend, preset

    backend.choose(backend_name)
    config = preset("roberta", "small", dropout=dropout, attention_dropout=dropout)
    ids, attend = batch(config)
    contestants = {"ours": ours(config, ids, attend), **peers(config, ids, attend)}
    results = {}
    for index, what in enumerate(("forward", "forward + backward")):
        results[what] = take_turns({name: pair[index] for name, pair in contestants.items()}, rounds=rounds)
    print(json.dumps(results))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", nargs=2, metavar=("BACKEND", "DROPOUT"))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker[0], float(options.worker[1]), options.rounds)
        return
    print(
        f"{machine()}, {THREADS} threads; RoBERTa-small, {BATCH} × {LENGTH} tokens with padding; ours / peer, below 1"
    )
    print("we are faster; median of ratios within a turn\n")
    print(f"{'backend':<12}{'dropout':<9}{'what':<20}{'tokens/s':>10}{'by hand':>10}{'transformers':>14}")
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "TF_CPP_MIN_LOG_LEVEL": "3"}
    for dropout in ("0.0", "0.1"):
        for name in ("torch", "jax", "tensorflow"):
            arguments = ["--worker", name, dropout, "--rounds", str(options.rounds)]
            for what, seconds in in_its_own_process(__file__, *arguments, environment=environment).items():
                own = seconds["ours"]
                rate = BATCH * LENGTH / sorted(own)[len(own) // 2]
                ratios = [ratio(own, seconds[peer]) for peer in ("by hand", "transformers")]
                print(f"{name:<12}{dropout:<9}{what:<20}{rate:>10,.0f}{ratios[0]:>10.3f}{ratios[1]:>14.3f}", flush=True)


if __name__ == "__main__":
    main()
