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

// DrainedHeader is a header of answers of a server that is draining: the client must send the request again.
const DrainedHeader = "X-Firebolt-Drained"

// Classes of requests without an answer.
const (
	Refused     = "refused"     // the server refused the connection
	Timeout     = "timeout"     // no complete answer within the timeout
	Reset       = "reset"       // the connection ended before the first byte of an answer
	Truncated   = "torn"        // the connection ended within an answer
	Unreachable = "unreachable" // no route to the host or network
	Unresolved  = "unresolved"  // the host name does not resolve
	Drained     = "drained"     // an answer with DrainedHeader
	NoLogin     = "no login"    // a client could not begin its session
	Other       = "other"       // any other error; Figures.Failures has the details
)

// Label names the answers whose body matches a pattern.
type Label struct {
	Name    string
	Pattern *regexp.Regexp
}

// ParseLabel parses NAME=REGEXP.
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

// classOf returns the class of an answer: its status and the first label whose pattern matches the body.
func classOf(status int, body []byte, labels []Label) (class, label string) {
	i := slices.IndexFunc(labels, func(l Label) bool { return l.Pattern.Match(body) })
	if i < 0 {
		return fmt.Sprint(status), ""
	}
	return fmt.Sprintf("%d %s", status, labels[i].Name), labels[i].Name
}

// classOfError returns the class of a request without an answer.
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
