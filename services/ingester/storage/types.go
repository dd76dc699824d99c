package storage

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// ListResponse is the response to List and QueryByTemplateID.
type ListResponse struct {
	// Continue is the token of the next page, or empty on the last one.
	Continue string
	// RemainingItemCount is the number of objects after this page; nil on the last page, and when
	// counting would cost more than the page.
	RemainingItemCount *int64
	Items              []runtime.Object
}

// IndexedField is the value of an indexed column.
type IndexedField struct {
	Key   string
	Value any
}

// IndexedObject is implemented by typed objects that provide their indexed columns themselves.
type IndexedObject interface {
	GetIndexedKeyValuePairs() []IndexedField
	IsImmutableKind() bool
}

// ListOptionsExt holds list options that metav1.ListOptions lacks.
//
// Fields are named by proto path ("spec.owner.name", "metadata.creation_timestamp"), by JSON
// path ("metadata.creationTimestamp") or by the name of their indexed column ("owner").
//
// Source: reference section 4.5 (ListOptionsExt contract).
type ListOptionsExt struct {
	OrderBy    []OrderBy
	Operation  *CriterionOperation
	Pagination *Pagination
	// ReturnedFieldSkipList holds the proto paths of fields to omit from the result.
	ReturnedFieldSkipList []string
}

// OrderBy sorts by one field.
type OrderBy struct {
	Field string
	Dir   SortOrder
}

// SortOrder is a direction. The numbers are those of the wire contract.
type SortOrder int32

// Directions. SortInvalid, the zero value of the contract, sorts in ascending order.
const (
	SortInvalid SortOrder = 0
	SortAsc     SortOrder = 1
	SortDesc    SortOrder = 2
)

// Pagination selects the objects [Offset, Offset+Limit); a limit of 0 means unlimited. An offset
// cannot be used together with a continue token.
type Pagination struct {
	Offset, Limit int32
}

// LogicalOperator joins criteria.
type LogicalOperator int32

// Logical operators.
const (
	And LogicalOperator = 0
	Or  LogicalOperator = 1
)

// CriterionOperation joins criteria and nested operations.
type CriterionOperation struct {
	Criteria        []Criterion
	LogicalOperator LogicalOperator
	SubOperations   []CriterionOperation
}

// CriterionOperator compares a field with a value. The numbers are those of the wire contract.
type CriterionOperator int32

// Operators of criteria.
const (
	OpInvalid            CriterionOperator = 0
	OpEqual              CriterionOperator = 1
	OpNotEqual           CriterionOperator = 2
	OpGreaterThan        CriterionOperator = 3
	OpGreaterThanOrEqual CriterionOperator = 4
	OpLessThan           CriterionOperator = 5
	OpLessThanOrEqual    CriterionOperator = 6
	OpIn                 CriterionOperator = 7
	OpNotIn              CriterionOperator = 8
	OpLike               CriterionOperator = 9
	OpIsNull             CriterionOperator = 10
	OpIsNotNull          CriterionOperator = 11
)

// Criterion is one comparison. MatchValue is a string, bool, number, time.Time or, for
// OpIn and OpNotIn, a slice of these; OpIsNull and OpIsNotNull take none.
type Criterion struct {
	FieldName  string
	Operator   CriterionOperator
	MatchValue any
}

// BackfillParams define the new content of a row.
type BackfillParams struct {
	Object        runtime.Object
	IndexedFields []IndexedField
}

// PrepareBackfillParams computes the new content of a row from the stored object. Nil leaves it unchanged.
type PrepareBackfillParams func(object runtime.Object) (*BackfillParams, error)

// Commands of a backfill select the columns to rewrite.
const (
	BackfillIndex = "index" // the indexed columns
	BackfillBlob  = "blob"  // the protobuf and JSON columns
	BackfillAll   = "all"   // both, with labels and annotations
)

// BackfillOptions choose the rows of a backfill.
type BackfillOptions struct {
	Kind    string `json:"kind" yaml:"kind"`
	Command string `json:"command" yaml:"command"`
	// StartTime is the creation time to begin with; the zero time is the beginning.
	StartTime time.Time `json:"startTime" yaml:"startTime"`
	// ExcludeDeleted skips closed rows.
	ExcludeDeleted bool `json:"excludeDeleted" yaml:"excludeDeleted"`
	// NameSpaces to work in; none means all.
	NameSpaces []string `json:"namespaces" yaml:"namespaces"`
	// BatchSize is the minimum number of rows that one call rewrites, if there are so many. Zero means 500.
	BatchSize int `json:"batchSize" yaml:"batchSize"`
}
