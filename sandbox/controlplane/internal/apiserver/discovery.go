package apiserver

import (
	"cmp"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/version"
)

// groupList keeps the list of API groups in unaggregated discovery up to date with the CRDs. In a complete control
// plane, the aggregation layer does this; the library implements aggregated discovery.
type groupList struct {
	crds   listers.CustomResourceDefinitionLister
	target interface {
		AddGroup(metav1.APIGroup)
		RemoveGroup(string)
	}
	listed sets.Set[string]
}

// update is called from the handlers of one informer, so never concurrently.
func (l *groupList) update(any) {
	crds, _ := l.crds.List(labels.Everything()) // listing from memory cannot fail
	groups := groupsOf(crds)
	for _, g := range groups {
		l.target.AddGroup(g)
	}
	names := sets.New[string]()
	for _, g := range groups {
		names.Insert(g.Name)
	}
	for gone := range l.listed.Difference(names) {
		l.target.RemoveGroup(gone)
	}
	l.listed = names
}

// groupsOf lists the groups of established CRDs, with the preferred version first.
func groupsOf(crds []*apiextensionsv1.CustomResourceDefinition) []metav1.APIGroup {
	versions := map[string]sets.Set[string]{}
	for _, crd := range crds {
		if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if !v.Served {
				continue
			}
			if versions[crd.Spec.Group] == nil {
				versions[crd.Spec.Group] = sets.New[string]()
			}
			versions[crd.Spec.Group].Insert(v.Name)
		}
	}
	groups := make([]metav1.APIGroup, 0, len(versions))
	for name, served := range versions {
		groups = append(groups, groupOf(name, served))
	}
	slices.SortFunc(groups, func(a, b metav1.APIGroup) int { return cmp.Compare(a.Name, b.Name) })
	return groups
}

func groupOf(name string, served sets.Set[string]) metav1.APIGroup {
	names := served.UnsortedList()
	slices.SortFunc(names, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	group := metav1.APIGroup{Name: name}
	for _, v := range names {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	group.PreferredVersion = group.Versions[0]
	return group
}
