package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
)

// maxBody limits the bytes of an answer that are read and matched with labels.
const maxBody = 1 << 20

// maxRedirects limits the redirects that a client with a session follows.
const maxRedirects = 5

// Request is the request to send, and the rules that accept an answer.
type Request struct {
	Method string
	URL    string
	Header http.Header
	Bodies []string // sent in turn; empty: no body

	Labels []Label
	// Good lists the labels of good answers; empty: every answer with status 200 is good.
	Good    []string
	Timeout time.Duration
	// ExecutionURL is where servers report that they execute a request, which is then counted by its id; empty: they
	// do not report it. See [Control].
	ExecutionURL string
	// RetryDrained sends a request once more when its connection was drained: closed before the first byte of an
	// answer, or answered with DrainedHeader. Other failed requests are never sent again.
	RetryDrained bool
	// Login is the account with which each client begins a session, in which it follows redirects as a browser does;
	// nil: none.
	Login *Login
}

// Validate returns the first violation of a request.
func (r Request) Validate() error {
	if _, err := http.NewRequest(r.Method, r.URL, nil); err != nil { //nolint:noctx // never sent
		return err
	}
	if !strings.HasPrefix(r.URL, "http://") && !strings.HasPrefix(r.URL, "https://") {
		return fmt.Errorf("url %q: want http:// or https://", r.URL)
	}
	if r.Timeout <= 0 {
		return errors.New("the timeout must be greater than zero")
	}
	for _, good := range r.Good {
		if !slices.ContainsFunc(r.Labels, func(l Label) bool { return l.Name == good }) {
			return fmt.Errorf("good label %q has no pattern", good)
		}
	}
	return nil
}

// errReopened cancels a request that net/http is about to send again on its own.
var errReopened = errors.New("the connection was closed before the first byte of an answer")

// client sends the requests of one of the concurrent clients.
type client struct {
	Request
	http *http.Client
	name string // unique among the clients
	turn int
	sent int // requests, without retries
}

func newClient(r Request, fresh bool) *client {
	return &client{Request: r, http: &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: fresh, MaxIdleConnsPerHost: 1,
			DialContext: (&net.Dialer{KeepAlive: -1}).DialContext,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// do sends a request, at most twice, and returns its outcome.
func (c *client) do(ctx context.Context) Outcome {
	body := ""
	if len(c.Bodies) > 0 {
		body = c.Bodies[c.turn%len(c.Bodies)]
		c.turn++
	}
	c.sent++
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	o := c.attempt(ctx, c.URL, body)
	if c.RetryDrained && !o.Retried && (o.Class == Reset || o.Class == Drained) {
		o = c.attempt(ctx, c.URL, body)
		o.Retried = true
	}
	for range maxRedirects {
		if o.location == "" || c.Login == nil {
			break
		}
		retried := o.Retried
		o = c.attempt(ctx, o.location, "")
		o.Retried = o.Retried || retried
	}
	o.Duration = time.Since(start)
	if c.ExecutionURL != "" {
		o.ID = c.id()
	}
	return o
}

// id of the request, the same for its retry.
func (c *client) id() string { return fmt.Sprintf("%s-%d", c.name, c.sent) }

func (c *client) attempt(ctx context.Context, address, body string) Outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, singleConnectionTrace(cancel)), c.Method, address, strings.NewReader(body))
	if err != nil {
		return Outcome{Class: Other, Detail: err.Error()}
	}
	maps.Copy(request.Header, c.Header)
	if c.ExecutionURL != "" {
		request.Header.Set(server.ExecutionURL, c.ExecutionURL+"?id="+c.id())
	}
	response, err := c.http.Do(request)
	reopened := errors.Is(context.Cause(ctx), errReopened)
	if err != nil {
		if reopened {
			return Outcome{Class: Reset, Detail: errReopened.Error()}
		}
		return Outcome{Class: classOfError(err), Detail: err.Error()}
	}
	defer response.Body.Close()
	if reopened && !c.RetryDrained {
		return Outcome{Class: Reset, Detail: errReopened.Error()}
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if reopened && err != nil {
		return Outcome{Class: Reset, Detail: errReopened.Error()} // singleConnectionTrace canceled the request while the answer was read
	}
	if err == nil {
		o := c.evaluate(response, text)
		o.Retried = reopened
		return o
	}
	class := classOfError(err)
	if class == Reset {
		class = Truncated
	}
	return Outcome{Class: class, Detail: err.Error()}
}

func (c *client) evaluate(response *http.Response, body []byte) Outcome {
	if isDrained(response) {
		return Outcome{Class: Drained, Answered: true, Detail: response.Status}
	}
	class, label := classOf(response.StatusCode, body, c.Labels)
	o := Outcome{Class: class, Answered: true, Good: slices.Contains(c.Good, label)}
	if to, err := response.Location(); err == nil {
		o.location = to.String()
	}
	if len(c.Good) == 0 {
		o.Good = response.StatusCode == http.StatusOK
	}
	if !o.Good {
		o.Detail = string(body[:min(len(body), 200)])
	}
	return o
}

// singleConnectionTrace cancels a request when net/http opens a second connection for it, which it does without an error if a kept
// connection was closed. The client decides on retries itself and counts them. An answer can arrive before the
// cancellation takes effect; then the request counts as retried.
func singleConnectionTrace(cancel context.CancelCauseFunc) *httptrace.ClientTrace {
	connections := 0
	return &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if connections++; connections > 1 {
			cancel(errReopened)
		}
	}}
}
