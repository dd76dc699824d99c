package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func TestFillLists(t *testing.T) {
	kinds := []*registry.Kind{
		{Name: "Model", Plural: "models"}, {Name: "Pipeline", Plural: "pipelines"}, {Name: "Dataset", Plural: "datasets"},
	}
	for name, c := range map[string]struct{ before, want string }{
		"resources in one line": {
			"- resources: [models, pipelines]\n  verbs: [get]\n",
			"- resources: [models, pipelines, datasets]\n  verbs: [get]\n",
		},
		"status subresources": {
			"resources: [models/status, pipelines/status]\nverbs: [update]\n",
			"resources: [models/status, pipelines/status, datasets/status]\nverbs: [update]\n",
		},
		"one resource to a line, in the order of the registry": {
			"enum:\n  - pipelines\n  - models\n  - retired\nother:\n  - pods\n",
			"enum:\n  - models\n  - pipelines\n  - datasets\nother:\n  - pods\n",
		},
		"subjects in alphabetical order": {
			"publish: [\n  \"change.C.*.model.*.*\"\n  \"change.C.*.pipeline.*.*\"\n  \"hb.C.ingester\"\n]\n",
			"publish: [\n  \"change.C.*.dataset.*.*\"\n  \"change.C.*.model.*.*\"\n  \"change.C.*.pipeline.*.*\"\n  \"hb.C.ingester\"\n]\n",
		},
		"imports of subjects": {
			"imports: [\n  {service: {account: A, subject: \"change.C.*.model.*.*\"}}\n  {service: {account: A, subject: \"change.C.*.pipeline.*.*\"}}\n]\n",
			"imports: [\n  {service: {account: A, subject: \"change.C.*.dataset.*.*\"}}\n" +
				"  {service: {account: A, subject: \"change.C.*.model.*.*\"}}\n  {service: {account: A, subject: \"change.C.*.pipeline.*.*\"}}\n]\n",
		},
		"two lists": {
			"a: [models, pipelines]\nb:\n- models\nc: [models, pipelines]\n",
			"a: [models, pipelines, datasets]\nb:\n- models\n- pipelines\n- datasets\nc: [models, pipelines, datasets]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fillLists(c.before, kinds)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("text differs (-want +got):\n%s", diff)
			}
			if second, err := fillLists(got, kinds); err != nil || second != got {
				t.Errorf("a second time changes it: %v\n%s", err, second)
			}
		})
	}
	if _, err := fillLists("# of the models\nresources: [pods]\n", kinds); !errors.Is(err, errNoList) {
		t.Errorf("got %v for a text without a list", err)
	}
}
