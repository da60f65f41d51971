#!/usr/bin/env python3
"""Strict scripted model server (stdlib only), loopback only.  Usage:
   python3 strict_llm.py SCRIPT.json [PORT=8099] [LOG=requests.jsonl]
Speaks POST */chat/completions (OpenAI shape) and POST */messages (Anthropic shape), streamed or not.
Checks every request the way strict providers do; a bad transcript gets HTTP 400 and does not use up a script turn.
SCRIPT.json = list of turns. A turn: {"text": str|null, "calls":[{"id":..,"name":..,"args": obj|"raw string"}],
  "thinking":{"text":..,"sig":..}, "usage": obj|null|"omit", "finish": str, "status": int, "sleep": s, "drop": n (hang up after n stream events), "raw": any}
LOG gets one JSON line per request: {"n","path","ok","errors","turn","body"}."""
import json, re, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
SCRIPT = json.load(open(sys.argv[1], encoding="utf-8"))
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 8099
LOG = sys.argv[3] if len(sys.argv) > 3 else "requests.jsonl"
ST = {"i": 0, "n": 0, "think": {}}
NAME, AID = re.compile(r"^[a-zA-Z0-9_-]{1,64}$"), re.compile(r"^[a-zA-Z0-9_-]+$")

def bad_const(c): raise ValueError("non-JSON constant " + c)
def surrogates(o):
    try: json.dumps(o, ensure_ascii=False).encode("utf-8"); return False
    except UnicodeEncodeError: return True
def obj(s):
    try: return isinstance(json.loads(s, parse_constant=bad_const), dict)
    except Exception: return False
def tools_ok(names, e):
    for n in names:
        if not NAME.match(n or ""): e.append(f"tool name {n!r} not allowed")
    if len(set(names)) != len(names): e.append("tool names must be unique")
def openai(b):
    e, ms, open_ = [], b.get("messages") or [], []
    tools_ok([t.get("function", {}).get("name") for t in b.get("tools") or []], e)
    for i, m in enumerate(ms):
        r = m.get("role")
        if r == "tool":
            if m.get("tool_call_id") in open_: open_.remove(m["tool_call_id"])
            else: e.append(f"messages.{i}: tool result {m.get('tool_call_id')!r} answers no open call")
            if not isinstance(m.get("content"), (str, list)): e.append(f"messages.{i}: tool content must be text")
            continue
        if open_: e.append(f"messages.{i}: calls without result before it: {open_}"); open_ = []
        if r in ("system", "developer") and i: e.append(f"messages.{i}: second or late system message")
        if r == "assistant":
            tc = m.get("tool_calls") or []
            if not tc and not (m.get("content") if isinstance(m.get("content"), list) else (m.get("content") or "").strip()): e.append(f"messages.{i}: empty assistant message")
            ids = [c.get("id") for c in tc]
            if len(set(ids)) != len(ids) or not all(ids): e.append(f"messages.{i}: empty or repeated call ids {ids}")
            for c in tc:
                if not obj(c["function"].get("arguments")): e.append(f"messages.{i}: arguments not a JSON object: {c['function'].get('arguments')!r}")
            open_ = list(ids)
    if open_: e.append(f"transcript ends with calls without result: {open_}")
    if ms and ms[-1].get("role") == "assistant": e.append("nothing for the model to answer (last message is assistant)")
    return e
def anthropic(b):
    e, ms, open_, prev = [], b.get("messages") or [], [], None
    tools_ok([t.get("name") for t in b.get("tools") or []], e)
    for i, m in enumerate(ms):
        r, c = m.get("role"), m.get("content")
        if r not in ("user", "assistant"): e.append(f"messages.{i}: role {r!r}")
        if r == "assistant" and prev == "assistant": e.append(f"messages.{i}: two assistant messages in a row")
        prev = r
        blocks = [{"type": "text", "text": c}] if isinstance(c, str) else (c or [])
        if not blocks: e.append(f"messages.{i}: empty content")
        res = [x.get("tool_use_id") for x in blocks if x.get("type") == "tool_result"]
        if set(open_) - set(res): e.append(f"messages.{i}: tool_use ids without tool_result right after: {sorted(set(open_) - set(res))}")
        if set(res) - set(open_): e.append(f"messages.{i}: unexpected tool_use_id {sorted(set(res) - set(open_))}")
        if len(set(res)) != len(res): e.append(f"messages.{i}: two results for one call")
        if res and any(x.get("type") != "tool_result" for x in blocks[:len(res)]): e.append(f"messages.{i}: tool_result blocks must come first")
        open_ = []
        for x in blocks:
            t = x.get("type")
            if t == "text" and not (x.get("text") or "").strip(): e.append(f"messages.{i}: blank text block")
            if t == "tool_use":
                open_.append(x.get("id"))
                if not AID.match(x.get("id") or ""): e.append(f"messages.{i}: tool_use.id {x.get('id')!r} bad pattern")
                if not isinstance(x.get("input"), dict): e.append(f"messages.{i}: input not an object")
            if t == "thinking" and ST["think"].get(x.get("signature")) != x.get("thinking"):
                e.append(f"messages.{i}: thinking block changed or signature unknown")
        if len(set(open_)) != len(open_): e.append(f"messages.{i}: repeated tool_use ids")
    if open_: e.append("ends with tool_use without result")
    return e
