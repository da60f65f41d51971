"""What may be wrong with the archived outputs of a run."""

from __future__ import annotations

from functools import partial

from stores.errors import StoreError, StoreUnreadableError, StoreVersionError
from stores.file.disk import TEMP
from stores.file.doctor.quarantine import Problem, set_aside, unfinished_write
from stores.file.results import RESULTS, read_result
from stores.file.root import Root


def problems_of_results(root: Root, name: str) -> list[Problem]:
    """Everything that is wrong with the outputs in the folder of that name."""
    problems = []
    with root.open_folder(RESULTS, name) as folder:
        for entry in sorted(folder.names()) if folder else ():
            if folder is None:
                break
            where = folder.where(entry)
            if entry.endswith(TEMP):
                problems.append(unfinished_write(root, RESULTS, name, entry))
                continue
            try:
                read_result(folder, entry)
            except (StoreUnreadableError, StoreVersionError) as error:
                problems.append(Problem(where, error.message))
            except StoreError as error:
                problems.append(Problem(where, error.message, partial(set_aside, root, RESULTS, name, entry)))
    return problems
