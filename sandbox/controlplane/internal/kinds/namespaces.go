package kinds

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
)

// namespaceREST deletes a namespace in two steps, like kube-apiserver: the first request only marks it
// Terminating. It is deleted after a controller has removed the content and, through the finalize subresource,
// the entry in spec.finalizers. So the collector works the same with this API server and with kube-apiserver.
type namespaceREST struct {
	namespaceVerbs
	store *registry.Store
}

// namespaceVerbs omits deletecollection, which kube-apiserver does not support for namespaces either.
type namespaceVerbs interface {
	rest.Storage
	rest.Scoper
	rest.Getter
	rest.Lister
	rest.Watcher
	rest.CreaterUpdater
	rest.SingularNameProvider
	rest.ShortNamesProvider
}

func newNamespaceREST(store *registry.Store, k Kind) *namespaceREST {
	store.ShouldDeleteDuringUpdate = func(_ context.Context, _ string, obj, _ runtime.Object) bool {
		return len(obj.(*corev1.Namespace).Spec.Finalizers) == 0
	}
	return &namespaceREST{&kindREST{store, k}, store}
}

// Delete implements rest.GracefulDeleter.
func (r *namespaceREST) Delete(ctx context.Context, name string, valid rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	obj, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	ns := obj.(*corev1.Namespace)
	if len(ns.Spec.Finalizers) == 0 {
		return r.store.Delete(ctx, name, valid, options)
	}
	if err := matches(ns, options.Preconditions); err != nil {
		return nil, false, err
	}
	if err := valid(ctx, ns); err != nil || len(options.DryRun) > 0 || ns.DeletionTimestamp != nil {
		return ns, false, err
	}
	marked, err := r.mark(ctx, ns)
	return marked, false, err
}

// mark writes the deletion time and the phase directly, because the update strategy does not allow to set them.
func (r *namespaceREST) mark(ctx context.Context, ns *corev1.Namespace) (runtime.Object, error) {
	key, err := r.store.KeyFunc(ctx, ns.Name)
	if err != nil {
		return nil, err
	}
	uid := ns.UID
	out := &corev1.Namespace{}
	precondition := &storage.Preconditions{UID: &uid}
	err = r.store.Storage.GuaranteedUpdate(ctx, key, out, false, precondition, storage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
		live := existing.(*corev1.Namespace)
		if live.DeletionTimestamp == nil {
			now, atOnce := metav1.Now(), int64(0)
			live.DeletionTimestamp, live.DeletionGracePeriodSeconds = &now, &atOnce
		}
		live.Status.Phase = corev1.NamespaceTerminating
		return live, nil
	}), false, nil)
	return out, err
}

func matches(ns *corev1.Namespace, wanted *metav1.Preconditions) error {
	if wanted == nil {
		return nil
	}
	wrongUID := wanted.UID != nil && *wanted.UID != ns.UID
	wrongVersion := wanted.ResourceVersion != nil && *wanted.ResourceVersion != ns.ResourceVersion
	if wrongUID || wrongVersion {
		return apierrors.NewConflict(corev1.Resource("namespaces"), ns.Name, errPrecondition)
	}
	return nil
}

// finalizeStrategy writes only spec.finalizers.
type finalizeStrategy struct{ strategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s finalizeStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	sent, kept := obj.(*corev1.Namespace), old.DeepCopyObject().(*corev1.Namespace)
	kept.Spec.Finalizers = sent.Spec.Finalizers
	kept.ManagedFields = sent.ManagedFields
	kept.ResourceVersion = sent.ResourceVersion
	*sent = *kept
}

var errPrecondition = errors.New("the namespace does not match the preconditions")
