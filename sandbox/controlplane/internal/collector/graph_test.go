package collector

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func newGraphWith(objects ...*metav1.PartialObjectMetadata) *graph {
	g := newGraph()
	g.watch(configMaps)
	g.watch(things)
	g.watch(namespaces)
	for _, o := range objects {
		g.set(newObject(gvrOf(o), o))
	}
	return g
}

func TestAnEventWakesFew(t *testing.T) {
	const foreground, orphan = metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents
	a := configMap("a")
	leaving := configMap("a", deleted, finalizers(foreground))
	shop := func(changes ...change) *metav1.PartialObjectMetadata {
		o := configMap("shop", changes...)
		o.Kind, o.Namespace = "Namespace", ""
		return o
	}
	cases := []struct {
		name   string
		before objects
		set    *metav1.PartialObjectMetadata
		remove *metav1.PartialObjectMetadata
		wakes  []types.UID
	}{
		{name: "new without owner", set: a},
		{name: "new with owner", before: objects{a}, set: configMap("x", ownedBy(a)), wakes: []types.UID{"x"}},
		{name: "same as before", before: objects{a, configMap("x", ownedBy(a))}, set: configMap("x", ownedBy(a))},
		{name: "only its content changed", before: objects{a, configMap("x", ownedBy(a))},
			set: configMap("x", ownedBy(a), func(o *metav1.PartialObjectMetadata) { o.ResourceVersion = "8" })},
		{name: "foreground deletion begins", before: objects{a, configMap("x", ownedBy(a)), configMap("y", blocking(a))}, set: leaving,
			wakes: []types.UID{"a", "x", "y"}},
		{name: "a deleted owner", before: objects{a, configMap("x", ownedBy(a)), configMap("y", ownedBy(a))}, remove: a, wakes: []types.UID{"x", "y"}},
		{name: "the last blocker goes", before: objects{leaving, configMap("x", blocking(leaving))}, remove: configMap("x"), wakes: []types.UID{"a"}},
		{name: "not the last blocker goes", before: objects{leaving, configMap("x", blocking(leaving)), configMap("y", blocking(leaving))}, remove: configMap("x")},
		{name: "the last blocker blocks no more", before: objects{leaving, configMap("x", blocking(leaving))}, set: configMap("x", ownedBy(leaving)),
			wakes: []types.UID{"a", "x"}},
		{name: "late dependent of an orphaning owner", before: objects{configMap("a", deleted, finalizers(orphan))}, set: configMap("x", ownedBy(a)),
			wakes: []types.UID{"a", "x"}},
		{name: "the last content of a deleted namespace", before: objects{shop(deleted), a}, remove: a, wakes: []types.UID{"shop"}},
		{name: "not the last content of a deleted namespace", before: objects{shop(deleted), a, configMap("b")}, remove: a},
		{name: "the last content of a namespace", before: objects{shop(), a}, remove: a},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newGraphWith(c.before...)
			var got []types.UID
			if c.set != nil {
				got = g.set(newObject(gvrOf(c.set), c.set))
			} else {
				got = g.remove(gvrOf(c.remove), c.remove.UID)
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, c.wakes) {
				t.Errorf("woke %v, want %v", got, c.wakes)
			}
		})
	}
}

// A kind that is no longer served takes its objects out of sight; that is no reason to collect anything.
func TestAForgottenKindIsNotADeletion(t *testing.T) {
	owner := thing("t")
	g := newGraphWith(owner, configMap("x", ownedBy(owner)))
	g.forget(things)
	if g.get("t") != nil {
		t.Error("still there")
	}
	if g.isAbsent(newReference(configMap("x", ownedBy(owner)).OwnerReferences[0], "shop")) {
		t.Error("taken for deleted")
	}
	if woken := g.set(newObject(things, owner)); woken != nil || g.get("t") != nil {
		t.Error("a late event brought it back")
	}
}

// Everything that link adds, unlink takes away: the graph of an empty cluster is empty.
func TestNothingIsLeftBehind(t *testing.T) {
	a := configMap("a")
	x := configMap("x", blocking(a), ownedBy(a), ownedBy(configMap("b")))
	g := newGraphWith(a, x, thing("t", blocking(x)))
	for _, o := range (objects{x, thing("t"), a}) {
		g.remove(gvrOf(o), o.UID)
	}
	if left := len(g.objects) + len(g.dependents) + len(g.blockers) + len(g.content) + len(g.namespaces); left != 0 {
		t.Errorf("left: %v %v %v %v %v", g.objects, g.dependents, g.blockers, g.content, g.namespaces)
	}
}

func TestForgetfulSet(t *testing.T) {
	s := newForgetfulSet[int](3)
	for i := range 5 {
		s.add(i)
		s.add(i)
	}
	for i, want := range []bool{false, false, true, true, true} {
		if s.has(i) != want {
			t.Errorf("has %d: %v", i, !want)
		}
	}
}

// The time for one event must not grow with the number of objects: thousands of dependents of one owner.
func BenchmarkRemoveOneOfMany(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			owner := configMap("a", deleted, finalizers(metav1.FinalizerDeleteDependents))
			g := newGraphWith(owner)
			for i := range n {
				o := configMap(fmt.Sprint("x", i), blocking(owner))
				g.set(newObject(configMaps, o))
			}
			x := newObject(configMaps, configMap("x0", blocking(owner)))
			for b.Loop() {
				g.remove(configMaps, x.uid)
				g.set(x)
			}
		})
	}
}
