"""y = f(xW + b): on PyTorch by oneDNN, where that is faster than what PyTorch takes by itself, MKL.

PyTorch has both; by itself it takes oneDNN for numbers of half precision, and where a model is compiled for prediction.
On a processor that is not Intel's, MKL leaves out the widest instructions: there oneDNN multiplies single precision a
tenth faster, and more than twice as fast if the processor does such an instruction in one step (AMD's since Zen 5).
"""

from functools import cache
from typing import Any

from unmask.backend.choice import current
from unmask.backend.operations import Tensor

_WORTH_A_PROGRAM = 1 << 23
"""Multiplications: oneDNN makes a program for each new shape, in up to a millisecond; for fewer it never pays."""
_BY_ONEDNN = {"gelu": ("gelu", "none"), "gelu_tanh": ("gelu", "tanh"), "relu": ("relu", ""), "silu": ("swish", "")}
"""What oneDNN calls a non-linearity and its kind."""


def linear(x: Tensor, kernel: Tensor, bias: Tensor, activation: str | None = None) -> Tensor:
    """`x @ kernel + bias`, and `activation` of it; on PyTorch in one fused call, which saves passes over the result."""
    from keras import ops

    if current() == "torch":
        # A Keras variable keeps its tensor in `value`; a kernel with LoRA is a tensor already.
        kernel, bias = getattr(kernel, "value", kernel), getattr(bias, "value", bias)
        return _torch_linear(x, kernel.T, bias, activation)
    return activate(ops.add(ops.matmul(x, kernel), bias), activation)


def activate(x: Tensor, activation: str | None) -> Tensor:
    """The non-linearity between two linear maps: exact GELU (erf), its tanh approximation, ReLU or SiLU."""
    from keras import ops

    if activation is None:
        return x
    if activation in ("gelu", "gelu_tanh"):
        return ops.gelu(x, approximate=activation == "gelu_tanh")
    return ops.relu(x) if activation == "relu" else ops.silu(x)


def linear_side_by_side(x: Tensor, kernels: list[Any], biases: list[Any]) -> Tensor:
    """`x @ kernel + bias` for each of them, side by side: one matrix product is faster than one after another."""
    from keras import ops

    if current() != "torch":
        return linear(x, ops.concatenate(kernels, axis=1), ops.concatenate(biases, axis=0))
    import torch

    kernels, biases = [[getattr(part, "value", part) for part in group] for group in (kernels, biases)]
    # Those from files lie output by output: put together so, neither they nor their gradients are turned around.
    by_outputs = all(kernel.T.is_contiguous() for kernel in kernels)
    weight_NK = torch.cat([kernel.T for kernel in kernels]) if by_outputs else torch.cat(kernels, dim=1).T
    return _torch_linear(x, weight_NK, torch.cat(biases))


def _torch_linear(x: Tensor, weight_NK: Tensor, bias_N: Tensor | None, activation: str | None = None) -> Tensor:
    """What `torch.nn.functional.linear` gives, and `activation` of it."""
    import torch

    if not _is_for_onednn(x, weight_NK):
        return activate(torch.nn.functional.linear(x, weight_NK, bias_N), activation)
    rows_MK, shape = x.reshape(-1, x.shape[-1]), (*x.shape[:-1], len(weight_NK))
    if torch.is_grad_enabled():  # whose gradient wants what goes into the activation
        return activate(_differentiable()(rows_MK, weight_NK, bias_N), activation).view(shape)
    return _product(rows_MK, weight_NK, bias_N, activation).view(shape)


def _is_for_onednn(x: Tensor, weight_NK: Tensor) -> bool:
    import torch

    in_memory = x.device.type == "cpu" and x.dtype == weight_NK.dtype == torch.float32
    large = x.numel() * len(weight_NK) >= _WORTH_A_PROGRAM
    return in_memory and large and _has_onednn() and not torch.compiler.is_compiling()


@cache
def _has_onednn() -> bool:
    import torch

    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def _product(x_MK: Tensor, weight_NK: Tensor, bias_N: Tensor | None = None, activation: str | None = None) -> Tensor:
    """`activation` of x Wᵀ + b. Of what lies column by column the weights may, x would be turned around first."""
    import torch

    name, kind = ("none", "") if activation is None else _BY_ONEDNN[activation]
    return torch.ops.mkldnn._linear_pointwise(x_MK, weight_NK, bias_N, name, [], kind)


@cache
def _differentiable() -> Any:
    """The function; made when it is first needed, since only then PyTorch is there."""
    import torch

    class OneDnnLinear(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x_MK: Tensor, weight_NK: Tensor, bias_N: Tensor | None) -> Tensor:
            ctx.save_for_backward(x_MK, weight_NK)
            return _product(x_MK, weight_NK, bias_N)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient_MN: Tensor) -> tuple[Tensor | None, ...]:
            x_MK, weight_NK = ctx.saved_tensors
            of_x, of_weight, of_bias = ctx.needs_input_grad
            gradient_MN = gradient_MN.contiguous()
            return (
                _product(gradient_MN, weight_NK.T) if of_x else None,
                _gradient_of_weight(x_MK, weight_NK, gradient_MN) if of_weight else None,
                gradient_MN.sum(0) if of_bias else None,
            )

    return OneDnnLinear.apply


def _gradient_of_weight(x_MK: Tensor, weight_NK: Tensor, gradient_MN: Tensor) -> Tensor:
    """It lies in memory as the weights do, so that nobody has to turn it around."""
    if weight_NK.is_contiguous():
        return _product(gradient_MN.T, x_MK.T)
    return _product(x_MK.T, gradient_MN.T).T
