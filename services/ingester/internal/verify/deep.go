package verify

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/listing"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// contentPageSize is the page size of walks with content.
const contentPageSize = 200

// compareContent compares content: rows of all states with their own JSON, live rows with their objects.
func (c *comparison) compareContent(ctx context.Context) error {
	query := rows.Query{Namespaces: c.namespaces, Limit: contentPageSize}
	err := rows.Pages(ctx, c.env.DB, c.kind, query, func(page []rows.Row) error {
		contents, err := c.read(ctx, page)
		if err != nil {
			return err
		}
		for _, row := range contents {
			if text := row.consistent(c.builder); text != "" {
				c.addContentDifference(row.Row, "", text)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.compareObjectContent(ctx)
}

// compareObjectContent compares the objects with the JSON of their rows.
func (c *comparison) compareObjectContent(ctx context.Context) error {
	newList := func() *unstructured.UnstructuredList {
		page := &unstructured.UnstructuredList{}
		gvk := c.kind.GVK()
		page.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		return page
	}
	_, err := listing.Pages(ctx, listing.Lists{Reader: c.env.Client, Kind: c.kind, Namespaces: c.namespaces}, newList, contentPageSize, func(page *unstructured.UnstructuredList) error {
		return c.comparePageContent(ctx, page.Items)
	})
	return command.Explain(err)
}

func (c *comparison) comparePageContent(ctx context.Context, items []unstructured.Unstructured) error {
	uids := make([]string, 0, len(items))
	for i := range items {
		uids = append(uids, string(items[i].GetUID()))
	}
	rowsByUID, err := c.rowsOf(ctx, uids)
	if err != nil {
		return err
	}
	page := make([]rows.Row, 0, len(rowsByUID))
	for _, uid := range uids {
		if r := rowsByUID[uid]; r != nil && r.Live() && !r.Evicted() {
			page = append(page, *r)
		}
	}
	contents, err := c.read(ctx, page)
	if err != nil {
		return err
	}
	byUID := map[string]*content{}
	for i := range contents {
		byUID[contents[i].UID] = &contents[i]
	}
	for i := range items {
		row := byUID[string(items[i].GetUID())]
		if text := row.equals(&items[i]); text != "" {
			c.addContentDifference(row.Row, "version "+items[i].GetResourceVersion(), text)
		}
	}
	return nil
}

func (c *comparison) addContentDifference(r rows.Row, cluster, text string) {
	if cluster == "" {
		cluster = "not compared"
	}
	c.candidates = append(c.candidates, candidate{Difference: c.difference(nil, &r, finding{Content, cluster, text})})
}

// recheckContent compares the content of one row again. It omits a difference that another comparison reports.
func (c *comparison) recheckContent(ctx context.Context, x candidate, o *object, r *rows.Row) ([]candidate, error) {
	if r == nil {
		return nil, nil
	}
	contents, err := c.read(ctx, []rows.Row{*r})
	if err != nil || len(contents) == 0 {
		return nil, err
	}
	text := contents[0].consistent(c.builder)
	if text == "" && o != nil && r.Live() && !r.Evicted() {
		var live unstructured.Unstructured
		live.SetGroupVersionKind(c.kind.GVK())
		err := c.env.Client.Get(ctx, types.NamespacedName{Namespace: x.Namespace, Name: x.Name}, &live)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, command.Explain(fmt.Errorf("get %s %s/%s: %w", c.kind.Name, x.Namespace, x.Name, err))
		}
		if string(live.GetUID()) == x.UID {
			text = contents[0].equals(&live)
		}
	}
	if text == "" {
		return nil, nil
	}
	x.Storage = text
	return []candidate{x}, nil
}
