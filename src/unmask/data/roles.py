"""The roles that columns play in a task, and those that were found for them so far; what is missing is asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unmask.data import contents
from unmask.data import names as known
from unmask.data.readers import Record
from unmask.errors import UserError

ROLES: dict[str, tuple[str, ...]] = {
    "classify": ("text", "pair", "label"),
    "regress": ("text", "pair", "label"),
    "tag": ("text", "tokens", "tags", "spans"),
    "read": ("question", "context", "answers", "id"),
    "choose": ("context", "question", "choices", "label"),
}
"""The roles that columns have in each task."""
ANSWERS = ("label", "tags", "spans", "answers")
"""Those of the right answer, which nobody looks at where a model answers."""
NO_COLUMN = ""
"""What is said for a role that no column is to play; people say "none"."""
_NONE = (NO_COLUMN, "none")


def shown(column: str) -> str:
    """A column as messages call it: by its name, or by its number if it has none."""
    return f"column {column}" if column.isdecimal() else repr(column)


class Roles:
    """Roles and the columns that were found for them so far."""

    def __init__(
        self, task: str, names: Sequence[str], sample: Sequence[Record], said: Mapping[str, Any], *, labelled: bool
    ) -> None:
        if task not in ROLES:
            raise UserError(f"There is no task {task!r}; choose among {', '.join(ROLES)}.")
        self.task, self.names, self.labelled = task, list(names), labelled
        self.also = set(sample[0].values) if sample else set()
        """What may be said besides: CoNLL columns by their numbers, those of tokens and tags too."""
        self.places = [record.place for record in sample]
        self.values = {name: [_value(record, name) for record in sample] for name in names}
        self.bytes = {name for name, values in self.values.items() if any(isinstance(value, bytes) for value in values)}
        """Columns that hold no text, such as images, or text in another encoding."""
        self.empty = {
            name for name, values in self.values.items() if name.isdecimal() and values and not contents.filled(values)
        }
        """Columns without a name and without content, which spreadsheets leave behind."""
        self.plain = {known.plain(name): name for name in reversed(self.names)}
        self.found: dict[str, str] = {}
        self.guessed: dict[str, str] = {}
        self.unwanted: set[str] = set()
        self.answers: set[str] = set()
        """Columns of answers that are not looked at."""
        for role, column in said.items():
            if column is None:
                continue
            if role not in ROLES[task]:
                wanted = ", ".join(f"--{one}" for one in ROLES[task])
                raise UserError(f"--{role} has no meaning for {task}, which knows {wanted}.")
            # A column may be named `none`, as a label is; a second text hardly is, and then it has a number.
            if column in _NONE and (role == "pair" or column not in self.names):
                self.unwanted.add(role)
            elif not labelled and role in ANSWERS:
                name = self._said(role, column)
                self.answers.update((name, *name.split(",")))
            else:
                self.found[role] = self._said(role, column)
        self._refuse_double()

    def _refuse_double(self) -> None:
        taken: dict[str, str] = {}
        for role, column in self.found.items():
            for name in column.split(",") if column not in self.names else [column]:
                if (other := taken.setdefault(name, role)) != role:
                    raise UserError(f"--{other} and --{role} are both {name!r}; each needs a column of its own.")

    def _said(self, role: str, column: Any) -> str:
        wanted = [column] if not isinstance(column, list | tuple) else list(column)
        if role in ("choices", "label") and len(wanted) == 1 and wanted[0] not in self.names:
            wanted = [part.strip() for part in str(wanted[0]).split(",")]
        return ",".join(self._existing(role, str(name)) for name in wanted)

    def _existing(self, role: str, name: str) -> str:
        if name in self.names or name in self.also:
            return name
        if name.isdecimal() and 1 <= int(name) <= len(self.names):
            return self.names[int(name) - 1]
        raise UserError(f"There is no column {name!r} for --{role}, only {', '.join(self.names) or 'none'}.")

    def open(self, role: str) -> bool:
        """Whether a column is still to be found for the role."""
        return role not in self.found and role not in self.unwanted

    def free(self) -> list[str]:
        """The columns that play no role yet."""
        taken = {name for column in self.found.values() for name in (column, *column.split(","))}
        free = [name for name in self.names if name not in taken | self.empty]
        # If there is no other column, it must be what is asked, whatever had its number in training.
        return [name for name in free if name not in self.answers] or free

    def guess(self, role: str, column: str | None) -> bool:
        """Gives the role to a column, if there is one and nothing was said of the role."""
        if column is None or not self.open(role):
            return False
        self.found[role] = self.guessed[role] = column
        return True

    def by_name(self, likely: Sequence[str], test: Callable[[list[Any]], bool] = lambda _: True) -> str | None:
        """The free column with the likeliest name whose values pass a test."""
        free = set(self.free()) - self.bytes
        named = (self.plain[name] for name in likely if name in self.plain)
        return next((name for name in named if name in free and test(self.values[name])), None)

    def by_ending(self, endings: Sequence[str], test: Callable[[list[Any]], bool] = lambda _: True) -> list[str]:
        """The free columns whose values pass a test and whose names end in the likeliest word that any ends in."""
        names = [name for name in self.free() if name not in self.bytes and not known.is_measure(name)]
        names = [name for name in names if test(self.values[name])]
        found = ([name for name in names if known.ends_in(name, word)] for word in endings)
        return next(filter(None, found), [])

    def must(self, role: str) -> None:
        """Asks for the column of a role that none was found for."""
        if not self.open(role):
            return
        names, free = ", ".join(self.names), ", ".join(self.free())
        if free and role == "choices":
            raise UserError(
                f"Where are the choices? Say --choices with a column of lists, or several, a,b,c, of {free}."
            )
        if free:
            raise UserError(f"Which column holds the {role}? Say --{role} with one of {free}.")
        said = [f"the {one} is {shown(column)}" for one, column in self.found.items() if one not in self.guessed]
        if said:
            raise UserError(
                f"No column is left for the {role}: {' and '.join(said)}, and there are only {names}; each role needs "
                "a column of its own."
            )
        raise UserError(f"There is no column for the {role}, only {names}; the data must have one.")

    def must_fit(self, role: str, likely: Sequence[str], test: Callable[[list[Any]], bool], what: str) -> None:
        """Tells what is wrong with the column that has a name for the role, or is the only one left."""
        free = self.free()
        name = self.by_name(likely) or (free[0] if len(free) == 1 else None)
        if not self.open(role) or name is None:
            return
        begin, values = f"No column holds {what}s for the {role}: {name!r} looks like the one, but", self.values[name]
        for value, place in zip(values, self.places, strict=True):
            if contents.filled([value]) and not test([value]):
                remedy = contents.without_comma(str(value)) or f"mend it, or say another column with --{role}"
                raise UserError(f"{begin} {str(value)[:60]!r} ({place}) is no {what}; {remedy}.")
        if n_empty := len(values) - len(contents.filled(values)):
            raise UserError(f"{begin} {n_empty} of its first {len(values)} are empty; leave those out.")

    def refuse_bytes(self) -> None:
        """What a model is to read must be text."""
        for role, column in self.found.items():
            for name in self.bytes.intersection((column, *column.split(","))):
                raise UserError(
                    f"The column {name!r} for --{role} holds bytes that cannot be read as text; give its --encoding, "
                    "such as gb18030, big5, utf-16 or latin-1, or another column."
                )


def _value(record: Record, name: str) -> Any:
    return record.values.get(name)
