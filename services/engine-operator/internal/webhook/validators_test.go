package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// unreachable is an API server that does not respond.
type unreachable struct{}

var errUnreachable = errors.New("no answer")

func (unreachable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errUnreachable
}

func (unreachable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errUnreachable
}

func invalidTemplate() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{HostPID: true}}
}

func engine(change func(*v1alpha1.FireboltEngine)) *v1alpha1.FireboltEngine {
	e := &v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e"}}
	e.Spec = v1alpha1.FireboltEngineSpec{InstanceRef: "i", EngineClassRef: new("c"), Template: invalidTemplate()}
	if change != nil {
		change(e)
	}
	return e
}

func TestValidatorsRejectUnreadableReferences(t *testing.T) {
	r := rules{apiReader: unreachable{}}
	valid := engine(func(e *v1alpha1.FireboltEngine) { e.Spec.Template = nil })
	_, err := engines{r}.ValidateCreate(t.Context(), valid)
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "spec.engineClassRef") || !strings.Contains(err.Error(), "spec.instanceRef") {
		t.Errorf("engine: %v", err)
	}
	_, err = engines{r}.ValidateCreate(t.Context(), engine(nil))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "hostPID") || !strings.Contains(err.Error(), "spec.engineClassRef") {
		t.Errorf("engine with a mistake besides: %v", err)
	}
	_, err = classes{r}.ValidateDelete(t.Context(), &v1alpha1.FireboltEngineClass{})
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), errUnreachable.Error()) {
		t.Errorf("deletion of a class: %v", err)
	}
}

// stored is an API server that has engines, and nothing else.
type stored []v1alpha1.FireboltEngine

func (stored) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("any").GroupResource(), key.Name)
}

func (s stored) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.FireboltEngineList).Items = s
	return nil
}

// Helm creates the engines of a release before their class, and deletes the class while they terminate.
func TestReleaseWithEngineAndClassIsAdmitted(t *testing.T) {
	valid := func(e *v1alpha1.FireboltEngine) { e.Spec.Template = nil }
	v := engines{rules{apiReader: stored{}}}
	for name, validate := range map[string]func() (admission.Warnings, error){
		"install": func() (admission.Warnings, error) { return v.ValidateCreate(t.Context(), engine(valid)) },
		"upgrade": func() (admission.Warnings, error) { return v.ValidateUpdate(t.Context(), engine(nil), engine(valid)) },
	} {
		warnings, err := validate()
		if err != nil || !strings.Contains(strings.Join(warnings, "\n"), `FireboltEngineClass "c" does not exist yet`) {
			t.Errorf("%s: %v, warnings %v", name, err, warnings)
		}
	}
	class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	terminating := *engine(func(e *v1alpha1.FireboltEngine) { e.DeletionTimestamp = new(metav1.Now()) })
	if _, err := (classes{rules{apiReader: stored{terminating}}}).ValidateDelete(t.Context(), class); err != nil {
		t.Errorf("uninstall: %v", err)
	}
	if _, err := (classes{rules{apiReader: stored{terminating, *engine(valid)}}}).ValidateDelete(t.Context(), class); !apierrors.IsForbidden(err) {
		t.Errorf("deletion in use: want Forbidden, got %v", err)
	}
}

func TestEngineValidatorSkipsAbsentReferences(t *testing.T) {
	e := engine(func(e *v1alpha1.FireboltEngine) { e.Spec.EngineClassRef = nil })
	_, err := engines{rules{apiReader: unreachable{}}}.ValidateUpdate(t.Context(), engine(nil), e)
	if !apierrors.IsInvalid(err) || strings.Contains(err.Error(), "spec.engineClassRef") {
		t.Errorf("%v", err)
	}
}

