package collector

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// empty deletes the content of a namespace, and finalizes it when the API server lists no more objects. It
// returns true while objects remain: they may wait for finalizers, and kinds without a watch send no events.
func (c *Collector) empty(ctx context.Context, ns *object) (again bool, err error) {
	live, err := c.namespaces.CoreV1().Namespaces().Get(ctx, ns.name, metav1.GetOptions{})
	if err != nil || live.UID != ns.uid || live.DeletionTimestamp == nil {
		return false, ignoreGone(err)
	}
	left := false
	for _, kind := range c.kinds.namespaced() {
		some, err := c.deleteAll(ctx, kind, ns.name)
		if err != nil {
			return false, err
		}
		left = left || some
	}
	if left {
		return true, nil
	}
	return false, c.finalize(ctx, live)
}

// deleteAll deletes the objects of a kind in a namespace, and returns whether there were any.
func (c *Collector) deleteAll(ctx context.Context, kind servedKind, namespace string) (bool, error) {
	client := c.metadata.Resource(kind.gvr).Namespace(namespace)
	found, err := client.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return false, nil // no longer served
	}
	if err != nil || len(found.Items) == 0 {
		return false, err
	}
	background := metav1.DeletePropagationBackground
	for _, item := range found.Items {
		if item.DeletionTimestamp != nil {
			continue
		}
		uid := item.UID
		err := client.Delete(ctx, item.Name, metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return true, err
		}
	}
	return true, nil
}

func (c *Collector) finalize(ctx context.Context, ns *corev1.Namespace) error {
	ns = ns.DeepCopy()
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	_, err := c.namespaces.CoreV1().Namespaces().Finalize(ctx, ns, metav1.UpdateOptions{})
	return ignoreGone(err)
}
