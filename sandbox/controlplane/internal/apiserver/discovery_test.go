package apiserver

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

func crd(name, group string, established apiextensionsv1.ConditionStatus, served ...string) *apiextensionsv1.CustomResourceDefinition {
	c := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.Group = group
	c.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v0", Served: false}}
	for _, v := range served {
		c.Spec.Versions = append(c.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v, Served: true})
	}
	c.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: established}}
	return c
}

type groupRecorder map[string]metav1.APIGroup

func (r groupRecorder) AddGroup(g metav1.APIGroup) { r[g.Name] = g }
func (r groupRecorder) RemoveGroup(name string)    { delete(r, name) }

func TestGroupListFollowsCRDs(t *testing.T) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	builtIn := metav1.APIGroup{Name: "apps"}
	target := groupRecorder{"apps": builtIn}
	list := &groupList{crds: listers.NewCustomResourceDefinitionLister(store), target: target, listed: sets.New[string]()}
	update := func() {
		list.update(nil)
	}
	add := func(c *apiextensionsv1.CustomResourceDefinition) {
		t.Helper()
		if err := store.Add(c); err != nil {
			t.Fatal(err)
		}
		update()
	}
	add(crd("a.x.io", "x.io", apiextensionsv1.ConditionFalse, "v1"))
	if _, listed := target["x.io"]; listed {
		t.Error("listed before it is served")
	}
	add(crd("a.x.io", "x.io", apiextensionsv1.ConditionTrue, "v1alpha1", "v1"))
	add(crd("b.x.io", "x.io", apiextensionsv1.ConditionTrue, "v1beta1", "v1"))
	var versions []string
	for _, v := range target["x.io"].Versions {
		versions = append(versions, v.Version)
	}
	if want := []string{"v1", "v1beta1", "v1alpha1"}; !slices.Equal(versions, want) || target["x.io"].PreferredVersion.GroupVersion != "x.io/v1" {
		t.Errorf("versions %v, preferred %v; want %v", versions, target["x.io"].PreferredVersion, want)
	}
	if err := store.Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	update()
	if _, left := target["x.io"]; left || len(target) != 1 {
		t.Errorf("left: %v", target)
	}
}
