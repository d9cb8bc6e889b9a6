/* Conformance cases of doc/reference/pipelines.md, "Conformance cases", that need no run: each text has its
 * class of error, or is valid. The numbers are those of the page. */
#include "pipeline/definition.h"

#include "pipeline/test/parse.h"

typedef struct {
        const char *id, *body, *class; /* NULL: valid */
        DefinitionRequest request;
        const char *parameters; /* of the request, JSON */
} Case;

/* A step, and one with keys. */
#define A "entry_points: {a: {command: c}}\n"
#define STEP(keys) "entry_points: {a: {" keys "}}\n"
#define AB(a, b) "entry_points: {a: {" a "}, b: {" b "}}\n"
#define FS "fs_options: {main_fs: {name: xd}}\n"

static const Case schema[] = {
        { "C001", "entry_points:\n  c: {deps: b, parameters: {p: '{{b.p}}'}}\n  b: {deps: a, parameters: {p: "
                  "'{{a.p}}'}}\n  a: {parameters: {p: 1}}\n" },
        { "C002", "entry_points: {data-preprocess: {deps: main}, main: {deps: data-preprocess}}", "PE-09" },
        { "C003", "entry_points: {d: {entry_points: {a: {deps: b}, b: {deps: a}}}}", "PE-09" },
        { "C003-library", A "components: {d: {entry_points: {a: {deps: b}, b: {deps: a}}}}", "PE-09" },
        { "C004", STEP("deps: a"), "PE-09" },
        { "C005", STEP("deps: b"), "PE-08" },
        { "C006", "entry_points: {t: {}, d: {entry_points: {a: {deps: t}}}}", "PE-08" },
        { "C007", AB("deps: ' b , ,'", "command: c") },
        { "C008", AB("deps: [b]", ""), "PE-02" },
        { "C009", A "foo: 1", "PE-03" },
        { "C010", STEP("foo: 1"), "PE-03" },
        { "C011", "entry_points: {d: {command: x, entry_points: {a: {}}}}", "PE-03" },
        { "C011-env", "entry_points: {d: {env: {}, entry_points: {a: {}}}}", "PE-03" },
        { "C012-underscore", "entry_points: {a_b: {}}", "PE-05" },
        { "C012-31", "entry_points: {abcdefghijklmnopqrstuvwxyz01234: {}}", "PE-05" },
        { "C012-30", "entry_points: {abcdefghijklmnopqrstuvwxyz0123: {}}" },
        { "C013-dot", "!name: a.b\ndocker_env: i\n" A, "PE-04" },
        { "C013-digit", "!name: 1ab\ndocker_env: i\n" A, "PE-04" },
        { "C013-empty", "!docker_env: i\n" A, "PE-04" },
        { "C014-97",
          "!name: a_234567890-234567890-234567890-234567890-234567890-234567890-234567890-234567890-"
          "234567890-234567\ndocker_env: i\n" A },
        { "C014-153",
          "!name: a_234567890-234567890-234567890-234567890-234567890-234567890-234567890-234567890-"
          "234567890-234567890-234567890-234567890-234567890-234567890-23456789012\ndocker_env: i\n" A,
          "PE-04" },
        { "C015", A "parallelism: '5'", "PE-02" },
        { "R-5", A "parallelism: 2.5", "PE-02" },
        { "C017-dag", STEP("type: dag"), "PE-02" },
        { "C017-step", "entry_points: {d: {type: step, entry_points: {a: {}}}}", "PE-02" },
        { "C018", "entry_points: {d: {type: DAG, entry_points: {a: {type: Step}}}}" },
        { "C019-null", "entry_points: {a: }", "PE-02" },
        { "C019-empty", "entry_points: {a: {}}" },
        { "C020", A "failure_options: {strategy: foo}", "PE-30" },
        { "C021", A "failure_options: {}" },
        { "C022", STEP("env: {a: 1, b: 1.5, c: s}") },
        { "C022-bool", STEP("env: {a: true}"), "PE-02" },
        { "C022-null", STEP("env: {a: }"), "PE-02" },
        { "C023", STEP("docker_env: x.tar"), "PE-31" },
        { "C023-global", "!name: a\ndocker_env: x.tar\n" A, "PE-31" },
        { "C024", "entry_points: {}", "PE-34" },
        { "R-4", "entry_points: {d: {entry_points: {}}}", "PE-34" },
        { "missing", "parallelism: 1", "PE-02" },
        { "C025", A "components: {x: {deps: y}, y: {}}", "PE-23" },
        { "R-1", "entry_points: {y: {deps: no}, no: {}}" },
        { "R-1-bool", FS "cache: {enable: yes}\n" A },
        { "R-1-quoted", "cache: {enable: 'yes'}\n" A, "PE-02" },
        { "R-2", "entry_points: {a: {}, a: {}}", "PE-01" },
        { "R-3", "entry_points: {a: {command: , env: , deps: ~, loop_argument: null}}\ncache: \n" },
        { "R-7", "!name: a\n" A, "PE-02" },
        { "R-7-distributed", "!name: a\nentry_points: {a: {env: {PF_JOB_TYPE: distributed}}}" },
        { "R-8", "!name: a\n" A, NULL, { .docker_env = "img" } },
        { "own-keys", STEP("retries: 2, time_limit: 2h, package: x, requirements: [numpy, scipy]") },
        { "own-fingerprint", STEP("cache: {enable: true, fingerprint: content}") },
        { "own-retries", STEP("retries: -1"), "PE-02" },
        { "own-time", STEP("time_limit: soon"), "PE-02" },
        { "unknown-artifacts", STEP("artifacts: {inputs: {}}"), "PE-03" },
        { "case", STEP("Command: x"), "PE-03" },
        { "json-spelling", STEP("dockerEnv: x"), "PE-03" },
        { "not-yaml", "entry_points: [", "PE-01" },
        { "list", "![]", "PE-02" },
        { "json",
          "!{\"name\": \"a\", \"docker_env\": \"i\", \"entry_points\": {\"a\": {\"command\": \"c\"}}}" },
        { "json-bad", "!{name: a}", "PE-01" },
        { "runjson",
          "!{\"name\": \"a\", \"dockerEnv\": \"i\", \"queue\": \"q\", \"username\": \"u\", \"description\": "
          "\"d\", \"env\": {\"A\": 1}, \"entryPoints\": {\"a\": {\"flavour\": \"f\", \"jobType\": "
          "\"single\", \"loopArgument\": [1], \"extraFS\": [{\"name\": \"e\", \"subPath\": \"s\"}]}}}",
          NULL,
          { .json_body = true } },
        { "first-error", "entry_points: {a_b: {deps: zz, parameters: {p: '{{q}}'}}}", "PE-05" },
        { "first-error-type", "entry_points: {a_b: {deps: [zz]}}", "PE-02" },
};

