#!/usr/bin/env python3
"""crash_sweep.py - kill / fault a command at every state-changing syscall it makes under a store.

Pure Python (ctypes + ptrace + a seccomp-bpf filter), Linux x86_64, no root needed for the
kill/torn/short/errno modes; root needed for `powercut` (loop mount + FS shutdown ioctl).
One GLOBAL counter over all threads and child processes, filtered by store-path prefix
(strace's `inject=...:when=N` counts per tracee and per syscall and has no path-prefix filter).

Modes (one trial = fresh copy of the template workdir, run to op n, fault, then check):
  kill      SIGKILL the whole process tree just BEFORE op n (n = 1..N; state after n-1 ops)
  torn      for each write op: really write only a part of the buffer, then SIGKILL
  short     for each write op: a legal short write, no kill (finds unlooped os.write)
  errno     op n fails with --errno (once, or --sticky: it and every later space-needing op)
  powercut  the store's parent folder is a loop-mounted --fs ext4|xfs; at op n the FS is shut down WITHOUT
            flushing its log (EXT4_IOC_SHUTDOWN / XFS_IOC_GOINGDOWN flag 2): un-fsynced page cache and
            un-committed journal are lost for real; then kill, umount, mount (journal replay), check
  record    one run, write an op log (JSONL) for powerloss.py

  --nested K  (kill mode) second crash inside recovery: for K sampled n, also kill --recover CMD
              before each of its own ops, then check.

The check command runs with cwd = the trial's workdir and env
  CRASH_STDOUT  file: what the run had printed before the fault (acknowledgements; trust only whole lines)
  CRASH_STDERR  file    CRASH_RC exit code of the faulted run ('-9' if killed)   CRASH_OP, CRASH_MODE
  CRASH_COUNT   number of crashes behind this state (2 in --nested): each may leave 1 unacknowledged commit
exit 0 = fine, else a LOSS; "Traceback (most recent call last)" in its or (errno/short) the run's
output is a failure too.

Example:
  crash_sweep.py --mode kill --store .lovia --setup 'lovia init' \\
     --run 'lovia run --run-id r1 "hi"' --check 'lovia resume r1 && python verify.py' -j2
"""
from __future__ import annotations
import argparse, atexit, base64, ctypes, errno as E, fcntl, json, os, random, shutil, signal, struct
import subprocess, sys, tempfile, time
from collections import Counter
from multiprocessing import Pool

if os.uname().machine != "x86_64":
    sys.exit("crash_sweep.py: x86_64 only (register layout); use the strace recipes elsewhere")

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
TRACEME, CONT, GETREGS, SETREGS, SYSCALL, SETOPTIONS, GETEVENTMSG = 0, 7, 12, 13, 24, 0x4200, 0x4201
OPTS = 1 | 2 | 4 | 8 | 0x10 | 0x80 | 0x100000  # SYSGOOD FORK VFORK CLONE EXEC SECCOMP EXITKILL
WALL = 0x40000000

REGS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss "
        "fs_base gs_base ds es fs gs").split()


class Regs(ctypes.Structure):
    _fields_ = [(n, ctypes.c_ulonglong) for n in REGS]


# nr -> (name, kind)
NR = {2: ("open", "open"), 257: ("openat", "open"), 437: ("openat2", "open"), 85: ("creat", "open"),
      1: ("write", "write"), 18: ("pwrite64", "write"), 20: ("writev", "writev"),
      296: ("pwritev", "writev"), 328: ("pwritev2", "writev"), 326: ("copy_file_range", "copy"),
      40: ("sendfile", "copy"), 74: ("fsync", "sync"), 75: ("fdatasync", "sync"),
      277: ("sync_file_range", "sync"), 306: ("syncfs", "syncfs"), 162: ("sync", "syncall"),
      82: ("rename", "rename"), 264: ("renameat", "rename"), 316: ("renameat2", "rename"),
      86: ("link", "link"), 265: ("linkat", "link"), 88: ("symlink", "symlink"),
      266: ("symlinkat", "symlink"), 87: ("unlink", "unlink"), 263: ("unlinkat", "unlink"),
      84: ("rmdir", "unlink"), 83: ("mkdir", "mkdir"), 258: ("mkdirat", "mkdir"),
      76: ("truncate", "trunc"), 77: ("ftruncate", "trunc"), 285: ("fallocate", "trunc"),
      90: ("chmod", "chmod"), 91: ("fchmod", "chmod"), 268: ("fchmodat", "chmod")}
