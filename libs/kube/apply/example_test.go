package apply_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
)

// Example creates a child of a resource; the second apply sends no request.
func Example() {
	ctx := context.Background()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner", UID: "1"}}
	c := fake.NewClientBuilder().WithReturnManagedFields().Build() // a manager's client in a service
	a := apply.New(c, "example-operator")

	render := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "child"}, Data: map[string]string{"k": "v"}}
	}
	fmt.Println(a.Object(ctx, owner, render(), nil))

	cached := render()
	if err := c.Get(ctx, client.ObjectKeyFromObject(cached), cached); err != nil {
		fmt.Println(err)
	}
	fmt.Println(a.Object(ctx, owner, render(), cached))
	// Output:
	// Created <nil>
	// Unchanged <nil>
}
