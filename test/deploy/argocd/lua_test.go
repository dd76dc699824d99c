package argocd

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

const scriptDir = "../../../deploy/argocd"

// Scripts of the directory.
const (
	conditionsScript   = "conditions.lua"
	classScript        = "fireboltengineclass.lua"
	michelangeloScript = "michelangelo.lua"
)

// Health statuses that Argo CD accepts from a script.
const (
	healthy     = "Healthy"
	progressing = "Progressing"
	degraded    = "Degraded"
	suspended   = "Suspended"
	unknown     = "Unknown"
)

// health is the result of a script.
type health struct{ status, message string }

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(scriptDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run runs a script on an object, like Argo CD.
func run(t *testing.T, script string, object any) health {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	// Stricter than Argo CD: scripts must not read files.
	for _, name := range []string{"dofile", "loadfile", "require", "print"} {
		l.SetGlobal(name, lua.LNil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	l.SetContext(ctx)
	l.SetGlobal("obj", value(l, plain(t, object)))
	l.Push(l.NewFunctionFromProto(compile(t, script)))
	if err := l.PCall(0, 1, nil); err != nil {
		t.Fatalf("the script fails: %v", err)
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %s, not a table", l.Get(-1).Type())
	}
	out := health{status: field(t, result, "status"), message: field(t, result, "message")}
	switch out.status {
	case healthy, progressing, degraded, suspended, unknown:
	default:
		t.Fatalf("Argo CD does not accept health %q", out.status)
	}
	return out
}

var compiled sync.Map // by text

func compile(t *testing.T, script string) *lua.FunctionProto {
	t.Helper()
	if known, ok := compiled.Load(script); ok {
		return known.(*lua.FunctionProto)
	}
	chunk, err := parse.Parse(strings.NewReader(script), "health.lua")
	if err != nil {
		t.Fatal(err)
	}
	proto, err := lua.Compile(chunk, "health.lua")
	if err != nil {
		t.Fatal(err)
	}
	compiled.Store(script, proto)
	return proto
}

func field(t *testing.T, table *lua.LTable, name string) string {
	t.Helper()
	text, ok := table.RawGetString(name).(lua.LString)
	if !ok || text == "" {
		t.Fatalf("the script's %s is %v", name, table.RawGetString(name))
	}
	return string(text)
}

// plain converts an object to the types of decoded JSON.
func plain(t *testing.T, object any) any {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		table := l.CreateTable(len(v), 0)
		for _, one := range v {
			table.Append(value(l, one))
		}
		return table
	case map[string]any:
		table := l.CreateTable(0, len(v))
		for key, one := range v {
			table.RawSetString(key, value(l, one))
		}
		return table
	}
	return lua.LNil
}
