"""Pictures are drawn for any data, and the same way each time."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from unmask.report import pictures
from unmask.report.pictures import draw_confusion, draw_curve, draw_histogram, draw_reliability, draw_scatter, font_for


def curve(n):
    x = np.linspace(0, 1, n)
    return draw_curve(x, x**2, x_label="x", y_label="y", chance=([0, 1], [0, 1]))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: curve(50),
        lambda: draw_reliability(np.array([0.3, 0.9]), np.array([0.5, 1.0]), np.array([4, 0])),
        lambda: draw_reliability(np.zeros(3), np.zeros(3), np.zeros(3)),
        lambda: draw_scatter(np.array([1.0, 1.0]), np.array([1.0, 1.0])),
        lambda: draw_scatter(np.array([]), np.array([])),
        lambda: draw_histogram(np.array([0.0]), x_label="x"),
        lambda: draw_histogram(np.zeros(100), x_label="x"),
    ],
)
def test_pictures_are_svg_and_the_same_each_time(draw):
    picture = draw()
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert draw() == picture


def test_pictures_of_many_points_stay_small():
    many = np.random.default_rng(0).normal(size=(2, 200_000))
    assert len(draw_scatter(*many)) < 500_000
    assert len(curve(500_000)) < 200_000


@pytest.mark.parametrize(
    "classes", [["a", "b"], ["$x^2$", "\\frac{$"], ["体育", "财经"], ["long " * 30, "line\nbreak"], ["", " "], ["only"]]
)
def test_any_name_of_a_class_can_be_drawn(classes, recwarn):
    counts = np.arange(len(classes) ** 2).reshape(len(classes), -1)
    image = Image.open(io.BytesIO(draw_confusion(classes, counts)))
    assert image.format == "PNG"
    assert min(image.size) > 100
    assert not [warning for warning in recwarn if "Glyph" in str(warning.message)]


def test_a_font_is_taken_only_if_it_has_every_character(monkeypatch):
    monkeypatch.setattr(pictures, "_WITH_HAN", ())
    assert font_for("plain été") == "DejaVu Sans"
    assert font_for("体育") is None
    assert font_for("plain 体") is None
    assert font_for("") == "DejaVu Sans"


def test_names_that_no_font_has_become_numbers(monkeypatch):
    monkeypatch.setattr(pictures, "_WITH_HAN", ())
    counts = np.array([[3, 1], [0, 2]])
    assert draw_confusion(["体育", "财经"], counts) == draw_confusion(["1", "2"], counts)
