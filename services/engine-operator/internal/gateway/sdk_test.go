package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/fireboltsdk"
)

// sdkResult is a line of testdata/sdk.py.
type sdkResult struct {
	Rows    [][]string `json:"rows"`
	Columns []string   `json:"columns"`
	Error   string     `json:"error"`
}

// queryBySDK sends queries by Firebolt's own client, one after the other, and calls after with each answer.
func queryBySDK(t *testing.T, url, engine string, queries int, after func(i int, a sdkResult)) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := fireboltsdk.Command(t, "testdata/sdk.py", url, engine, strconv.Itoa(queries))
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(out); lines.Scan(); n++ {
		var a sdkResult
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		after(n, a)
	}
	if err := cmd.Wait(); err != nil || n != queries {
		t.Fatalf("%d of %d queries, %v: %s", n, queries, err, &stderr)
	}
}

// isRow reports whether the answer holds the row of a stub engine for the query with its parameters.
func isRow(a sdkResult) bool {
	return a.Error == "" && len(a.Rows) == 1 && len(a.Rows[0]) == 2 && strings.Contains(a.Rows[0][1], "name = 'it''s'") &&
		strings.Join(a.Columns, " ") == "pod query"
}

// TestSDKQueriesEngine queries an engine with Firebolt's own client, through the gateway and directly.
func TestSDKQueriesEngine(t *testing.T) {
	s := newSystem(t, 2)
	pods := newPods(t, s)
	for name, c := range map[string]struct{ url, engine string }{
		"through the gateway":      {s.url, "etl"},
		"at the engine's own port": {"http://" + pods[0].address, ""},
	} {
		t.Run(name, func(t *testing.T) {
			queryBySDK(t, c.url, c.engine, 10, func(i int, a sdkResult) {
				if !isRow(a) {
					t.Errorf("query %d: %+v", i, a)
				}
			})
		})
	}
	t.Run("without an engine", func(t *testing.T) {
		queryBySDK(t, s.url, "", 1, func(_ int, a sdkResult) {
			if !strings.Contains(a.Error, "X-Firebolt-Engine") {
				t.Errorf("got %+v, want an error that names the header", a)
			}
		})
	})
}

// TestSDKQueriesDuringRemoval ends one of two engines while Firebolt's own client sends queries: no query fails.
func TestSDKQueriesDuringRemoval(t *testing.T) {
	const queries, before = 400, 50
	s := newSystem(t, 2)
	pods := newPods(t, s)
	by := map[string]int{}
	queryBySDK(t, s.url, "etl", queries, func(i int, a sdkResult) {
		if !isRow(a) {
			t.Errorf("query %d: %+v", i, a)
			return
		}
		by[a.Rows[0][0]]++
		if i == before {
			s.names.set(pods[1].host)
			pods[0].stop()
		}
	})
	t.Logf("queries by pod: %v", by)
	if by[pods[0].address] == 0 || by[pods[1].address] < queries/2 {
		t.Errorf("queries by pod: %v, want some of the first and most of the second", by)
	}
}
