"""AdamW (Loshchilov & Hutter 2019) as RoBERTa has it: no decay on biases and on LayerNorm."""

from typing import Any

import keras


def adamw(model: Any, *, beta_1: float, beta_2: float, epsilon: float, weight_decay: float) -> keras.optimizers.AdamW:
    """An optimizer for the model's trainable variables; the learning rate is given at each step.

    Keras and fairseq have the same formula, α √(1 − β₂ᵗ) / (1 − β₁ᵗ) · m / (√v + ε); PyTorch's own corrects v before
    it adds ε.
    """
    optimizer = keras.optimizers.AdamW(0.0, weight_decay=weight_decay, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)
    optimizer.exclude_from_weight_decay(var_list=[v for v in model.trainable_variables if not decays(v.path)])
    optimizer.build(model.trainable_variables)
    return optimizer


def decays(path: str) -> bool:
    """Whether weight decay acts on the variable of that path."""
    return path.rsplit("/", 1)[-1] not in ("bias", "gamma", "beta")
