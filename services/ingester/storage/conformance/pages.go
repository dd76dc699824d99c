package conformance

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

func pagesGoByOffset(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	models(t, s)
	page := func(options metav1.ListOptions, offset, limit int32) ([]string, *int64) {
		t.Helper()
		var response storage.ListResponse
		ext := &storage.ListOptionsExt{Pagination: &storage.Pagination{Offset: offset, Limit: limit}}
		if err := s.List(t.Context(), typeOf("Model"), "", &options, ext, &response); err != nil {
			t.Fatal(err)
		}
		if (response.Continue == "") != (response.RemainingItemCount == nil) {
			t.Errorf("continue %q with %v remaining", response.Continue, response.RemainingItemCount)
		}
		return names(t, response.Items), response.RemainingItemCount
	}
	for _, tc := range []struct {
		list          int64
		offset, limit int32
		want          []string
		remaining     int64
	}{
		{0, 1, 2, []string{"c", "b"}, 1},
		{2, 0, 2, []string{"d", "c"}, 2},
		{1, 0, 3, []string{"d"}, 3}, // the smaller limit counts
		{3, 0, 0, []string{"d", "c", "b"}, 1},
		{0, 3, 0, []string{"a"}, 0},
		{0, 4, 2, []string{}, 0},
	} {
		got, remaining := page(metav1.ListOptions{Limit: tc.list}, tc.offset, tc.limit)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("limit %d, offset %d, limit %d (-want +got):\n%s", tc.list, tc.offset, tc.limit, diff)
		}
		if remaining == nil && tc.remaining != 0 || remaining != nil && *remaining != tc.remaining {
			t.Errorf("limit %d, offset %d, limit %d: %v remaining, want %d", tc.list, tc.offset, tc.limit, remaining, tc.remaining)
		}
	}
}

func tokensRequireTheirRequest(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	models(t, s)
	list := func(kind, namespace string, o metav1.ListOptions, ext *storage.ListOptionsExt) (storage.ListResponse, error) {
		var response storage.ListResponse
		err := s.List(t.Context(), typeOf(kind), namespace, &o, ext, &response)
		return response, err
	}
	order := &storage.ListOptionsExt{OrderBy: []storage.OrderBy{{Field: "metadata.name"}}}
	first, err := list("Model", "", metav1.ListOptions{Limit: 1, LabelSelector: "team,size"}, order)
	if err != nil {
		t.Fatal(err)
	}
	token := first.Continue
	// The same request in another form, with another limit.
	next, err := list("Model", "", metav1.ListOptions{Limit: 5, LabelSelector: " size, team", Continue: token}, &storage.ListOptionsExt{
		OrderBy: []storage.OrderBy{{Field: "name", Dir: storage.SortAsc}}, ReturnedFieldSkipList: []string{"spec"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "c"}, names(t, next.Items)); diff != "" || next.Continue != "" {
		t.Errorf("the next page, continue %q (-want +got):\n%s", next.Continue, diff)
	}
	same := metav1.ListOptions{Limit: 1, LabelSelector: "team,size", Continue: token}
	requests := map[string]func() error{
		"kind":      func() error { _, err := list("Project", "", same, order); return err },
		"namespace": func() error { _, err := list("Model", "one", same, order); return err },
		"order":     func() error { _, err := list("Model", "", same, nil); return err },
		"direction": func() error {
			_, err := list("Model", "", same, &storage.ListOptionsExt{OrderBy: []storage.OrderBy{{Field: "name", Dir: storage.SortDesc}}})
			return err
		},
		"labels": func() error {
			_, err := list("Model", "", metav1.ListOptions{Limit: 1, LabelSelector: "team", Continue: token}, order)
			return err
		},
		"fields": func() error {
			_, err := list("Model", "", metav1.ListOptions{Limit: 1, LabelSelector: "team,size", FieldSelector: "metadata.name!=x", Continue: token}, order)
			return err
		},
		"criteria": func() error {
			ext := criteria(storage.Criterion{FieldName: "name", Operator: storage.OpIsNotNull})
			ext.OrderBy = order.OrderBy
			_, err := list("Model", "", same, ext)
			return err
		},
		"offset": func() error {
			_, err := list("Model", "", same, &storage.ListOptionsExt{OrderBy: order.OrderBy, Pagination: &storage.Pagination{Offset: 1}})
			return err
		},
	}
	for what, send := range requests {
		t.Run("another "+what, func(t *testing.T) { invalid(t, send(), "token") })
	}
}

// pagesAreStableUnderChange lists while other objects are created and deleted: objects that exist
// all the time are returned exactly once.
func pagesAreStableUnderChange(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	const fixed, seconds = 60, 7
	want := map[string]int{}
	for i := range fixed {
		o := object("Model", "default", fmt.Sprintf("fixed-%02d", i), i%seconds, nil)
		o.SetLabels(map[string]string{"team": "growth"})
		upsert(t, s, o)
		want[o.GetName()] = 1
	}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for worker := range 2 {
		group.Go(func() { churn(ctx, t, s, worker, seconds) })
	}
	for _, order := range [][]storage.OrderBy{
		nil,
		{{Field: "metadata.name"}},
		{{Field: "spec.algorithm", Dir: storage.SortDesc}, {Field: "metadata.creation_timestamp"}},
	} {
		for _, selector := range []string{"", "team=growth"} {
			got := map[string]int{}
			for _, name := range walk(t, s, metav1.ListOptions{LabelSelector: selector, Limit: 7}, &storage.ListOptionsExt{OrderBy: order}) {
				if got[name]++; got[name] > 1 {
					t.Errorf("%s was listed twice", name)
				}
			}
			for name := range want {
				if got[name] != 1 {
					t.Errorf("%s was listed %d times in order %v with selector %q", name, got[name], order, selector)
				}
			}
		}
	}
	stop()
	group.Wait()
}

// churn creates objects between the fixed ones, each with its own name, and deletes the previous
// one.
func churn(ctx context.Context, t *testing.T, s storage.IngesterStorage, worker, seconds int) {
	t.Helper()
	before := ""
	for i := 0; ctx.Err() == nil; i++ {
		o := object("Model", "default", fmt.Sprintf("fixed-%02d-%d-%d", i%60, worker, i), i%seconds, nil)
		o.SetLabels(map[string]string{"team": "growth"})
		if err := s.Upsert(context.WithoutCancel(ctx), o, false, nil); err != nil {
			t.Error(err)
			return
		}
		if before != "" {
			if err := s.Delete(context.WithoutCancel(ctx), typeOf("Model"), "default", before); err != nil {
				t.Error(err)
				return
			}
		}
		before = o.GetName()
	}
}

// walk lists page by page and returns all names.
func walk(t *testing.T, s storage.IngesterStorage, o metav1.ListOptions, ext *storage.ListOptionsExt) []string {
	t.Helper()
	var out []string
	for {
		var response storage.ListResponse
		if err := s.List(t.Context(), typeOf("Model"), "", &o, ext, &response); err != nil {
			t.Fatal(err)
		}
		if int64(len(response.Items)) > o.Limit {
			t.Fatalf("a page of %d objects, want at most %d", len(response.Items), o.Limit)
		}
		out = append(out, names(t, response.Items)...)
		if o.Continue = response.Continue; o.Continue == "" {
			return out
		}
	}
}
