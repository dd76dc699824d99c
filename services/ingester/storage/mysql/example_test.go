package mysql_test

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// An invalid request is rejected before it reaches the database.
func ExampleStorage_List() {
	ctx := context.Background()
	store, err := mysql.Open(ctx, mysql.Options{DSN: "reader:secret@tcp(127.0.0.1:3306)/michelangelo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	models := &metav1.TypeMeta{APIVersion: "michelangelo.api/v2", Kind: "Model"}
	ext := &storage.ListOptionsExt{
		Operation: &storage.CriterionOperation{Criteria: []storage.Criterion{
			{FieldName: "spec.kind", Operator: storage.OpIn, MatchValue: []string{"MODEL_KIND_CUSTOM", "MODEL_KIND_UNICORN"}},
		}},
		OrderBy:               []storage.OrderBy{{Field: "metadata.name"}},
		ReturnedFieldSkipList: []string{"spec.input_schema", "spec.output_schema"},
	}
	var answer storage.ListResponse
	err = store.List(ctx, models, "default", &metav1.ListOptions{LabelSelector: "team=growth", Limit: 100}, ext, &answer)
	fmt.Println(errors.Is(err, storage.ErrInvalid))
	fmt.Println(err)
	if err := store.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// true
	// invalid request to storage: value of field "spec.kind": "MODEL_KIND_UNICORN" is not a value of enum ModelKind
}
