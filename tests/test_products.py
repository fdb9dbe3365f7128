"""Products by oneDNN give what PyTorch gives by itself, forward and backward, however the weights lie in memory."""

import pytest

from unmask.backend import products

torch = pytest.importorskip("torch")

LARGE = (2, 350, 256)  # times 256 × 200 weights: more than enough for oneDNN to be asked


@pytest.fixture
def numbers():
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(*shape, generator=generator)


@pytest.fixture
def asked(monkeypatch):
    """How often oneDNN was asked."""
    calls, product = [], products._product
    monkeypatch.setattr(products, "_product", lambda *args: calls.append(args) or product(*args))
    return calls


@pytest.mark.parametrize("lies", ["row by row", "column by column"])
@pytest.mark.parametrize("biased", [True, False])
def test_values_and_gradients(numbers, asked, lies, biased):
    if not products._has_onednn():
        pytest.skip("this PyTorch has no oneDNN")
    x, weight = numbers(*LARGE).requires_grad_(), numbers(200, 256)
    weight = (weight if lies == "row by row" else weight.T.contiguous().T).requires_grad_()
    bias, above = numbers(200).requires_grad_() if biased else None, numbers(2, 350, 200)
    wanted = [x, weight, bias] if biased else [x, weight]
    ours, theirs = products._torch_linear(x, weight, bias), torch.nn.functional.linear(x, weight, bias)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    found = torch.autograd.grad(ours, wanted, above)
    for gradient, expected in zip(found, torch.autograd.grad(theirs, wanted, above), strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-3)
    assert found[1].stride() == weight.stride()
    assert len(asked) == 3  # forward, the gradient of x, that of the weights


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("shape", [LARGE, (2, 7, 256)])
@pytest.mark.parametrize(
    ("activation", "by_itself"),
    [
        ("gelu", torch.nn.functional.gelu),
        ("gelu_tanh", lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
        ("relu", torch.nn.functional.relu),
        ("silu", torch.nn.functional.silu),
    ],
)
def test_activations(numbers, shape, activation, by_itself, recorded):
    """Large or not, and whether in one pass or, for a gradient, in two."""
    x, weight, bias = numbers(*shape), numbers(200, 256) / 16, numbers(200)
    with torch.set_grad_enabled(recorded):
        ours = products._torch_linear(x, weight, bias, activation)
    expected = by_itself(torch.nn.functional.linear(x, weight, bias))
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)
    x.requires_grad_()
    gradients = []
    for way in (
        lambda: products._torch_linear(x, weight, bias, activation),
        lambda: by_itself(torch.nn.functional.linear(x, weight, bias)),
    ):
        gradients += torch.autograd.grad(way().square().sum(), [x])
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-3)


def test_the_activation_takes_no_pass_of_its_own_where_no_gradient_is_asked(numbers, asked, monkeypatch):
    if not products._has_onednn():
        pytest.skip("this PyTorch has no oneDNN")
    monkeypatch.setattr(products, "activate", None)
    x, weight, bias = numbers(*LARGE), numbers(200, 256), numbers(200)
    with torch.inference_mode():
        products._torch_linear(x, weight, bias, "gelu")
    assert len(asked) == 1


def test_frozen_weights_get_no_gradient(numbers, asked):
    x, weight, bias = numbers(*LARGE).requires_grad_(), numbers(200, 256), numbers(200)
    products._torch_linear(x, weight, bias).sum().backward()
    assert x.grad is not None
    assert weight.grad is None


@pytest.mark.parametrize("change", ["few", "bfloat16", "no oneDNN"])
def test_elsewhere_pytorch_decides(numbers, asked, monkeypatch, change):
    x, weight, bias = numbers(*((2, 7, 256) if change == "few" else LARGE)), numbers(200, 256), numbers(200)
    if change == "bfloat16":
        x, weight, bias = x.bfloat16(), weight.bfloat16(), bias.bfloat16()
    if change == "no oneDNN":
        monkeypatch.setattr(products, "_has_onednn", lambda: False)
    assert products._torch_linear(x, weight, bias).equal(torch.nn.functional.linear(x, weight, bias))
    assert not asked
