package samples

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// Set holds the samples of some services.
type Set struct {
	Files    []string
	Expected []Resource
}

// Load reads the sample files in the directories. It ignores missing directories.
func Load(dirs []string) (Set, error) {
	var set Set
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil {
			return Set{}, fmt.Errorf("list the samples: %w", err)
		}
		for _, file := range files {
			resources, err := parse(file)
			if err != nil {
				return Set{}, err
			}
			set.Files = append(set.Files, file)
			set.Expected = append(set.Expected, resources...)
		}
	}
	return set, nil
}

func parse(file string) ([]Resource, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read sample: %w", err)
	}
	var all []Resource
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var r Resource
		err := decoder.Decode(&r)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("parse sample %s: %w", file, err)
		}
		if r.Kind == "" {
			continue // an empty document
		}
		if r.Namespace == "" {
			r.Namespace = "default"
		}
		all = append(all, r)
	}
}

// Store queries the ingester's database.
type Store interface {
	// Has reports whether the table has a live row with the name.
	Has(ctx context.Context, table, namespace, name string) (bool, error)
}

// Report is the state of one sample.
type Report struct {
	Resource
	// Problem is empty when the sample is healthy.
	Problem string
	// Row is "stored" or "-".
	Row string
}

// Check compares the samples with the objects from the API server and with the database. A nil store means that the
// ingester does not run and does not store objects.
func (s Set) Check(ctx context.Context, found []Resource, store Store) ([]Report, error) {
	byKey := map[string]Resource{}
	for _, r := range found {
		byKey[r.Key()] = r
	}
	reports := make([]Report, 0, len(s.Expected))
	for _, want := range s.Expected {
		has, exists := byKey[want.Key()]
		report := Report{Resource: want, Problem: "does not exist", Row: "-"}
		if exists {
			report.Resource, report.Problem = has, has.Problem()
		}
		if want.Stored() && store != nil {
			stored, err := store.Has(ctx, want.Table(), want.Namespace, want.Name)
			if err != nil {
				return nil, err
			}
			report.Row, report.Problem = stateOfRow(stored)
		}
		reports = append(reports, report)
	}
	return reports, nil
}

// stateOfRow returns the state of a stored kind. It ignores the API server, since the ingester evicts immutable objects.
func stateOfRow(stored bool) (row, problem string) {
	if stored {
		return "stored", ""
	}
	return "-", "not stored in MySQL"
}

// ParseList parses the output of kubectl get -o json: an object or a list.
func ParseList(data []byte) ([]Resource, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	var list struct {
		Kind  string     `json:"kind"`
		Items []Resource `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read the resources: %w", err)
	}
	if list.Kind == "List" {
		return list.Items, nil
	}
	var one Resource
	if err := json.Unmarshal(data, &one); err != nil {
		return nil, fmt.Errorf("read the resource: %w", err)
	}
	return []Resource{one}, nil
}

// columns are the conditions that every managed resource has.
var columns = []string{"Available", "Progressing", "Degraded", "Upgradable", "Paused", "Stopped"}

// Rows returns the reports as a table with one row per sample and one column per condition.
func Rows(reports []Report) [][]string {
	heading := []string{"KIND", "NAME", "PHASE"}
	for _, c := range columns {
		heading = append(heading, strings.ToUpper(c))
	}
	rows := [][]string{append(heading, "MYSQL", "NOTE")}
	for _, r := range reports {
		row := []string{r.Kind, r.Namespace + "/" + r.Name, orDash(r.Status.Phase)}
		for _, c := range columns {
			row = append(row, orDash(r.conditionStatus(c)))
		}
		rows = append(rows, append(row, r.Row, r.Problem))
	}
	return rows
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
