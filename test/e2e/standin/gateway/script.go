package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// script runs the Lua filter of the configuration, one request at a time.
type script struct {
	mu    sync.Mutex
	state *lua.LState
	run   *lua.LFunction
}

// decision is what the filter made of a request.
type decision struct {
	authority, path string
	removed         []string // headers
	// Of an answer that the filter gave itself.
	status, kind, body string
}

func newScript(source string) (*script, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.StringLibName: lua.OpenString, lua.TabLibName: lua.OpenTable,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return nil, fmt.Errorf("open Lua's %q: %w", name, err)
		}
	}
	if err := state.DoString(source); err != nil {
		return nil, fmt.Errorf("lua filter: %w", err)
	}
	run, ok := state.GetGlobal("envoy_on_request").(*lua.LFunction)
	if !ok {
		return nil, fmt.Errorf("lua filter: no function envoy_on_request")
	}
	return &script{state: state, run: run}, nil
}

// decide runs the filter. Should it fail, the request goes on as it is, as in Envoy.
func (s *script) decide(r *http.Request) (decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := decision{authority: r.Host, path: r.RequestURI}
	handle := s.state.NewTable()
	s.method(handle, "headers", func(l *lua.LState) int {
		l.Push(s.headers(r.Header, &d))
		return 1
	})
	s.method(handle, "respond", func(l *lua.LState) int {
		given := l.CheckTable(2)
		d.status, d.kind = lua.LVAsString(given.RawGetString(":status")), lua.LVAsString(given.RawGetString("content-type"))
		d.body = l.CheckString(3)
		l.RaiseError("respond does not return")
		return 0
	})
	err := s.state.CallByParam(lua.P{Fn: s.run, Protect: true}, handle)
	if err != nil && d.status == "" {
		return decision{authority: r.Host, path: r.RequestURI}, fmt.Errorf("lua filter: %w", err)
	}
	return d, nil
}

func (s *script) headers(h http.Header, d *decision) *lua.LTable {
	out := s.state.NewTable()
	name := func(l *lua.LState) string { return strings.ToLower(l.CheckString(2)) }
	s.method(out, "get", func(l *lua.LState) int {
		value := lua.LNil
		switch key := name(l); {
		case key == ":path":
			value = lua.LString(d.path)
		case key == ":authority":
			value = lua.LString(d.authority)
		case len(h.Values(key)) > 0:
			value = lua.LString(strings.Join(h.Values(key), ","))
		}
		l.Push(value)
		return 1
	})
	s.method(out, "remove", func(l *lua.LState) int {
		d.removed = append(d.removed, name(l))
		return 0
	})
	s.method(out, "replace", func(l *lua.LState) int {
		switch name(l) {
		case ":path":
			d.path = l.CheckString(3)
		case ":authority":
			d.authority = l.CheckString(3)
		default:
			l.RaiseError("the stand-in replaces :path and :authority alone")
		}
		return 0
	})
	return out
}

func (s *script) method(t *lua.LTable, name string, f lua.LGFunction) {
	t.RawSetString(name, s.state.NewFunction(f))
}
