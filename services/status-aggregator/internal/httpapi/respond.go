package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
)

const (
	contentJSON   = "application/json"
	contentYAML   = "application/yaml"
	contentStream = "text/event-stream"
)

// retrySeconds is the Retry-After of a 503.
const retrySeconds = 5

// problem is an error response.
type problem struct {
	status  int
	message string
	retry   int // seconds; 0 omits the header
}

// Error implements error.
func (p *problem) Error() string { return p.message }

// codes are the codes of statusapi.Error.
var codes = map[int]string{
	http.StatusBadRequest:          "BadRequest",
	http.StatusUnauthorized:        "Unauthorized",
	http.StatusForbidden:           "Forbidden",
	http.StatusNotFound:            "NotFound",
	http.StatusMethodNotAllowed:    "MethodNotAllowed",
	http.StatusGone:                "Gone",
	http.StatusTooManyRequests:     "TooManyRequests",
	http.StatusInternalServerError: "Internal",
	http.StatusServiceUnavailable:  "Unavailable",
}

func badRequest(format string, args ...any) error {
	return &problem{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &problem{status: http.StatusNotFound, message: fmt.Sprintf(format, args...)}
}

func tooMany(resource string) error {
	return &problem{status: http.StatusTooManyRequests, message: "too many " + resource + " at the same time, try again", retry: 1}
}

// translate converts an error to a response. Unknown errors become a 500, whose text is only logged.
func translate(err error) *problem {
	var known *problem
	var kubernetes apierrors.APIStatus
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &kubernetes) && codes[int(kubernetes.Status().Code)] != "": // an error of the authorizer
		status := kubernetes.Status()
		p := &problem{status: int(status.Code), message: status.Message}
		if status.Details != nil {
			p.retry = int(status.Details.RetryAfterSeconds)
		}
		return p
	case errors.Is(err, readmodel.ErrNotReady):
		return &problem{status: http.StatusServiceUnavailable, message: readmodel.ErrNotReady.Error() + ", try again", retry: 1}
	case errors.Is(err, readmodel.ErrBusUnavailable):
		return &problem{status: http.StatusServiceUnavailable, message: readmodel.ErrBusUnavailable.Error() + ": events are unavailable until it does; resources are still served", retry: retrySeconds}
	case errors.Is(err, readmodel.ErrExpired):
		return &problem{status: http.StatusGone, message: err.Error() + "; read the resources again, then follow the events without Last-Event-ID and since"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &problem{status: http.StatusServiceUnavailable, message: "the request took too long, try again", retry: retrySeconds}
	}
	return &problem{status: http.StatusInternalServerError, message: "internal error; see the log of the status aggregator"}
}

// fail responds with an error and stores the cause of an internal error for the log.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	p := translate(err)
	if p.status >= http.StatusInternalServerError {
		httpserver.ExchangeOf(r.Context()).Cause = err
	}
	header := w.Header()
	if p.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="kubernetes"`)
	}
	if p.retry > 0 {
		header.Set("Retry-After", strconv.Itoa(p.retry))
	}
	body, err := json.Marshal(statusapi.Error{Code: codes[p.status], Message: p.message})
	if err != nil { // two strings always encode
		body = nil
	}
	httpserver.Write(w, p.status, contentJSON, body)
}

// respond responds with a value as JSON. It encodes the value first, so that an error sends no partial response.
func respond(w http.ResponseWriter, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	httpserver.Write(w, http.StatusOK, contentJSON, body)
	return nil
}
