// Package accept implements the command "ingester checkpoint": it compares the age of
// the database with the cluster, and lets the ingester continue with an older database.
//
// In an older database, the row of an object that is not in the cluster may be the only
// copy of an object that was evicted since, or the row of a deleted one. The stream of change
// events shows which, as far back as it reaches: the rows of deleted objects are closed. All
// others are marked as evicted.
package accept

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/listing"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// Env holds the connections of the command.
type Env = command.Env

// Command implements "ingester checkpoint".
type Command struct {
	command.Output
	// Accept continues with the older database.
	Accept bool
}

// AddFlags adds the flags of the command.
func (c *Command) AddFlags(fs *pflag.FlagSet) {
	c.Output.AddFlags(fs)
	fs.BoolVar(&c.Accept, "accept", false, "close live rows whose object was deleted by the stream of change events, mark others without an object as evicted, and continue with the older database")
}

// Result is the JSON output of the command.
type Result struct {
	Database int64 `json:"database"`
	Cluster  int64 `json:"cluster"`
	// Kept are the rows that were marked as evicted: each may be the only copy of its object.
	Kept []Row `json:"kept"`
	// Closed are the rows whose object was deleted.
	Closed []Row `json:"closed"`
}

// Row is a row without an object in the cluster.
type Row struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// Run compares, accepts if Accept is set, and prints the result.
func (c *Command) Run(ctx context.Context, env Env, out io.Writer) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if err := env.RequireMySQL(); err != nil {
		return err
	}
	r := Result{Kept: []Row{}, Closed: []Row{}}
	var err error
	if r.Database, r.Cluster, err = numbers(ctx, env); err != nil {
		return err
	}
	if c.Accept && r.Database < r.Cluster {
		if err = replay(ctx, env, &r); err != nil {
			return err
		}
		if err = checkpoint.Accept(ctx, env.DB, r.Cluster); err != nil {
			return err
		}
		r.Database = r.Cluster
	}
	if err := c.Print(out, r, r.text); err != nil {
		return err
	}
	if r.Database < r.Cluster {
		return command.Incompletef("the database lacks evictions: evictions and sweeps are stopped until you restore a newer backup or set --accept")
	}
	return nil
}

func (r Result) text(w io.Writer) {
	fmt.Fprintln(w, "DATABASE\tCLUSTER\tKEPT\tCLOSED")
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\n", r.Database, r.Cluster, len(r.Kept), len(r.Closed))
	if len(r.Kept)+len(r.Closed) == 0 {
		return
	}
	fmt.Fprintln(w, "\nKIND\tNAME\tUID\tROW")
	list := func(rows []Row, state string) {
		for _, k := range rows {
			fmt.Fprintf(w, "%s\t%s/%s\t%s\t%s\n", k.Kind, k.Namespace, k.Name, k.UID, state)
		}
	}
	list(r.Kept, "kept")
	list(r.Closed, "closed")
}

// Behind returns an error while the database lacks completed evictions, or if the comparison
// fails.
func Behind(ctx context.Context, env Env) error {
	database, cluster, err := numbers(ctx, env)
	if err == nil && database < cluster {
		err = fmt.Errorf("%w: run ingester checkpoint --accept first", checkpoint.ErrBehind)
	}
	return err
}

// numbers reads the cluster's number first, since evictions increment the database first.
func numbers(ctx context.Context, env Env) (database, cluster int64, err error) {
	if env.LeaseNamespace == "" {
		return 0, 0, errors.New("--leader-election-namespace (FLOTILLA_LEADER_ELECTION_NAMESPACE) is required to read the ConfigMap " + checkpoint.Name)
	}
	copied := &checkpoint.Cluster{APIReader: env.Client, Namespace: env.LeaseNamespace}
	if cluster, err = copied.Read(ctx); err != nil {
		return 0, 0, command.Explain(err)
	}
	database, err = checkpoint.Stored(ctx, env.DB)
	return database, cluster, err
}

// evictReleased stores an object that only foreign finalizers hold, and returns its row if that is
// marked as evicted.
func evictReleased(ctx context.Context, env Env, kind *registry.Kind, key types.NamespacedName) ([]Row, error) {
	var o unstructured.Unstructured
	o.SetGroupVersionKind(kind.GVK())
	err := env.Client.Get(ctx, key, &o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, command.Explain(err)
	}
	if !decide.HeldByOthers(&o) {
		return nil, nil
	}
	evicted, err := checkpoint.StoreReleased(ctx, env.Store, &o)
	if err != nil || !evicted {
		return nil, err
	}
	return []Row{{kind.Name, key.Namespace, key.Name, string(o.GetUID())}}, nil
}

// compare returns live rows that are not evicted and whose uid the cluster does not have,
// and objects that only foreign finalizers hold. The cluster is listed last: an object
// that was created meanwhile has no row here.
func compare(ctx context.Context, env Env, kind *registry.Kind) (orphans []rows.Row, released []types.NamespacedName, err error) {
	open := map[string]rows.Row{}
	err = rows.Each(ctx, env.DB, kind, rows.Query{State: rows.InCluster, Namespaces: env.Namespaces}, func(r rows.Row) error {
		open[r.UID] = r
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	held := map[types.NamespacedName]bool{}
	_, err = listing.EachMetadata(ctx, env.Client, kind, env.Namespaces, func(o *metav1.PartialObjectMetadata) error {
		delete(open, string(o.GetUID()))
		if decide.HeldByOthers(o) {
			held[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = true
		}
		return nil
	})
	if err != nil {
		return nil, nil, command.Explain(err)
	}
	for _, uid := range slices.Sorted(maps.Keys(open)) {
		orphans = append(orphans, open[uid])
	}
	released = slices.SortedFunc(maps.Keys(held), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return orphans, released, nil
}