#define P(value) STEP("parameters: {p: " value "}")
#define UP "entry_points: {up: {parameters: {q: 1}}, a: {deps: up, parameters: {p: "

static const Case parameters[] = {
        { "C026",
          "entry_points: {data-preprocess: {}, main: {deps: data-preprocess, parameters: {data_file: '{{ "
          "data-preprocess.xxxinvalid }}'}}}",
          "PE-12" },
        { "C027", P("'{{ xxx }}'"), "PE-10" },
        { "C028", P("'{{ .refSystem }}'"), "PE-10" },
        { "C029", "entry_points: {a: {parameters: {p: '{{b.q}}'}}, b: {deps: a, parameters: {q: 1}}}",
          "PE-11" },
        { "C030", STEP("parameters: {invalid-name: 1}"), "PE-06" },
        { "C030-env", STEP("env: {invalid-name: 1}"), "PE-06" },
        { "C031-input",
          FS AB("parameters: {X: 1}, deps: b, artifacts: {input: {x: '{{b.o}}'}}",
                "artifacts: {output: [o]}"),
          "PE-07" },
        { "C031-output", FS STEP("parameters: {x: 1}, artifacts: {output: [X]}"), "PE-07" },
        { "C031-both",
          FS AB("deps: b, artifacts: {input: {x: '{{b.o}}'}, output: [x]}", "artifacts: {output: [o]}"),
          "PE-07" },
        { "env-beside", STEP("parameters: {x: 1}, env: {x: 1}") },
        { "C032", P("{type: path, default: ''}"), "PE-16" },
        { "C032-bad-type", P("{type: zzz, default: ''}"), "PE-16" },
        { "C033", P("{kkk: 0.32}"), "PE-15" },
        { "C034", P("{type: float}"), "PE-16" },
        { "C035", P("{type: float, default: kkk}"), "PE-16" },
        { "C036-float", P("{type: float, default: 111}") },
        { "C036-string", P("{type: string, default: '111'}") },
        { "C036-path", P("{type: path, default: /111-1/111_2}") },
        { "C036-case", P("{Type: int, DEFAULT: 1, other: 2}") },
        { "C037", P("{type: path, default: '/111 / '}"), "PE-16" },
        { "C038", P("{type: unsupportedType, default: '111'}"), "PE-16" },
        { "C039-3.5", P("{type: int, default: 3.5}"), "PE-16" },
        { "C039-0", P("{type: int, default: 0}") },
        { "C040", P("1"), "PE-32", { 0 }, "{\"p1\": 1}" },
        { "C041", "entry_points: {main: {parameters: {model: x}}}", NULL, { 0 }, "{\"model\": \"correct\"}" },
        { "C041-dotted",
          "entry_points: {main: {parameters: {model: x}}}",
          NULL,
          { 0 },
          "{\"main.model\": \"correct\"}" },
        { "C042", P("1"), NULL, { 0 }, "{\"p\": \"{{ PF_RUN_ID }}\"}" },
        { "C042-unknown", P("1"), "PE-10", { 0 }, "{\"p\": \"{{ xxx }}\"}" },
        { "C042-step", P("1"), "PE-11", { 0 }, "{\"p\": \"{{ step1.param }}\"}" },
        { "C043", "entry_points: {a: {parameters: {q: 1}}}", "PE-32", { 0 }, "{\"a.b.q\": 1}" },
        { "C044-bool", P("true"), "PE-15" },
        { "C044-null", P("null"), "PE-15" },
        { "C044-request", P("1"), "PE-15", { 0 }, "{\"p\": true}" },
        { "C045", P("['{{PF_RUN_ID}}']"), "PE-17" },
        { "C045-bool", P("[1, [true]]"), "PE-17" },
        { "C045-nested", P("[1, [2, x], 1.5]") },
        { "C046-env", UP "1}, env: {e: '{{up.q}}'}}}", "PE-14" },
        { "C046-command", UP "1}, command: '{{up.q}}'}}", "PE-14" },
        { "C047",
          FS AB("deps: b, env: {e: '{{in1}}'}, artifacts: {input: {in1: '{{b.o}}'}}",
                "artifacts: {output: [o]}"),
          "PE-10" },
        { "C053-top", P("'{{PF_PARENT.p}}'"), "PE-14" },
        { "C053-command",
          "entry_points: {d: {parameters: {p: 1}, entry_points: {a: {command: '{{PF_PARENT.p}}'}}}}",
          "PE-14" },
        { "C053-loop",
          "entry_points: {d: {entry_points: {a: {parameters: {p: '{{PF_PARENT.PF_LOOP_ARGUMENT}}'}}}}}",
          "PE-12" },
        { "C051", "entry_points: {d: {loop_argument: [1], entry_points: {a: {parameters: {p: "
                  "'{{PF_PARENT.PF_LOOP_ARGUMENT}}'}}}}}" },
        { "C054", P("'{{PF_FS_ID}}'"), "PE-10" },
        { "C055", A, "PE-33", { .fs_id = "fs-root-x" } },
        { "fs-mismatch", FS A, "InvalidArguments", { .fs_name = "other" } },
        { "C056", AB("condition: 1 > 0, parameters: {q: 1}", "deps: a, parameters: {p: '{{a.q}}'}") },
        { "R-11", P("{type: string, default: '{{zz}}'}"), "PE-10" },
        { "R-13", AB("loop_argument: [1]", "deps: a, parameters: {p: '{{a.PF_LOOP_ARGUMENT}}'}"), "PE-12" },
        { "R-10", P("{type: list, default: [1, 2]}") },
        { "R-10-item", P("{type: list, default: [true]}"), "PE-17" },
        { "R-16-int", P("{type: int, default: 1}"), NULL, { 0 }, "{\"p\": \"7\"}" },
        { "R-16-int-bad", P("{type: int, default: 1}"), "PE-16", { 0 }, "{\"p\": \"x\"}" },
        { "R-16-float", P("{type: float, default: 1}"), NULL, { 0 }, "{\"p\": \"1.5\"}" },
        { "R-16-list", P("{type: list, default: [1]}"), NULL, { 0 }, "{\"p\": \"[1, 2]\"}" },
        { "R-16-string", P("{type: string, default: x}"), "PE-16", { 0 }, "{\"p\": 5}" },
        { "R-17", P("{type: int, default: 1}"), NULL, { 0 }, "{\"p\": \"\"}" },
        { "library-request", A "components: {x: {parameters: {z: 1}}}", "PE-32", { 0 }, "{\"z\": 1}" },
        { "text", P("'{{a.b.c}} {{}} {{$x}} {{a b}}'") },
        { "dash", P("'{{a-b}}'"), "PE-10" },
        { "library-parent", A "components: {x: {parameters: {z: '{{PF_PARENT.p}}'}}}", "PE-14" },
};

