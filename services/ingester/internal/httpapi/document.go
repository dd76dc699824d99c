package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// extDocument is storage.ListOptionsExt as JSON, with the names of the wire contract in
// the form that protobuf gives them in JSON.
//
// Source: reference section 4.5 (ListOptionsExt contract).
type extDocument struct {
	OrderBy               []orderDocument     `json:"orderBy"`
	Operation             *operationDocument  `json:"operation"`
	Pagination            *paginationDocument `json:"pagination"`
	ReturnedFieldSkipList []string            `json:"returnedFieldSkipList"`
}

type orderDocument struct {
	Field string          `json:"field"`
	Dir   json.RawMessage `json:"dir"`
}

type paginationDocument struct {
	Offset int32 `json:"offset"`
	Limit  int32 `json:"limit"`
}

type operationDocument struct {
	Criterion       []criterionDocument `json:"criterion"`
	LogicalOperator json.RawMessage     `json:"logicalOperator"`
	SubOperations   []operationDocument `json:"subOperations"`
}

type criterionDocument struct {
	FieldName  string          `json:"fieldName"`
	Operator   json.RawMessage `json:"operator"`
	MatchValue json.RawMessage `json:"matchValue"`
}

// enum is a wire enum: its names without prefix, in the order of their numbers.
type enum struct {
	prefix string
	names  []string
}

var (
	sortOrders        = enum{"SORT_ORDER_", []string{"INVALID", "ASC", "DESC"}}
	logicalOperators  = enum{"LOGICAL_OPERATOR_", []string{"AND", "OR"}}
	criterionOperator = enum{"CRITERION_OPERATOR_", []string{
		"INVALID", "EQUAL", "NOT_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL_TO", "LESS_THAN",
		"LESS_THAN_OR_EQUAL_TO", "IN", "NOT_IN", "LIKE", "IS_NULL", "IS_NOT_NULL",
	}}
)

// number parses a name, with or without prefix and in any case, or a number. An absent value is 0.
func (e enum) number(raw json.RawMessage) (int32, error) {
	if len(raw) == 0 {
		return 0, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		short := strings.TrimPrefix(strings.ToUpper(text), e.prefix)
		for i, name := range e.names {
			if name == short {
				return int32(i), nil
			}
		}
	}
	var n int32
	if json.Unmarshal(raw, &n) == nil && n >= 0 && int(n) < len(e.names) {
		return n, nil
	}
	return 0, fmt.Errorf("got %s, want one of %s", raw, strings.Join(e.names, ", "))
}

func (d *extDocument) ext() (storage.ListOptionsExt, error) {
	ext := storage.ListOptionsExt{ReturnedFieldSkipList: d.ReturnedFieldSkipList}
	for _, one := range d.OrderBy {
		dir, err := sortOrders.number(one.Dir)
		if err != nil {
			return ext, apierrors.NewBadRequest(fmt.Sprintf("dir of orderBy %q: %v", one.Field, err))
		}
		ext.OrderBy = append(ext.OrderBy, storage.OrderBy{Field: one.Field, Dir: storage.SortOrder(dir)})
	}
	if d.Pagination != nil {
		ext.Pagination = &storage.Pagination{Offset: d.Pagination.Offset, Limit: d.Pagination.Limit}
	}
	if d.Operation == nil {
		return ext, nil
	}
	var err error
	ext.Operation, err = d.Operation.operation()
	return ext, err
}

func (d *operationDocument) operation() (*storage.CriterionOperation, error) {
	logical, err := logicalOperators.number(d.LogicalOperator)
	if err != nil {
		return nil, apierrors.NewBadRequest("logicalOperator: " + err.Error())
	}
	out := &storage.CriterionOperation{LogicalOperator: storage.LogicalOperator(logical)}
	for _, one := range d.Criterion {
		criterion, err := one.criterion()
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("criterion of field %q: %v", one.FieldName, err))
		}
		out.Criteria = append(out.Criteria, criterion)
	}
	for i := range d.SubOperations {
		sub, err := d.SubOperations[i].operation()
		if err != nil {
			return nil, err
		}
		out.SubOperations = append(out.SubOperations, *sub)
	}
	return out, nil
}

func (d *criterionDocument) criterion() (storage.Criterion, error) {
	operator, err := criterionOperator.number(d.Operator)
	if err != nil {
		return storage.Criterion{}, fmt.Errorf("operator: %w", err)
	}
	value, err := matchValue(d.MatchValue)
	if err != nil {
		return storage.Criterion{}, fmt.Errorf("matchValue: %w", err)
	}
	return storage.Criterion{FieldName: d.FieldName, Operator: storage.CriterionOperator(operator), MatchValue: value}, nil
}

// matchValue reads a plain value, or a well-known type in a google.protobuf.Any:
// {"@type": "type.googleapis.com/google.protobuf.Value", "value": 3}.
func matchValue(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if wrapped, ok := value.(map[string]any); ok {
		kind, isText := wrapped["@type"].(string)
		inner, given := wrapped["value"]
		if !isText || !given || len(wrapped) != 2 || !strings.HasPrefix(kind, "type.googleapis.com/google.protobuf.") {
			return nil, errors.New("an object must be a google.protobuf.Any of a well-known type")
		}
		value = inner
	}
	return plain(value)
}

// plain converts numbers to Go types.
func plain(value any) (any, error) {
	switch v := value.(type) {
	case nil, string, bool:
		return v, nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			one, err := plain(v[i])
			if _, nested := one.([]any); err != nil || nested || one == nil {
				return nil, errors.New("a list must hold strings, numbers and booleans only")
			}
			v[i] = one
		}
		return v, nil
	}
	return nil, errors.New("must be one of string, number, boolean and a list of them")
}

// decodeStrict reads exactly one JSON document; an unknown field is an error that names it.
func decodeStrict(from io.Reader, into any) error {
	decoder := json.NewDecoder(from)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	return nil
}

// decodeBody decodes the body of a request; an empty body leaves into unchanged.
func decodeBody(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if header := r.Header.Get("Content-Type"); header != "" {
		if kind, _, err := mime.ParseMediaType(header); err != nil || kind != contentType {
			return apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, r.Method, schema.GroupResource{}, "",
				fmt.Sprintf("the body must be %s, is %q", contentType, header), 0, true)
		}
	}
	if err := decodeStrict(bytes.NewReader(body), into); err != nil {
		return apierrors.NewBadRequest("the body cannot be read: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
