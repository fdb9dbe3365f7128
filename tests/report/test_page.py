"""The page holds any text safely, shows the figures of metrics.json and needs nothing from anywhere else."""

import doctest
import json
import math
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from report.parsed import parse
from unmask.errors import UserError
from unmask.report import Confusion, Evaluation, Mark, Picture, Table, WorstError, pictures, write_evaluation
from unmask.report import page as module
from unmask.report.page import MOST_CHARACTERS, MOST_ERRORS, heat, language, page, shown, visible

SVG = b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><script>alert(1)</script></svg>"
NASTY = [
    "<script>alert(1)</script>",
    "</div></article></body><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" \' onload=\'x',
    "&lt;b&gt; &amp; &#60; {{ 7 * 7 }} {% raw %}",
    "nul \x00 escape \x1b[31m return \r\n delete \x7f next \x85 lone \ud800 not a character \uffff",
    "مرحبا שלום \u202e override \u2066 isolate",
    "👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301",
    "x" * 10_000,
    "<!-- comment --> <![CDATA[ x ]]> ]]> --> <?php ?>",
    "]]></style><style>*{display:none}",
    "",
]
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)


def evaluation(text="text", name="name", *, errors=None, metrics=None, **changes):
    """An evaluation with every kind of section; `text` and `name` stand wherever data may stand."""
    sections = [
        Table(f"Table {name}", [name, "Share"], [(text, 0.25), (name, None)], f"Note {text}", frozenset({"Share"})),
        Picture(f"Picture {name}", SVG, f"Alt {text}", text, "picture"),
        Confusion(f"Confusion {name}", [name, text], np.array([[3, 1], [0, 2]])),
    ]
    errors = [WorstError(name, text, text, name, 1.5, [Mark(1, 3, "gold", text)], text)] if errors is None else errors
    given = {
        **{"task": "classify", "model": name, "data": text, "n_examples": 1234, "main": "accuracy"},
        **{"metrics": metrics or {"accuracy": 0.912345, "mcc": -0.5}, "intervals": {"accuracy": (0.9, 0.925)}},
        **{"sections": sections, "errors": errors, "notes": [text]},
    }
    return Evaluation(**given | changes)


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_the_page_is_sound_whatever_the_data_holds(text, tmp_path, monkeypatch):
    # Otherwise only pages with names that no font has would say which class each number is.
    monkeypatch.setattr(module, "font_for", lambda text: None)
    html = write_evaluation(evaluation(text, text or "name"), tmp_path).read_bytes().decode()
    document = parse(html)
    assert not list(document.all("script"))
    if 3 <= len(text) <= 600:
        plain = parse(page(evaluation(), ["confusion.png"]))
        assert [element.tag for element in document.all()] == [element.tag for element in plain.all()]
    for element in document.all():
        assert not {name for name in element.attributes if name.startswith("on")}
    assert [element.text for element in document.all("h3")] == ([visible(text)] if text else [])
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]", html)


def test_nothing_comes_from_elsewhere(tmp_path):
    path = write_evaluation(evaluation("http://example.com/x.png", "https://example.com"), tmp_path)
    document = parse(path.read_text(encoding="utf-8"))
    for element in document.all():
        for name in ("src", "href", "action", "data", "poster", "background", "srcset", "xlink:href"):
            address = element.attributes.get(name)
            if address is None:
                continue
            if address.startswith("#"):
                assert address[1:] in {other.attributes.get("id") for other in document.all()}
            elif not address.startswith("data:image/"):
                assert (tmp_path / address).is_file()
    style = next(document.all("style")).text
    assert "@import" not in style
    assert "url(" not in style
    rule = next(meta for meta in document.all("meta") if meta.attributes.get("http-equiv"))
    assert rule.attributes["content"].startswith("default-src 'none'")


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(ANY_TEXT, st.integers(-2, 40), st.integers(0, 40), st.integers(-2, 40), st.integers(0, 40))
def test_highlighted_texts_are_the_texts(text, start, length, other_start, other_length):
    marks = [Mark(start, start + length, "gold", "A"), Mark(other_start, other_start + other_length, "predicted", text)]
    document = parse(page(evaluation(errors=[WorstError("place", text, "a", "b", 0.5, marks)]), ["confusion.png"]))
    assert [element.text for element in document.all("div", "text")] == [visible(text)]
    marked = "".join(element.text for element in document.all("mark", "gold") if element.parent.tag == "div")
    assert marked == visible(text[max(0, start) : max(0, start + length)])