#define OUT "artifacts: {output: [o]}"
#define IN(value) FS AB(OUT, "deps: a, artifacts: {input: {i: " value "}}")

static const Case artifacts[] = {
        { "C057", FS AB("artifacts: {output: [train_data, validate_data]}",
                        "deps: a, artifacts: {input: {train_data: '{{a.train_data}}'}}") },
        { "C058", STEP(OUT), "PE-20" },
        { "C058-request", STEP(OUT), NULL, { .fs_name = "home" } },
        { "C058-default", STEP(OUT), NULL, { .fs_default = "home" } },
        { "C059-one", IN("'{{ xxxx }}'"), "PE-21" },
        { "C059-text", IN("./x"), "PE-21" },
        { "C060", IN("'{{a.none}}'"), "PE-12" },
        { "C061-three", IN("'{{a.o.wrongPattern}}'"), "PE-21" },
        { "C061-before", IN("'prefix{{a.o}}'"), "PE-21" },
        { "C061-behind", IN("'{{a.o}}postfix'"), "PE-21" },
        { "C061-open", IN("'{{a.o'"), "PE-21" },
        { "C061-blanks", IN("'{{  a.o  }}'") },
        { "C062",
          FS "entry_points: {a: {" OUT "}, b: {deps: a, artifacts: {input: {i: '{{a.o}}'}}}, c: {deps: b, "
             "artifacts: {input: {j: '{{b.i}}'}}}}",
          "PE-12" },
        { "C063-list", FS STEP("artifacts: {output: [x]}") },
        { "C063-map", FS STEP("artifacts: {output: {x: ''}}") },
        { "C063-text", FS STEP("artifacts: {output: {x: y}}"), "PE-02" },
        { "C063-plain", FS STEP("artifacts: {output: x}"), "PE-02" },
        { "C063-dag", FS "entry_points: {d: {artifacts: {output: [o]}, entry_points: {a: {" OUT "}}}}",
          "PE-02" },
        { "C067-unknown",
          FS "entry_points: {d: {artifacts: {output: {o: '{{zz.o}}'}}, entry_points: {a: {" OUT "}}}}",
          "PE-12" },
        { "C067-condition",
          FS
          "entry_points: {d: {artifacts: {output: {o: '{{a.o}}'}}, entry_points: {a: {condition: 1 > 0, " OUT
          "}}}}",
          "PE-13" },
        { "C067-input", FS AB("condition: 1 > 0, " OUT, "deps: a, artifacts: {input: {i: '{{a.o}}'}}"),
          "PE-13" },
        { "C068", FS "entry_points: {d: {artifacts: {output: {o: '{{a.o}}'}}, entry_points: {a: {" OUT
                     "}}}, s: {deps: "
                     "d, artifacts: {input: {i: '{{d.o}}'}}}}" },
        { "C069", FS STEP("cache: {fs_scope: [{name: other}]}"), "PE-28" },
        { "C069-extra", FS STEP("extra_fs: [{name: other}], cache: {fs_scope: [{name: other, path: /x}]}") },
        { "C069-global", FS "cache: {fs_scope: [{name: other}]}\n" A, "PE-28" },
        { "C069-unnamed", FS STEP("extra_fs: [{mount_path: /x}]"), "PE-28" },
        { "C070", "fs_options: {main_fs: {name: x, read_only: true}}\n" A, "PE-29" },
        { "C070-sub", "fs_options: {main_fs: {name: x, sub_path: /a}}\n" A, "PE-29" },
        { "C070-comma", "fs_options: {main_fs: {name: x, sub_path: 'a,b'}}\n" A, "PE-29" },
        { "C070-mount", "fs_options: {main_fs: {name: x, mount_path: '/a,b'}}\n" A, "PE-29" },
        { "C070-extra", STEP("extra_fs: [{name: e, sub_path: /a}]"), "PE-29" },
        { "mount-key", STEP("extra_fs: [{name: e, subpath: a}]"), "PE-03" },
        { "mount-id", STEP("extra_fs: [{name: e, id: 7}]") },
        { "R-12", FS "entry_points: {a: {" OUT
                     "}, d: {deps: a, condition: 1 > 0, artifacts: {input: {i: '{{a.o}}'}}, "
                     "entry_points: {c: {artifacts: {input: {j: '{{PF_PARENT.i}}'}}}}}}" },
        { "C123", STEP("cache: {max_expired_time: notInt}"), "PE-27" },
        { "C123-global", "cache: {max_expired_time: notInt}\n" A, "PE-27" },
        { "C123-empty", "cache: {max_expired_time: ''}\n" STEP("cache: {max_expired_time: ''}") },
        { "cache-float", STEP("cache: {max_expired_time: 1.5}"), "PE-02" },
        { "cache-enable", STEP("cache: {enable: 'true'}"), "PE-02" },
};

