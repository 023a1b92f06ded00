package collector

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	things     = schema.GroupVersionResource{Group: "t.io", Version: "v1", Resource: "things"}
)

// served is a discovery answer that a test can change.
type served struct {
	mu    sync.Mutex
	lists []*metav1.APIResourceList
	err   error
}

func (s *served) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.err
}

func (s *served) set(lists ...*metav1.APIResourceList) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists = lists
}

func coreKinds() *metav1.APIResourceList {
	all := metav1.Verbs{"get", "list", "watch", "delete", "patch", "create"}
	return &metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: all},
		{Name: "namespaces", Kind: "Namespace", Verbs: all},
		{Name: "events", Kind: "Event", Namespaced: true, Verbs: all},
	}}
}

func thingKind() *metav1.APIResourceList {
	return &metav1.APIResourceList{GroupVersion: "t.io/v1", APIResources: []metav1.APIResource{
		{Name: "things", Kind: "Thing", Namespaced: true, Verbs: metav1.Verbs{"get", "list", "watch", "delete", "patch"}},
	}}
}

// world is a collector over an API server that holds what a test says.
type world struct {
	*Collector
	t      *testing.T
	server *metadatafake.FakeMetadataClient
	core   *fake.Clientset
	served *served
}

func newWorld(t *testing.T, stored ...*metav1.PartialObjectMetadata) *world {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var objects []runtime.Object
	for _, o := range stored {
		objects = append(objects, o)
	}
	w := &world{t: t, server: metadatafake.NewSimpleMetadataClient(scheme, objects...), core: fake.NewClientset(), served: &served{}}
	w.served.set(coreKinds(), thingKind())
	w.Collector = newCollector(w.server, w.core, w.served)
	w.kinds.replace([]*metav1.APIResourceList{coreKinds(), thingKind()}, true)
	for _, gvr := range []schema.GroupVersionResource{configMaps, namespaces, things} {
		w.graph.watch(gvr)
	}
	return w
}

// saw tells the graph what the informers would.
func (w *world) saw(objects ...*metav1.PartialObjectMetadata) *world {
	for _, o := range objects {
		w.graph.set(newObject(gvrOf(o), o))
	}
	return w
}

// journal is what the collector wrote, in order.
func (w *world) journal() []string {
	var out []string
	for _, action := range w.server.Actions() {
		on := fmt.Sprintf("%s %s", action.GetVerb(), action.GetResource().Resource)
		switch a := action.(type) {
		case clienttesting.DeleteActionImpl:
			out = append(out, fmt.Sprintf("%s %s %s", on, a.Name, *a.DeleteOptions.PropagationPolicy))
		case clienttesting.PatchActionImpl:
			out = append(out, fmt.Sprintf("%s %s %s", on, a.Name, a.Patch))
		}
	}
	return out
}

func (w *world) exists(gvr schema.GroupVersionResource, name string) bool {
	_, err := w.server.Resource(gvr).Namespace("shop").Get(context.Background(), name, metav1.GetOptions{})
	return err == nil
}

// eventually waits for what the running collector must bring about.
func (w *world) eventually(what string, happened func() bool) {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if happened() {
			return
		}
	}
	w.t.Fatalf("did not happen: %s; the collector wrote %q", what, w.journal())
}

type change func(*metav1.PartialObjectMetadata)

// object makes a ConfigMap in the namespace shop whose uid is its name.
func configMap(name string, changes ...change) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID(name), ResourceVersion: "7"},
	}
	for _, c := range changes {
		c(o)
	}
	return o
}

func thing(name string, changes ...change) *metav1.PartialObjectMetadata {
	o := configMap(name, changes...)
	o.TypeMeta = metav1.TypeMeta{APIVersion: "t.io/v1", Kind: "Thing"}
	return o
}

func gvrOf(o *metav1.PartialObjectMetadata) schema.GroupVersionResource {
	gv, _ := schema.ParseGroupVersion(o.APIVersion)
	return gv.WithResource(strings.ToLower(o.Kind) + "s")
}

func ownedBy(owner *metav1.PartialObjectMetadata) change {
	return func(o *metav1.PartialObjectMetadata) {
		o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID})
	}
}

func blocking(owner *metav1.PartialObjectMetadata) change {
	return func(o *metav1.PartialObjectMetadata) {
		ownedBy(owner)(o)
		yes := true
		o.OwnerReferences[len(o.OwnerReferences)-1].BlockOwnerDeletion = &yes
	}
}

func deleted(o *metav1.PartialObjectMetadata) {
	o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
}

func finalizers(names ...string) change {
	return func(o *metav1.PartialObjectMetadata) { o.Finalizers = names }
}