SPACE_OPS = {"write", "writev", "copy", "creat", "mkdir", "link", "symlink", "trunc", "sync"}
O_CREAT, O_TRUNC, O_APPEND, O_EXCL = 0o100, 0o1000, 0o2000, 0o200
O_DSYNC, O_SYNC, O_TMPFILE = 0o10000, 0o4010000, 0o20000000 | 0o200000


def bpf_prog():
    """RET_TRACE for the syscalls above; opens only when O_CREAT|O_TRUNC is set."""
    ins = [(0x20, 0, 0, 4), (0x15, 1, 0, 0xC000003E), (0x06, 0, 0, 0x7FFF0000), (0x20, 0, 0, 0)]
    body = []
    for nr, flagarg in ((257, 2), (2, 1)):  # openat / open: look at the flags word
        body += [(0x15, 0, 4, nr), (0x20, 0, 0, 16 + 8 * flagarg), (0x45, 0, 1, O_CREAT | O_TRUNC),
                 (0x06, 0, 0, 0x7FF00000), (0x06, 0, 0, 0x7FFF0000)]
    rest = [n for n in NR if n not in (257, 2)]
    for i, nr in enumerate(rest):
        body.append((0x15, len(rest) - i, 0, nr))
    body += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x7FF00000)]
    ins += body
    return len(ins), b"".join(struct.pack("=HBBI", *i) for i in ins)


_BPF_N, _BPF = bpf_prog()


class SockFprog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def pt(req, pid, addr=0, data=0):
    r = libc.ptrace(req, pid, addr, data)
    if r == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace {req}")
    return r


def signed(v):
    return v - (1 << 64) if v >> 63 else v


class Op(dict):
    __getattr__ = dict.get

    def label(self):
        s = f"#{self.n} {self.name}({self.rel or ''}"
        if self.rel2:
            s += f" -> {self.rel2}"
        if self.size is not None:
            s += f", {self.size}B"
        return s + ")"


WARM = None  # --warm: a module whose become(command, env) stands in for exec, in a fork that has its imports done


def warm(name):
    global WARM
    if name:
        sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        WARM = __import__(name)


