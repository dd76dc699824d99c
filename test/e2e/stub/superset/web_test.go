package superset_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

// web is a pod with an HTTP server.
type web struct {
	*process
	pod  *pod
	url  string
	port int
}

// newWeb sets the port of the web server to a free one, with the variable of the real image.
func newWeb(p *pod) *web {
	p.t.Helper()
	port, err := freeport.One()
	must(p.t, err)
	p.with(map[string]string{
		"SUPERSET_PORT": strconv.Itoa(port), "SUPERSET_BIND_ADDRESS": "127.0.0.1", "POD_NAME": "web-0",
	})
	return &web{pod: p, url: fmt.Sprintf("http://127.0.0.1:%d", port), port: port}
}

func (w *web) serving() *web {
	w.pod.t.Helper()
	w.process = w.pod.start()
	w.waitForResponse("/health", http.StatusOK, "OK")
	return w
}

func (w *web) failed(reason string) {
	w.pod.t.Helper()
	w.pod.failed(reason)
}

func (w *web) answers(path string, status int, text string) {
	w.t.Helper()
	got, body, err := get(w.t.Context(), w.url+path)
	if err != nil || got != status || !strings.Contains(body, text) {
		w.t.Fatalf("%s returned %d %q (%v), want %d %q: %s", path, got, body, err, status, text, w.log)
	}
}

func (w *web) waitForResponse(path string, status int, text string) {
	w.t.Helper()
	expect.Eventually(w.t, expect.Long, func() error {
		select {
		case <-w.done:
			w.t.Fatalf("%q exited: %s", w.cmd.Args, w.log)
		default:
		}
		got, body, err := get(w.t.Context(), w.url+path)
		if err != nil || got != status || !strings.Contains(body, text) {
			return fmt.Errorf("%s returned %d %q (%w), want %d %q", path, got, body, err, status, text)
		}
		return nil
	})
}

func get(ctx context.Context, url string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	return do(request)
}

func do(request *http.Request) (int, string, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}
