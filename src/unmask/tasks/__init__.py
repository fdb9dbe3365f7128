"""Tasks: what texts become before a model reads them, and what its numbers mean; imports no framework."""

from collections.abc import Mapping
from typing import Any

from unmask.errors import UserError
from unmask.tasks.task import Task

NAMES = ("classify", "regress", "tag", "read", "choose")


def task_class(name: str, *, multi_label: bool = False) -> type[Task[Any, Any]]:
    """The task of that name."""
    from unmask.tasks.choose import Choose  # noqa: PLC0415  (a program needs one of them)
    from unmask.tasks.classify import Classify, MultiLabel  # noqa: PLC0415
    from unmask.tasks.read import Read  # noqa: PLC0415
    from unmask.tasks.regress import Regress  # noqa: PLC0415
    from unmask.tasks.tag import Tag  # noqa: PLC0415

    kinds: dict[str, type[Task[Any, Any]]] = {
        "classify": MultiLabel if multi_label else Classify,
        "regress": Regress,
        "tag": Tag,
        "read": Read,
        "choose": Choose,
    }
    if name not in kinds:
        raise UserError(f"There is no task {name!r}; choose among {', '.join(NAMES)}.")
    return kinds[name]


def task_of(
    head: str, classes: tuple[str, ...], problem: str | None, settings: Mapping[str, Any]
) -> Task[Any, Any] | None:
    """The task that a model with this head was trained for; None if the head is no task's.

    Args:
        head: of the model.
        classes: the labels in its config.json; their numbers stand in where it has none.
        problem: config.json's `problem_type`; if it is silent, one output means regression, as Hugging Face has it.
        settings: what the folder's task.json says.
    """
    if head not in ("classify", "tag", "read", "choose"):
        return None
    classes = classes or ("LABEL_0", "LABEL_1")
    if head == "classify" and (problem == "regression" or (problem is None and len(classes) == 1)):
        return task_class("regress")(classes, settings)
    named = classes if head in ("classify", "tag") else ()
    return task_class(head, multi_label=problem == "multi_label_classification")(named, settings)
