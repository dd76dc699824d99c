package load

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// raw returns the URL of a TCP server. It reads one request from each connection, then calls do with the number of the
// connection, from 1.
func raw(t *testing.T, do func(n int32, c *net.TCPConn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var n atomic.Int32
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					do(n.Add(1), c.(*net.TCPConn))
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Log(err) // the client may have disconnected
	}
}

func closed(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	return server.URL
}

func answering(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestOutcomesHaveClasses(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			w.Write([]byte(body))
		}
	}
	tests := map[string]struct {
		url  string
		want string
		good bool
	}{
		"an old page":          {answering(t, status(200, "<p>version 1")), "200 old", true},
		"a new page":           {answering(t, status(200, "<p>version 2")), "200 new", true},
		"the maintenance page": {answering(t, status(200, "Down for maintenance")), "200 maintenance", false},
		"an unknown page":      {answering(t, status(200, "?")), "200", false},
		"an error":             {answering(t, status(502, "version 1")), "502 old", true},
		"a redirect":           {answering(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }), "302", false},
		"a refusal":            {closed(t), Refused, false},
		"an unknown name":      {"http://no-such-host.invalid/", Unresolved, false},
		"a reset":              {raw(t, func(_ int32, c *net.TCPConn) { c.SetLinger(0) }), Reset, false},
		"an end":               {raw(t, func(int32, *net.TCPConn) {}), Reset, false},
		"half an answer":       {raw(t, func(_ int32, c *net.TCPConn) { write(t, c, ok[:len(ok)-1]) }), Truncated, false},
		"a drained answer":     {answering(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(DrainedHeader, "1") }), Drained, false},
		"no answer in time":    {answering(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), Timeout, false},
		"not HTTP":             {raw(t, func(_ int32, c *net.TCPConn) { write(t, c, "hello\r\n\r\n") }), Other, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{
				Method: http.MethodGet, URL: tc.url, Timeout: 5 * time.Second, Good: []string{"old", "new"},
				Labels: labels(t, "old=version 1", "new=version 2", "maintenance=(?i)maintenance"),
			}
			if tc.want == Timeout {
				r.Timeout = 100 * time.Millisecond
			}
			for _, fresh := range []bool{true, false} {
				got := newClient(r, fresh).do(t.Context())
				if got.Class != tc.want || got.Good != tc.good || got.Retried {
					t.Errorf("fresh %v: %+v, want %s, good %v", fresh, got, tc.want, tc.good)
				}
				if !got.Good && got.Detail == "" && tc.want != "302" {
					t.Errorf("fresh %v: the failure has no detail", fresh)
				}
			}
		})
	}
}

func labels(t *testing.T, texts ...string) []Label {
	t.Helper()
	var out []Label
	for _, text := range texts {
		l, err := ParseLabel(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// A reset of a kept connection is a failed answer or a counted retry, although net/http would repeat the request.
func TestDrainedConnections(t *testing.T) {
	drains := func(n int32, c *net.TCPConn) {
		if n > 1 {
			return // each later connection ends before its answer
		}
		write(t, c, ok)
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			t.Log(err)
		}
	}
	once := func(n int32, c *net.TCPConn) {
		write(t, c, ok)
		if n == 1 {
			_, _ = http.ReadRequest(bufio.NewReader(c))
		}
	}
	tests := map[string]struct {
		serve func(int32, *net.TCPConn)
		retry bool
		want  Outcome
	}{
		"a reset without a retry": {once, false, Outcome{Class: Reset}},
		"a reset with a retry":    {once, true, Outcome{Class: "200", Good: true, Retried: true}},
		"a reset of the retry":    {drains, true, Outcome{Class: Reset, Retried: true}},
		"no retry by net/http":    {drains, false, Outcome{Class: Reset}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newClient(Request{Method: http.MethodGet, URL: raw(t, tc.serve), Timeout: 5 * time.Second, RetryDrained: tc.retry}, false)
			if first := c.do(t.Context()); !first.Good || first.Retried {
				t.Fatalf("the first answer: %+v", first)
			}
			got := c.do(t.Context())
			if got.Class != tc.want.Class || got.Good != tc.want.Good || got.Retried != tc.want.Retried {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestRefusedConnectionIsNotRetried(t *testing.T) {
	c := newClient(Request{Method: http.MethodGet, URL: closed(t), Timeout: 5 * time.Second, RetryDrained: true}, true)
	if got := c.do(t.Context()); got.Class != Refused || got.Retried {
		t.Errorf("%+v", got)
	}
}

func TestBodiesAlternateOnBothConnectionKinds(t *testing.T) {
	var fresh, kept atomic.Int32
	seen := make(chan string, 1000)
	url := answering(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Close {
			fresh.Add(1)
		} else {
			kept.Add(1)
		}
		text := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(text)
		select {
		case seen <- string(text) + r.Header.Get("X-Who"):
		default:
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	recorder := NewRecorder(time.Now, "p")
	done := make(chan struct{})
	go func() {
		defer close(done)
		Ask(ctx, Config{
			Request: Request{Method: "POST", URL: url, Timeout: 5 * time.Second, Bodies: []string{"a", "b"}, Header: http.Header{"X-Who": {"me"}}},
			Clients: 2, Rate: 200,
		}, recorder)
	}()
	want := map[string]bool{"ame": true, "bme": true}
	for len(want) > 0 || fresh.Load() == 0 || kept.Load() == 0 || recorder.Figures()[0].Answers == 0 {
		select {
		case text := <-seen:
			delete(want, text)
		case <-time.After(30 * time.Second):
			t.Fatalf("missing %v, %d fresh, %d kept", want, fresh.Load(), kept.Load())
		}
	}
	cancel()
	<-done
	if f := recorder.Figures()[0]; f.Failed != 0 || f.Answers == 0 {
		t.Errorf("%+v", f)
	}
}

func TestValidate(t *testing.T) {
	good := Config{Request: Request{Method: "GET", URL: "http://a/", Timeout: time.Second}, Clients: 1, Rate: 1}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, modify := range map[string]func(*Config){
		"no clients":       func(c *Config) { c.Clients = 0 },
		"no rate":          func(c *Config) { c.Rate = 0 },
		"no URL":           func(c *Config) { c.URL = "" },
		"a broken URL":     func(c *Config) { c.URL = "http://a b/" },
		"no timeout":       func(c *Config) { c.Timeout = 0 },
		"an unknown label": func(c *Config) { c.Good = []string{"new"} },
	} {
		t.Run(name, func(t *testing.T) {
			invalid := good
			modify(&invalid)
			if invalid.Validate() == nil {
				t.Error("no error")
			}
		})
	}
	for _, text := range []string{"", "a", "=b", "a=", "a=("} {
		if _, err := ParseLabel(text); err == nil {
			t.Errorf("label %q: no error", text)
		}
	}
}
