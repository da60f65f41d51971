"""The doctor: what may be wrong with a folder of ours, and how it is put right. The store itself needs none of it.

`check` looks in this order, since what comes later is made again from what came before:

    the store      its own file, what in its folders is not the store's, and what stands in the place of its folders
                   (`intruders`), which goes aside: from then on they count as missing
    runs           refs and data (`check_run`), data that no ref names (`check_orphan`); sources before their forks,
                   which read on in their data
    sessions       those whose whole folder is gone (`check_vanished`), from their runs; of the others session.json
                   (`lost_session_json`), segments (`lost_segments`), marks (`check_marks`) and markers, from each other
                   and from the runs; sources before their forks again, which go on without what is lost there
    results        archived outputs, which are made again from runs and segments

A record is mended under its lock: one problem, another look, until nothing is left that can be mended. As long as that
brings something about, the whole store is gone through again: an answer of a run is made from its session (`finished`).

A repair may be killed at any moment, so they all go by the same: what is damaged stays in its place until what is made
again is put over it, or until all that goes with it has gone; what points to others (a ref, session.json) is written
last, and a marker before it. So the next repair finds the same problem, or none.
"""
