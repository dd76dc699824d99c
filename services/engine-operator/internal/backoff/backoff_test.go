package backoff_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/backoff"
)

func TestRetryDelayIsBounded(t *testing.T) {
	limiter, request := backoff.Options().RateLimiter, reconcile.Request{}
	for range 30 {
		limiter.When(request)
	}
	if got := limiter.When(request); got != backoff.Max {
		t.Errorf("after 30 failures the next retry is in %s, want %s", got, backoff.Max)
	}
}
