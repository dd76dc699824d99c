package cluster_test

import (
	"fmt"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

func Example() {
	test := func(t *testing.T) {
		c := cluster.Get(t) // in about three seconds, once per test binary
		namespace := c.Namespace(t)
		cl := c.Client(t, scheme.Scheme)
		if err := cl.Create(t.Context(), deployment(namespace, 1, nil)); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("a test is a %T", test)
	// Output: a test is a func(*testing.T)
}
