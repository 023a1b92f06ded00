package collector

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
)

// running starts the whole collector and stops it with the test.
func running(t *testing.T, stored ...*metav1.PartialObjectMetadata) *world {
	t.Helper()
	w := newWorld(t, stored...)
	w.Collector = newCollector(w.server, w.core, w.served)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return w
}

func (w *world) remove(o *metav1.PartialObjectMetadata) {
	w.t.Helper()
	if err := w.server.Tracker().Delete(gvrOf(o), o.Namespace, o.Name); err != nil {
		w.t.Fatal(err)
	}
}

func TestACascadeRunsDown(t *testing.T) {
	a := configMap("a")
	x := configMap("x", ownedBy(a))
	w := running(t, a, x, thing("y", ownedBy(x)), thing("z"))
	w.eventually("all seen", func() bool { return w.graph.get("y") != nil && w.graph.get("x") != nil && w.graph.get("a") != nil })
	w.remove(a)
	w.eventually("x and y go", func() bool { return !w.exists(configMaps, "x") && !w.exists(things, "y") })
	if !w.exists(things, "z") {
		t.Error("z, which nobody owns, went too")
	}
}

func TestAKindThatAppearsIsWatched(t *testing.T) {
	gone := configMap("gone")
	w := newWorld(t, thing("x", ownedBy(gone)))
	w.served.set(coreKinds())
	w.Collector = newCollector(w.server, w.core, w.served)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go w.Run(ctx)
	w.served.set(coreKinds(), thingKind())
	w.changed <- struct{}{} // as an event of a CRD does
	w.eventually("x goes", func() bool { return !w.exists(things, "x") })
}

func TestDependentsOutliveTheirOwnersKind(t *testing.T) {
	owner := thing("t")
	w := running(t, owner, configMap("x", ownedBy(owner)), configMap("y", ownedBy(configMap("gone"))))
	w.eventually("all seen", func() bool { return w.graph.get("t") != nil })
	w.served.set(coreKinds())
	w.changed <- struct{}{}
	w.eventually("the kind is forgotten", func() bool { return w.graph.get("t") == nil })
	w.remove(owner)
	w.eventually("y goes", func() bool { return !w.exists(configMaps, "y") })
	if !w.exists(configMaps, "x") {
		t.Error("x went, though its owner's kind is only not served")
	}
	w.served.set(coreKinds(), thingKind())
	w.changed <- struct{}{}
	w.eventually("x goes when its owner can be looked for", func() bool { return !w.exists(configMaps, "x") })
}

func TestAGroupThatFailsIsKept(t *testing.T) {
	kinds := newCatalog()
	kinds.replace([]*metav1.APIResourceList{coreKinds(), thingKind()}, true)
	if watched := kinds.replace([]*metav1.APIResourceList{coreKinds()}, false); !watched[things] {
		t.Error("things were dropped for a discovery that failed in part")
	}
	if watched := kinds.replace([]*metav1.APIResourceList{coreKinds()}, true); watched[things] {
		t.Error("things were kept though discovery is complete")
	}
	if watched := kinds.replace([]*metav1.APIResourceList{coreKinds()}, true); watched[corev1.SchemeGroupVersion.WithResource("events")] {
		t.Error("events are watched")
	}
}

func terminating() *corev1.Namespace {
	return &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "shop", DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}},
		Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"x.io/other", corev1.FinalizerKubernetes}},
	}
}

func TestANamespaceIsEmptiedThenFinalized(t *testing.T) {
	ns := configMap("shop", deleted)
	ns.Kind, ns.Namespace = "Namespace", ""
	elsewhere := configMap("x", func(o *metav1.PartialObjectMetadata) { o.Namespace = "other" })
	w := newWorld(t, configMap("x"), thing("y"), elsewhere).saw(ns)
	if err := w.core.Tracker().Add(terminating()); err != nil {
		t.Fatal(err)
	}
	again, err := w.look(context.Background(), "shop")
	if err != nil || !again {
		t.Fatalf("again %v, error %v: what was just deleted must be confirmed", again, err)
	}
	wrote := w.journal()
	slices.Sort(wrote)
	if want := []string{"delete configmaps x Background", "delete things y Background"}; !slices.Equal(wrote, want) {
		t.Errorf("wrote %q, want %q", wrote, want)
	}
	if len(finalized(w)) > 0 {
		t.Error("finalized before it was empty")
	}
	if again, err = w.look(context.Background(), "shop"); err != nil || again {
		t.Fatalf("again %v, error %v", again, err)
	}
	if got := finalized(w); len(got) != 1 || !slices.Equal(got[0].Spec.Finalizers, []corev1.FinalizerName{"x.io/other"}) {
		t.Errorf("finalized: %v", got)
	}
}

func TestANamespaceWithAStuckObjectStays(t *testing.T) {
	ns := configMap("shop", deleted)
	ns.Kind, ns.Namespace = "Namespace", ""
	w := newWorld(t, configMap("x", deleted, finalizers("x.io/hold"))).saw(ns)
	if err := w.core.Tracker().Add(terminating()); err != nil {
		t.Fatal(err)
	}
	again, err := w.look(context.Background(), "shop")
	if err != nil || !again || len(finalized(w)) > 0 || len(w.journal()) > 0 {
		t.Errorf("again %v, error %v, finalized %v, wrote %q", again, err, finalized(w), w.journal())
	}
}

func finalized(w *world) []*corev1.Namespace {
	var out []*corev1.Namespace
	for _, action := range w.core.Actions() {
		if update, ok := action.(clienttesting.CreateAction); ok && action.GetSubresource() == "finalize" {
			out = append(out, update.GetObject().(*corev1.Namespace))
		}
	}
	return out
}
