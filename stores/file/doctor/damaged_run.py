"""What becomes of a run of which a save is damaged, its own or one that it shares. The first of these that can be:

    it answers      its session holds it as finished: an answer is made of that, and what is left goes aside
    it is cut back  to the saves before the damage, and those in front of it in the same chunk
    it goes aside   whole, with the session that was forked for it and holds nothing else: its id is free

Of a fork, saves of its source alone are none of its own.
A history that was kept of a run that is gone has no id to answer, nor one that starts over: it is cut back or told of.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

from stores import codec
from stores.errors import StoreError
from stores.file.doctor.finished import is_finished, set_finished_aside
from stores.file.doctor.lost_refs import examine
from stores.file.doctor.problem import NO_DAMAGE, Problem, told
from stores.file.doctor.quarantine import moved, set_aside
from stores.file.doctor.salvage import Salvage, salvage
from stores.file.locks import SESSIONS, lock_of
from stores.file.markers import marker_folder
from stores.file.names import chunk_name, chunk_number, name_of
from stores.file.refs import Ref
from stores.file.root import Root
from stores.file.session_forking import bare_fork
from stores.findings import CAN_ANSWER, STARTS_OVER, lost_run
from stores.ids import as_words


def problem_of_damage(root: Root, ref: Ref, fresh: Ref, error: StoreError) -> Problem:
    """What to say of what `examine` has found wrong; ``fresh`` is the ref as the saves before that have it."""
    own = root.part("data", ref.key)
    file = error.where or own
    if isinstance(error, NO_DAMAGE):
        return told(error, file)
    is_shared = "/" in file and not file.startswith(own)
    whose = "the history kept of fork" if ref.is_deleted else "fork"
    what = f"{error.message}, which {whose} {ref.run_id!r} shares" if is_shared else error.message
    number = None if is_shared else chunk_number(os.path.basename(file))
    found = salvage(root, ref.run_id, ref.key, number) if number else None
    is_forks_own_lost = is_shared or (found is not None and _is_fork_lost(ref, found))
    kept = 0 if is_forks_own_lost else found.last if found else fresh.save
    if ref.is_deleted and not kept:
        outlook = f"no save of the history kept of run {ref.run_id!r} can be read: remove it with: lovia rm "
        return Problem(file, what, outlook=outlook + as_words(f"run:{ref.run_id}"))
    back = partial(_cut_back, root, ref, fresh, found)
    if not ref.is_deleted and is_finished(root, ref):
        stays = is_shared or found is not None or fresh.save > 0
        answer = partial(set_finished_aside, root, ref, back, stays=stays)
        return Problem(file, error.message, answer, outlook=CAN_ANSWER)
    if is_forks_own_lost:
        return _lost_fork(root, ref, file, what)
    if not kept:
        mend = partial(_all_aside, root, ref, f"no save of run {ref.run_id!r} can be kept: it was", STARTS_OVER)
        return Problem(file, what, mend, outlook=lost_run(ref.run_id), is_lost=True)
    doubt = f" ({found.first} to {found.last} are whole lines that no checksum vouches for)" if found else ""
    mend = partial(back, f"saves 1 to {kept} of run {ref.run_id!r} were kept{doubt}")
    return Problem(file, error.message, mend, outlook=f"saves 1 to {kept} can be kept{doubt}")


def _is_fork_lost(ref: Ref, found: Salvage) -> bool:
    """True when the save that forks is not among those of the first chunk: they say another parent then, or none."""
    parent = None
    for record in codec.decode(found.data, "chunk", where="")["records"]:
        parent = (record.get("head") or {}).get("parent", parent)
    return found.n == 1 and parent != ref.fields.get("parent")


def _lost_fork(root: Root, ref: Ref, file: str, what: str) -> Problem:
    """What is left of the fork is a part of its source, in its source's session."""
    done = f"fork {ref.run_id!r} cannot be kept without it: its data was"
    outlook = f"no save of its own is left of fork {ref.run_id!r}; with --repair it would go aside as a whole"
    mend = partial(_all_aside, root, ref, done, "and its id is free")
    return Problem(file, what, mend, outlook=outlook, is_lost=True)


def _all_aside(root: Root, ref: Ref, done: str, end: str) -> str:
    """Data, session and ref, which goes last: until then the run is damaged, and all of this is done again."""
    done += f" {set_aside(root, 'data', ref.key) or 'gone'}{_with_session(root, ref, end)}"
    set_aside(root, "runs", f"{name_of(ref.run_id)}.json")
    return done


def _with_session(root: Root, ref: Ref, end: str) -> str:
    """The session that was forked for the run goes aside with it; the ``end`` of the sentence that says so.

    But it stays where there is more in it: a segment of its own, or another run.
    """
    if ref.session_id is None or not ref.fields.get("parent"):
        return f", {end}"
    name = name_of(ref.session_id)
    with root.make_folder(*SESSIONS) as locks:
        lock = lock_of(locks.path, name)
    if not lock.try_take():
        return "; its session stays"
    try:
        if not _is_only_in(root, ref, ref.session_id):
            return "; its session stays"
        return f", its session was {set_aside(root, 'sessions', name) or 'gone'}, {end}"
    finally:
        lock.release()


def _is_only_in(root: Root, ref: Ref, session_id: str) -> bool:
    """True when nothing is in the session but what it began with, and the run."""
    with suppress(StoreError), root.open_folder(*marker_folder(session_id)) as markers:
        others = {f"{name}.json" for name in markers.records()} if markers else set()
        return not others - {f"{name_of(ref.run_id)}.json"} and bare_fork(root, session_id) is not None
    return False


def _cut_back(root: Root, ref: Ref, fresh: Ref, found: Salvage | None, done: str = "") -> str:
    """Keep the saves before the damage: the chunks from there on go aside, and the ref back to what is left."""
    aside = None
    with root.make_folder("data", ref.key) as data:
        if found:
            aside = set_aside(root, "data", ref.key, chunk_name(found.n), keep=True)
            data.write(chunk_name(found.n), found.data)
            fresh = examine(root, ref)[0]
        for number in sorted(number for entry in data.names() if (number := chunk_number(entry))):
            if number > fresh.tail:
                moved_now = set_aside(root, "data", ref.key, chunk_name(number))
                aside = aside or moved_now
        data.sync()
        if ref.is_deleted:
            fresh.fields["status"] = ref.status  # its data does not know
        with root.make_folder("runs") as runs:
            fresh.write(runs, by=data)
    return done + moved(aside)
