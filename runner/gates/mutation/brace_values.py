"""What mutants of JavaScript, TypeScript and Go call: a value changed in one way alone.

The helpers of `changed_values` once more, as texts that a file gets at its end.
"""

from __future__ import annotations

# Functions and a `var` are there before the first line runs (ECMAScript, hoisted declarations).
SCRIPT = """
function __runner_any(v{any}, deep{any}){any} {{
  for (const way of ["more", "other", "last", "first", "longer"]) {{
    const got = __runner_change(v, way, deep);
    if (got !== v) return got;
  }}
  return v;
}}
function __runner_put(list{any}, way{any}, deep{any}){any} {{
  const at = way === "first" && list.length ? 0 : way === "middle" && list.length > 2
    ? list.length >> 1 : way === "last" && list.length > 1 ? list.length - 1 : -1;
  if (at < 0) return list;
  const got = __runner_any(list[at], deep - 1);
  return got === list[at] ? list : [...list.slice(0, at), got, ...list.slice(at + 1)];
}}
function __runner_change(v{any}, way{any}, deep{any}){any} {{
  if (v === null || v === undefined || deep === 0) return v;
  const sign = way === "more" ? 1 : way === "less" ? -1 : 0;
  if (typeof v === "boolean") return way === "other" ? !v : v;
  if (typeof v === "bigint") return v + BigInt(sign);
  if (typeof v === "number") {{
    if (!sign || !Number.isFinite(v)) return v;
    return v + sign * (Number.isInteger(v) ? 1 : Math.abs(v) / 20);
  }}
  if (typeof v === "string") {{
    if (way === "longer") return v + "~";
    if (way === "shorter") return v.slice(0, -1);
    const list = v.split("");
    const at = way === "first" && v ? 0 : way === "middle" && v.length > 2
      ? v.length >> 1 : way === "last" && v.length > 1 ? v.length - 1 : -1;
    if (at < 0) return v;
    const c = v[at];
    list[at] = /[0-8a-yA-Y]/.test(c) ? String.fromCharCode(c.charCodeAt(0) + 1)
      : c === "9" ? "0" : /[zZ]/.test(c) ? String.fromCharCode(c.charCodeAt(0) - 1)
      : c === "~" ? "-" : "~";
    return list.join("");
  }}
  if (Array.isArray(v)) {{
    if (way === "order") {{
      const got = [...v].reverse();
      return got.every((x, n) => Object.is(x, v[n])) ? v : got;
    }}
    if (way === "longer") return v.length ? [...v, v[v.length - 1]] : v;
    if (way === "shorter") return v.length ? v.slice(0, -1) : v;
    return __runner_put(v, way, deep);
  }}
  if (typeof v !== "object") return v;
  if (typeof v.then === "function") return v;
  if (v instanceof Date) return sign ? new Date(+v + sign * 1000) : v;
  if (v instanceof Set && !["order", "more", "less", "other"].includes(way)) {{
    const list = [...v], got = __runner_change(list, way, deep);
    const made = new Set(got);
    return got === list || (made.size === v.size && [...made].every((x) => v.has(x))) ? v : made;
  }}
  const plain = [Object.prototype, null].includes(Object.getPrototypeOf(v));
  if (!plain && !(v instanceof Map)) return v;
  const rows = v instanceof Map ? [...v] : Object.entries(v);
  const made{any} = v instanceof Map ? new Map(v)
    : Object.assign(Object.create(Object.getPrototypeOf(v)), v);
  const set = (k{any}, x{any}) => v instanceof Map ? made.set(k, x) : (made[k] = x);
  if (!rows.length) return v;
  const [key, value] = rows[rows.length - 1];
  if (way === "longer") {{
    if (typeof key !== "string" || (v instanceof Map ? v.has(key + "~") : key + "~" in v)) return v;
    set(key + "~", value);
    return made;
  }}
  if (way === "shorter") {{
    v instanceof Map ? made.delete(key) : delete made[key];
    return made;
  }}
  const values = rows.map((row) => row[1]), got = __runner_put(values, way, deep);
  if (got === values) return v;
  rows.forEach((row, n) => set(row[0], got[n]));
  return made;
}}
function __runner_write(key{any}){any} {{
  __runner_keys = __runner_keys || new Map();
  if (__runner_keys.has(key)) return;
  __runner_keys.set(key, 1);
  {append}({out}, key + "\\n");
}}
function __runner_changed(v{any}, way{any}){any} {{
  if (v && typeof v === "object" && typeof v.then === "function")
    return v.then((x{any}) => __runner_changed(x, way));
  const got = way === "any" ? __runner_any(v, 3) : __runner_change(v, way, 3);
  if (got !== v) __runner_write("changed");
  return got;
}}
function __runner_seen(v{any}, key{any}){any} {{
  if (v && typeof v === "object" && typeof v.then === "function")
    return v.then((x{any}) => __runner_seen(x, key));
  __runner_keys = __runner_keys || new Map();
  const many = __runner_keys.get("?" + key) || 0;
  if (many > 300) return v;
  __runner_keys.set("?" + key, many + 1);
  for (const way of {ways})
    if (!__runner_keys.has(key + "." + way) && __runner_change(v, way, 3) !== v)
      __runner_write(key + "." + way);
  return v;
}}
function __runner_side(v{any}, key{any}){any} {{
  __runner_write(key + (v ? ".true" : ".false"));
  return v;
}}
var __runner_keys{any};
"""