@given(ANY_TEXT)
def test_what_cannot_be_seen_is_made_visible_in_its_place(text):
    assert len(visible(text)) == len(text)
    visible(text).encode()
    assert [a for a, b in zip(text, visible(text), strict=True) if a != b and a.isprintable()] == []


def test_figures_are_those_of_metrics_json(tmp_path):
    metrics = {"accuracy": 0.912345, "mcc": -0.01, "ece": 0.00012, "rmse": 1234.5, "nothing": math.nan}
    path = write_evaluation(evaluation(metrics=metrics), tmp_path)
    written = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert written["metrics"] == metrics | {"nothing": None}
    assert written["intervals"] == {"accuracy": [0.9, 0.925]}
    assert set(written) == {"task", "model", "data", "n_examples", "metrics", "intervals", "tables", "confusion"}
    assert written["tables"] == {"Table name": [{"name": "text", "Share": 0.25}, {"name": "name", "Share": None}]}
    document = parse(path.read_text(encoding="utf-8"))
    table = next(document.all("table", "figures"))
    rows = [[(d.attributes["value"], d.text) for d in row.all("data")] for row in table.all("tr")][1:]
    assert rows[0] == [("0.912345", "0.912"), ("0.9", "0.900"), ("0.925", "0.925")]
    assert [float(row[0][0] or "nan") for row in rows] == pytest.approx(list(metrics.values()), nan_ok=True)
    assert [row[0][1] for row in rows] == ["0.912", "-0.010", "1.20e-04", "1,234", "–"]
    main = next(document.all("p", "main"))
    assert [d.attributes["value"] for d in main.all("data")] == ["0.912345", "0.9", "0.925"]


