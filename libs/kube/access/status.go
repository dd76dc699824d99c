package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
)

// retrySeconds is the Retry-After value while the API server is unavailable.
const retrySeconds = 5

func unauthorized() error {
	return apierrors.NewUnauthorized("Unauthorized: a valid bearer token is required")
}

func unavailable(verb string) error {
	err := apierrors.NewServiceUnavailable("cannot " + verb + " the request: the Kubernetes API server does not respond, try again")
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retrySeconds}
	return err
}

// reviewFailed returns the error for a review without a result. A missing permission of the service
// is not an outage: a retry does not help, so the response has no Retry-After.
func reviewFailed(err error, verb, resource string) error {
	if apierrors.IsForbidden(err) {
		return apierrors.NewInternalError(fmt.Errorf("cannot %s the request: the service may not create %s; grant it, "+
			"for example with the ClusterRole system:auth-delegator", verb, resource))
	}
	return unavailable(verb)
}

// forbidden returns the same error as the API server.
func forbidden(u user.Info, a Attributes, reason string) error {
	var text string
	resource := schema.GroupResource{Group: a.Group, Resource: a.Resource}
	switch {
	case a.Path != "":
		text = fmt.Sprintf("User %q cannot %s path %q", u.GetName(), a.Verb, a.Path)
	case a.Namespace != "":
		text = fmt.Sprintf("User %q cannot %s resource %q in API group %q in the namespace %q", u.GetName(), a.Verb, a.Resource, a.Group, a.Namespace)
	default:
		text = fmt.Sprintf("User %q cannot %s resource %q in API group %q at the cluster scope", u.GetName(), a.Verb, a.Resource, a.Group)
	}
	if reason != "" {
		text += ": " + reason
	}
	return apierrors.NewForbidden(resource, a.Name, errors.New(text))
}

// WriteError writes the metav1.Status of an error of the Kubernetes API, and its headers
// WWW-Authenticate and Retry-After. Any other error is a 500 without the error text.
func WriteError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	body, err := json.Marshal(status)
	if err != nil { // a Status always encodes; otherwise the status code must suffice
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	header := w.Header()
	if status.Code == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="kubernetes"`)
	}
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	httpserver.Write(w, int(status.Code), "application/json", body)
}

func statusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if !errors.As(err, &known) || known.Status().Code < http.StatusBadRequest {
		known = apierrors.NewInternalError(errors.New("see the log of the service"))
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return status
}
