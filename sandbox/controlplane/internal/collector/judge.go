package collector

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// standing is the state of an owner.
type standing int

const (
	there   standing = iota // exists, and is not waiting for its dependents
	waiting                 // is being deleted and waits for its dependents
	absent                  // does not exist
	unknown                 // not known, because its kind is not served
)

// owners are an object's owner references by standing.
type owners map[standing][]metav1.OwnerReference

// judge deletes an object without existing owners, or removes its references to deleted owners.
func (c *Collector) judge(ctx context.Context, o *object) error {
	if c.heldByGraph(o) {
		return nil
	}
	// The graph may be outdated, so deletions are decided with the current state.
	live, err := c.get(ctx, o)
	if live == nil || err != nil || live.DeletionTimestamp != nil {
		return err
	}
	found, err := c.ask(ctx, o.namespace, live.OwnerReferences)
	if err != nil {
		return err
	}
	switch {
	case len(found[unknown]) > 0:
		c.waiting.enter(o.uid) // until other kinds are served
		return nil
	case len(found[there]) > 0:
		return c.dropOwners(ctx, o, live, append(found[absent], found[waiting]...))
	case len(found[waiting])+len(found[absent]) == 0:
		return nil // the references were removed in the meantime
	case len(found[waiting]) > 0 && c.inCircle(o):
		return c.unblock(ctx, o, live)
	}
	return c.delete(ctx, o, live, c.propagation(o, found))
}

// heldByGraph handles the usual case without a request: every owner exists.
func (c *Collector) heldByGraph(o *object) bool {
	for _, ref := range o.owners {
		owner := c.graph.get(ref.UID)
		if owner == nil || owner.awaitsDependents() || !owns(owner, ref, o.namespace) {
			return false
		}
	}
	return true
}

func (c *Collector) ask(ctx context.Context, namespace string, refs []metav1.OwnerReference) (owners, error) {
	found := owners{}
	for _, ref := range refs {
		s, err := c.standing(ctx, namespace, ref)
		if err != nil {
			return nil, err
		}
		found[s] = append(found[s], ref)
	}
	return found, nil
}

// standing returns the state of an owner. An owner is absent only if its deletion was observed, or if the API
// server says so about this object.
func (c *Collector) standing(ctx context.Context, namespace string, ref metav1.OwnerReference) (standing, error) {
	if owner := c.graph.get(ref.UID); owner != nil && owns(owner, ref, namespace) {
		if owner.awaitsDependents() {
			return waiting, nil
		}
		return there, nil
	}
	known := newReference(ref, namespace)
	if c.graph.isAbsent(known) {
		return absent, nil
	}
	group, _ := schema.ParseGroupVersion(ref.APIVersion)
	kind, served := c.kinds.find(schema.GroupKind{Group: group.Group, Kind: ref.Kind})
	if !served {
		return unknown, nil
	}
	if !kind.namespaced {
		namespace = ""
	} else if namespace == "" {
		klog.V(2).InfoS("A cluster-scoped object has a namespaced owner, which cannot be resolved", "owner", ref.Name, "kind", ref.Kind)
		return unknown, nil
	}
	answer, err := c.standingOnServer(ctx, kind, namespace, ref)
	if answer == absent && err == nil {
		c.graph.markAbsent(known)
	}
	return answer, err
}

func (c *Collector) standingOnServer(ctx context.Context, kind servedKind, namespace string, ref metav1.OwnerReference) (standing, error) {
	owner, err := c.metadata.Resource(kind.gvr).Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case isUnserved(err):
		return unknown, nil
	case apierrors.IsNotFound(err), err == nil && owner.UID != ref.UID:
		return absent, nil
	case err != nil:
		return unknown, err
	case newObject(kind.gvr, owner).awaitsDependents():
		return waiting, nil
	}
	return there, nil
}

// owns checks that a reference matches the object with its uid. A reference to another namespace is invalid in
// every cluster.
func owns(owner *object, ref metav1.OwnerReference, namespace string) bool {
	return owner.name == ref.Name && (owner.namespace == "" || owner.namespace == namespace)
}

// isUnserved distinguishes "no such resource" from "no such object"; both are 404. Confusing them would delete
// all objects whose owners' CRD is being replaced.
func isUnserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// propagation is the policy for deleting a dependent: foreground if an owner waits for it and it has dependents,
// or else according to its own finalizers.
func (c *Collector) propagation(o *object, found owners) metav1.DeletionPropagation {
	switch {
	case len(found[waiting]) > 0 && len(c.graph.dependentsOf(o.uid)) > 0, o.foreground:
		return metav1.DeletePropagationForeground
	case o.orphaning:
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// inCircle reports whether a dependent of the object waits for its own dependents. Then a foreground deletion of
// the object would let the two wait for each other.
func (c *Collector) inCircle(o *object) bool {
	return slices.ContainsFunc(c.graph.dependentsOf(o.uid), (*object).awaitsDependents)
}