class Tracer:
    """Run argv under ptrace; call decide(op) before each counted op under `store`.
    decide returns None | ('kill',) | ('torn', nbytes) | ('short', nbytes) | ('errno', num) | ('call', fn)
    ('call' = run fn() then kill)."""

    def __init__(self, store, decide, record=False):
        self.store = os.path.realpath(store)
        self.decide, self.record = decide, record
        self.n, self.ops, self.events, self.killed = 0, [], [], None
        self.uid, self.next_uid = {}, 1  # st_ino -> uid (inode numbers are reused!)
        self.outs = {}

    # -- helpers -------------------------------------------------------------------------
    def inside(self, p):
        return p is not None and (p == self.store or p.startswith(self.store + "/"))

    def rel(self, p):
        return os.path.relpath(p, self.store) if p else None

    def mem(self, pid, addr, n):
        try:
            with open(f"/proc/{pid}/mem", "rb", 0) as f:
                f.seek(addr)
                out = b""
                while len(out) < n:
                    b = f.read(n - len(out))
                    if not b:
                        break
                    out += b
                return out
        except (OSError, ValueError, OverflowError):
            return b""

    def cstr(self, pid, addr):
        out = b""
        while addr and len(out) < 8192:
            chunk = self.mem(pid, addr + len(out), 4096 - (addr + len(out)) % 4096)
            if not chunk:
                break
            out += chunk
            if b"\0" in out:
                break
        return os.fsdecode(out.split(b"\0", 1)[0])

    def fdpath(self, pid, fd):
        try:
            return os.readlink(f"/proc/{pid}/fd/{fd}").removesuffix(" (deleted)")
        except OSError:
            return None

    def at(self, pid, dirfd, addr):
        p = self.cstr(pid, addr)
        if not p.startswith("/"):
            dirfd = ctypes.c_int(dirfd & 0xFFFFFFFF).value
            base = os.readlink(f"/proc/{pid}/cwd") if dirfd == -100 else self.fdpath(pid, dirfd)
            p = os.path.join(base or "/", p)
        p = os.path.normpath(p)
        return os.path.join(os.path.realpath(os.path.dirname(p)), os.path.basename(p))

    def u(self, ino, new=False):
        if new or ino not in self.uid:
            self.uid[ino] = self.next_uid
            self.next_uid += 1
        return self.uid[ino]

    def uidpath(self, p):
        try:
            return self.u(os.lstat(p).st_ino)
        except OSError:
            return None

    # -- decode one syscall ----------------------------------------------------------------
    def decode(self, pid, r):
        nr = r.orig_rax
        if nr not in NR:
            return None
        name, kind = NR[nr]
        a = (r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9)
        op = Op(name=name, kind=kind, pid=pid)
        if kind == "open":
            if name == "open":
                p, fl, mode = self.at(pid, -100, a[0]), a[1], a[2]
            elif name == "creat":
                p, fl, mode = self.at(pid, -100, a[0]), O_CREAT | O_TRUNC, a[1]
            elif name == "openat2":
                how = self.mem(pid, a[2], 24)
                fl, mode, _ = struct.unpack("QQQ", how) if len(how) == 24 else (0, 0, 0)
                p = self.at(pid, a[0], a[1])
            else:
                p, fl, mode = self.at(pid, a[0], a[1]), a[2], a[3]
            if not self.inside(p) or not fl & (O_CREAT | O_TRUNC):
                return None
            ex = os.path.lexists(p)
            if not ex and fl & O_CREAT:
                op["kind"] = "creat"
            elif ex and fl & O_EXCL and fl & O_CREAT:
                return None
            elif ex and fl & O_TRUNC and os.path.isfile(p) and os.path.getsize(p):
                op["kind"] = "otrunc"
            else:
                return None
            op.update(path=p, flags=fl, mode=mode)
        elif kind in ("write", "writev", "copy", "trunc", "sync", "syncfs") or name == "fchmod":
            fd = a[2] if name == "copy_file_range" else a[0]
            if name == "truncate":
                p = self.at(pid, -100, a[0])
            else:
                fd = ctypes.c_int(fd & 0xFFFFFFFF).value
                p = self.fdpath(pid, fd)
                op["fd"] = fd
            if not self.inside(p):
                if kind in ("write", "writev") and p in self.outs:  # by file: a command may dup its stdout
                    op.update(kind="out", out=True, fd=self.outs[p])
                    if self.record:
                        op["data"] = self.wdata(pid, kind, a)
                    return op
                return None
            op["path"] = p
            if kind == "write":
                op["size"] = a[2]
            elif kind == "writev":
                op["size"] = sum(n for _, n in self.iov(pid, a[1], a[2]))
            elif kind == "copy":
                op["size"] = a[4] if name == "copy_file_range" else a[3]
            elif kind == "trunc":
                op["len"] = (a[2] + a[3]) if name == "fallocate" else a[1]
            if self.record and kind in ("write", "writev", "copy"):
                op["data"] = self.wdata(pid, kind, a) if kind != "copy" else b""
                op["off"] = a[3] if name in ("pwrite64", "pwritev", "pwritev2") else self.fdpos(pid, fd)
            if self.record and name != "truncate":
                st = os.stat(f"/proc/{pid}/fd/{fd}")
                op["uid"] = self.u(st.st_ino)
                op["synced_fd"] = bool(self.fdflags(pid, fd) & O_DSYNC)
            elif self.record:
                op["uid"] = self.uidpath(p)
        elif kind == "syncall":
            op["path"] = self.store
        elif kind in ("rename", "link"):
            if name in ("rename", "link"):
                p, q, fl = self.at(pid, -100, a[0]), self.at(pid, -100, a[1]), 0
            else:
                p, q, fl = self.at(pid, a[0], a[1]), self.at(pid, a[2], a[3]), a[4]
                if name == "linkat" and fl & 0x1000 and not self.cstr(pid, a[1]):
                    p = self.fdpath(pid, ctypes.c_int(a[0] & 0xFFFFFFFF).value)
                elif name == "linkat" and fl & 0x400:
                    p = os.path.realpath(self.cstr(pid, a[1])) if self.cstr(pid, a[1]).startswith("/proc") else p
            if not (self.inside(p) or self.inside(q)):
                return None
            op.update(path=p, path2=q, flags=fl if name == "renameat2" else 0)
        elif kind == "symlink":
            q = self.at(pid, -100, a[1]) if name == "symlink" else self.at(pid, a[1], a[2])
            if not self.inside(q):
                return None
            op.update(path=q, target=self.cstr(pid, a[0]))
        else:  # unlink, mkdir, chmod by path
            p = self.at(pid, -100, a[0]) if name in ("unlink", "rmdir", "mkdir", "chmod") else self.at(pid, a[0], a[1])
            if not self.inside(p):
                return None
            op["path"] = p
            if name == "unlinkat" and a[2] & 0x200:
                op["name"] = "rmdir"
            op["mode"] = a[1] if name in ("mkdir", "chmod") else a[2]
        if name == "fchmod":
            op["mode"] = a[1]
        op["rel"], op["rel2"] = self.rel(op.path), self.rel(op.path2)
        if self.record:
            for k, pk in (("dir", "path"), ("dir2", "path2")):
                if op.get(pk):
                    op[k] = self.uidpath(os.path.dirname(op[pk]))
            if op.kind in ("rename", "link", "unlink", "otrunc", "chmod") and op.uid is None:
                op["uid"] = self.uidpath(op.path)
        return op

    def iov(self, pid, addr, cnt):
        raw = self.mem(pid, addr, 16 * min(cnt, 1024))
        return [struct.unpack_from("QQ", raw, i) for i in range(0, len(raw) - 15, 16)]

    def wdata(self, pid, kind, a):
        if kind == "write":
            return self.mem(pid, a[1], a[2])
        return b"".join(self.mem(pid, b, n) for b, n in self.iov(pid, a[1], a[2]))

    def fdinfo(self, pid, fd):
        d = {}
        for line in open(f"/proc/{pid}/fdinfo/{fd}"):
            k, _, v = line.partition(":")
            d[k] = v.strip()
        return d

    def fdflags(self, pid, fd):
        return int(self.fdinfo(pid, fd).get("flags", "0"), 8)

    def fdpos(self, pid, fd):
        if self.fdflags(pid, fd) & O_APPEND:
            return os.stat(f"/proc/{pid}/fd/{fd}").st_size
        return int(self.fdinfo(pid, fd).get("pos", 0))

    # -- run -------------------------------------------------------------------------------
    def run(self, argv, cwd, env, out, err, timeout):
        self.outs = {os.path.realpath(out): 1, os.path.realpath(err): 2}
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                os.chdir(cwd)
                for fd, path in ((1, out), (2, err)):
                    f = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                    os.dup2(f, fd)
                os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
                libc.ptrace(TRACEME, 0, None, None)
                os.kill(os.getpid(), signal.SIGSTOP)
                libc.prctl(38, 1, 0, 0, 0)
                buf = ctypes.create_string_buffer(_BPF, len(_BPF))
                prog = SockFprog(_BPF_N, ctypes.addressof(buf))
                if libc.prctl(22, 2, ctypes.byref(prog), 0, 0):
                    os._exit(125)
                if WARM:
                    WARM.become(argv[-1], env)
                os.execvpe(argv[0], argv, env)
            finally:
                os._exit(127)
        os.waitpid(pid, WALL)
        pt(SETOPTIONS, pid, 0, OPTS)
        pt(CONT, pid)
        live, pend, seen, status, t0 = {pid}, {}, {pid}, None, time.time()
        fired = [False]

        def onalarm(*_):
            fired[0] = True
            for p in list(live):
                try:
                    os.kill(p, signal.SIGKILL)
                except OSError:
                    pass

        old = signal.signal(signal.SIGALRM, onalarm)
        signal.alarm(int(timeout))
        regs = Regs()
        try:
            while live:
                try:
                    p, st = os.waitpid(-1, WALL)
                except ChildProcessError:
                    break
                if os.WIFEXITED(st) or os.WIFSIGNALED(st):
                    live.discard(p)
                    if p == pid:
                        status = os.WEXITSTATUS(st) if os.WIFEXITED(st) else -os.WTERMSIG(st)
                    continue
                sig, ev = os.WSTOPSIG(st), st >> 16
                live.add(p)
                try:
                    if ev in (1, 2, 3):  # fork/vfork/clone
                        pt(CONT, p)
                    elif ev == 7:  # seccomp: about to execute
                        pt(GETREGS, p, 0, ctypes.addressof(regs))
                        op = self.decode(p, regs)
                        if op is None:
                            pt(CONT, p)
                            continue
                        act = None
                        if not op.out:
                            self.n += 1
                            op["n"] = self.n
                            self.ops.append(op)
                            act = self.decide(op)
                        if act and act[0] in ("kill", "call"):
                            if act[0] == "call":
                                act[1]()
                            self.killed = op
                            self.killall(live)
                            continue
                        if act and act[0] in ("torn", "short"):
                            regs.rdx = act[1]
                            op["size"] = act[1]
                            pt(SETREGS, p, 0, ctypes.addressof(regs))
                        if act and act[0] == "errno":
                            regs.orig_rax = (1 << 64) - 1
                            regs.rax = (1 << 64) - act[1]
                            pt(SETREGS, p, 0, ctypes.addressof(regs))
                            op["failed"] = act[1]
                        if self.record or act:
                            pend[p] = (op, act)
                            pt(SYSCALL, p)
                        else:
                            pt(CONT, p)
                    elif sig == (signal.SIGTRAP | 0x80):  # syscall exit
                        op, act = pend.pop(p, (None, None))
                        if op is not None:
                            pt(GETREGS, p, 0, ctypes.addressof(regs))
                            self.done(p, op, signed(regs.rax))
                            if act and act[0] == "torn":
                                self.killed = op
                                self.killall(live)
                                continue
                        pt(CONT, p)
                    elif ev == 4:
                        pt(CONT, p)
                    elif sig == signal.SIGSTOP and p not in seen:
                        seen.add(p)
                        pt(CONT, p)
                    elif sig == signal.SIGTRAP:
                        pt(CONT, p)
                    else:
                        pt(CONT, p, 0, sig)
                except OSError as e:
                    if e.errno not in (E.ESRCH, E.ENOENT):
                        raise
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, old)
            self.killall(live)
        return dict(rc=status, timeout=fired[0], secs=time.time() - t0)

    def killall(self, live):
        for p in list(live):
            try:
                os.kill(p, signal.SIGKILL)
            except OSError:
                pass

    def done(self, pid, op, ret):
        op["ret"] = ret
        if not self.record or ret < 0:
            return
        if op.kind == "creat":
            op["uid"] = self.u(os.stat(f"/proc/{pid}/fd/{ret}").st_ino, new=True)
        elif op.kind == "mkdir":
            op["uid"] = self.u(os.lstat(op.path).st_ino, new=True)
        elif op.kind == "copy":
            with open(op.path, "rb") as f:  # read back what was copied
                f.seek(op["off"])
                op["data"] = f.read(ret)
        elif op.kind in ("write", "writev", "out"):
            op["data"] = op["data"][:ret]
        self.events.append(op)