#define LOOP(value) STEP("parameters: {p: x}, loop_argument: " value)
#define WHEN(text) STEP("parameters: {p: 1, _q: 2}, condition: \"" text "\"")
#define LIB                                                                                                  \
        "components: {c: {parameters: {p1: 1, t: {type: int, default: 3}}, artifacts: {input: {in: ''}, output: [o]}}}\n"
#define REF(keys) FS LIB "entry_points: {a: {" OUT "}, r: {deps: a, reference: {component: c}" keys "}}\n"
#define REF_IN "artifacts: {input: {in: '{{a.o}}'}}"

static const Case flow[] = {
        { "C074", STEP("parameters: {p: [1, 2]}, loop_argument: '{{p}}'") },
        { "C074-text", STEP("parameters: {p: '[1, 2, \"D3\", 4]'}, loop_argument: '{{p}}'") },
        { "C074-json", LOOP("'[1, 2, \"D3\", 4]'") },
        { "C075", STEP("parameters: {p: 1}, loop_argument: '{{p}}'") },
        { "C076-int", LOOP("5"), "PE-18" },
        { "C076-map", LOOP("{a: 1}"), "PE-18" },
        { "C076-bool", LOOP("[true]"), "PE-18" },
        { "C076-null", LOOP("[1, null]"), "PE-18" },
        { "C076-template", LOOP("['{{p}}']"), "PE-18" },
        { "C076-word", LOOP("abc"), "PE-18" },
        { "C076-object", LOOP("'{\"a\": 1}'"), "PE-18" },
        { "C076-empty", LOOP("''"), "PE-18" },
        { "C076-json-bool", LOOP("'[true]'"), "PE-18" },
        { "C077-system", LOOP("'{{PF_RUN_ID}}'"), "PE-18" },
        { "C077-before", LOOP("'x{{p}}'"), "PE-18" },
        { "C077-two", LOOP("'{{p}}{{p}}'"), "PE-18" },
        { "C077-sibling", AB("parameters: {q: 1}", "deps: a, loop_argument: '{{a.q}}'"), "PE-18" },
        { "C077-output", FS STEP("loop_argument: '{{o}}', " OUT), "PE-18" },
        { "C078", LOOP("[]") },
        { "C079", WHEN("{{p}} > 0") },
        { "C081-end", WHEN("1 >"), "PE-19" },
        { "C081-unknown", WHEN("{{zz}} > 1"), "PE-19" },
        { "C081-output", FS STEP("condition: \"{{o}} > 1\", " OUT), "PE-19" },
        { "C081-sibling", AB("parameters: {q: 1}", "deps: a, condition: \"{{a.q}} > 0\""), "PE-19" },
        { "C081-operator", WHEN("{{p}}>-5"), "PE-19" },
        { "C081-blank", WHEN("{{p}} > -5") },
        { "underscore", WHEN("{{_q}} > 1"), "PE-19" },
        { "underscore-quoted", WHEN("'{{_q}}' == 'x'") },
        { "condition-type", STEP("condition: 5"), "PE-02" },
        { "C085",
          "components: {cp3: {parameters: {p1: 3, p3: 3, p4: 5}}, cp2: {reference: {component: cp3}, parameters: "
          "{p1: 2, p3: 5}}, cp1: {reference: {component: cp2}, parameters: {p1: 1}}}\n"
          "entry_points: {ref1: {reference: {component: cp1}, parameters: {p1: 10}}}" },
        { "C085-not-direct",
          "components: {cp2: {parameters: {p1: 1, p2: 2}}, cp1: {reference: {component: cp2}, parameters: {p1: 1}}}\n"
          "entry_points: {r: {reference: {component: cp1}, parameters: {p2: 1}}}",
          "PE-22" },
        { "C086", REF(", " REF_IN) },
        { "C087-command", REF(", command: x, " REF_IN), "PE-22" },
        { "C087-env", REF(", env: {a: 1}, " REF_IN), "PE-22" },
        { "C087-loop", REF(", loop_argument: [1], " REF_IN), "PE-22" },
        { "C087-condition", REF(", condition: 1 > 0, " REF_IN), "PE-22" },
        { "C087-image", REF(", docker_env: x, " REF_IN), "PE-22" },
        { "C087-cache-off", REF(", cache: {enable: false}, " REF_IN) },
        { "C087-cache-on", REF(", cache: {enable: true}, " REF_IN), "PE-22" },
        { "C088-unknown", STEP("reference: {component: zz}"), "PE-22" },
        { "C088-inner", "components: {c: {entry_points: {k: {}}}}\n" STEP("reference: {component: c.k}"),
          "PE-22" },
        { "C088-parameter", REF(", parameters: {zz: 1}, " REF_IN), "PE-22" },
        { "C088-missing", REF(""), "PE-22" },
        { "C088-extra", REF(", artifacts: {input: {in: '{{a.o}}', more: '{{a.o}}'}}"), "PE-22" },
        { "C089", A "components: {c: {reference: {component: c}}}", "PE-24" },
        { "C089-dag", A "components: {c: {entry_points: {k: {reference: {component: c}}}}}", "PE-24" },
        { "C090", A "components: {c: {command: '{{zz}}'}}", "PE-10" },
        { "R-24", REF(", parameters: {t: '{{PF_RUN_ID}}'}, " REF_IN) },
        { "R-24-type", REF(", parameters: {t: x}, " REF_IN), "PE-22" },
        { "R-24-path",
          "components: {c: {parameters: {d: {type: path, default: x}}}}\n"
          "entry_points: {a: {reference: {component: c}, parameters: {d: 'a b'}}}",
          "PE-22" },
        { "reference-condition",
          FS "components: {c: {condition: 1 > 0, " OUT
             "}}\nentry_points: {r: {reference: {component: c}}, s: {deps: r, "
             "artifacts: {input: {i: '{{r.o}}'}}}}",
          "PE-13" },
        { "reference-output",
          FS "components: {c: {" OUT
             "}}\nentry_points: {r: {reference: {component: c}}, s: {deps: r, artifacts: {input: "
             "{i: '{{r.o}}'}}}}" },
        { "C091-unknown", A "disabled: notExistStepName", "PE-26" },
        { "C091-twice", IN("'{{a.o}}'") "disabled: 'b,b'", "PE-26" },
        { "C091-leaf", IN("'{{a.o}}'") "disabled: b" },
        { "C091-used", IN("'{{a.o}}'") "disabled: a", "PE-26" },
        { "C091-both", IN("'{{a.o}}'") "disabled: 'a, b'" },
        { "C091-request", IN("'{{a.o}}'") "disabled: a", NULL, { .disabled = "" } },
        { "C092", AB("", "deps: a") "disabled: a" },
        { "C093",
          FS "entry_points: {d: {artifacts: {output: {o: '{{b.o}}'}}, entry_points: {b: {" OUT
             "}}}}\ndisabled: "
             "d.b",
          "PE-26" },
        { "disabled-reference",
          "components: {c: {entry_points: {k: {}}}}\nentry_points: {r: {reference: {component: c}}}\ndisabled: r.k" },
        { "disabled-unchecked", STEP("command: '{{zz}}'") "disabled: a" },
        { "C094", A "post_process: {x: {}, y: {}}", "PE-25" },
        { "C095-name", A "post_process: {a: {}}", "PE-25" },
        { "C095-deps", A "post_process: {x: {deps: a}}", "PE-25" },
        { "C095-input", FS STEP(OUT) "post_process: {x: {artifacts: {input: {i: '{{a.o}}'}}}}", "PE-25" },
        { "C095-condition", A "post_process: {x: {condition: 1 > 0}}", "PE-25" },
        { "C095-loop", A "post_process: {x: {loop_argument: [1]}}", "PE-25" },
        { "C095-cache", A "post_process: {x: {cache: {enable: true}}}", "PE-25" },
        { "C095-upstream", A "post_process: {x: {parameters: {p: '{{a.q}}'}}}", "PE-25" },
        { "C095-dag", A "post_process: {x: {entry_points: {k: {}}}}", "PE-25" },
        { "C095-dag-reference",
          A "components: {c: {entry_points: {k: {}}}}\npost_process: {x: {reference: {component: "
            "c}}}",
          "PE-25" },
        { "C096", FS A "post_process: {x: {command: '{{o}}', " OUT "}}" },
        { "C096-reference", A "components: {c: {}}\npost_process: {x: {reference: {component: c}}}" },
        { "R-25", A
          "components: {c: {}, d: {reference: {component: c}}}\npost_process: {x: {reference: {component: d}}}" },
};