def test_tables_and_pictures_can_be_read_aloud():
    document = parse(page(evaluation(), ["confusion.png"]))
    tables, images = list(document.all("table")), list(document.all("img"))
    assert len(tables) == 3
    assert len(images) == 1
    assert all(len(list(table.all("caption"))) == 1 for table in tables)
    assert all(th.attributes["scope"] in ("col", "row") for th in document.all("th"))
    assert images[0].attributes["alt"] == "Alt text"
    assert next(document.all("html")).attributes["lang"] == "en"
    ids = [element.attributes["id"] for element in document.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    levels = [int(element.tag[1]) for element in document.all() if re.fullmatch("h[1-6]", element.tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize(
    ("text", "told"), [("我爱北京", "zh"), ("plain", ""), ("これは本", "ja"), ("한국어", "ko"), ("𠀀", "zh"), ("", "")]
)
def test_texts_tell_their_language(text, told):
    assert language(text) == told
    errors = [WorstError("place", text, "a", "b", 1.0)]
    div = next(parse(page(evaluation(errors=errors), ["confusion.png"])).all("div", "text"))
    assert div.attributes["lang"] == told
    assert div.attributes["dir"] == "auto"


def test_the_confusion_matrix_has_its_counts_names_and_colours():
    confusion = Confusion("Confusion", ["体育", "财经", "never"], np.array([[3, 1, 0], [0, 20, 0], [0, 0, 0]]))
    table = next(parse(page(evaluation(sections=[confusion]), ["confusion.png"])).all("table", "confusion"))
    rows = [[td.text for td in row.all("td")] for row in table.all("tr")][1:]
    assert rows == [["3", "1", "0"], ["0", "20", "0"], ["0", "0", "0"]]
    heads = [th.text for th in table.all("th")]
    assert heads == ["gold ↓ predicted →", *(["体育", "财经", "never"] * 2)]
    assert [[share for _, share in row] for row in heat(confusion)] == [[0.866, 0.5, 0], [0, 1, 0], [0, 0, 0]]


def test_numbers_stand_for_classes_only_where_the_picture_has_them(monkeypatch):
    monkeypatch.setattr(pictures, "_WITH_HAN", ())
    for classes, told in ((["0", "1"], []), (["体育", "1"], ["1 = 体育,", "2 = 1."])):
        confusion = Confusion("Confusion", classes, np.array([[3, 1], [0, 2]]))
        document = parse(page(evaluation(sections=[confusion]), ["confusion.png"]))
        heads = [th.text for th in next(document.all("table", "confusion")).all("th")]
        assert heads[1:] == classes * 2
        assert [span.text for span in document.all("span", "numbered")] == told
        assert ("the picture has numbers in their place" in document.text) == bool(told)


def test_the_class_that_figures_are_about_is_named():
    figures = {"accuracy": 0.9, "precision": 0.8}
    for positive, told in ((None, "Share of what was found that is right."), ("<b>", "found as '<b>' that is right.")):
        document = parse(page(evaluation(metrics=figures, positive=positive), ["confusion.png"]))
        assert [span.text for span in document.all("span", "meaning")][1].endswith(told)


def test_fifty_errors_are_shown_and_all_are_counted():
    errors = [WorstError(f"line {n}", "text", "a", "b", 1.0) for n in range(1200)]
    document = parse(page(evaluation(errors=errors), ["confusion.png"]))
    assert len(list(document.all("article"))) == MOST_ERRORS
    assert "The 50 worst of 1,200 errors" in document.text
    assert "There are none." in parse(page(evaluation(errors=[]), ["confusion.png"])).text


def test_a_long_text_is_shortened_and_can_be_unfolded():
    text = "word " * 1000 + "answer" + " word" * 1000
    errors = [WorstError("place", text, "a", "b", 1.0, [Mark(5000, 5006, "gold", "gold")])]
    document = parse(page(evaluation(errors=errors), ["confusion.png"]))
    short, whole = document.all("div", "text")
    assert len(short.text) < 700
    assert "answer" in short.text
    assert len(list(short.all("span", "gap"))) == 2
    assert whole.parent.tag == "details"
    assert whole.text == text


def test_a_text_without_end_does_not_fill_the_page():
    errors = [WorstError("place", "word " * MOST_CHARACTERS, "a", "b", 1.0)]
    document = parse(page(evaluation(errors=errors), ["confusion.png"]))
    _, whole = document.all("div", "text")
    assert len(whole.text) == MOST_CHARACTERS
    assert [span.attributes["data-label"] for span in whole.all("span")] == ["…"]
    assert "500,000 characters" in document.text


def test_the_same_evaluation_gives_the_same_files(tmp_path):
    for folder in ("one", "two/deep"):
        write_evaluation(evaluation(), tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["confusion.png", "evaluation.html", "metrics.json", "picture.svg"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two/deep" / name).read_bytes()


def test_several_confusions_have_files_of_their_own(tmp_path):
    two = [Confusion("One", ["a"], np.array([[1]])), Confusion("Two", ["b"], np.array([[2]]))]
    document = parse(write_evaluation(evaluation(sections=two), tmp_path).read_text(encoding="utf-8"))
    links = [a.attributes["href"] for a in document.all("a") if not a.attributes["href"].startswith("#")]
    assert links == ["confusion.png", "confusion-2.png"]
    assert all((tmp_path / link).is_file() for link in links)


def test_what_is_replaced_is_told(tmp_path, caplog):
    write_evaluation(evaluation(), tmp_path)
    assert caplog.messages == []
    write_evaluation(evaluation(), tmp_path)
    assert caplog.messages == [
        f"{tmp_path} has evaluation.html and metrics.json already, which this evaluation replaces."
    ]
    (tmp_path / "evaluation.html").unlink()
    write_evaluation(evaluation(), tmp_path)
    assert caplog.messages[1:] == [f"{tmp_path} has metrics.json already, which this evaluation replaces."]


def test_a_file_in_the_folders_place_is_refused(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(UserError, match=r"taken is a file; the evaluation needs a folder\."):
        write_evaluation(evaluation(), tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_models_figures_of_training_are_not_overwritten(tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "config.json").write_text("{}")
    with pytest.raises(UserError, match=r"taken is a model's folder; choose another for the evaluation"):
        write_evaluation(evaluation(), tmp_path / "taken")


def test_figures_of_reading_are_per_cent():
    figures = {"f1": 80.5, "exact_match": 0.0}
    document = parse(page(evaluation(metrics=figures, task="read", main="f1", intervals={}), ["confusion.png"]))
    table = next(document.all("table", "figures"))
    assert "in per cent" in next(table.all("caption")).text
    assert [d.text for d in table.all("data")] == ["80.50", "0.00"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (1, "1"),
        (1.0, "1.000"),
        (81.234, "81.23"),
        (-12345.6, "-12,346"),
        (3e9, "3.00e+09"),
        (math.inf, "–"),
        (0.0, "0.000"),
    ],
)
def test_figures_as_people_read_them(value, told):
    assert shown(value) == told


def test_examples_in_the_docstrings():
    assert doctest.testmod(module).attempted == 1
    assert doctest.testmod(module).failed == 0