GO = """
var runnerKnown runnerSync.Map

func runnerWrite(key string) {
	if _, known := runnerKnown.LoadOrStore(key, true); known {
		return
	}
	flags := runnerOS.O_APPEND | runnerOS.O_CREATE | runnerOS.O_WRONLY
	if file, err := runnerOS.OpenFile(OUT, flags, 0o644); err == nil {
		file.WriteString(key + "\\n")
		file.Close()
	}
}

func runnerSide(held bool, key string) bool {
	if held {
		runnerWrite(key + ".true")
	} else {
		runnerWrite(key + ".false")
	}
	return held
}

func runnerSeen(v interface{}, key string) interface{} {
	for _, way := range []string{WAYS} {
		if _, known := runnerKnown.Load(key + "." + way); known {
			continue
		}
		if _, changed := runnerChange(v, way, 3); changed {
			runnerWrite(key + "." + way)
		}
	}
	return v
}

func runnerChanged(v interface{}, way string) interface{} {
	got, changed := runnerChange(v, way, 3)
	if way == "any" {
		got, changed = runnerAny(v, 3)
	}
	if !changed {
		return v
	}
	runnerWrite("changed")
	return got
}

type runnerOther struct{}

func (runnerOther) Error() string { return "another error" }

func runnerError(err error) error {
	if err == nil {
		return nil
	}
	runnerWrite("changed")
	return runnerOther{}
}

func runnerAny(v interface{}, deep int) (interface{}, bool) {
	for _, way := range []string{"more", "other", "last", "first", "longer"} {
		if got, changed := runnerChange(v, way, deep); changed {
			return got, true
		}
	}
	return v, false
}

func runnerPlace(many int, way string) int {
	switch {
	case way == "first" && many > 0:
		return 0
	case way == "middle" && many > 2:
		return many / 2
	case way == "last" && many > 1:
		return many - 1
	}
	return -1
}

func runnerChange(v interface{}, way string, deep int) (got interface{}, changed bool) {
	defer func() {
		if recover() != nil {
			got, changed = v, false
		}
	}()
	if v == nil || deep == 0 {
		return v, false
	}
	of := runnerReflect.ValueOf(v)
	made := runnerReflect.New(of.Type()).Elem()
	made.Set(of)
	if !runnerReflect.DeepEqual(v, v) {
		// No number (NaN), or a function inside: whether it was changed cannot be told.
		number := of.Kind() == runnerReflect.Float32 || of.Kind() == runnerReflect.Float64
		if !number || way != "other" {
			return v, false
		}
		made.SetFloat(0)
		return made.Interface(), true
	}
	sign := int64(0)
	if way == "more" {
		sign = 1
	} else if way == "less" {
		sign = -1
	}
	switch of.Kind() {
	case runnerReflect.Bool:
		made.SetBool(of.Bool() != (way == "other"))
	case runnerReflect.Int, runnerReflect.Int8, runnerReflect.Int16,
		runnerReflect.Int32, runnerReflect.Int64:
		made.SetInt(of.Int() + sign)
	case runnerReflect.Uint, runnerReflect.Uint8, runnerReflect.Uint16,
		runnerReflect.Uint32, runnerReflect.Uint64:
		made.SetUint(of.Uint() + uint64(sign))
	case runnerReflect.Float32, runnerReflect.Float64:
		step := of.Float() / 20
		if step < 0 {
			step = -step
		}
		if step == 0 {
			step = 0.05
		}
		made.SetFloat(of.Float() + float64(sign)*step)
	case runnerReflect.String:
		text := []byte(of.String())
		if way == "longer" {
			text = append(text, '~')
		} else if way == "shorter" && len(text) > 0 {
			text = text[:len(text)-1]
		} else if at := runnerPlace(len(text), way); at >= 0 {
			c := text[at]
			switch {
			case c >= '0' && c < '9', c >= 'a' && c < 'z', c >= 'A' && c < 'Z':
				text[at] = c + 1
			case c == '9' || c == 'z' || c == 'Z':
				text[at] = c - 1
			case c != '~':
				text[at] = '~'
			default:
				text[at] = '-'
			}
		}
		made.SetString(string(text))
	case runnerReflect.Slice:
		many := of.Len()
		made = runnerReflect.MakeSlice(of.Type(), many, many+1)
		runnerReflect.Copy(made, of)
		at := runnerPlace(many, way)
		switch {
		case many == 0:
			return v, false
		case way == "order":
			for n := 0; n < many; n++ {
				made.Index(n).Set(of.Index(many - 1 - n))
			}
		case way == "longer":
			made = runnerReflect.Append(made, of.Index(many-1))
		case way == "shorter":
			made = made.Slice(0, many-1)
		case at >= 0:
			if !runnerPut(made.Index(at), deep) {
				return v, false
			}
		}
	case runnerReflect.Array:
		if at := runnerPlace(of.Len(), way); at < 0 || !runnerPut(made.Index(at), deep) {
			return v, false
		}
	case runnerReflect.Map:
		keys := of.MapKeys()
		if way != "shorter" && way != "first" || len(keys) == 0 {
			return v, false
		}
		made = runnerReflect.MakeMap(of.Type())
		for n, key := range keys {
			value := runnerReflect.New(of.Type().Elem()).Elem()
			value.Set(of.MapIndex(key))
			if n == 0 && way == "first" && !runnerPut(value, deep) {
				return v, false
			}
			if n > 0 || way == "first" {
				made.SetMapIndex(key, value)
			}
		}
	case runnerReflect.Struct:
		at := runnerPlace(of.NumField(), way)
		if at < 0 {
			return v, false
		}
		place := made.Field(at)
		place = runnerReflect.NewAt(place.Type(), runnerUnsafe.Pointer(place.UnsafeAddr())).Elem()
		if !runnerPut(place, deep) {
			return v, false
		}
	default:
		return v, false
	}
	got = made.Interface()
	return got, !runnerReflect.DeepEqual(got, v)
}

func runnerPut(place runnerReflect.Value, deep int) bool {
	got, changed := runnerAny(place.Interface(), deep-1)
	if changed {
		place.Set(runnerReflect.ValueOf(got))
	}
	return changed
}
"""
GO_IMPORTS = (
    '; import runnerReflect "reflect"; import runnerSync "sync"; import runnerOS "os"'
    '; import runnerUnsafe "unsafe"'
)
"""On the package's own line, which Go allows behind a semicolon: every line keeps its number."""
