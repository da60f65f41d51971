#!/usr/bin/env python3
"""powerloss.py - ALICE-like power-loss explorer without kernel modules (no root needed).

Records the state-changing syscalls of --run (engine: crash_sweep.Tracer), then rebuilds the store
as it may look after a power cut following any op k: every op that an fsync made durable by k is
kept; of the others ("volatile") some are dropped, torn or zero-filled, per --model:

  posix  weakest reading of POSIX. Data durable only by fsync/fdatasync of that file (or O_SYNC);
         a directory entry (creat, rename, link, unlink, mkdir) durable only by fsync of its directory.
         Volatile ops persist in any combination: none / all / all-but-one / only-one / random ones.
  ext4   data=ordered, delayed allocation, no auto_da_alloc heuristics: metadata ops persist as an
         ordered PREFIX, any fsync commits all earlier metadata; un-fsynced data may be absent
         (zero-length file behind a renamed name), complete, or half.
Distinct (store state, acknowledged stdout) pairs are each materialised and checked once.
The check protocol is crash_sweep.py's (env CRASH_STDOUT = what had been printed by op k).

  --check-server CMD  instead of one process per state: CMD is started once per job, reads one JSON
      line per state {"dir":..., "stdout":..., "label":...} and answers one line: "ok" or "FAIL why".

Example:  powerloss.py --store .lovia --setup 'lovia init' --run 'lovia run --run-id r1 hi' \\
             --check 'python verify.py' --model posix -j2
"""
import argparse, atexit, hashlib, json, os, random, shutil, subprocess, sys, tempfile, time
from collections import Counter
from multiprocessing import Pool

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import crash_sweep as cs
from crash_sweep import Cfg

META = {"creat", "rename", "link", "symlink", "unlink", "mkdir", "chmod"}
DATA = {"write", "writev", "copy", "trunc", "otrunc"}


