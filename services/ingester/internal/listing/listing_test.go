package listing_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/listing"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// reader has two pages of one object in each namespace. Each list has a lower version than the one before.
type reader struct {
	client.Reader
	version int
	expired int // second pages that are expired from now on
}

func (r *reader) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := &client.ListOptions{}
	o.ApplyOptions(options)
	page := list.(*metav1.PartialObjectMetadataList)
	page.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: o.Namespace + o.Continue}}}
	if o.Continue == "" {
		r.version--
		list.SetContinue("2")
	} else if r.expired > 0 {
		r.expired--
		return apierrors.NewResourceExpired("the provided continue parameter is too old")
	}
	list.SetResourceVersion(strconv.Itoa(r.version))
	return nil
}

func TestEachMetadata(t *testing.T) {
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		namespaces []string
		expired    int
		want       string
	}{
		"all namespaces":         {nil, 0, "[ 2] 9 true"},
		"namespaces":             {[]string{"a", "b"}, 0, "[a a2 b b2] 8 true"},
		"a version that expired": {[]string{"a", "b"}, 2, "[a a a a2 b b2] 6 true"},
		"all versions expire":    {[]string{"a", "b"}, 3, "[a a a] 0 false"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reader{version: 10, expired: tc.expired}
			var names []string
			version, err := listing.EachMetadata(t.Context(), r, kinds.Kinds()[0], tc.namespaces, func(o *metav1.PartialObjectMetadata) error {
				names = append(names, o.Name)
				return nil
			})
			if got := fmt.Sprint(names, version, err == nil); got != tc.want {
				t.Errorf("got %s, want %s: %v", got, tc.want, err)
			}
			if err != nil && !apierrors.IsResourceExpired(err) {
				t.Errorf("got error %v", err)
			}
		})
	}
}