// None of these may require the API server, nor depend on the spec.
func TestValidatorsAllowWithoutAPIServer(t *testing.T) {
	now := metav1.Now()
	r := rules{apiReader: unreachable{}}
	class := &v1alpha1.FireboltEngineClass{Spec: v1alpha1.FireboltEngineClassSpec{Template: *invalidTemplate()}}
	instance := &v1alpha1.FireboltInstance{}
	instance.Spec.Gateway.Template = invalidTemplate()
	terminatingClass, terminatingInstance := class.DeepCopy(), instance.DeepCopy()
	terminatingClass.DeletionTimestamp, terminatingInstance.DeletionTimestamp = &now, &now
	otherNamespace := rules{apiReader: unreachable{}, watched: []string{"mine"}}
	cases := map[string]func() (admission.Warnings, error){
		"an engine's finalizer": func() (admission.Warnings, error) {
			return engines{r}.ValidateUpdate(t.Context(), engine(nil), engine(func(e *v1alpha1.FireboltEngine) { e.Finalizers = []string{"x"} }))
		},
		"an engine that is going": func() (admission.Warnings, error) {
			return engines{r}.ValidateUpdate(t.Context(), engine(nil), engine(func(e *v1alpha1.FireboltEngine) { e.Spec.Replicas, e.DeletionTimestamp = 3, &now }))
		},
		"an engine's deletion": func() (admission.Warnings, error) { return engines{r}.ValidateDelete(t.Context(), engine(nil)) },
		"an engine elsewhere": func() (admission.Warnings, error) {
			return engines{otherNamespace}.ValidateCreate(t.Context(), engine(nil))
		},
		"a class's label": func() (admission.Warnings, error) { return classes{r}.ValidateUpdate(t.Context(), class, class) },
		"a class that is going": func() (admission.Warnings, error) {
			return classes{r}.ValidateUpdate(t.Context(), &v1alpha1.FireboltEngineClass{}, terminatingClass)
		},
		"a class going once more": func() (admission.Warnings, error) { return classes{r}.ValidateDelete(t.Context(), terminatingClass) },
		"a class elsewhere":       func() (admission.Warnings, error) { return classes{otherNamespace}.ValidateCreate(t.Context(), class) },
		"the deletion of that":    func() (admission.Warnings, error) { return classes{otherNamespace}.ValidateDelete(t.Context(), class) },
		"an instance's label": func() (admission.Warnings, error) {
			return instances{r}.ValidateUpdate(t.Context(), instance, instance)
		},
		"an instance that is going": func() (admission.Warnings, error) {
			return instances{r}.ValidateUpdate(t.Context(), &v1alpha1.FireboltInstance{}, terminatingInstance)
		},
		"an instance's deletion": func() (admission.Warnings, error) { return instances{r}.ValidateDelete(t.Context(), instance) },
		"an instance elsewhere": func() (admission.Warnings, error) {
			return instances{otherNamespace}.ValidateCreate(t.Context(), instance)
		},
	}
	for name, validate := range cases {
		if _, err := validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (classes{r}).ValidateCreate(t.Context(), class); !apierrors.IsInvalid(err) {
		t.Errorf("the same class, new: %v", err)
	}
	if _, err := (instances{r}).ValidateCreate(t.Context(), instance); !apierrors.IsInvalid(err) {
		t.Errorf("the same instance, new: %v", err)
	}
}

func TestIdentitySetsMissingIDOnly(t *testing.T) {
	cases := map[string]struct {
		object, namespace string
		operation         admissionv1.Operation
		failure           error
		want              bool
	}{
		"no id":                      {`{"spec":{"gateway":{}}}`, "ns", admissionv1.Create, nil, true},
		"an empty id":                {`{"spec":{"id":""}}`, "ns", admissionv1.Create, nil, true},
		"an id":                      {`{"spec":{"id":"mine"}}`, "ns", admissionv1.Create, nil, false},
		"no spec, refused elsewhere": {`{}`, "ns", admissionv1.Create, nil, false},
		"an update":                  {`{"spec":{}}`, "ns", admissionv1.Update, nil, false},
		"another namespace":          {`{"spec":{}}`, "other", admissionv1.Create, nil, false},
		"no randomness":              {`{"spec":{}}`, "ns", admissionv1.Create, errUnreachable, false},
	}
	for name, tc := range cases {
		h := identity{newID: func() (string, error) { return "01J", tc.failure }, watched: []string{"ns"}}
		response := h.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: tc.operation, Namespace: tc.namespace, Object: runtime.RawExtension{Raw: []byte(tc.object)},
		}})
		defaulted := len(response.Patches) == 1 && response.Patches[0].Path == "/spec/id" && response.Patches[0].Value == "01J"
		if !response.Allowed || defaulted != tc.want || len(response.Patches) > 1 {
			t.Errorf("%s: %+v", name, response)
		}
	}
}