static void check(const Case *one)
{
        DefinitionRequest request = one->request;
        g_autoptr(json_t) json = one->parameters ? json_loads(one->parameters, 0, NULL) : NULL;
        g_autoptr(Definition) definition = NULL;
        g_auto(Problems) problems = { 0 };
        const Problem *first;

        request.parameters = json;
        problems_init(&problems);
        definition = parse_with(one->body, &request, &problems);
        for (guint i = 0; i < problems.list->len; i++) {
                g_autofree char *text = problem_format(problems.list->pdata[i]);

                g_test_message("%s: %s", one->id, text);
        }
        first = problems_first(&problems);
        g_assert_cmpint(definition != NULL, ==, problems.n == 0);
        g_assert_cmpstr(first ? problem_class_name(first->class) : NULL, ==, one->class);
}

static void check_all(const Case *cases, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                g_test_message("%s", cases[i].id);
                check(&cases[i]);
        }
}

static void test_schema(void)
{
        check_all(schema, G_N_ELEMENTS(schema));
}

static void test_parameters(void)
{
        check_all(parameters, G_N_ELEMENTS(parameters));
}

static void test_artifacts(void)
{
        check_all(artifacts, G_N_ELEMENTS(artifacts));
}

static void test_flow(void)
{
        check_all(flow, G_N_ELEMENTS(flow));
}

