package collector

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// object is the collector's record of one object of the API server.
type object struct {
	gvr        schema.GroupVersionResource
	namespace  string
	name       string
	uid        types.UID
	owners     []metav1.OwnerReference
	deleting   bool
	foreground bool // waits, while deleting, for the dependents that block it
	orphaning  bool // waits, while deleting, until its dependents are orphaned
}

func newObject(gvr schema.GroupVersionResource, m metav1.Object) *object {
	return &object{
		gvr: gvr, namespace: m.GetNamespace(), name: m.GetName(), uid: m.GetUID(),
		owners:     m.GetOwnerReferences(),
		deleting:   m.GetDeletionTimestamp() != nil,
		foreground: slices.Contains(m.GetFinalizers(), metav1.FinalizerDeleteDependents),
		orphaning:  slices.Contains(m.GetFinalizers(), metav1.FinalizerOrphanDependents),
	}
}

func (o *object) isNamespace() bool { return o.gvr.Group == "" && o.gvr.Resource == "namespaces" }

// awaitsDependents reports whether the object is an owner in a foreground deletion.
func (o *object) awaitsDependents() bool { return o.deleting && o.foreground }

// reference has all fields that identify an owner in an ownerReference, so that references with the same uid by
// mistake are not confused.
type reference struct {
	apiVersion, kind, namespace, name string
	uid                               types.UID
}

func newReference(r metav1.OwnerReference, namespace string) reference {
	return reference{r.APIVersion, r.Kind, namespace, r.Name, r.UID}
}

// graph contains every watched object, the owner relations, and the content of namespaces. The time of every
// method is proportional to what an event affects, not to the number of objects.
type graph struct {
	mu         sync.RWMutex
	watched    map[schema.GroupVersionResource]bool
	objects    map[types.UID]*object
	dependents map[types.UID]map[types.UID]bool // owner to dependents; true: the dependent blocks the owner's deletion
	blockers   map[types.UID]int                // how many dependents block an owner
	content    map[string]map[types.UID]bool    // by namespace
	namespaces map[string]types.UID
	gone       *forgetfulSet[types.UID] // observed deletions: a uid is never reused
	absent     *forgetfulSet[reference] // owners that do not exist according to the API server
}

func newGraph() *graph {
	return &graph{
		watched:    map[schema.GroupVersionResource]bool{},
		objects:    map[types.UID]*object{},
		dependents: map[types.UID]map[types.UID]bool{},
		blockers:   map[types.UID]int{},
		content:    map[string]map[types.UID]bool{},
		namespaces: map[string]types.UID{},
		gone:       newForgetfulSet[types.UID](remembered),
		absent:     newForgetfulSet[reference](remembered),
	}
}

// watch accepts a resource's objects. Before and after, late events of its informer are ignored.
func (g *graph) watch(gvr schema.GroupVersionResource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watched[gvr] = true
}

// forget drops the objects of a resource that is no longer served, and returns their dependents. The objects may
// still exist, so the dependents are not collected. The state of their owners must be requested when the resource
// is served again.
func (g *graph) forget(gvr schema.GroupVersionResource) []types.UID {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.watched, gvr)
	var left []types.UID
	for _, o := range g.objects {
		if o.gvr == gvr {
			g.unlink(o)
			left = append(left, keys(g.dependents[o.uid])...)
		}
	}
	return left
}

// set stores the current state of an object, and returns the objects to process.
func (g *graph) set(o *object) []types.UID {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.watched[o.gvr] {
		return nil
	}
	old := g.objects[o.uid]
	if old != nil && sameLinks(old, o) {
		return nil
	}
	if old != nil {
		g.unlink(old)
	}
	g.link(o)
	wake := g.ownersFreedBy(old)
	if o.deleting || len(o.owners) > 0 {
		wake = append(wake, o.uid)
	}
	for _, ref := range o.owners {
		if owner := g.objects[ref.UID]; owner != nil && owner.deleting && owner.orphaning {
			wake = append(wake, owner.uid)
		}
	}
	if o.awaitsDependents() && (old == nil || !old.awaitsDependents()) {
		wake = append(wake, keys(g.dependents[o.uid])...)
	}
	return wake
}

