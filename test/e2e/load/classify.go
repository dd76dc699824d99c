package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// DrainedHeader is on an answer that says: not here any more, ask again.
const DrainedHeader = "X-Firebolt-Drained"

// Classes of requests without an answer.
const (
	Refused     = "refused"     // the address refuses connections
	Timeout     = "timeout"     // no whole answer in time
	Reset       = "reset"       // the connection ended before the first byte of an answer
	Torn        = "torn"        // the connection ended within an answer
	Unreachable = "unreachable" // no route, or the network says no
	Unresolved  = "unresolved"  // the name has no address
	Drained     = "drained"     // an answer that asks to ask again
	NoLogin     = "no login"    // a client could not begin its session
	Other       = "other"       // anything else; the failures have the details
)

// Label names an answer by what its body holds.
type Label struct {
	Name    string
	Pattern *regexp.Regexp
}

// ParseLabel reads NAME=REGEXP.
func ParseLabel(text string) (Label, error) {
	name, pattern, ok := strings.Cut(text, "=")
	if !ok || name == "" || pattern == "" {
		return Label{}, fmt.Errorf("label %q: want NAME=REGEXP", text)
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return Label{}, fmt.Errorf("label %q: %w", text, err)
	}
	return Label{Name: name, Pattern: compiled}, nil
}

// classOf names an answer: its status, and the first label whose pattern its body matches.
func classOf(status int, body []byte, labels []Label) (class, label string) {
	i := slices.IndexFunc(labels, func(l Label) bool { return l.Pattern.Match(body) })
	if i < 0 {
		return fmt.Sprint(status), ""
	}
	return fmt.Sprintf("%d %s", status, labels[i].Name), labels[i].Name
}

// classOfError names the way in which a request stayed without an answer.
func classOfError(err error) string {
	var lookup *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &lookup):
		return Unresolved
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Unreachable
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.Contains(err.Error(), "server closed idle connection"): // net/http does not export this one
		return Reset
	}
	return Other
}

func isDrained(response *http.Response) bool { return response.Header.Get(DrainedHeader) != "" }