/* A path in the scope of a cache has at most 4,095 bytes, each of a list for itself. */
static void test_scope_paths(void)
{
        g_autofree char *longest = g_strnfill(4095, 'x'), *longer = g_strconcat(longest, "y", NULL);
        const struct {
                const char *first, *second, *class;
        } rows[] = { { longest, "b", NULL },
                     { longer, "b", "PE-02" },
                     { longest, longest, NULL },
                     { "b", longer, "PE-02" } };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *body =
                        g_strdup_printf(FS STEP("cache: {fs_scope: [{name: xd, path: '%s,%s'}]}"),
                                        rows[i].first, rows[i].second);

                check(&(Case){ "scope-path", body, rows[i].class });
        }
}

/* An image, a directory and requirements are no longer than those of a job. */
static void test_long_texts(void)
{
        enum { TEXT = 128 * 1024 };
        g_autofree char *image = g_strnfill(255, 'i'), *longer_image = g_strnfill(256, 'i'),
                        *text = g_strnfill(TEXT, 'x'), *longer = g_strnfill(TEXT + 1, 'x');
        const struct {
                const char *id, *format, *good, *bad;
        } rows[] = {
                { "image", STEP("docker_env: '%s'"), image, longer_image },
                { "image-global", "!name: a\ndocker_env: '%s'\n" A, image, longer_image },
                { "package", STEP("package: '%s'"), text, longer },
                { "requirements", STEP("requirements: '%s'"), text, longer },
                { "requirements-list", STEP("requirements: [a, '%s']"), text + 3,
                  text + 2 }, /* with line ends */
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_auto(GStrv) parts = g_strsplit(rows[i].format, "%s", 2);
                g_autofree char *good = g_strconcat(parts[0], rows[i].good, parts[1], NULL);
                g_autofree char *bad = g_strconcat(parts[0], rows[i].bad, parts[1], NULL);

                check(&(Case){ rows[i].id, good, NULL });
                check(&(Case){ rows[i].id, bad, "PE-02" });
        }
        check(&(Case){ "image-request", "!name: a\n" A, "PE-02", { .docker_env = longer_image } });
}

