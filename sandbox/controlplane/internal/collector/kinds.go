package collector

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// servedKind is one kind in the version that the API server prefers.
type servedKind struct {
	gvr        schema.GroupVersionResource
	namespaced bool
	verbs      []string
}

func (k servedKind) can(verbs ...string) bool {
	for _, verb := range verbs {
		if !slices.Contains(k.verbs, verb) {
			return false
		}
	}
	return true
}

// watchable reports whether objects of the kind can be owners, be owned and be deleted. Events could, but never
// are, and would be most of the traffic.
func (k servedKind) watchable() bool {
	return k.can("list", "watch", "delete") && k.gvr.Resource != "events"
}

// catalog contains the kinds that the API server served at the last discovery.
type catalog struct {
	mu  sync.RWMutex
	all map[schema.GroupKind]servedKind
}

func newCatalog() *catalog { return &catalog{all: map[schema.GroupKind]servedKind{}} }

func (c *catalog) find(kind schema.GroupKind) (servedKind, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, ok := c.all[kind]
	return k, ok
}

// namespaced returns the kinds that a namespace may contain.
func (c *catalog) namespaced() []servedKind {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var found []servedKind
	for _, k := range c.all {
		if k.namespaced && k.can("list", "delete") {
			found = append(found, k)
		}
	}
	return found
}

// replace stores a new discovery response, and returns the resources to watch from now on. If the response is
// incomplete, the missing kinds are kept, because a group that failed to respond still exists.
func (c *catalog) replace(lists []*metav1.APIResourceList, complete bool) map[schema.GroupVersionResource]bool {
	served := servedKinds(lists)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !complete {
		for kind, k := range c.all {
			if _, named := served[kind]; !named {
				served[kind] = k
			}
		}
	}
	c.all = served
	watched := map[schema.GroupVersionResource]bool{}
	for _, k := range served {
		if k.watchable() {
			watched[k.gvr] = true
		}
	}
	return watched
}

func servedKinds(lists []*metav1.APIResourceList) map[schema.GroupKind]servedKind {
	served := map[schema.GroupKind]servedKind{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			served[schema.GroupKind{Group: version.Group, Kind: r.Kind}] = servedKind{version.WithResource(r.Name), r.Namespaced, r.Verbs}
		}
	}
	return served
}

// waitingRoom keeps the objects whose owners' kinds are not served, until the served kinds change.
type waitingRoom struct {
	mu   sync.Mutex
	uids map[types.UID]bool
}

func newWaitingRoom() *waitingRoom { return &waitingRoom{uids: map[types.UID]bool{}} }

func (w *waitingRoom) enter(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uids[uid] = true
}

func (w *waitingRoom) leave() []types.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := keys(w.uids)
	clear(w.uids)
	return out
}
