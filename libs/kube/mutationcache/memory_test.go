package mutationcache_test

import (
	"runtime"
	"testing"
	"weak"

	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
)

// tracked is an object whose last copy is known.
type tracked struct {
	corev1.ConfigMap

	last *weak.Pointer[tracked]
}

func (o *tracked) DeepCopyObject() kruntime.Object {
	c := &tracked{ConfigMap: *o.DeepCopy(), last: o.last}
	*o.last = weak.Make(c)
	return c
}

func TestObservedWriteUsesNoMemory(t *testing.T) {
	m := mutationcache.New[*tracked](testingclock.NewFakePassiveClock(epoch))
	var held weak.Pointer[tracked]
	written := &tracked{ConfigMap: *version("1", "10"), last: &held}
	m.Record(written)
	runtime.GC()
	if held.Value() == nil {
		t.Fatal("the copy is not kept before the informer cache shows the write")
	}
	for range 2 { // its event may be repeated
		if !m.Observe(written) {
			t.Fatal("the own write is not recognized")
		}
	}
	runtime.GC()
	if held.Value() != nil {
		t.Error("the copy is still in memory after the informer cache has shown the write")
	}
	runtime.KeepAlive(m)
}