/* "d,d,d": `n` paths; the caller's. */
static char *paths(int n)
{
        GString *text = g_string_new("d");

        for (int i = 1; i < n; i++)
                g_string_append(text, ",d");
        return g_string_free(text, FALSE);
}

/* 64 KiB of paths; the caller's. */
static char *long_paths(void)
{
        enum { PATHS = 16, BYTES = 4095 };
        g_autofree char *path = g_strnfill(BYTES, 'x');
        GString *text = g_string_new(NULL);

        for (int i = 0; i < PATHS; i++)
                g_string_append_printf(text, "%s,", path);
        return g_string_free(text, FALSE);
}

/* An item of fs_scope; NULL: none. The caller's. */
static char *scope(const char *text)
{
        return text ? g_strdup_printf("{name: xd, path: '%s'},", text) : g_strdup("");
}

/* The scopes of a step name at most 1,000 paths in 64 KiB, with those of the definition. */
static void test_scope_sizes(void)
{
        g_autofree char *half = paths(500), *rest = paths(501), *most = paths(1000), *more = paths(1001);
        g_autofree char *full = long_paths(), *longer = g_strconcat(full, "x", NULL);
        const struct {
                const char *global, *first, *second, *class; /* NULL: there is none, or it is valid */
        } rows[] = {
                { NULL, most, NULL, NULL },    { NULL, more, NULL, "PE-02" }, { NULL, half, half, NULL },
                { NULL, half, rest, "PE-02" }, { most, NULL, NULL, NULL },    { more, NULL, NULL, "PE-02" },
                { half, half, NULL, NULL },    { half, rest, NULL, "PE-02" }, { half, "", NULL, NULL },
                { most, "", NULL, "PE-02" },   { NULL, full, NULL, NULL },    { NULL, longer, NULL, "PE-02" },
                { full, "x", NULL, "PE-02" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *id = g_strdup_printf("scope-size-%zu", i), *global = scope(rows[i].global),
                                *first = scope(rows[i].first), *second = scope(rows[i].second);
                g_autofree char *body =
                        g_strdup_printf(FS "cache: {fs_scope: [%s]}\n" STEP("cache: {fs_scope: [%s%s]}"),
                                        global, first, second);

                check(&(Case){ id, body, rows[i].class });
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/pipeline/schema", test_schema);
        g_test_add_func("/pipeline/parameters", test_parameters);
        g_test_add_func("/pipeline/artifacts", test_artifacts);
        g_test_add_func("/pipeline/flow", test_flow);
        g_test_add_func("/pipeline/scope-paths", test_scope_paths);
        g_test_add_func("/pipeline/long-texts", test_long_texts);
        g_test_add_func("/pipeline/scope-sizes", test_scope_sizes);
        return g_test_run();
}
