"""One record of a store: its problems while others are at work, and how they are mended under its lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from stores.errors import RunLockedError, StoreError
from stores.file.doctor.ends import problems_of_ends
from stores.file.doctor.problem import Problem, told
from stores.file.locks import RunLock
from stores.file.root import Root
from stores.findings import Finding
from stores.oslock import Lock

MOST_BEHIND = 500
"""How many problems of one record are mended in a pass of those that came to light behind others. A lost segment is
found when the one before it is there again; on a disk that keeps nothing of what is written there is always a next."""


class Unit:
    """One record: how it is checked, and the lock under which it is mended."""

    def __init__(
        self,
        root: Root,
        places: Sequence[tuple[str, ...]],
        problems: Callable[[], list[Problem]],
        lock: Callable[[], Lock | RunLock],
        is_read: Callable[[], bool] = bool,
    ) -> None:
        """``places`` are where its files are, the one first that stands for it.

        ``is_read``: whether somebody who holds another lock is at work with what reads this one.
        """
        self._root = root
        self._places = places
        self._look = problems
        self._lock = lock
        self._is_read = is_read

    def problems(self) -> list[Problem]:
        """Looked for twice, so that a write that came in between is not taken for damage."""
        first = self._careful()
        return first and self._careful()

    def settled_problems(self) -> list[Problem]:
        """`problems`, but of what is in use only the damage: what looks left over there is somebody's work.

        It may have been in use until just now. So what is left over is there still when nobody is at work any more.
        """
        problems = self.problems()
        if not any(problem.is_leftover for problem in problems):
            return problems
        if self._lock().is_held() or self._is_read():
            return _damage(problems)
        left = {(problem.file, problem.what) for problem in self._careful()}
        return [problem for problem in problems if not problem.is_leftover or (problem.file, problem.what) in left]

    def _held_problems(self) -> list[Problem]:
        """The same under the record's lock, so that nobody's work ends between two looks."""
        problems = self._careful()
        has_leftovers = any(problem.is_leftover for problem in problems)
        return _damage(problems) if has_leftovers and self._is_read() else problems

    def _careful(self) -> list[Problem]:
        try:
            problems = self._look()
        except StoreError as error:
            problems = [told(error, self._root.part(*self._places[0]))]
        return problems and (problems_of_ends(self._root, self._places) or problems)

    def repair(self) -> list[Finding]:
        """Mend one problem after the other, until none is left that can be mended.

        Each can bring the next to light, up to `MOST_BEHIND`. One that is still there after it was mended is given up.
        """
        known = self.problems()
        if not known:
            return []
        with _held(self._lock) as reason:
            if reason:
                damage = _damage(self.problems())
                return [Finding(problem.file, f"{problem.what}; {reason}", False) for problem in damage]
            tried: dict[tuple[str, str], Finding] = {}
            problems = self._held_problems()
            for _ in range(len(known) + MOST_BEHIND):
                new = [problem for problem in problems if problem.mend and (problem.file, problem.what) not in tried]
                if not new:
                    break
                for problem in [one for one in new if one.is_batch] if new[0].is_batch else new[:1]:
                    tried[problem.file, problem.what] = mended(problem)
                problems = self._held_problems()
            left = {(problem.file, problem.what): problem for problem in problems}
            done = [finding for key, finding in tried.items() if key not in left or not finding.repairable]
            failed = {key for key, finding in tried.items() if not finding.repairable}
            return [*done, *(_as_is(problem) for key, problem in left.items() if key not in failed)]


def _damage(problems: list[Problem]) -> list[Problem]:
    return [problem for problem in problems if not problem.is_leftover]


def _as_is(problem: Problem) -> Finding:
    """One that is left: nothing can mend it, or it is still there after it was to be mended."""
    done = "it is still so after the repair" if problem.mend else None
    return replace(problem, mend=None).finding(done)


def mended(problem: Problem) -> Finding:
    """The problem as a finding, after it was mended where it can be. All else goes on where it cannot."""
    try:
        return problem.finding(problem.mend() if problem.mend else None)
    except StoreError as error:
        where = f" ({error.where})" if error.where else ""
        return Finding(problem.file, f"{problem.what}; it could not be mended: {error.message}{where}", False)


@contextmanager
def _held(lock: Callable[[], Lock | RunLock]) -> Iterator[str]:
    """The record's lock, and "" - or why it is left alone."""
    held = lock()
    try:
        taken = held.try_take()
    except (RunLockedError, StoreError) as error:
        yield f"left alone: {error.message}"
        return
    try:
        yield "" if taken else "left alone: it is in use"
    finally:
        if taken:
            held.release()
