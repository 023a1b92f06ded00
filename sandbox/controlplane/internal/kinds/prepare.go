package kinds

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// prepareNamespace sets the finalizer of a new namespace, which the collector removes after the content, and the
// label with which webhooks and policies select namespaces. Updates cannot remove them.
func prepareNamespace(obj, old runtime.Object) {
	ns := obj.(*corev1.Namespace)
	if old != nil {
		ns.Spec.Finalizers = old.(*corev1.Namespace).Spec.Finalizers
	} else {
		ns.Status.Phase = corev1.NamespaceActive
		if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
			ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
		}
	}
	if ns.Name == "" {
		return // generateName: the first update sets the label
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

// prepareSecret merges the write-only stringData into data.
func prepareSecret(obj, _ runtime.Object) {
	secret := obj.(*corev1.Secret)
	if len(secret.StringData) > 0 && secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}
