package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/query"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Query parameters.
const (
	paramLabels   = "labelSelector"
	paramFields   = "fieldSelector"
	paramLimit    = "limit"
	paramContinue = "continue"
	paramOrder    = "orderBy"
	paramFilter   = "filter"
	paramSkip     = "skipFields"
	paramTemplate = "template"
	paramDryRun   = "dryRun"
)

var (
	queryParameters = []string{paramLabels, paramFields, paramLimit, paramContinue, paramTemplate}
	listParameters  = append([]string{paramOrder, paramFilter, paramSkip}, queryParameters...)
)

// Objects in one response.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// MaxPageBytes is the maximum size of the stored objects of one response, unless it has only one.
const MaxPageBytes = 8 << 20

// listRequest holds the options of a list request to storage.
type listRequest struct {
	options  metav1.ListOptions
	ext      storage.ListOptionsExt
	template string
}

// objectList is the response to a list: kind <Kind>List.
type objectList struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ListMeta  `json:"metadata"`
	Items           []runtime.Object `json:"items"`
}

// list returns live objects from storage.
func (a *handlers) list(w http.ResponseWriter, r *http.Request, t target) error {
	q, err := parseListRequest(t.parameters)
	if err != nil {
		return err
	}
	return a.answerList(w, r, t, q)
}

// query lists like list, with a document as the body, for requests that are too long for a URL.
func (a *handlers) query(w http.ResponseWriter, r *http.Request, t target) error {
	q, err := parseListRequest(t.parameters)
	if err != nil {
		return err
	}
	var document extDocument
	if err := decodeBody(r, &document); err != nil {
		return err
	}
	if q.ext, err = document.ext(); err != nil {
		return err
	}
	if err := q.paginate(t.parameters.Has(paramLimit)); err != nil {
		return err
	}
	return a.answerList(w, r, t, q)
}

func (a *handlers) answerList(w http.ResponseWriter, r *http.Request, t target, q listRequest) error {
	answer, err := a.listStorage(r.Context(), t, q)
	if err != nil {
		return fmt.Errorf("list %s: %w", t.kind.Plural, err)
	}
	list := objectList{
		TypeMeta: metav1.TypeMeta{APIVersion: t.typeMeta().APIVersion, Kind: t.kind.Name + "List"},
		Metadata: metav1.ListMeta{Continue: answer.Continue, RemainingItemCount: answer.RemainingItemCount},
		Items:    answer.Items,
	}
	if list.Items == nil {
		list.Items = []runtime.Object{}
	}
	return respond(w, r, http.StatusOK, sourceStorage, list)
}

// listStorage lists from storage. It expands a template to criteria first, so that namespace,
// selectors and pages apply to it as well. The page of a template with a limit is its whole answer.
func (a *handlers) listStorage(ctx context.Context, t target, q listRequest) (*storage.ListResponse, error) {
	ext, limited := &q.ext, false
	if q.template != "" {
		var err error
		if ext, limited, err = query.Expand(t.kind, q.template, ext); err != nil {
			return nil, err
		}
	}
	var answer storage.ListResponse
	err := a.store.List(ctx, t.typeMeta(), t.namespace, &q.options, ext, &answer)
	if limited {
		answer.Continue, answer.RemainingItemCount = "", nil
	}
	return &answer, err
}

// parseListRequest reads the parameters of a list.
func parseListRequest(v url.Values) (listRequest, error) {
	q := listRequest{template: v.Get(paramTemplate)}
	q.options.LabelSelector, q.options.FieldSelector = v.Get(paramLabels), v.Get(paramFields)
	q.options.Continue = v.Get(paramContinue)
	limit, err := parseLimit(v)
	if err != nil {
		return q, err
	}
	q.options.Limit = limit
	if q.ext.OrderBy, err = parseOrder(v.Get(paramOrder)); err != nil {
		return q, err
	}
	if text := v.Get(paramFilter); text != "" {
		var document operationDocument
		if err := decodeStrict(strings.NewReader(text), &document); err != nil {
			return q, apierrors.NewBadRequest("parameter \"filter\" cannot be read: " + err.Error())
		}
		if q.ext.Operation, err = document.operation(); err != nil {
			return q, err
		}
	}
	if text := v.Get(paramSkip); text != "" {
		q.ext.ReturnedFieldSkipList = strings.Split(text, ",")
	}
	return q, nil
}

func parseLimit(v url.Values) (int64, error) {
	text := v.Get(paramLimit)
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxLimit {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("parameter \"limit\" must be a number from 1 to %d, is %q", maxLimit, text))
	}
	return n, nil
}

// parseOrder reads field[:asc|desc],...
func parseOrder(text string) ([]storage.OrderBy, error) {
	if text == "" {
		return nil, nil
	}
	var out []storage.OrderBy
	for part := range strings.SplitSeq(text, ",") {
		field, direction, given := strings.Cut(part, ":")
		order := storage.OrderBy{Field: field, Dir: storage.SortAsc}
		switch {
		case field == "":
			return nil, apierrors.NewBadRequest(fmt.Sprintf("parameter \"orderBy\" %q names no field", text))
		case !given || direction == "asc":
		case direction == "desc":
			order.Dir = storage.SortDesc
		default:
			return nil, apierrors.NewBadRequest(fmt.Sprintf("parameter \"orderBy\" has direction %q, want asc or desc", direction))
		}
		out = append(out, order)
	}
	return out, nil
}

// paginate bounds the page of a query's body. A limit in the URL bounds it further.
func (q *listRequest) paginate(limitGiven bool) error {
	p := q.ext.Pagination
	if p == nil {
		return nil
	}
	if p.Offset < 0 || p.Limit < 1 || p.Limit > maxLimit {
		return apierrors.NewBadRequest(fmt.Sprintf("pagination must have an offset from 0 and a limit from 1 to %d", maxLimit))
	}
	if !limitGiven {
		q.options.Limit = int64(p.Limit)
	}
	return nil
}

// get returns one object: from the cluster, or from storage if the cluster does not have it.
// Only "not found" falls back to storage; any other failure is returned.
func (a *handlers) get(w http.ResponseWriter, r *http.Request, t target) error {
	object, source, err := a.find(r.Context(), t)
	if err != nil {
		return err
	}
	return respond(w, r, http.StatusOK, source, object)
}

// find returns an object and its source.
func (a *handlers) find(ctx context.Context, t target) (*unstructured.Unstructured, string, error) {
	object, err := a.cluster.Get(ctx, t.kind, t.namespace, t.name)
	if err == nil {
		return object, sourceCluster, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, "", clusterError(err)
	}
	object = t.object()
	if err := a.store.GetByName(ctx, t.namespace, t.name, object); err != nil {
		return nil, "", fmt.Errorf("read %s %s/%s: %w", t.kind.Name, t.namespace, t.name, err)
	}
	return object, sourceStorage, nil
}
