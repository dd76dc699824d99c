package httpapi

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// feed is an open stream of events.
type feed struct {
	*testEnv
	*http.Response
	lines *bufio.Scanner
	close func()
}

// block is an event or a heartbeat.
type block struct{ id, data, comment, retry string }

// follow opens a stream.
func (b *testEnv) follow(path string, headers ...string) *feed {
	b.Helper()
	r := b.request(http.MethodGet, statusapi.PathEvents+path, headers...)
	ctx, cancel := context.WithCancel(b.Context())
	response, err := b.client.Do(r.WithContext(ctx))
	if err != nil {
		b.Fatal(err)
	}
	f := &feed{testEnv: b, Response: response, lines: bufio.NewScanner(response.Body)}
	f.close = sync.OnceFunc(func() {
		cancel()
		response.Body.Close()
	})
	b.Cleanup(f.close)
	if response.StatusCode != http.StatusOK {
		body, err := io.ReadAll(response.Body)
		if err != nil {
			b.Fatal(err)
		}
		b.Fatalf("the stream is %d: %s", response.StatusCode, body)
	}
	return f
}

// next reads one block; false at the end of the stream.
func (f *feed) next() (block, bool) {
	var out block
	for f.lines.Scan() {
		line := f.lines.Text()
		if line == "" {
			return out, true
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			out.id = value
		case "data":
			out.data = value
		case "retry":
			out.retry = value
		case "":
			out.comment = value
		}
	}
	return out, false
}

// event reads until the next event; false at the end of the stream.
func (f *feed) event() (block, bool) {
	for {
		b, ok := f.next()
		if !ok || b.data != "" {
			return b, ok
		}
	}
}

// nextHeartbeat reads until the next heartbeat.
func (f *feed) nextHeartbeat() block {
	f.Helper()
	for {
		b, ok := f.next()
		if !ok {
			f.Fatal("the stream ended")
		}
		if b.comment != "" {
			return b
		}
	}
}
