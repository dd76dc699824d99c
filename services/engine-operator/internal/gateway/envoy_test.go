package gateway_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// headers are a request's, as Envoy keeps them: names in lower case, in the order in which they came.
type headers map[string][]string

func (h headers) clone() headers {
	out := headers{}
	for k, v := range h {
		out[strings.ToLower(k)] = slices.Clone(v)
	}
	return out
}

func (h headers) first(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// outcome is what became of a request: its headers as they go on, or an answer of the gateway's own.
type outcome struct {
	Headers headers
	Status  string
	Type    string
	Body    string
}

// envoy runs the Lua filter's script as Envoy does, with the part of its API that the script uses:
// headers():get, replace, add and remove, and respond. As there, the values of a header are read
// joined by commas, an argument that is no string is an error, and respond never returns.
type envoy struct {
	state *lua.LState
	run   *lua.LFunction
}

func newEnvoy(t testing.TB, i *v1.FireboltInstance) *envoy {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	t.Cleanup(state.Close)
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.StringLibName: lua.OpenString, lua.TabLibName: lua.OpenTable,
	} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	chunk, err := parse.Parse(strings.NewReader(script(t, i)), "select.lua")
	if err != nil {
		t.Fatal(err)
	}
	proto, err := lua.Compile(chunk, "select.lua")
	if err != nil {
		t.Fatal(err)
	}
	state.Push(state.NewFunctionFromProto(proto))
	if err := state.PCall(0, 0, nil); err != nil {
		t.Fatal(err)
	}
	run, ok := state.GetGlobal("envoy_on_request").(*lua.LFunction)
	if !ok {
		t.Fatal("the script has no envoy_on_request")
	}
	return &envoy{state: state, run: run}
}

// request runs one request. An error of the script fails the test: Envoy would go on without it.
func (e *envoy) request(t testing.TB, in headers) outcome {
	t.Helper()
	out := &outcome{Headers: in.clone()}
	thread, _ := e.state.NewThread()
	state, err, _ := e.state.Resume(thread, e.run, e.handle(out))
	if state == lua.ResumeError {
		t.Fatalf("request %q: script error: %v", in, err)
	}
	return *out
}

func (e *envoy) handle(out *outcome) *lua.LTable {
	return e.object(map[string]lua.LGFunction{
		"headers": func(l *lua.LState) int {
			l.Push(e.headers(out.Headers))
			return 1
		},
		"respond": func(l *lua.LState) int {
			given := l.CheckTable(2)
			out.Status = lua.LVAsString(given.RawGetString(":status"))
			out.Type = lua.LVAsString(given.RawGetString("content-type"))
			out.Body = l.CheckString(3)
			if out.Status == "" {
				l.RaiseError(":status must be between 200-599")
			}
			return l.Yield()
		},
	})
}

func (e *envoy) headers(h headers) *lua.LTable {
	name := func(l *lua.LState) string { return strings.ToLower(l.CheckString(2)) }
	return e.object(map[string]lua.LGFunction{
		"get": func(l *lua.LState) int {
			if values, ok := h[name(l)]; ok {
				l.Push(lua.LString(strings.Join(values, ",")))
				return 1
			}
			l.Push(lua.LNil)
			return 1
		},
		"replace": func(l *lua.LState) int { h[name(l)] = []string{l.CheckString(3)}; return 0 },
		"add":     func(l *lua.LState) int { h[name(l)] = append(h[name(l)], l.CheckString(3)); return 0 },
		"remove":  func(l *lua.LState) int { delete(h, name(l)); return 0 },
	})
}

func (e *envoy) object(methods map[string]lua.LGFunction) *lua.LTable {
	out := e.state.NewTable()
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		out.RawSetString(name, e.state.NewFunction(methods[name]))
	}
	return out
}
