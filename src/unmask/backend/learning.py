"""Functions of a whole model: compiled for prediction, differentiated, and improved step by step."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from unmask.backend.choice import current
from unmask.backend.operations import Tensor, row_gradients


def compiled(model: Any, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`function`, which may call `model`, made fast for repeated prediction; arrays in, tensors out.

    PyTorch runs it without recording gradients; JAX and TensorFlow compile it once for each shape.
    """
    import keras

    if current() == "torch":
        import torch

        @torch.inference_mode()
        def on_tensors(*args: Tensor) -> Tensor:
            return function(*keras.tree.map_structure(keras.ops.convert_to_tensor, args))

        return on_tensors
    if current() == "tensorflow":
        import tensorflow as tf

        return tf.function(function, reduce_retracing=True)
    import jax

    # The weights go in as arguments: as constants of the compiled program they would be held twice.
    @jax.jit
    def run(values: list[Tensor], *args: Tensor) -> Tensor:
        with keras.StatelessScope(state_mapping=list(zip(model.variables, values, strict=True))):
            return function(*args)

    return lambda *args: run([variable.value for variable in model.variables], *args)


def loss_and_gradients(model: Any, loss: Callable[[], Tensor]) -> tuple[float, dict[str, np.ndarray]]:
    """The scalar `loss()` and its gradient for each trainable variable of `model`, by the variable's path."""
    variables = model.trainable_variables
    differentiate = {"torch": _torch_gradients, "jax": _jax_gradients, "tensorflow": _tensorflow_gradients}[current()]
    value, gradients = differentiate(variables, loss)
    return float(value), {
        variable.path: np.zeros(variable.shape, np.float32) if gradient is None else np.asarray(gradient)
        for variable, gradient in zip(variables, gradients, strict=True)
    }


def _torch_gradients(variables: list[Any], loss: Callable[[], Tensor]) -> tuple[Tensor, list[Tensor]]:
    import torch

    value = loss()
    return value.detach(), list(torch.autograd.grad(value, [v.value for v in variables], allow_unused=True))


def _tensorflow_gradients(variables: list[Any], loss: Callable[[], Tensor]) -> tuple[Tensor, list[Tensor]]:
    import tensorflow as tf

    with tf.GradientTape() as tape:
        value = loss()
    gradients = tape.gradient(value, [v.value for v in variables])
    return value, [None if g is None else tf.convert_to_tensor(g) for g in gradients]


def _jax_gradients(variables: list[Any], loss: Callable[[], Tensor]) -> tuple[Tensor, list[Tensor]]:
    import jax
    import keras

    def of_values(values: list[Tensor]) -> Tensor:
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return loss()

    value, gradients = jax.jit(jax.value_and_grad(of_values))([v.value for v in variables])
    return value, list(gradients)


Loss = Callable[[Mapping[str, Tensor]], tuple[Tensor, Tensor]]
"""Given the tensors of a piece of a batch: the scalar to make smaller, and a vector of sums to report."""


