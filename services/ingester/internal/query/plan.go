package query

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Request is a request for live objects of a kind.
type Request struct {
	Kind *registry.Kind
	// Namespace restricts the request to one namespace; "" means all.
	Namespace string
	// Options and Ext may be nil.
	Options *metav1.ListOptions
	Ext     *storage.ListOptionsExt
}

// Plan is a compiled request.
type Plan struct {
	kind      *registry.Kind
	namespace string
	where     []clause
	fields    int // clauses of where that are about fields
	labels    []label
	keys      []key
	skips     []skipped
	limit     int64 // 0 means all
	offset    int64
	after     []any // sort values of the last row of the previous page; nil is the beginning
	remaining *int64
	// driver is the index of the label that drives the plan, or one of the values below.
	driver int
}

// Forms of a plan that are not driven by a label; see the package comment.
const (
	plain   = -1
	inOrder = -2
)

// Compile compiles a request. Errors: storage.ErrInvalid.
func Compile(q Request) (*Plan, error) {
	p := &Plan{kind: q.Kind, namespace: q.Namespace, driver: plain}
	options, ext := q.Options, q.Ext
	if options == nil {
		options = &metav1.ListOptions{}
	}
	if ext == nil {
		ext = &storage.ListOptionsExt{}
	}
	if err := checkOptions(options); err != nil {
		return nil, err
	}
	if err := p.conditions(options, ext); err != nil {
		return nil, err
	}
	var err error
	if p.keys, err = parseOrder(p.kind, ext.OrderBy); err != nil {
		return nil, err
	}
	if p.skips, err = parseSkips(p.kind, ext.ReturnedFieldSkipList); err != nil {
		return nil, err
	}
	return p, p.page(options, ext.Pagination)
}

func (p *Plan) conditions(options *metav1.ListOptions, ext *storage.ListOptionsExt) error {
	if p.namespace != "" {
		namespace, err := find(p.kind, "namespace")
		if err != nil {
			return err
		}
		v, err := namespace.Value(p.namespace)
		if err != nil {
			return err
		}
		p.where = append(p.where, clause{namespace.sql(main) + " = ?", []any{v}})
	}
	selected, err := parseFields(p.kind, options.FieldSelector)
	if err != nil {
		return err
	}
	criteria, err := parseCriteria(p.kind, ext.Operation)
	if err != nil {
		return err
	}
	p.where = append(append(p.where, selected...), criteria...)
	p.fields = len(selected) + len(criteria)
	p.labels, err = parseLabels(options.LabelSelector)
	return err
}

// checkOptions rejects unsupported options: storage holds the latest state only.
func checkOptions(o *metav1.ListOptions) error {
	switch {
	case o.Watch:
		return invalid("watch: storage cannot be watched")
	case o.SendInitialEvents != nil:
		return invalid("sendInitialEvents: storage cannot be watched")
	case o.ShardSelector != "":
		return invalid("shardSelector %q: storage has no shards", clip(o.ShardSelector))
	case o.ResourceVersion != "" && o.ResourceVersion != "0":
		return invalid("resourceVersion %q: storage lists the newest state only", clip(o.ResourceVersion))
	case o.ResourceVersionMatch != "" && (o.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || o.ResourceVersion != "0"):
		return invalid("resourceVersionMatch %q: storage lists the newest state only", clip(string(o.ResourceVersionMatch)))
	case o.TimeoutSeconds != nil && *o.TimeoutSeconds < 0:
		return invalid("timeoutSeconds %d is negative", *o.TimeoutSeconds)
	case o.Limit < 0:
		return invalid("limit %d is negative", o.Limit)
	}
	return nil
}

// page sets the limit, the offset and the start position.
func (p *Plan) page(o *metav1.ListOptions, pagination *storage.Pagination) error {
	p.limit = o.Limit
	if pagination != nil {
		if pagination.Limit < 0 || pagination.Offset < 0 {
			return invalid("pagination: offset %d or limit %d is negative", pagination.Offset, pagination.Limit)
		}
		if limit := int64(pagination.Limit); limit > 0 && (p.limit == 0 || limit < p.limit) {
			p.limit = limit
		}
		p.offset = int64(pagination.Offset)
	}
	if o.Continue == "" {
		return nil
	}
	if p.offset > 0 {
		return invalid("pagination: an offset cannot be used together with a continue token")
	}
	return p.resume(o.Continue)
}

// Kind returns the kind of the requested objects.
func (p *Plan) Kind() *registry.Kind { return p.kind }

// Limit returns the maximum number of rows of a page; 0 means all.
func (p *Plan) Limit() int64 { return p.limit }
