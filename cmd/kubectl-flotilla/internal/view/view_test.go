package view_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

func TestTag(t *testing.T) {
	for image, want := range map[string]string{
		"apache/superset:6.0.0": "6.0.0", "registry:5000/superset": "registry:5000/superset", "registry:5000/a/b:1": "1",
		"a@sha256:abc": "a@sha256:abc", "a:1@sha256:abc": "a:1@sha256:abc", "": "", "plain": "plain",
	} {
		if got := view.Tag(image); got != want {
			t.Errorf("%q: %q, want %q", image, got, want)
		}
	}
}

func TestOfAcceptsMalformedStatus(t *testing.T) {
	for name, status := range map[string]any{
		"none": nil, "text": "x", "a list": []any{}, "wrong fields": map[string]any{
			"phase": 7, "observedGeneration": "x", "conditions": "x", "transitions": []any{"x", map[string]any{"seq": "x"}},
			"components": []any{}, "lifecycle": map[string]any{"migrate": "x"}, "deployedVersion": map[string]any{},
		},
		"conditions of wrong fields": map[string]any{"conditions": []any{map[string]any{"type": 7}, map[string]any{"lastTransitionTime": "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []contract.Kind{contract.Superset, contract.FireboltEngine, contract.FireboltInstance, contract.FireboltEngineClass} {
				r := view.Of(kind, &unstructured.Unstructured{Object: map[string]any{"spec": "x", "status": status, "metadata": map[string]any{"name": "a"}}})
				if r.Phase != "" || len(r.Conditions)+len(r.Transitions) != 0 || r.ObservedGeneration != 0 {
					t.Errorf("%s: read %+v", kind, r)
				}
			}
		})
	}
}

func TestEngineGenerations(t *testing.T) {
	serving := func(name, ready string) view.Part {
		return view.Part{Name: name, State: "Serving", Ready: ready, Message: "i:1"}
	}
	for name, tc := range map[string]struct {
		spec   int64
		status map[string]any
		want   []view.Part
	}{
		"before the first switch": {
			2,
			map[string]any{"currentGeneration": int64(0), "activeGeneration": int64(-1), "phase": "creating"},
			[]view.Part{{Name: "g0", State: "Incoming"}},
		},
		"at rest": {
			2,
			map[string]any{"currentGeneration": int64(3), "activeGeneration": int64(3), "replicas": int64(2), "readyReplicas": int64(2), "phase": "stable"},
			[]view.Part{serving("g3", "2/2")},
		},
		"pods are missing": {
			3,
			map[string]any{"currentGeneration": int64(3), "activeGeneration": int64(3), "replicas": int64(2), "readyReplicas": int64(1), "phase": "stable"},
			[]view.Part{serving("g3", "1/3")},
		},
		"stopped": {3, map[string]any{"currentGeneration": int64(3), "activeGeneration": int64(3), "phase": "stopped"}, []view.Part{serving("g3", "0/0")}},
		"draining": {
			2,
			map[string]any{"currentGeneration": int64(4), "activeGeneration": int64(4), "drainingGeneration": int64(3), "replicas": int64(2), "readyReplicas": int64(2), "phase": "draining"},
			[]view.Part{serving("g4", "2/2"), {Name: "g3", State: "Outgoing"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.status["deployedVersion"] = "i:1"
			r := view.Of(contract.FireboltEngine, &unstructured.Unstructured{Object: map[string]any{
				"spec": map[string]any{"replicas": tc.spec, "engineClassRef": "small"}, "status": tc.status,
			}})
			want := []view.Group{
				{Title: view.Generations, Parts: tc.want}, {Title: view.References, Parts: []view.Part{{Name: "fireboltengineclass/small"}}},
			}
			for i := range want[0].Parts {
				if want[0].Parts[i].State != "Serving" {
					want[0].Parts[i].Message = ""
				}
			}
			if diff := cmp.Diff(want, r.Groups); diff != "" {
				t.Error(diff)
			}
		})
	}
}