class FS:
    """inodes: uid -> dict(type,data,mode,target); entries: (dir uid, name) -> uid"""

    def __init__(self, initial):
        self.ino, self.ent, self.root = {}, {}, None
        byp = {}
        for e in sorted(initial, key=lambda e: (e["path"] != ".", e["path"].count("/"))):
            self.ino[e["uid"]] = dict(type=e["type"], data=bytearray(e.get("data", b"")), mode=e["mode"], target=e.get("target"))
            byp[e["path"]] = e["uid"]
            if e["path"] == ".":
                self.root = e["uid"]
            else:
                d, n = os.path.split(e["path"])
                self.ent[(byp[d or "."], n)] = e["uid"]

    def copy(self):
        f = FS([])
        f.ino = {k: dict(v, data=bytearray(v["data"])) for k, v in self.ino.items()}
        f.ent, f.root = dict(self.ent), self.root
        return f

    def node(self, uid, typ="f", mode=0o600):
        return self.ino.setdefault(uid, dict(type=typ, data=bytearray(), mode=mode, target=None))

    def apply(self, o, how="all"):
        k, n = o.kind, lambda p: os.path.basename(o[p])
        if k == "creat":
            self.node(o.uid, "f", o.mode & 0o7777 if o.mode else 0o600)
            self.ent[(o.dir, n("path"))] = o.uid
        elif k == "mkdir":
            self.node(o.uid, "d", o.mode & 0o7777)
            if o.rel == ".":
                self.root = o.uid
            else:
                self.ent[(o.dir, n("path"))] = o.uid
        elif k == "symlink":
            u = -o.n
            self.ino[u] = dict(type="l", data=bytearray(), mode=0o777, target=o.target)
            self.ent[(o.dir, n("path"))] = u
        elif k == "rename":
            a, b = (o.dir, n("path")), (o.dir2, n("path2"))
            if o.flags and o.flags & 2:  # RENAME_EXCHANGE
                self.ent[a], self.ent[b] = self.ent.get(b), self.ent.get(a)
                return
            if self.ent.get(a) == o.uid:
                del self.ent[a]
            self.ent[b] = o.uid
        elif k == "link":
            self.ent[(o.dir2, n("path2"))] = o.uid
        elif k == "unlink":
            a = (o.dir, n("path"))
            if self.ent.get(a) == o.uid:
                del self.ent[a]
        elif k == "chmod":
            self.node(o.uid)["mode"] = o.mode & 0o7777
        elif k in ("trunc", "otrunc"):
            d, ln = self.node(o.uid)["data"], o.len if k == "trunc" else 0
            if len(d) > ln:
                del d[ln:]
            else:
                d.extend(bytes(ln - len(d)))
        else:
            b = o.data
            if how == "half":
                b = b[: len(b) // 2]
            elif how == "zero":
                b = bytes(len(b))
            d = self.node(o.uid)["data"]
            if len(d) < o.off:
                d.extend(bytes(o.off - len(d)))
            d[o.off:o.off + len(b)] = b

    def tree(self):
        """path -> (type, payload, mode) reachable from the root"""
        out, kids = {}, {}
        for (d, n), u in self.ent.items():
            if u is not None:
                kids.setdefault(d, []).append((n, u))

        def walk(u, p):
            i = self.ino.get(u)
            if i is None:
                return
            out[p] = (i["type"], i["target"] if i["type"] == "l" else bytes(i["data"]), i["mode"])
            if i["type"] == "d":
                for n, c in kids.get(u, []):
                    if p.count("/") < 40:
                        walk(c, f"{p}/{n}" if p else n)
        if self.root is not None:
            walk(self.root, "")
        return out


def durable(ops, k, model):
    """indices < k that are certainly on disk"""
    dur = set()
    for j in range(k):
        s = ops[j]
        if s.kind in DATA and s.synced_fd:
            dur.add(j)
        if s.kind not in ("sync", "syncfs", "syncall"):
            continue
        for i in range(j):
            o = ops[i]
            if s.kind != "sync":
                dur.add(i)
            elif o.kind in DATA and o.uid == s.uid:
                dur.add(i)
            elif o.kind == "chmod" and o.uid == s.uid:
                dur.add(i)
            elif o.kind in META and model == "ext4" and s.name != "sync_file_range":
                dur.add(i)
            elif o.kind in META and (o.dir2 if o.kind in ("rename", "link") else o.dir) == s.uid:
                dur.add(i)
            elif o.kind == "mkdir" and o.rel == ".":
                dur.add(i)  # the store's parent is outside what we watch
    return dur


def states(fs0, ops, model, rnd, nrandom):
    """yield (k, label, fs)"""
    for k in range(len(ops) + 1):
        if k and ops[k - 1].kind == "out":
            pass  # same store, more acknowledged
        dur = durable(ops, k, model)
        vol = [i for i in range(k) if i not in dur and ops[i].kind in META | DATA]

        def build(keep, how={}):
            f = fs0.copy()
            for i in range(k):
                if i in dur or i in keep:
                    f.apply(ops[i], how.get(i, "all"))
            return f
        lab = lambda i: f"{ops[i].name}({ops[i].rel}{' -> ' + ops[i].rel2 if ops[i].rel2 else ''})"
        if model == "posix":
            sets = [("all volatile ops kept", set(vol)), ("all volatile ops dropped", set())]
            sets += [(f"only dropped: {lab(i)}", set(vol) - {i}) for i in vol]
            sets += [(f"only kept: {lab(i)}", {i}) for i in vol]
            sets += [(f"random {r}", {i for i in vol if rnd.random() < 0.5}) for r in range(nrandom if len(vol) > 2 else 0)]
            for name, keep in sets:
                yield k, name, build(keep)
            for i in vol:
                if ops[i].kind in ("write", "writev", "copy") and len(ops[i].data) > 1:
                    for how in ("half", "zero"):
                        yield k, f"{how} of {lab(i)}", build(set(vol), {i: how})
        else:
            meta = [i for i in vol if ops[i].kind in META | {"trunc", "otrunc"}]
            data = [i for i in vol if ops[i].kind in ("write", "writev", "copy")]
            for p in range(len(meta) + 1):
                m = set(meta[:p])
                name = f"metadata up to {lab(meta[p - 1])}" if p else "no volatile metadata"
                yield k, name + ", no volatile data", build(m)
                if data:
                    yield k, name + ", all data", build(m | set(data))
                    for i in data:
                        yield k, name + f", half of {lab(i)}", build(m | set(data), {i: "half"})


def materialise(tree, dst):
    shutil.rmtree(dst, ignore_errors=True)
    for p in sorted(tree, key=lambda p: p.count("/") if p else -1):
        t, payload, mode = tree[p]
        q = os.path.join(dst, p) if p else dst
        if t == "d":
            os.makedirs(q, exist_ok=True)
            os.chmod(q, mode | 0o700)
        elif t == "l":
            os.symlink(payload, q)
        else:
            with open(q, "wb") as f:
                f.write(payload)
            os.chmod(q, mode)


_server = None


def job(args):
    global _server
    cfg, st = args
    cfg = Cfg(cfg)
    d = tempfile.mkdtemp(prefix="pl-", dir=cfg.tmp)
    out = os.path.join(cfg.tmp, os.path.basename(d) + ".out")
    try:
        cs.fill(cfg, d)
        materialise(st["tree"], os.path.join(d, cfg.store))
        with open(out, "wb") as f:
            f.write(st["out"])
        if cfg.check_server:
            if _server is None:
                _server = subprocess.Popen(["/bin/sh", "-c", "exec " + cfg.check_server], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, text=True, env=cs.env_for(cfg))
            _server.stdin.write(json.dumps(dict(dir=d, stdout=out, label=st["label"])) + "\n")
            _server.stdin.flush()
            ans = _server.stdout.readline().strip()
            bad, tail = ([] if ans == "ok" else [ans or "server died"]), ""
        else:
            op = cs.Op(n=st["k"], name="powerloss", rel=st["label"])
            bad, tail = cs.checked(cfg, d, dict(out=out, err=out, rc=-9, timeout=False), op, "powerloss")
        return dict(k=st["k"], label=st["label"], after=st["after"], bad=bad, tail=tail,
                    files={p: (t[1][:60].decode("latin1") if t[0] == "f" else t[0]) for p, t in st["tree"].items()} if bad else None)
    finally:
        if not (cfg.keep and bad):
            shutil.rmtree(d, ignore_errors=True)
            os.unlink(out)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cs.common(ap)
    ap.add_argument("--model", default="posix", choices=["posix", "ext4"])
    ap.add_argument("--random", type=int, default=4, help="random subsets per crash point (posix)")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--max-states", type=int, default=20000)
    ap.add_argument("--check-server")
    ap.add_argument("--show", type=int, default=6)
    a = ap.parse_args()
    cfg = Cfg(vars(a))
    cs.warm(a.warm)
    cfg["tmp"] = top = tempfile.mkdtemp(prefix="powerloss-", dir=a.tmp)
    if not a.keep:
        atexit.register(shutil.rmtree, top, ignore_errors=True)
    t0 = time.time()
    cs.make_template(cfg)
    t, res, d = cs.baseline(cfg, a.run, record=True)
    if res["rc"]:
        sys.exit(f"baseline run failed rc={res['rc']}: {open(res['err']).read()[-500:]}")
    ops = t.events
    fs0 = FS(t.initial)
    # self-test: replaying everything must give the store the run really left
    f = fs0.copy()
    for o in ops:
        if o.kind in META | DATA:
            f.apply(o)
    real = {("" if e["path"] == "." else e["path"]): e.get("data", e.get("target", b"")) for e in cs.snapshot(t.store)}
    mine = {p: v[1] for p, v in f.tree().items()}
    if {k: v for k, v in mine.items() if v or k in real} != real:
        diff = [k for k in set(mine) | set(real) if mine.get(k) != real.get(k)]
        sys.exit(f"replay differs from the real store at {diff[:5]} (mmap or io_uring writes are not seen)")
    outs, acc = [b""], b""
    for o in ops:
        if o.kind == "out" and o.fd in (1, None):
            acc += o.data
        outs.append(acc)
    rnd, seen, todo = random.Random(a.seed), set(), []
    total = 0
    for k, label, f in states(fs0, ops, a.model, rnd, a.random):
        total += 1
        tree = f.tree()
        key = hashlib.sha256(repr((sorted(tree.items()), outs[k])).encode()).digest()
        if key in seen:
            continue
        seen.add(key)
        todo.append(dict(k=k, label=label, tree=tree, out=outs[k], after=ops[k - 1].label() if k and ops[k - 1].n else "output" if k else "start"))
    if len(todo) > a.max_states:
        todo = sorted(rnd.sample(todo, a.max_states), key=lambda s: s["k"])
    if a.sample and len(todo) > a.sample:
        todo = sorted(rnd.sample(todo, a.sample), key=lambda s: s["k"])
    with Pool(a.jobs) as pool:
        results = list(pool.imap(job, [(dict(cfg), s) for s in todo], chunksize=4))
    fails = [r for r in results if r["bad"]]
    print(f"powerloss {a.model}: {t.n} ops, {total} states built, {len(todo)} distinct checked, "
          f"{len(todo) - len(fails)} survived, {len(fails)} LOST, {time.time() - t0:.1f}s")
    for r in fails[: a.show]:
        last = r["tail"].strip().splitlines()[-1][:140] if r["tail"].strip() else ""
        print(f"  LOST after {r['after']}: {r['label']}: {', '.join(r['bad'])} | {last} | store: {json.dumps(r['files'])[:160]}")
    if a.json:
        json.dump(results, open(a.json, "w"), indent=1)
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