class Learner(ABC):
    """Improves a model: gradients of the pieces of a batch are added up, then the optimizer makes one step.

    Args:
        model: whose trainable variables are improved.
        loss: called with `training` on.
        optimizer: of Keras, built for these variables.
    """

    def __init__(self, model: Any, loss: Loss, optimizer: Any) -> None:
        self.model, self.loss, self.optimizer = model, loss, optimizer
        self.variables = model.trainable_variables

    @abstractmethod
    def add(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Adds the gradients of one piece; gives the sums that the loss reports."""

    @abstractmethod
    def update(self, *, rate: float, max_norm: float) -> float:
        """One step with all that was added, clipped to `max_norm`; gives their norm; no step if that is not finite."""

    @abstractmethod
    def forget(self) -> None:
        """Drops what was added."""


def learner(model: Any, loss: Loss, optimizer: Any) -> Learner:
    """The learner of the chosen backend."""
    kinds: dict[str, Callable[[Any, Loss, Any], Learner]] = {
        "torch": _TorchLearner,
        "jax": _JaxLearner,
        "tensorflow": _TensorflowLearner,
    }
    return kinds[current()](model, loss, optimizer)


class _TorchLearner(Learner):
    """PyTorch adds gradients up by itself, and has AdamW in one pass over the memory where Keras makes fifteen."""

    def __init__(self, model: Any, loss: Loss, optimizer: Any) -> None:
        super().__init__(model, loss, optimizer)
        self.parameters = [variable.value for variable in self.variables]
        self.zeros: dict[int, Tensor] = {}
        """For tables whose gradients come row by row: zeros, to hold them for a moment."""
        self.forget()
        moments = [self._laid_out(kind) for kind in (optimizer._momentums, optimizer._velocities)]
        decaying = [bool(optimizer._use_weight_decay(variable)) for variable in self.variables]
        self.groups = []
        for which in (True, False):
            chosen = [i for i, decays in enumerate(decaying) if decays == which]
            if chosen:
                kinds = ([_row_by_row(kind[i]) for i in chosen] for kind in (self.parameters, *moments))
                self.groups.append(_Group(which, chosen, *kinds))

    def _laid_out(self, moments: list[Any]) -> list[Tensor]:
        """Keras' own moments, lying in memory as the parameters do: the fused step goes through both at once."""
        import torch

        for moment, parameter in zip(moments, self.parameters, strict=True):
            moment.value.data = torch.empty_like(parameter).copy_(moment.value)
        return [moment.value for moment in moments]

    def add(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        import torch

        device = self.parameters[0].device
        with row_gradients():
            value, sums = self.loss({name: torch.from_numpy(array).to(device) for name, array in arrays.items()})
            value.backward()
        return np.asarray(sums.detach().cpu().numpy())

    def update(self, *, rate: float, max_norm: float) -> float:
        import torch

        with torch.no_grad():
            gradients = [_gradient_of(parameter) for parameter in self.parameters]
            numbers = [gradient.values() if gradient.is_sparse else gradient for gradient in gradients]
            norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(numbers))))
            if np.isfinite(norm):
                if norm > max_norm:
                    torch._foreach_mul_(numbers, torch.tensor(max_norm / norm))
                with self._spread(gradients) as whole:
                    self._adamw(whole, rate)
        self.forget()
        return norm

    @contextmanager
    def _spread(self, gradients: list[Tensor]) -> Iterator[list[Tensor]]:
        """The gradients, those of single rows among zeros, which are zeros again afterwards."""
        import torch

        of_rows = {i: gradient for i, gradient in enumerate(gradients) if gradient.is_sparse}
        for i, gradient in of_rows.items():
            if i not in self.zeros:
                self.zeros[i] = torch.zeros_like(self.parameters[i])
            self.zeros[i].index_copy_(0, gradient.indices()[0], gradient.values())
        yield [self.zeros[i] if i in of_rows else gradient for i, gradient in enumerate(gradients)]
        for i, gradient in of_rows.items():
            self.zeros[i].index_fill_(0, gradient.indices()[0], 0.0)

    def _adamw(self, gradients: list[Tensor], rate: float) -> None:
        """What `optimizer.apply` would do, by PyTorch's fused kernel."""
        import torch

        optimizer = self.optimizer
        optimizer.learning_rate.value.fill_(rate)  # `assign` takes longer than some parameters' step
        step = float(optimizer.iterations.value.add_(1))
        # PyTorch corrects the second moment before it adds ε; an ε that is larger by as much gives Keras' formula.
        epsilon = optimizer.epsilon / (1 - optimizer.beta_2**step) ** 0.5
        for group in self.groups:
            torch._fused_adamw_(
                group.parameters,
                [_row_by_row(gradients[i]) for i in group.chosen],
                group.momentums,
                group.velocities,
                [],
                [torch.tensor(step)] * len(group.chosen),
                lr=rate,
                beta1=optimizer.beta_1,
                beta2=optimizer.beta_2,
                weight_decay=optimizer.weight_decay if group.decays else 0.0,
                eps=epsilon,
                amsgrad=False,
                maximize=False,
            )

    def forget(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None


class _Group(NamedTuple):
    """Parameters that all decay, or all do not, and what belongs to each."""

    decays: bool
    chosen: list[int]
    """Their numbers."""
    parameters: list[Tensor]
    momentums: list[Tensor]
    velocities: list[Tensor]


def _row_by_row(x: Tensor) -> Tensor:
    """The tensor, or if it lies column by column its transpose: what the fused step need not copy."""
    return x if x.is_contiguous() else x.t()


def _gradient_of(parameter: Tensor) -> Tensor:
    """Its gradient, lying in memory as it does, or that of some of its rows, each once."""
    import torch

    gradient = parameter.grad
    if gradient is None:
        return torch.zeros_like(parameter)
    if gradient.is_sparse:
        return gradient.coalesce()
    return gradient if gradient.stride() == parameter.stride() else torch.empty_like(parameter).copy_(gradient)


class _JaxLearner(Learner):
    """Gradients and updates are compiled functions of the values of all variables."""

    def __init__(self, model: Any, loss: Loss, optimizer: Any) -> None:
        import jax

        super().__init__(model, loss, optimizer)
        self.others = model.non_trainable_variables
        self.gradients: list[Tensor] = []
        self._add = jax.jit(self._added, donate_argnums=(2,))
        self._update = jax.jit(self._updated, donate_argnums=(1, 2))
        self.forget()

    def _added(
        self, trainable: list[Tensor], others: list[Tensor], so_far: list[Tensor], arrays: Mapping[str, Tensor]
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        import jax
        import keras

        def of(values: list[Tensor]) -> tuple[Tensor, tuple[Tensor, list[Tensor]]]:
            pairs = [*zip(self.variables, values, strict=True), *zip(self.others, others, strict=True)]
            with keras.StatelessScope(state_mapping=pairs) as scope:
                value, sums = self.loss(arrays)
                return value, (sums, [scope.get_current_value(variable) for variable in self.others])

        (_, (sums, new_others)), gradients = jax.value_and_grad(of, has_aux=True)(trainable)
        return sums, new_others, [a + b for a, b in zip(so_far, gradients, strict=True)]

    def _updated(
        self, gradients: list[Tensor], trainable: list[Tensor], state: list[Tensor], max_norm: Tensor
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        import jax.numpy as jnp

        norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in gradients))
        scale = jnp.minimum(1.0, max_norm / norm)
        trainable_, state_ = self.optimizer.stateless_apply(state, [g * scale for g in gradients], trainable)
        keep = jnp.isfinite(norm)
        kept = [jnp.where(keep, new, old) for new, old in zip(trainable_, trainable, strict=True)]
        return norm, kept, [jnp.where(keep, new, old) for new, old in zip(state_, state, strict=True)]

    def add(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        sums, others, self.gradients = self._add(_values(self.variables), _values(self.others), self.gradients, arrays)
        _assign(self.others, others)
        return np.asarray(sums)

    def update(self, *, rate: float, max_norm: float) -> float:
        self.optimizer.learning_rate.assign(rate)
        state = self.optimizer.variables
        norm, trainable, new_state = self._update(self.gradients, _values(self.variables), _values(state), max_norm)
        _assign(self.variables, trainable)
        _assign(state, new_state)
        self.forget()
        return float(norm)

    def forget(self) -> None:
        import jax.numpy as jnp

        self.gradients = [jnp.zeros(variable.shape, variable.dtype) for variable in self.variables]


def _values(variables: list[Any]) -> list[Tensor]:
    return [variable.value for variable in variables]


def _assign(variables: list[Any], values: list[Tensor]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


class _TensorflowLearner(Learner):
    """Gradients and updates are compiled by XLA; sums of gradients are variables."""

    def __init__(self, model: Any, loss: Loss, optimizer: Any) -> None:
        import tensorflow as tf

        super().__init__(model, loss, optimizer)
        self.sums = [tf.Variable(tf.zeros(v.shape, v.dtype), trainable=False) for v in self.variables]
        self._add = tf.function(self._added, jit_compile=True)
        self._update = tf.function(self._updated, jit_compile=True)

    def _added(self, arrays: Mapping[str, Tensor]) -> Tensor:
        import tensorflow as tf

        values = [variable.value for variable in self.variables]
        with tf.GradientTape() as tape:
            value, sums = self.loss(arrays)
        for total, gradient in zip(self.sums, tape.gradient(value, values), strict=True):
            if gradient is not None:
                total.assign_add(tf.convert_to_tensor(gradient))
        return sums

    def _updated(self, max_norm: Tensor) -> Tensor:
        import tensorflow as tf

        norm = tf.sqrt(tf.add_n([tf.reduce_sum(tf.square(total)) for total in self.sums]))
        scale = tf.minimum(1.0, max_norm / norm)
        self.optimizer.apply([total * scale for total in self.sums], self.variables)
        return norm

    def add(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        import tensorflow as tf

        return np.asarray(self._add({name: tf.constant(array) for name, array in arrays.items()}))

    def update(self, *, rate: float, max_norm: float) -> float:
        import tensorflow as tf

        self.optimizer.learning_rate.assign(rate)
        norm = float(tf.linalg.global_norm([total.value() for total in self.sums]))
        if np.isfinite(norm):
            self._update(tf.constant(max_norm, tf.float32))
        self.forget()
        return norm

    def forget(self) -> None:
        import tensorflow as tf

        for total in self.sums:
            total.assign(tf.zeros(total.shape, total.dtype))


def make_deterministic() -> None:
    """Has the backend give the same bits for the same computation, where it would not by itself."""
    if current() == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.enable_op_determinism()
    elif current() == "torch":
        import torch

        torch.use_deterministic_algorithms(True, warn_only=True)
        # Else every tensor is filled before it is written to, which takes some per cent of all time.
        torch.utils.deterministic.fill_uninitialized_memory = False
