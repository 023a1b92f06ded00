package collector

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

// objects is a list that reads well in a table.
type objects []*metav1.PartialObjectMetadata

func TestLook(t *testing.T) {
	const foreground, orphan = metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents
	a := configMap("a")
	otherA := configMap("a", func(o *metav1.PartialObjectMetadata) { o.UID = "another" })
	b, gone := configMap("b"), configMap("gone")
	leaving := configMap("a", deleted, finalizers(foreground))
	clusterScoped := func(o *metav1.PartialObjectMetadata) { o.Namespace = "" }
	elsewhere := configMap("a", func(o *metav1.PartialObjectMetadata) { o.Namespace = "other" })
	foreign := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "nope.io/v1", Kind: "Nope"}, ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}}

	cases := []struct {
		name   string
		seen   objects // by the informers
		stored objects // on the API server; nil: the same
		look   types.UID
		writes []string
	}{
		{name: "owner is there", seen: objects{a, configMap("x", ownedBy(a))}, look: "x"},
		{name: "owner is gone", seen: objects{configMap("x", ownedBy(gone))}, look: "x",
			writes: []string{"delete configmaps x Background"}},
		{name: "owner is there, but not seen yet", seen: objects{configMap("x", ownedBy(a))}, stored: objects{a, configMap("x", ownedBy(a))}, look: "x"},
		{name: "another has the owner's name", seen: objects{configMap("x", ownedBy(a))}, stored: objects{otherA, configMap("x", ownedBy(a))}, look: "x",
			writes: []string{"delete configmaps x Background"}},
		{name: "owner is in another namespace", seen: objects{elsewhere, configMap("x", ownedBy(elsewhere))}, look: "x",
			writes: []string{"delete configmaps x Background"}},
		{name: "owner's kind is not served", seen: objects{configMap("x", ownedBy(foreign))}, look: "x"},
		{name: "one of two owners is left", seen: objects{a, configMap("x", ownedBy(a), ownedBy(gone))}, look: "x",
			writes: []string{`patch configmaps x {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"a"}],"resourceVersion":"7","uid":"x"}}`}},
		{name: "both owners are gone", seen: objects{configMap("x", ownedBy(gone), ownedBy(b))}, look: "x",
			writes: []string{"delete configmaps x Background"}},
		{name: "one owner is gone and the other's kind is not served", seen: objects{configMap("x", ownedBy(gone), ownedBy(foreign))}, look: "x"},
		{name: "cluster-scoped object of a namespaced owner", seen: objects{thing("x", ownedBy(gone), clusterScoped)}, look: "x"},
		{name: "already being deleted", seen: objects{configMap("x", ownedBy(gone), deleted)}, look: "x"},
		{name: "gone meanwhile", seen: objects{configMap("x", ownedBy(gone))}, stored: objects{a}, look: "x"},
		{name: "let go meanwhile", seen: objects{configMap("x", ownedBy(gone))}, stored: objects{configMap("x")}, look: "x"},
		{name: "keeps its own finalizer's way", seen: objects{configMap("x", ownedBy(gone), finalizers(orphan))}, look: "x",
			writes: []string{"delete configmaps x Orphan"}},

		{name: "foreground: leaf of a waiting owner", seen: objects{leaving, configMap("x", blocking(leaving))}, look: "x",
			writes: []string{"delete configmaps x Background"}},
		{name: "foreground: dependent with dependents", seen: objects{leaving, configMap("x", blocking(leaving)), configMap("y", ownedBy(configMap("x")))}, look: "x",
			writes: []string{"delete configmaps x Foreground"}},
		{name: "foreground: another owner stays", seen: objects{leaving, b, configMap("x", blocking(leaving), ownedBy(b))}, look: "x",
			writes: []string{`patch configmaps x {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"b","uid":"b"}],"resourceVersion":"7","uid":"x"}}`}},
		{name: "foreground: owner waits while blocked", seen: objects{leaving, configMap("x", blocking(leaving))}, look: "a"},
		{name: "foreground: owner does not wait for others", seen: objects{leaving, configMap("x", ownedBy(leaving))}, look: "a",
			writes: []string{`patch configmaps a {"metadata":{"finalizers":[],"resourceVersion":"7","uid":"a"}}`}},
		{name: "foreground: other finalizers stay", seen: objects{configMap("a", deleted, finalizers("x.io/mine", foreground))}, look: "a",
			writes: []string{`patch configmaps a {"metadata":{"finalizers":["x.io/mine"],"resourceVersion":"7","uid":"a"}}`}},
		{name: "foreground: a circle is broken", seen: objects{configMap("a", deleted, finalizers(foreground), blocking(b)), configMap("b", blocking(leaving))}, look: "b",
			writes: []string{`patch configmaps b {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"a","blockOwnerDeletion":false}],"resourceVersion":"7","uid":"b"}}`}},

		{name: "orphan: dependents are let go, then the owner", seen: objects{configMap("a", deleted, finalizers(orphan)), configMap("x", ownedBy(a), ownedBy(b))}, look: "a",
			writes: []string{
				`patch configmaps x {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"b","uid":"b"}],"resourceVersion":"7","uid":"x"}}`,
				`patch configmaps a {"metadata":{"finalizers":[],"resourceVersion":"7","uid":"a"}}`}},
		{name: "orphan: finalizer without deletion", seen: objects{configMap("a", finalizers(orphan)), configMap("x", ownedBy(a))}, look: "a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			stored := c.stored
			if stored == nil {
				stored = c.seen
			}
			w := newWorld(t, stored...).saw(c.seen...)
			if _, err := w.look(context.Background(), c.look); err != nil {
				t.Fatal(err)
			}
			if got := w.journal(); !slices.Equal(got, c.writes) {
				t.Errorf("wrote\n %q, want\n %q", got, c.writes)
			}
		})
	}
}

