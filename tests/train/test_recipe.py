"""Recipes: every one of ours is read, unknown keys fail with a suggestion, the command line wins."""

import pytest

from unmask import UserError
from unmask.train.recipe import Recipe, differences, names


@pytest.mark.parametrize("name", names())
def test_every_recipe_of_ours_is_one(name):
    recipe = Recipe.read(name)
    config = recipe.config(n_ids=1000)
    assert config.family == recipe.family
    assert config.max_positions == (recipe.max_positions or recipe.length)


def test_the_papers_figures():
    """RoBERTa, table 9, base; BERT, section A.2."""
    roberta, bert = Recipe.read("roberta"), Recipe.read("bert")
    assert (roberta.peak_rate, roberta.warmup, roberta.steps) == (6e-4, 24_000, 500_000)
    assert (roberta.beta_1, roberta.beta_2, roberta.epsilon, roberta.weight_decay) == (0.9, 0.98, 1e-6, 0.01)
    assert roberta.batch_tokens == 8192 * 512
    assert (bert.peak_rate, bert.warmup, bert.steps, bert.batch_tokens) == (1e-4, 10_000, 1_000_000, 256 * 512)
    assert (bert.objective, bert.input_format, bert.masking, bert.static_masks) == (
        "mlm+nsp",
        "segment-pair",
        "static",
        10,
    )


def test_the_command_line_wins(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('size = "tiny"\nsteps = 50\nlength = 64\n')
    recipe = Recipe.read(str(file), length=128, epochs=2.0, seed=None)
    assert (recipe.size, recipe.length, recipe.steps, recipe.epochs) == ("tiny", 128, None, 2.0)


def test_a_new_width_brings_its_heads():
    config = Recipe.read("roberta-mini", d_model=384, n_layers=6).config(n_ids=500)
    assert (config.n_heads, config.d_ff, config.n_layers) == (6, 1536, 6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("batch_token = 5", "unknown key 'batch_token'; did you mean batch_tokens?"),
        ("steps = 'many'", "steps is 'many', but must be a whole number"),
        ("masking = 'dynamik'", "must be one of dynamic, static; did you mean dynamic?"),
        ("steps = 5\nepochs = 1", "steps and epochs are both given"),
        ("objective = 'mlm+nsp'", "Next-sentence prediction needs pairs"),
        ("input_format = 'segment-pair'", "is for --objective mlm\\+nsp"),
        ("peak_rate = 0", "peak_rate is 0, but must be more than 0"),
        ("beta_2 = 1.5", "beta_2 is 1.5"),
        ("checkpointing = 1", "checkpointing is 1, but must be true or false"),
        ("epochs = inf", "epochs is inf, but must be a finite number"),
        ("masked = nan", "masked is nan, but must be a finite number"),
        ("length = 100000", "length is 100000, but must not be above 65,536"),
        ("steps = 10\nwarmup = 20", "warmup is 20 of 10 steps; it must be shorter than the run"),
        ("objective = 'mlm+nsp'\ninput_format = 'segment-pair'", "know no roberta with next-sentence prediction"),
        ("steps = [", "is not valid TOML"),
    ],
)
def test_one_sentence_for_each_mistake(tmp_path, content, message):
    file = tmp_path / "wrong.toml"
    file.write_text(content)
    with pytest.raises(UserError, match=message):
        Recipe.read(str(file))


def test_warm_up_keeps_its_share_where_the_run_has_another_length():
    assert Recipe.read("roberta", epochs=3).warmup == pytest.approx(0.048)
    assert Recipe.read("bert", hours=1).warmup == pytest.approx(0.01)
    assert Recipe.read("roberta", steps=400_000).warmup == 24_000
    assert Recipe.read("roberta", epochs=3, warmup=7).warmup == 7


def test_a_model_to_go_on_from_has_a_shape():
    with pytest.raises(UserError, match="size is that of the model to go on from, mine; leave it out"):
        Recipe.read("roberta-tiny", model="mine", size="large")
    recipe = Recipe.read("bert-mini", model="mine", dropout=0.3)
    assert (recipe.size, recipe.initializer_range, recipe.dropout) == (Recipe().size, None, 0.3)


def test_no_such_recipe():
    with pytest.raises(UserError, match="There is no recipe and no file roberta-minni; did you mean roberta-mini"):
        Recipe.read("roberta-minni")


def test_differences_are_told_in_words():
    one, other = Recipe.read("roberta-tiny").to_json(), Recipe.read("roberta-tiny", steps=7, save_every=3).to_json()
    assert differences(one, other, free=("save_every",)) == ["steps was 6000 and is 7"]
    assert differences({"train": "0" * 64}, {"train": "f" * 64}) == ["the content of train is another"]
    assert differences({"dev": "0" * 64}, {"dev": None}) == ["dev was a file and is not given"]
    assert differences({"dev": None}, {"dev": "0" * 64}) == ["dev was not given and is a file"]
