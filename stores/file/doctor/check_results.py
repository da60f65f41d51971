"""What may be wrong with the archived outputs of a run."""

from __future__ import annotations

from stores.file.disk import Folder
from stores.file.doctor.problem import Problem, problems_of_files
from stores.file.results import RESULTS, read_result
from stores.file.root import Root


def problems_of_results(root: Root, name: str) -> list[Problem]:
    """Everything that is wrong with the outputs in the folder of that name."""

    def look(folder: Folder, file: str) -> None:
        read_result(folder, file)

    return problems_of_files(root, RESULTS, name, look=look)
