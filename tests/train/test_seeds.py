"""Several seeds: mean, deviation and the best of them; finished ones are not trained again."""

import json
import statistics

import pytest

from unmask import UserError, load
from unmask.train import seeds
from unmask.train.finetune import finetune
from unmask.train.seeds import finetune_seeds

pytestmark = pytest.mark.backend


@pytest.mark.skipif("config.getoption('--backend') not in (None, 'torch')", reason="compiling is slow")
def test_two_seeds_with_a_stop_between(tuned, tmp_path, monkeypatch):
    out, tuning = tmp_path / "out", tuned.tuning(epochs=1)
    begun = []

    def stops(*arguments, **options):
        begun.append(arguments[3].seed)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return finetune(*arguments, **options)

    monkeypatch.setattr(seeds, "finetune", stops)
    with pytest.raises(KeyboardInterrupt):
        finetune_seeds(tuned.data("classify"), str(tuned.base), out, tuning, n=2)
    with pytest.raises(UserError, match="holds a run that has not ended; run its command again"):
        load(out)
    first = (out / "seeds" / "0" / "model.safetensors").stat().st_mtime_ns
    finetune_seeds(tuned.data("classify"), str(tuned.base), out, tuning, n=2)
    assert begun == [0, 1, 0, 1]
    assert (out / "seeds" / "0" / "model.safetensors").stat().st_mtime_ns == first
    each = [json.loads((out / "seeds" / str(n) / "metrics.json").read_text()) for n in (0, 1)]
    found = json.loads((out / "metrics.json").read_text())
    values = [one["accuracy"] for one in each]
    assert found["seeds"]["accuracy"] == {
        "mean": statistics.mean(values),
        "deviation": statistics.stdev(values),
        "values": values,
    }
    best = found["best_seed"]
    assert found["accuracy"] == max(values) == values[best]
    weights = [(folder / "model.safetensors").read_bytes() for folder in (out, out / "seeds" / str(best))]
    assert weights[0] == weights[1]
    assert (out / "run.json").read_bytes() == (out / "seeds" / str(best) / "run.json").read_bytes()
    assert not {".lock", ".saving"} & {path.name for path in out.iterdir()}
    plans = [json.loads((out / "seeds" / str(n) / "run.json").read_text()) for n in (0, 1)]
    assert [plan["recipe"]["split_seed"] for plan in plans] == [0, 0]  # the same examples are held out
    others = [(out / "seeds" / str(n) / "model.safetensors").read_bytes() for n in (0, 1)]
    assert others[0] != others[1]


def test_folders_of_others(tuned, tmp_path):
    with pytest.raises(UserError, match="holds a run of one seed; choose another --out for 3 seeds"):
        finetune_seeds(tuned.data("classify"), str(tuned.base), tuned("classify"), tuned.tuning(epochs=6), n=3)
    (tmp_path / "seeds" / "4").mkdir(parents=True)
    with pytest.raises(UserError, match="holds a run of seeds from 4 on; choose another --out for 0 and on"):
        finetune_seeds(tuned.data("classify"), str(tuned.base), tmp_path, tuned.tuning(), n=3)
    (tmp_path / "seeds" / "4").rmdir()
    (tmp_path / "seeds").rmdir()
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(UserError, match=r"holds something already \(mine.txt\)"):
        finetune_seeds(tuned.data("classify"), str(tuned.base), tmp_path, tuned.tuning(), n=3)
