"""What the shell offers as values when Tab is pressed; imported only then, since a command must begin at once."""

from collections.abc import Callable
from typing import get_args, get_type_hints


def backends() -> list[str]:
    """The frameworks."""
    from unmask.backend import BACKENDS

    return list(BACKENDS)


def tasks() -> list[str]:
    """What `finetune` can train for."""
    from unmask.tasks import NAMES

    return list(NAMES)


def schemes() -> list[str]:
    """How entities are written as tags."""
    from unmask.tasks.schemes import SCHEMES

    return list(SCHEMES)


def kinds_of_files() -> list[str]:
    """Kinds of files with labelled examples."""
    from unmask.data.kinds import RECORD_KINDS

    return list(RECORD_KINDS)


def kinds_of_tokenizers() -> list[str]:
    """What `tokenizer train` makes."""
    from unmask.text.train import KINDS

    return list(KINDS)


def recipes() -> list[str]:
    """The recipes that come with unmask."""
    from unmask.train.recipe import names

    return names()


def of_recipe(key: str) -> Callable[[], list[str]]:
    """The values that a key of a recipe may have."""

    def values() -> list[str]:
        from unmask.train.recipe import Recipe

        return [str(value) for value in get_args(get_type_hints(Recipe)[key])]

    return values


def segmenters() -> list[str]:
    """What cuts Chinese into words, by name."""
    return ["auto", "rjieba", "jieba", "none"]