# ------------------------------------------------------------------------------------ trials
def snapshot(store, tracer=None):
    """[{path,type,uid,data,mode}] of the store, assigning tracer uids by inode."""
    out = []
    for root, dirs, files in os.walk(store):
        for n, t in [("", "d")] * (root == store) + [(d, "d") for d in dirs] + [(f, "f") for f in files]:
            p = os.path.join(root, n) if n else root
            st = os.lstat(p)
            e = dict(path=os.path.relpath(p, store), type="l" if os.path.islink(p) else t, mode=st.st_mode & 0o7777)
            if tracer:
                e["uid"] = tracer.u(st.st_ino)
            if e["type"] == "f":
                e["data"] = open(p, "rb").read()
            elif e["type"] == "l":
                e["target"] = os.readlink(p)
            out.append(e)
    return out


class Cfg(dict):
    __getattr__ = dict.get


def env_for(cfg, **kw):
    e = dict(os.environ, PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1")
    e.update({k: str(v) for k, v in kw.items()})
    return e


def workdir(cfg, tag):
    d = tempfile.mkdtemp(prefix=f"cs-{tag}-", dir=cfg.tmp)
    return d


def fill(cfg, d):
    shutil.copytree(cfg.template, d, symlinks=True, dirs_exist_ok=True)


def traced(cfg, d, cmd, decide, tag="run", record=False, env=None):
    out, err = os.path.join(cfg.tmp, os.path.basename(d) + f".{tag}.out"), os.path.join(cfg.tmp, os.path.basename(d) + f".{tag}.err")
    for f in (out, err):
        open(f, "wb").close()
    t = Tracer(os.path.join(d, cfg.store), decide, record)
    if record:
        t.initial = snapshot(t.store, t) if os.path.isdir(t.store) else []
    res = t.run(["/bin/sh", "-c", "exec " + cmd if cfg.exec_ else cmd], d, env or env_for(cfg), out, err, cfg.timeout)
    res.update(out=out, err=err, n=t.n)
    return t, res


def checked(cfg, d, res, op, mode):
    env = env_for(cfg, CRASH_STDOUT=res["out"], CRASH_STDERR=res["err"], CRASH_RC=res["rc"],
                  CRASH_OP=op.label() if op else "none", CRASH_MODE=mode, CRASH_COUNT=2 if mode == "nested" else 1)
    try:
        ask = WARM.check if WARM else lambda command, **kw: subprocess.run(["/bin/sh", "-c", command], capture_output=True, **kw)
        c = ask(cfg.check, cwd=d, env=env, timeout=cfg.timeout)
        text = (c.stdout + c.stderr).decode("utf-8", "replace")
        bad = []
        if c.returncode:
            bad.append(f"check exit {c.returncode}")
        if "Traceback (most recent call last)" in text:
            bad.append("traceback in check")
    except subprocess.TimeoutExpired:
        bad, text = ["check timed out"], ""
    if mode in ("errno", "short"):
        rtext = open(res["err"], "rb").read().decode("utf-8", "replace") + open(res["out"], "rb").read().decode("utf-8", "replace")
        if "Traceback (most recent call last)" in rtext:
            bad.append("traceback in run")
        if mode == "short" and res["rc"] != 0:
            bad.append(f"run exit {res['rc']} on a legal short write")
        if mode == "errno" and cfg.errtext and res["rc"] != 0 and cfg.errtext not in rtext:
            bad.append(f"error text lacks {cfg.errtext!r}")
    if res["timeout"]:
        bad.append("run timed out")
    return bad, text[-400:]


def trial(args):
    cfg, spec = args
    cfg = Cfg(cfg)
    mode, n = spec["mode"], spec["n"]
    hit = []

    def decide(op):
        if mode == "errno" and cfg.sticky and op.n > n and hit and op.kind in SPACE_OPS:
            return ("errno", getattr(E, cfg.errno))
        if op.n != n:
            return None
        hit.append(op)
        if mode in ("kill", "nested"):
            return ("kill",)
        if mode in ("torn", "short"):
            k = spec["bytes"]
            return (mode, k) if op.kind in ("write",) and op.size and op.size > k else None
        if mode == "errno":
            return ("errno", getattr(E, cfg.errno))
        if mode == "powercut":
            return ("call", lambda: fsdown(disk, cfg.bystander))

    d = workdir(cfg, f"{mode}{n}")
    disk = os.path.dirname(os.path.join(d, cfg.store))
    lo = None
    try:
        if mode == "powercut":
            os.makedirs(disk, exist_ok=True)
            lo = mount_fs(cfg, disk, os.path.basename(d))
        fill(cfg, d)
        if mode == "powercut":
            subprocess.run(["sync", "-f", disk], check=True)
        t, res = traced(cfg, d, cfg.run, decide)
        op = hit[0] if hit else None
        ops = [op.label()] if op else []
        if spec.get("end"):  # power cut just after the command has exited
            fsdown(disk, cfg.bystander)
            op, ops = Op(n=n, kind="end", name="after exit"), ["after the command's exit"]
        if mode == "powercut":
            remount_fs(cfg, disk, lo)
        if mode == "nested":
            m, hit2 = spec["m"], []

            def decide2(o):
                if o.n == m:
                    hit2.append(o)
                    return ("kill",)
            t2, res2 = traced(cfg, d, cfg.recover, decide2, "rec")
            with open(res["out"], "ab") as f:
                f.write(open(res2["out"], "rb").read())
            if hit2:
                ops.append("recovery " + hit2[0].label())
            if m == 0:
                spec["rec_n"] = t2.n
        bad, tail = checked(cfg, d, res, op, mode)
        return dict(spec, op=" ; ".join(ops), kind=op.kind if op else None, reached=op is not None,
                    bad=bad, tail=tail, rc=res["rc"], nops=t.n, keep=d if bad and cfg.keep else None)
    finally:
        if lo:
            subprocess.run(["umount", disk], capture_output=True)
            os.unlink(lo)
        if not (cfg.keep and "bad" in locals() and bad):
            shutil.rmtree(d, ignore_errors=True)
            for x in ("run.out", "run.err", "rec.out", "rec.err"):
                try:
                    os.unlink(os.path.join(cfg.tmp, os.path.basename(d) + "." + x))
                except OSError:
                    pass


# -- real file systems ---------------------------------------------------------------------
def mount_fs(cfg, d, name):
    img = os.path.join(cfg.tmp, name + ".img")
    with open(img, "wb") as f:
        f.truncate((320 if cfg.fs == "xfs" else 24) << 20)
    subprocess.run(["mkfs." + cfg.fs, "-q"] + (["-F"] if cfg.fs == "ext4" else []) + [img], check=True, capture_output=True)
    subprocess.run(["mount", "-o", "loop" + ("," + cfg.mountopts if cfg.mountopts else ""), img, d], check=True)
    return img


def fsdown(d, bystander=False):
    if bystander:  # some other program's fsync: commits the journal (metadata) but not our delalloc data
        fd = os.open(os.path.join(d, ".bystander"), os.O_CREAT | os.O_WRONLY, 0o600)
        os.write(fd, b"x")
        os.fsync(fd)
        os.close(fd)
    fd = os.open(d, os.O_RDONLY)
    fcntl.ioctl(fd, 0x8004587D, struct.pack("I", 2))  # *_GOING_FLAGS_NOLOGFLUSH
    os.close(fd)


def remount_fs(cfg, d, img):
    for _ in range(100):
        if subprocess.run(["umount", d], capture_output=True).returncode == 0:
            break
        time.sleep(0.02)
    subprocess.run(["mount", "-o", "loop" + ("," + cfg.mountopts if cfg.mountopts else ""), img, d], check=True)


# -- main ----------------------------------------------------------------------------------
def make_template(cfg):
    t = os.path.join(cfg.tmp, "template")
    shutil.copytree(cfg.workdir, t, symlinks=True) if cfg.workdir else os.mkdir(t)
    if cfg.setup:
        subprocess.run(["/bin/sh", "-c", cfg.setup], cwd=t, env=env_for(cfg), check=True, stdout=subprocess.DEVNULL)
    cfg["template"] = t


def baseline(cfg, cmd, record=False, prep=None):
    d = workdir(cfg, "base")
    fill(cfg, d)
    if prep:
        prep(d)
    t, res = traced(cfg, d, cmd, lambda op: None, record=record)
    return t, res, d


def common(ap):
    ap.add_argument("--store", required=True, help="store directory, relative to the workdir")
    ap.add_argument("--run", required=True, help="command to fault (sh -c, cwd = a fresh workdir)")
    ap.add_argument("--check", help="command whose exit 0 means: no loss")
    ap.add_argument("--setup", help="command run once to build the template workdir")
    ap.add_argument("--workdir", help="directory copied as the template workdir")
    ap.add_argument("--timeout", type=int, default=60)
    ap.add_argument("--sample", type=int, help="try only this many points (evenly spread)")
    ap.add_argument("-j", "--jobs", type=int, default=2)
    ap.add_argument("--json", help="write full results here")
    ap.add_argument("--keep", action="store_true", help="keep the workdirs of failing trials")
    ap.add_argument("--ops", help="only these op kinds, comma separated (write,creat,sync,rename,...)")
    ap.add_argument("--warm", help="module beside this folder that runs the commands in forks (see WARM)")
    ap.add_argument("--tmp", help="scratch directory")
    ap.add_argument("--exec", dest="exec_", action="store_true", help="prefix the command with exec (saves a shell)")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--mode", default="kill", choices="kill torn short errno powercut record".split())
    common(ap)
    ap.add_argument("--errno", default="ENOSPC")
    ap.add_argument("--sticky", action="store_true")
    ap.add_argument("--errtext", help="errno mode: a failing run's output must contain this")
    ap.add_argument("--nested", type=int, default=0)
    ap.add_argument("--recover", help="recovery command for --nested (default: the run command)")
    ap.add_argument("--fs", default="ext4", choices=["ext4", "xfs"])
    ap.add_argument("--mountopts", default="", help="e.g. noauto_da_alloc (ext4 without its rename heuristics)")
    ap.add_argument("--bystander", action="store_true", help="powercut: an unrelated fsync just before the cut")
    ap.add_argument("--oplog", default="oplog.jsonl")
    ap.add_argument("-v", action="store_true", help="list the ops of the baseline run")
    ap.add_argument("--show", type=int, default=6, help="failures to print")
    a = ap.parse_args()
    cfg = Cfg(vars(a))
    warm(a.warm)
    top = tempfile.mkdtemp(prefix="crash_sweep-", dir=a.tmp)
    cfg["tmp"] = top
    if not a.keep:
        atexit.register(shutil.rmtree, top, ignore_errors=True)
    cfg["recover"] = a.recover or a.run
    t0 = time.time()
    make_template(cfg)
    t, res, d = baseline(cfg, a.run, record=a.mode == "record")
    if res["rc"] != 0:
        sys.exit(f"baseline run failed rc={res['rc']}: {open(res['err']).read()[-500:]}")
    if a.mode == "record":
        with open(a.oplog, "w") as f:
            for e in [dict(initial=True, **x) for x in t.initial] + t.events:
                e = {k: v for k, v in e.items() if v is not None}
                if isinstance(e.get("data"), bytes):
                    e["data"] = base64.b64encode(e["data"]).decode()
                f.write(json.dumps(e) + "\n")
        print(f"recorded {t.n} ops, {len(t.events)} events -> {a.oplog}")
        return 0
    if not a.check:
        sys.exit("--check is required")
    bad, tail = checked(cfg, d, res, None, a.mode)
    if bad:
        sys.exit(f"check fails on the un-faulted run: {bad} {tail}")
    t2, _, _ = baseline(cfg, a.run)
    same = [o.kind for o in t.ops] == [o.kind for o in t2.ops]
    ops = t.ops
    print(f"baseline: {t.n} ops under {a.store} ({dict(Counter(o.kind for o in ops))}), {res['secs']:.2f}s"
          + ("" if same else f"  NOT DETERMINISTIC ({t.n} vs {t2.n} ops): points may drift"))
    if a.v:
        for o in ops:
            print("  ", o.label())
    kinds = set(a.ops.split(",")) if a.ops else None
    pts = [o for o in ops if not kinds or o.kind in kinds]
    if a.mode in ("torn", "short"):
        pts = [o for o in pts if o.kind == "write" and o.size and o.size > 1]
    if a.sample and len(pts) > a.sample:
        pts = [pts[round(i * (len(pts) - 1) / (a.sample - 1))] for i in range(a.sample)] if a.sample > 1 else pts[:1]
    specs = []
    for o in pts:
        if a.mode in ("torn", "short"):
            specs += [dict(mode=a.mode, n=o.n, bytes=k) for k in sorted({1, o.size // 2, o.size - 1})]
        else:
            specs.append(dict(mode=a.mode, n=o.n))
    if a.mode == "powercut":
        specs.append(dict(mode=a.mode, n=t.n + 1, end=True))
    with Pool(a.jobs) as pool:
        results = list(pool.imap_unordered(trial, [(dict(cfg), s) for s in specs]))
        if a.nested and a.mode == "kill":
            sel = pts[:: max(1, len(pts) // a.nested)][: a.nested]
            probe = list(pool.imap_unordered(trial, [(dict(cfg), dict(mode="nested", n=o.n, m=0)) for o in sel]))
            nest = [dict(mode="nested", n=p["n"], m=m) for p in probe for m in range(1, p.get("rec_n", 0) + 1)]
            results += list(pool.imap_unordered(trial, [(dict(cfg), s) for s in nest]))
    results.sort(key=lambda r: (r["n"], r.get("m", 0), r.get("bytes", 0)))
    fails = [r for r in results if r["bad"]]
    missed = [r for r in results if not r["reached"]]
    print(f"{a.mode}{' ' + a.errno + (' sticky' if a.sticky else '') if a.mode == 'errno' else ''}"
          f"{' ' + a.fs + ' ' + a.mountopts if a.mode == 'powercut' else ''}: "
          f"{len(results)} trials, {len(results) - len(fails)} survived, {len(fails)} LOST, "
          f"{len(missed)} not reached, {time.time() - t0:.1f}s")
    by = Counter((r["kind"], bool(r["bad"])) for r in results)
    for k in sorted({k for k, _ in by}, key=str):
        print(f"   {k!s:8} ok {by[(k, False)]:4}  lost {by[(k, True)]:4}")
    for r in fails[:cfg.show]:
        print(f"  LOST at {r['op']}{' after %d bytes' % r['bytes'] if 'bytes' in r else ''}: {', '.join(r['bad'])} | "
              f"{r['tail'].strip().splitlines()[-1][:150] if r['tail'].strip() else ''}"
              + (f"  [{r['keep']}]" if r["keep"] else ""))
    if a.json:
        json.dump(results, open(a.json, "w"), indent=1)
    return 1 if fails or missed and same else 0


if __name__ == "__main__":
    sys.exit(main())