func TestNothingIsCollectedOnDoubt(t *testing.T) {
	unserved := apierrors.NewGenericServerResponse(404, "get", things.GroupResource(), "t", "404 page not found", 0, true)
	for name, answer := range map[string]error{
		"no such resource": unserved,
		"no answer":        errors.New("connection refused"),
		"forbidden":        apierrors.NewForbidden(things.GroupResource(), "t", nil),
	} {
		t.Run(name, func(t *testing.T) {
			x := configMap("x", ownedBy(thing("t")))
			w := newWorld(t, x).saw(x)
			w.server.PrependReactor("get", "things", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
			_, err := w.look(context.Background(), "x")
			if got := w.journal(); len(got) > 0 {
				t.Errorf("wrote %q", got)
			}
			if retried := err != nil; retried == (answer == unserved) {
				t.Errorf("error %v: a kind that is not served is waited for, anything else is tried again", err)
			}
		})
	}
}

func TestAnAbsentOwnerIsAskedForOnce(t *testing.T) {
	gone := configMap("gone")
	x, y := configMap("x", ownedBy(gone)), configMap("y", ownedBy(gone))
	w := newWorld(t, x, y).saw(x, y)
	for _, uid := range []types.UID{"x", "y"} {
		if _, err := w.look(context.Background(), uid); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	for _, a := range w.server.Actions() {
		if get, ok := a.(clienttesting.GetActionImpl); ok && get.Name == "gone" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// What is known of one reference says nothing of another that has the same uid by mistake.
func TestAWrongReferenceDoesNotPoisonARightOne(t *testing.T) {
	wrong := configMap("wrong-name", func(o *metav1.PartialObjectMetadata) { o.UID = "t" })
	x, y := configMap("x", ownedBy(wrong)), configMap("y", ownedBy(thing("t")))
	w := newWorld(t, x, y, thing("t")).saw(x, y)
	for _, uid := range []types.UID{"x", "y"} {
		if _, err := w.look(context.Background(), uid); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := w.journal(), []string{"delete configmaps x Background"}; !slices.Equal(got, want) {
		t.Errorf("wrote %q, want %q", got, want)
	}
}