// remove drops a deleted object, and returns the objects to process.
func (g *graph) remove(gvr schema.GroupVersionResource, uid types.UID) []types.UID {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.watched[gvr] {
		return nil
	}
	g.gone.add(uid)
	wake := keys(g.dependents[uid])
	o := g.objects[uid]
	if o == nil {
		return wake
	}
	g.unlink(o)
	wake = append(wake, g.ownersFreedBy(o)...)
	if ns, ok := g.namespaces[o.namespace]; ok && len(g.content[o.namespace]) == 0 && g.objects[ns].deleting {
		wake = append(wake, ns)
	}
	return wake
}

// ownersFreedBy returns the owners in foreground deletion that no dependent blocks after an object was changed or
// deleted. Checking this here, and not on every event, avoids processing an owner of thousands of objects
// thousands of times.
func (g *graph) ownersFreedBy(old *object) []types.UID {
	if old == nil {
		return nil
	}
	var freed []types.UID
	for _, ref := range old.owners {
		owner := g.objects[ref.UID]
		if owner != nil && owner.awaitsDependents() && g.blockers[ref.UID] == 0 {
			freed = append(freed, ref.UID)
		}
	}
	return freed
}

func (g *graph) link(o *object) {
	g.objects[o.uid] = o
	if o.isNamespace() {
		g.namespaces[o.name] = o.uid
	}
	if o.namespace != "" {
		put(g.content, o.namespace, o.uid, true)
	}
	for _, ref := range o.owners {
		blocks := ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
		if blocks && !g.dependents[ref.UID][o.uid] {
			g.blockers[ref.UID]++
		}
		put(g.dependents, ref.UID, o.uid, blocks || g.dependents[ref.UID][o.uid])
	}
}

func (g *graph) unlink(o *object) {
	delete(g.objects, o.uid)
	if o.isNamespace() && g.namespaces[o.name] == o.uid {
		delete(g.namespaces, o.name)
	}
	take(g.content, o.namespace, o.uid)
	for _, ref := range o.owners {
		if g.dependents[ref.UID][o.uid] {
			if g.blockers[ref.UID]--; g.blockers[ref.UID] == 0 {
				delete(g.blockers, ref.UID)
			}
		}
		take(g.dependents, ref.UID, o.uid)
	}
}

// get returns an object, which must not be modified, or nil.
func (g *graph) get(uid types.UID) *object {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.objects[uid]
}

// dependentsOf returns the objects with a reference to an owner.
func (g *graph) dependentsOf(owner types.UID) []*object {
	g.mu.RLock()
	defer g.mu.RUnlock()
	found := make([]*object, 0, len(g.dependents[owner]))
	for uid := range g.dependents[owner] {
		found = append(found, g.objects[uid])
	}
	return found
}

// blocked reports whether a dependent blocks the deletion of an owner.
func (g *graph) blocked(owner types.UID) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.blockers[owner] > 0
}

// isAbsent reports whether the owner's deletion was observed, or the API server has said that it does not exist.
func (g *graph) isAbsent(r reference) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.gone.has(r.uid) || g.absent.has(r)
}

// markAbsent records that the API server has no such owner.
func (g *graph) markAbsent(r reference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.absent.add(r)
}

// sameLinks reports whether an update changed nothing that matters to the collector, as most updates do.
func sameLinks(a, b *object) bool {
	return a.gvr == b.gvr && a.deleting == b.deleting && a.foreground == b.foreground && a.orphaning == b.orphaning &&
		equality.Semantic.DeepEqual(a.owners, b.owners)
}

func put[K comparable](index map[K]map[types.UID]bool, key K, uid types.UID, value bool) {
	if index[key] == nil {
		index[key] = map[types.UID]bool{}
	}
	index[key][uid] = value
}

func take[K comparable](index map[K]map[types.UID]bool, key K, uid types.UID) {
	delete(index[key], uid)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

func keys(set map[types.UID]bool) []types.UID {
	out := make([]types.UID, 0, len(set))
	for uid := range set {
		out = append(out, uid)
	}
	return out
}
