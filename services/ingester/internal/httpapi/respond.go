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

// contentType is the only one that is spoken.
const contentType = "application/json"

// Where an answer comes from.
const (
	sourceHeader  = "Flotilla-Source"
	sourceCluster = "cluster"
	sourceStorage = "storage"
)

// retryLater is the Retry-After value while a store is unavailable, in seconds.
const retryLater = 5

// respond answers with a value as JSON. It is encoded first, so that an error is not half an answer.
func respond(w http.ResponseWriter, r *http.Request, code int, source string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	httpserver.ExchangeOf(r.Context()).Source = source
	w.Header().Set(sourceHeader, source)
	httpserver.Write(w, code, contentType, body)
	return nil
}

// fail answers with an error and keeps the cause of a failure of ours for the log.
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

// Error names the cause, which the answer does not.
func (f *failure) Error() string { return f.ErrStatus.Message + ": " + f.cause.Error() }

// translate turns an error into one of the Kubernetes API. What it does not know is a 500
// whose text stays with us.
func translate(t target, err error) error {
	var known apierrors.APIStatus
	var tooLarge *http.MaxBytesError
	switch {
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
		return away("storage is not ready")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return apierrors.NewTimeoutError("the request took too long", retryLater)
	case errors.Is(err, errClusterAway):
		return away("the Kubernetes API server does not answer")
	case database.Classify(err) != database.Other:
		return away("storage does not answer")
	}
	return apierrors.NewInternalError(errors.New("see the log of the ingester"))
}

func away(what string) error {
	err := apierrors.NewServiceUnavailable(what + ", try again")
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryLater}
	return err
}

// errClusterAway marks an error of the API server that the caller did not cause.
var errClusterAway = errors.New("ask the cluster")

// errClusterRefused marks a right that the ingester lacks.
var errClusterRefused = errors.New("the cluster refuses the ingester")

// clusterError keeps what the API server tells us from being told to the caller as if it
// were about them: that the ingester lacks a right is not their 403.
func clusterError(err error) error {
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return err
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: %s", errClusterRefused, err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("%w: %s", errClusterAway, err.Error())
}

// done is the answer to a deletion.
func done(t target, code int32, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusSuccess,
		Code:     code,
		Message:  strings.TrimSpace(message),
		Details:  &metav1.StatusDetails{Group: resource(t.kind).Group, Kind: t.kind.Plural, Name: t.name},
	}
}
