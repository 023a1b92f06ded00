package main

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Noop is a namespaced managed resource with nothing in it but the envelope.
type Noop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NoopSpec   `json:"spec"`
	Status NoopStatus `json:"status,omitempty"`
}

// NoopSpec has one field, as in the CRD of the bench.
type NoopSpec struct {
	xpv2.ManagedResourceSpec `json:",inline"`

	ForProvider NoopParameters `json:"forProvider"`
}

// NoopParameters of the external resource.
type NoopParameters struct {
	Size int64 `json:"size,omitempty"`
}

// NoopStatus is Crossplane's.
type NoopStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`
}

// NoopList is a list.
type NoopList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Noop `json:"items"`
}

// DeepCopyObject copies all that a reconcile changes.
func (n *Noop) DeepCopyObject() runtime.Object {
	c := *n
	c.ObjectMeta = *n.ObjectMeta.DeepCopy()
	n.Spec.ManagedResourceSpec.DeepCopyInto(&c.Spec.ManagedResourceSpec)
	n.Status.ManagedResourceStatus.DeepCopyInto(&c.Status.ManagedResourceStatus)
	return &c
}

// DeepCopyObject copies every item.
func (l *NoopList) DeepCopyObject() runtime.Object {
	c := *l
	c.ListMeta = *l.ListMeta.DeepCopy()
	c.Items = make([]Noop, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Noop)
	}
	return &c
}

// GetCondition of the status.
func (n *Noop) GetCondition(t xpv2.ConditionType) xpv2.Condition { return n.Status.GetCondition(t) }

// SetConditions of the status.
func (n *Noop) SetConditions(c ...xpv2.Condition) { n.Status.SetConditions(c...) }

// GetManagementPolicies of the spec.
func (n *Noop) GetManagementPolicies() xpv2.ManagementPolicies { return n.Spec.ManagementPolicies }

// SetManagementPolicies of the spec.
func (n *Noop) SetManagementPolicies(p xpv2.ManagementPolicies) { n.Spec.ManagementPolicies = p }

// GetProviderConfigReference of the spec.
func (n *Noop) GetProviderConfigReference() *xpv2.ProviderConfigReference {
	return n.Spec.ProviderConfigReference
}

// SetProviderConfigReference of the spec.
func (n *Noop) SetProviderConfigReference(r *xpv2.ProviderConfigReference) {
	n.Spec.ProviderConfigReference = r
}

// GetWriteConnectionSecretToReference of the spec.
func (n *Noop) GetWriteConnectionSecretToReference() *xpv2.LocalSecretReference {
	return n.Spec.WriteConnectionSecretToReference
}

// SetWriteConnectionSecretToReference of the spec.
func (n *Noop) SetWriteConnectionSecretToReference(r *xpv2.LocalSecretReference) {
	n.Spec.WriteConnectionSecretToReference = r
}