class H(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def out(self, code, body, ctype="application/json"):
        b = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code); self.send_header("Content-Type", ctype)
        self.send_header("Content-Length", str(len(b))); self.end_headers(); self.wfile.write(b)
    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)); ST["n"] += 1
        anth = self.path.endswith("/messages"); err, b = [], None
        try:
            b = json.loads(raw.decode("utf-8"), parse_constant=bad_const)
            err = (anthropic if anth else openai)(b)
            if surrogates(b): err.append("no low surrogate in string")
        except Exception as x: err = [f"request body is not valid JSON: {x}"]
        turn = None if err else ST["i"]
        with open(LOG, "a", encoding="utf-8") as f:
            f.write(json.dumps({"n": ST["n"], "path": self.path, "ok": not err, "errors": err, "turn": turn, "body": b}) + "\n")
        if err: return self.out(400, {"type": "error", "error": {"type": "invalid_request_error", "message": "; ".join(err)}})
        if ST["i"] >= len(SCRIPT): return self.out(400, {"error": {"type": "script_exhausted", "message": "no scripted turn left"}})
        t = SCRIPT[ST["i"]]; ST["i"] += 1; time.sleep(t.get("sleep", 0))
        if t.get("status", 200) != 200: return self.out(t["status"], {"error": {"message": "scripted", "type": "scripted"}})
        if "raw" in t: return self.out(200, t["raw"])
        calls, usage = t.get("calls") or [], t.get("usage", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
        if anth:
            c = []
            if t.get("thinking"): c.append({"type": "thinking", "thinking": t["thinking"]["text"], "signature": t["thinking"]["sig"]}); ST["think"][t["thinking"]["sig"]] = t["thinking"]["text"]
            if t.get("text") is not None: c.append({"type": "text", "text": t["text"]})
            c += [{"type": "tool_use", "id": k.get("id"), "name": k["name"], "input": k.get("args") or {}} for k in calls]
            r = {"id": f"msg_{ST['n']}", "type": "message", "role": "assistant", "model": "scripted", "content": c, "stop_sequence": None,
                 "stop_reason": t.get("finish") or ("tool_use" if calls else "end_turn"), "usage": {"input_tokens": 10, "output_tokens": 5} if usage else usage}
        else:
            m = {"role": "assistant", "content": t.get("text")}
            if calls: m["tool_calls"] = [{"id": k.get("id"), "type": "function", "function": {"name": k["name"],
                       "arguments": k["args"] if isinstance(k.get("args"), str) else json.dumps(k.get("args") or {})}} for k in calls]
            r = {"id": f"c{ST['n']}", "object": "chat.completion", "created": 0, "model": "scripted", "usage": usage,
                 "choices": [{"index": 0, "message": m, "finish_reason": t.get("finish") or ("tool_calls" if calls else "stop")}]}
        if usage == "omit": r.pop("usage", None)
        if not b.get("stream"):
            return self.out(200, r) if not t.get("drop") else self.connection.close()
        ev = []
        if anth:
            ev.append(("message_start", {"type": "message_start", "message": {**r, "content": []}}))
            for i, x in enumerate(r["content"]):
                start = {"text": {"type": "text", "text": ""}, "tool_use": {**x, "input": {}}, "thinking": {"type": "thinking", "thinking": "", "signature": ""}}[x["type"]]
                ev.append(("content_block_start", {"type": "content_block_start", "index": i, "content_block": start}))
                ds = {"text": [{"type": "text_delta", "text": x.get("text")}], "tool_use": [{"type": "input_json_delta", "partial_json": json.dumps(x.get("input"))}],
                      "thinking": [{"type": "thinking_delta", "thinking": x.get("thinking")}, {"type": "signature_delta", "signature": x.get("signature")}]}[x["type"]]
                ev += [("content_block_delta", {"type": "content_block_delta", "index": i, "delta": d}) for d in ds]
                ev.append(("content_block_stop", {"type": "content_block_stop", "index": i}))
            ev += [("message_delta", {"type": "message_delta", "delta": {"stop_reason": r["stop_reason"], "stop_sequence": None}, "usage": {"output_tokens": 5}}), ("message_stop", {"type": "message_stop"})]
            lines = [f"event: {n}\ndata: {json.dumps(d)}\n\n" for n, d in ev]
        else:
            m = r["choices"][0]["message"]; mk = lambda d, f=None: {"id": r["id"], "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": [{"index": 0, "delta": d, "finish_reason": f}]}
            ch = [mk({"role": "assistant", "content": m["content"]})] + [mk({"tool_calls": [{**k, "index": i}]}) for i, k in enumerate(m.get("tool_calls") or [])]
            ch += [mk({}, r["choices"][0]["finish_reason"]), {**mk({}), "choices": [], "usage": r.get("usage")}]
            lines = [f"data: {json.dumps(c)}\n\n" for c in ch] + ["data: [DONE]\n\n"]
        if t.get("drop"): lines = lines[: int(t["drop"])]  # drop: n = send n events, then hang up
        self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.send_header("Connection", "close"); self.end_headers()
        for l in lines: self.wfile.write(l.encode()); self.wfile.flush()
        self.close_connection = True
SERVER = ThreadingHTTPServer(("127.0.0.1", PORT), H)
print("PORT", SERVER.server_address[1], flush=True)  # PORT 0: any free one
SERVER.serve_forever()
