package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// contentType is the only content type that is served.
const contentType = "application/json"

// Sources of a response.
const (
	sourceHeader  = "Flotilla-Source"
	sourceCluster = "cluster"
	sourceStorage = "storage"
)

// retryLater is the Retry-After value while a store is unavailable, in seconds.
const retryLater = 5

// respond writes a value as JSON. It encodes the value first, so that a failed encoding writes no partial response.
func respond(w http.ResponseWriter, r *http.Request, code int, source string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	httpserver.ExchangeOf(r.Context()).Source = source
	w.Header().Set(sourceHeader, source)
	httpserver.Write(w, code, contentType, body)
	return nil
}

// fail writes an error response and keeps the cause of an internal error for the log.
func fail(w http.ResponseWriter, r *http.Request, t target, err error) {
	answer := translate(t, err)
	var known apierrors.APIStatus
	if errors.As(answer, &known) && known.Status().Code >= http.StatusInternalServerError {
		httpserver.ExchangeOf(r.Context()).Cause = err
	}
	access.WriteError(w, answer)
}

// failure is an error response together with its cause.
type failure struct {
	apierrors.StatusError
	cause error
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

// Error includes the cause, which the response omits.
func (f *failure) Error() string { return f.ErrStatus.Message + ": " + f.cause.Error() }

// translate converts an error to one of the Kubernetes API. An unknown error becomes a 500
// whose text is only logged.
func translate(t target, err error) error {
	var known apierrors.APIStatus
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errRejected):
		return rejected(err)
	case errors.As(err, &known):
		return err
	case errors.As(err, &tooLarge):
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the body is longer than %d bytes", tooLarge.Limit))
	case errors.Is(err, storage.ErrInvalid):
		return apierrors.NewBadRequest(err.Error())
	case errors.Is(err, storage.ErrNotFound):
		return apierrors.NewNotFound(resource(t.kind), t.name)
	case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrStale):
		return apierrors.NewConflict(resource(t.kind), t.name, err)
	case errors.Is(err, storage.ErrNotReady):
		return unavailable("storage is not ready")
	case errors.Is(err, storage.ErrTooSlow):
		return apierrors.NewTimeoutError("the query takes too long for the database: select fewer objects, by an indexed field or "+
			"a label with a value, or order by an indexed field", retryLater)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return apierrors.NewTimeoutError("the request took too long", retryLater)
	case errors.Is(err, errClusterUnavailable):
		return unavailable("the Kubernetes API server does not answer")
	case errors.Is(err, errNotServed):
		return unavailable("the Kubernetes API server does not serve " + resource(t.kind).String() + ": install its CRD")
	case database.Classify(err) != database.Other:
		return unavailable("storage does not answer")
	}
	return apierrors.NewInternalError(errors.New("see the log of the ingester"))
}

func unavailable(dependency string) error {
	err := apierrors.NewServiceUnavailable(dependency + ", try again")
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryLater}
	return err
}

// errClusterUnavailable marks an error of the API server that the caller did not cause.
var errClusterUnavailable = errors.New("API server request failed")

// errNotServed marks a kind that the API server does not serve, as without its CRD.
var errNotServed = errors.New("API server does not serve the kind")

// errClusterDenied marks a permission that the ingester lacks.
var errClusterDenied = errors.New("API server denied the request of the ingester")

// errRejected marks an object that the API server does not change: an admission policy, a webhook or the schema rejects it.
// The error wraps that of the API server.
var errRejected = errors.New("API server rejected the object")

// rejected returns the response with the message of the API server: 403, or 422 for an object that is invalid. 400 would
// blame the caller's request.
func rejected(err error) error {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		return apierrors.NewInternalError(err)
	}
	status := known.Status()
	if status.Code != http.StatusForbidden {
		status.Code, status.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// clusterError wraps errors of the API server that concern the ingester and not the caller: a
// permission that the ingester lacks must not become the caller's 403.
func clusterError(err error) error {
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return err
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: %s", errClusterDenied, err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("%w: %s", errClusterUnavailable, err.Error())
}

// done returns the response to a deletion.
func done(t target, code int32, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusSuccess,
		Code:     code,
		Message:  strings.TrimSpace(message),
		Details:  &metav1.StatusDetails{Group: resource(t.kind).Group, Kind: t.kind.Plural, Name: t.name},
	}
}
