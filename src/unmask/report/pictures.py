"""The pictures of an evaluation, drawn with matplotlib: curves, clouds of points, histograms, the confusion matrix."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

# Fonts with Chinese characters that computers commonly have; matplotlib's own has none.
_WITH_HAN = (
    *("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei"),
    *("PingFang SC", "Heiti SC", "STHeiti", "Microsoft YaHei", "SimHei", "SimSun", "Arial Unicode MS"),
    *("Droid Sans Fallback",),
)
_MOST_POINTS = 2000
_BLUE, _GREY = "#1f6fb4", "#808080"


def new_figure(*, width: float = 5.2, height: float = 4.0) -> tuple[Any, Any]:
    """An empty figure and its axes. No pyplot: it keeps figures alive and is not safe in threads."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (slow to import)

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def svg(figure: Any) -> bytes:
    """The figure as SVG without a background, the same bytes every time."""
    import matplotlib  # noqa: PLC0415

    out = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "unmask"}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": "unmask"})
    return out.getvalue()


def draw_curve(
    x: np.ndarray, y: np.ndarray, *, x_label: str, y_label: str, chance: tuple[list[float], list[float]] | None
) -> bytes:
    """A curve of shares, such as ROC; `chance` is the line that guessing gives."""
    few = np.unique(np.linspace(0, len(x) - 1, min(len(x), _MOST_POINTS)).astype(int))
    figure, axes = new_figure()
    if chance is not None:
        axes.plot(*chance, color=_GREY, linestyle="--", linewidth=1, label="chance")
        axes.legend(frameon=False)
    axes.plot(np.asarray(x)[few], np.asarray(y)[few], color=_BLUE, linewidth=2)
    axes.set(xlabel=x_label, ylabel=y_label, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    return svg(figure)


def draw_reliability(confidence: np.ndarray, accuracy: np.ndarray, count: np.ndarray) -> bytes:
    """The accuracy in each bin of confidence; points are larger where more examples are."""
    figure, axes = new_figure()
    axes.plot([0, 1], [0, 1], color=_GREY, linestyle="--", linewidth=1, label="as sure as right")
    there = np.asarray(count) > 0
    confidence, accuracy, count = (np.asarray(values)[there] for values in (confidence, accuracy, count))
    sizes = 20 + 180 * count / max(1, count.max(initial=0))
    axes.plot(confidence, accuracy, color=_BLUE, linewidth=1)
    axes.scatter(confidence, accuracy, s=sizes, color=_BLUE, alpha=0.7)
    axes.set(xlabel="confidence", ylabel="accuracy", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes.legend(frameon=False)
    return svg(figure)


def draw_scatter(gold: np.ndarray, predicted: np.ndarray) -> bytes:
    """Predicted against gold values; many points become a bitmap inside the picture, which keeps it small."""
    figure, axes = new_figure()
    many = len(gold) > _MOST_POINTS
    axes.scatter(gold, predicted, s=6 if many else 14, alpha=0.25 if many else 0.5, color=_BLUE, rasterized=many)
    both = np.concatenate([gold, predicted])
    if len(both):
        ends = [both.min(), both.max()]
        axes.plot(ends, ends, color=_GREY, linestyle="--", linewidth=1, label="predicted = gold")
        axes.legend(frameon=False)
    axes.set(xlabel="gold", ylabel="predicted")
    return svg(figure)


def draw_histogram(values: np.ndarray, *, x_label: str) -> bytes:
    """How often values occur; the line is at 0."""
    figure, axes = new_figure(height=3.2)
    axes.hist(values, bins=min(40, max(5, int(np.sqrt(len(values))))), color=_BLUE, alpha=0.8)
    axes.axvline(0, color=_GREY, linestyle="--", linewidth=1)
    axes.set(xlabel=x_label, ylabel="examples")
    return svg(figure)


def draw_confusion(classes: Sequence[str], counts: np.ndarray) -> bytes:
    """The confusion matrix as PNG. Classes whose names no font can write are numbers, which the page explains."""
    font = font_for("".join(classes))
    names = [str(number) for number in range(1, len(classes) + 1)] if font is None else [_short(c) for c in classes]
    side = 2.5 + 0.45 * len(classes)
    figure, axes = new_figure(width=side + 0.5, height=side)
    axes.grid(visible=False)
    # The root, as in the page: rare confusions are seen too.
    strength = np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    axes.imshow(strength, cmap="Blues", vmin=0, vmax=1)
    for row, column in zip(*np.nonzero(counts), strict=True):
        color = "white" if strength[row, column] > 0.6 else "black"
        axes.text(column, row, f"{counts[row, column]:,}", ha="center", va="center", color=color, fontsize=8)
    # A class named `$x$` is no formula.
    style = {"parse_math": False, **({"family": font} if font else {})}
    axes.set_xticks(range(len(names)), names, rotation=90 if max(map(len, names), default=0) > 3 else 0, **style)
    axes.set_yticks(range(len(names)), names, **style)
    axes.set(xlabel="predicted", ylabel="gold")
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120, metadata={"Software": "unmask"})
    return out.getvalue()


def font_for(text: str) -> str | None:
    """The family of a font that has all characters of a text, if there is one among those that are looked at."""
    from matplotlib import font_manager  # noqa: PLC0415
    from matplotlib.ft2font import FT2Font  # noqa: PLC0415

    wanted = {ord(character) for character in text if not character.isspace()}
    paths = {font.name: font.fname for font in reversed(font_manager.fontManager.ttflist)}
    for family in ("DejaVu Sans", *_WITH_HAN):
        if family in paths and wanted <= FT2Font(paths[family]).get_charmap().keys():
            return family
    return None


def _short(name: str) -> str:
    one_line = " ".join(name.split())
    return one_line if len(one_line) <= 24 else f"{one_line[:23]}…"
