BEGIN TRANSACTION;
CREATE TABLE lovia_cancels (run_id TEXT PRIMARY KEY, owner TEXT NOT NULL);
CREATE TABLE lovia_lines (run_id TEXT PRIMARY KEY REFERENCES lovia_runs (run_id) ON DELETE CASCADE, data TEXT NOT NULL, sum TEXT NOT NULL);
INSERT INTO "lovia_lines" VALUES('r','{"agent":"a","config":{"model":"m"}}','21258fda7060728e622cb3eec5d8862a7f5bf477fa439a811e7b49949e57b50c');
CREATE TABLE lovia_logs (log INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL);
INSERT INTO "lovia_logs" VALUES(1,'r');
CREATE TABLE lovia_runs (run_id TEXT PRIMARY KEY, log INTEGER NOT NULL UNIQUE REFERENCES lovia_logs (log), session_id TEXT, settled INTEGER NOT NULL, status TEXT NOT NULL, save INTEGER NOT NULL, step INTEGER NOT NULL, updated_at REAL NOT NULL, entries INTEGER NOT NULL, last TEXT NOT NULL, sum TEXT NOT NULL);
INSERT INTO "lovia_runs" VALUES('r',1,'s',0,'running',2,1,1002.0,2,'45d6dcbe99e7d0943cd61eb033127c75f6a4caf7752530a8d94decf340f6d334','95333dad3812ad982335c0cfd01390fe06781e705c228e44a78dba1fb2533205');
CREATE TABLE lovia_saves (log INTEGER NOT NULL REFERENCES lovia_logs (log) ON DELETE CASCADE, number INTEGER NOT NULL, status TEXT NOT NULL, entries INTEGER NOT NULL, data TEXT NOT NULL, sum TEXT NOT NULL, PRIMARY KEY (log, number));
INSERT INTO "lovia_saves" VALUES(1,1,'running',1,'{"save":1,"step":0,"at":1001.0,"event":"started","head":{"status":"running","session_id":"s","agent":"a","config":{"model":"m"}},"entries":[{"type":"input","text":"hello"}]}','c12ea4bebe9efc09680c6c71a00b5d3ab9e07890de310c375c425ceab309c151');
INSERT INTO "lovia_saves" VALUES(1,2,'running',2,'{"save":2,"step":1,"at":1002.0,"event":"response","entries":[{"type":"tool_call","id":"call","name":"weather","arguments":"{}","step":1,"position":1}]}','45d6dcbe99e7d0943cd61eb033127c75f6a4caf7752530a8d94decf340f6d334');
CREATE TABLE lovia_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL);
INSERT INTO "lovia_schema" VALUES('runs',1);
INSERT INTO "lovia_schema" VALUES('sessions',1);
CREATE TABLE lovia_segments ( session_id TEXT NOT NULL REFERENCES lovia_sessions (session_id) ON DELETE CASCADE, n INTEGER NOT NULL, run_id TEXT NOT NULL, entries TEXT NOT NULL, meta TEXT NOT NULL, checksum TEXT NOT NULL, sum TEXT NOT NULL, PRIMARY KEY (session_id, n), UNIQUE (session_id, run_id));
INSERT INTO "lovia_segments" VALUES('s',1,'r1','[{"type":"input","text":"question 1"},
{"type":"assistant_text","text":"answer 1","step":1}]','{"n":1}','f79c32478af744e7d4694813b73585a338056e6cb8ca688a269c2dbf9131a972','7cb8deff8b31be66ca378a3732978c938f13e17c11e3feb310802cb331376f2a');
INSERT INTO "lovia_segments" VALUES('s',2,'r2','[{"type":"input","text":"question 2"},
{"type":"assistant_text","text":"answer 2","step":1}]','{"n":2}','1d78e097fac88b6d9969860f73917c54bfbfeea2295e5f6340f13cfecf1110ca','abc1309daf607422ce7f6a936c5936395b5963da3cd45af091d52971a60a9810');
CREATE TABLE lovia_sessions (session_id TEXT PRIMARY KEY, segments INTEGER NOT NULL, entries INTEGER NOT NULL, updated_at REAL NOT NULL, sum TEXT NOT NULL);
INSERT INTO "lovia_sessions" VALUES('s',2,4,1.7959812581563975811e+09,'a4eaf4839b22b5e9bdeaa394a8f61f6aed7be0dd12ed776de0d9db2fd20c5b8e');
CREATE INDEX lovia_runs_open ON lovia_runs (session_id) WHERE settled = 0;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('lovia_logs',1);
COMMIT;
