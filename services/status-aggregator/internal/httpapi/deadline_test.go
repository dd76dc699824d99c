package httpapi

import (
	"bufio"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// http2Server serves a handler over HTTP/2.
func http2Server(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// open requests a path over HTTP/2, and returns the lines of the answer.
func open(t *testing.T, server *httptest.Server, path string) *bufio.Scanner {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	})
	if response.ProtoMajor != 2 {
		t.Fatalf("the protocol is %s, want HTTP/2", response.Proto)
	}
	return bufio.NewScanner(response.Body)
}

func newStream(w http.ResponseWriter, timeout time.Duration) *stream {
	return &stream{w: w, control: http.NewResponseController(w), clock: clock.RealClock{}, timeout: timeout}
}

// Another stream of the same server, which is reset at a later deadline, shows that the deadline has passed.
func TestQuietStreamOutlivesWriteDeadlineOverHTTP2(t *testing.T) {
	const timeout = 100 * time.Millisecond
	passed := make(chan struct{})
	server := http2Server(t, func(w http.ResponseWriter, r *http.Request) {
		out := newStream(w, timeout)
		if r.URL.Path == "/reset" {
			out.timeout *= 3
			if err := errors.Join(out.text("first\n"), out.arm()); err != nil {
				t.Error(err)
			}
			<-r.Context().Done()
			return
		}
		if err := out.text("first\n"); err != nil {
			t.Error(err)
		}
		select {
		case <-passed:
		case <-r.Context().Done():
		}
		if err := out.text("second\n"); err != nil {
			t.Errorf("write after a quiet time: %v", err)
		}
	})
	lines := open(t, server, "/")
	if !lines.Scan() || lines.Text() != "first" {
		t.Fatalf("got %q, %v", lines.Text(), lines.Err())
	}
	reset := open(t, server, "/reset")
	for reset.Scan() {
	}
	if reset.Err() == nil {
		t.Fatal("the server does not reset a stream at its deadline")
	}
	close(passed)
	if !lines.Scan() || lines.Text() != "second" {
		t.Fatalf("the quiet stream ended: %v", lines.Err())
	}
}

func TestStuckReaderIsCutOverHTTP2(t *testing.T) {
	const timeout = 100 * time.Millisecond
	ended := make(chan error, 1)
	server := http2Server(t, func(w http.ResponseWriter, _ *http.Request) {
		out, text := newStream(w, timeout), strings.Repeat("x", 32<<10)
		var err error
		for err == nil {
			err = out.text(text)
		}
		ended <- err
	})
	open(t, server, "/") // reads nothing
	expect.Eventually(t, expect.Long, func() error {
		select {
		case err := <-ended:
			if !errors.Is(err, errWrite) {
				t.Errorf("got %v, want %v", err, errWrite)
			}
			return nil
		default:
			return errors.New("the stream has not ended")
		}
	})
}
