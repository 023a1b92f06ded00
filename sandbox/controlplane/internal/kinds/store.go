package kinds

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
)

// Storage creates the REST storage of a group's kinds and their subresources, by resource path.
func Storage(scheme *runtime.Scheme, g Group, options generic.RESTOptionsGetter) (map[string]rest.Storage, error) {
	all := map[string]rest.Storage{}
	for _, k := range g.Kinds {
		store, err := newStore(scheme, g.Version, k, options)
		if err != nil {
			return nil, err
		}
		all[k.Resource] = &kindREST{store, k}
		if k.CopyStatus != nil {
			all[k.Resource+"/status"] = newSubresource(store, statusStrategy{newStrategy(scheme, k)})
		}
		if k.Resource == "namespaces" {
			all[k.Resource] = newNamespaceREST(store, k)
			all[k.Resource+"/finalize"] = newSubresource(store, finalizeStrategy{newStrategy(scheme, k)})
		}
	}
	return all, nil
}

// Stored returns the resource whose objects a resource serves: its own, or those of the core group.
func Stored(resource schema.GroupResource) schema.GroupResource {
	for _, g := range Groups() {
		for _, k := range g.Kinds {
			if k.InCore && resource == g.Version.WithResource(k.Resource).GroupResource() {
				resource.Group = corev1.GroupName
			}
		}
	}
	return resource
}

func newStore(scheme *runtime.Scheme, version schema.GroupVersion, k Kind, options generic.RESTOptionsGetter) (*registry.Store, error) {
	rules := newStrategy(scheme, k)
	attrs := attributes(k)
	stored := Stored(version.WithResource(k.Resource).GroupResource()) // the prefix of the keys in etcd
	store := &registry.Store{
		NewFunc:                   k.New,
		NewListFunc:               k.NewList,
		DefaultQualifiedResource:  stored,
		SingularQualifiedResource: schema.GroupResource{Group: stored.Group, Resource: k.Singular},
		CreateStrategy:            rules,
		UpdateStrategy:            rules,
		DeleteStrategy:            rules,
		TableConvertor:            newTable(k),
		PredicateFunc: func(l labels.Selector, f fields.Selector) storage.SelectionPredicate {
			return storage.SelectionPredicate{Label: l, Field: f, GetAttrs: attrs}
		},
	}
	if k.TTLSeconds > 0 {
		store.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return k.TTLSeconds, nil }
	}
	return store, store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options, AttrFunc: attrs})
}

// kindREST adds a kind's short names and categories for kubectl.
type kindREST struct {
	*registry.Store
	kind Kind
}

// ShortNames implements rest.ShortNamesProvider.
func (r *kindREST) ShortNames() []string { return r.kind.ShortNames }

// Categories implements rest.CategoriesProvider.
func (r *kindREST) Categories() []string { return r.kind.Categories }

// subresourceREST reads and updates a part of an object, in the storage of the main resource.
type subresourceREST struct{ store *registry.Store }

func newSubresource(store *registry.Store, rules rest.RESTUpdateStrategy) *subresourceREST {
	part := *store
	part.UpdateStrategy = rules
	return &subresourceREST{&part}
}

// New implements rest.Storage.
func (r *subresourceREST) New() runtime.Object { return r.store.New() }

// Destroy implements rest.Storage. The main resource closes the storage.
func (r *subresourceREST) Destroy() {}

// Get implements rest.Getter.
func (r *subresourceREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update implements rest.Updater. An update of a subresource never creates the object.
func (r *subresourceREST) Update(ctx context.Context, name string, obj rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, obj, create, update, false, options)
}

// ConvertToTable implements rest.TableConvertor.
func (r *subresourceREST) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, obj, options)
}
