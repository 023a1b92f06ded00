package collector

import (
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

func (c *Collector) client(o *object) metadata.ResourceInterface {
	return c.metadata.Resource(o.gvr).Namespace(o.namespace)
}

// get reads the object again; nil if it does not exist or another object has its name.
func (c *Collector) get(ctx context.Context, o *object) (*metav1.PartialObjectMetadata, error) {
	live, err := c.client(o).Get(ctx, o.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && live.UID != o.uid {
		return nil, nil
	}
	return live, err
}

// delete deletes the object only in the judged version. After a conflict it is judged again.
func (c *Collector) delete(ctx context.Context, o *object, live *metav1.PartialObjectMetadata, how metav1.DeletionPropagation) error {
	return ignoreGone(c.client(o).Delete(ctx, o.name, metav1.DeleteOptions{
		PropagationPolicy: &how,
		Preconditions:     &metav1.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion},
	}))
}

// orphan removes the references of all dependents, and then the owner's finalizer.
func (c *Collector) orphan(ctx context.Context, owner *object) error {
	for _, d := range c.graph.dependentsOf(owner.uid) {
		live, err := c.get(ctx, d)
		if err != nil {
			return err
		}
		if live == nil {
			continue
		}
		isOwner := func(r metav1.OwnerReference) bool { return r.UID == owner.uid }
		gone := slices.DeleteFunc(slices.Clone(live.OwnerReferences), func(r metav1.OwnerReference) bool { return !isOwner(r) })
		if err := c.dropOwners(ctx, d, live, gone); err != nil {
			return err
		}
	}
	return c.dropFinalizer(ctx, owner, metav1.FinalizerOrphanDependents)
}

// release completes a foreground deletion that no dependent blocks. Blocking dependents were queued when it
// started, and the owner is queued when the last of them is deleted.
func (c *Collector) release(ctx context.Context, owner *object) error {
	if c.graph.blocked(owner.uid) {
		return nil
	}
	return c.dropFinalizer(ctx, owner, metav1.FinalizerDeleteDependents)
}

func (c *Collector) dropFinalizer(ctx context.Context, o *object, finalizer string) error {
	live, err := c.get(ctx, o)
	if live == nil || err != nil || !slices.Contains(live.Finalizers, finalizer) {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(live.Finalizers), func(f string) bool { return f == finalizer })
	return c.patch(ctx, o, live, map[string]any{"finalizers": left})
}

func (c *Collector) dropOwners(ctx context.Context, o *object, live *metav1.PartialObjectMetadata, gone []metav1.OwnerReference) error {
	if len(gone) == 0 {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(live.OwnerReferences), func(r metav1.OwnerReference) bool {
		return slices.ContainsFunc(gone, func(g metav1.OwnerReference) bool { return g.UID == r.UID })
	})
	return c.patch(ctx, o, live, map[string]any{"ownerReferences": left})
}

// unblock breaks a circle of foreground deletions: the object no longer blocks its owners, and is judged again
// when this change is observed.
func (c *Collector) unblock(ctx context.Context, o *object, live *metav1.PartialObjectMetadata) error {
	refs := slices.Clone(live.OwnerReferences)
	no := false
	for i := range refs {
		refs[i].BlockOwnerDeletion = &no
	}
	return c.patch(ctx, o, live, map[string]any{"ownerReferences": refs})
}

// patch writes metadata fields only in the version that was read.
func (c *Collector) patch(ctx context.Context, o *object, live *metav1.PartialObjectMetadata, fields map[string]any) error {
	fields["uid"], fields["resourceVersion"] = live.UID, live.ResourceVersion
	body, err := json.Marshal(map[string]any{"metadata": fields})
	if err != nil {
		return err
	}
	_, err = c.client(o).Patch(ctx, o.name, types.MergePatchType, body, metav1.PatchOptions{})
	return ignoreGone(err)
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
