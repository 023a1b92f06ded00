package kinds

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// prepareNamespace gives a new namespace the finalizer that the collector takes away when the content is
// gone, and the label that webhooks and policies select namespaces by. Neither can be edited away.
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
		return // generateName: the label follows with the first update
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
