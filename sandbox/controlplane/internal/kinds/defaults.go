package kinds

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// addDefaults registers the defaults that the API reference documents for fields which the API server,
// the admission plugins or Crossplane read.
func addDefaults(scheme *runtime.Scheme) {
	addDefault(scheme, defaultSecret)
	addDefault(scheme, defaultService)
	addDefault(scheme, defaultDeployment)
	addDefault(scheme, defaultRoleBinding)
	addDefault(scheme, defaultClusterRoleBinding)
	addDefault(scheme, defaultValidatingWebhooks)
	addDefault(scheme, defaultMutatingWebhooks)
	addDefault(scheme, defaultAdmissionPolicy)
	addDefault(scheme, defaultAdmissionPolicyBinding)
}

func addDefault[T any, P object[T]](scheme *runtime.Scheme, fill func(P)) {
	scheme.AddTypeDefaultingFunc(P(new(T)), func(obj any) { fill(obj.(P)) })
}

// fallback sets a default value.
func fallback[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}

func fallbackPointer[T any](to **T, value T) {
	if *to == nil {
		*to = &value
	}
}

func defaultSecret(s *corev1.Secret) { fallback(&s.Type, corev1.SecretTypeOpaque) }

func defaultService(s *corev1.Service) {
	fallback(&s.Spec.Type, corev1.ServiceTypeClusterIP)
	fallback(&s.Spec.SessionAffinity, corev1.ServiceAffinityNone)
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		fallback(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == (intstr.IntOrString{}) {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
}

func defaultDeployment(d *appsv1.Deployment) { fallbackPointer(&d.Spec.Replicas, 1) }

func defaultRoleBinding(b *rbacv1.RoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) }

func defaultClusterRoleBinding(b *rbacv1.ClusterRoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) }

func defaultBinding(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	fallback(&ref.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if subjects[i].Kind != rbacv1.ServiceAccountKind {
			fallback(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

func defaultValidatingWebhooks(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaultWebhook(&w.ClientConfig, w.Rules, &w.FailurePolicy, &w.MatchPolicy)
		fallbackPointer(&w.NamespaceSelector, metav1.LabelSelector{})
		fallbackPointer(&w.ObjectSelector, metav1.LabelSelector{})
		fallbackPointer(&w.TimeoutSeconds, 10)
	}
}

func defaultMutatingWebhooks(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaultWebhook(&w.ClientConfig, w.Rules, &w.FailurePolicy, &w.MatchPolicy)
		fallbackPointer(&w.NamespaceSelector, metav1.LabelSelector{})
		fallbackPointer(&w.ObjectSelector, metav1.LabelSelector{})
		fallbackPointer(&w.TimeoutSeconds, 10)
		fallbackPointer(&w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
	}
}

func defaultWebhook(client *admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations,
	failure **admissionregistrationv1.FailurePolicyType, match **admissionregistrationv1.MatchPolicyType) {
	if client.Service != nil {
		fallbackPointer(&client.Service.Port, 443)
	}
	for i := range rules {
		fallbackPointer(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
	fallbackPointer(failure, admissionregistrationv1.Fail)
	fallbackPointer(match, admissionregistrationv1.Equivalent)
}

func defaultAdmissionPolicy(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
	fallbackPointer(&p.Spec.FailurePolicy, admissionregistrationv1.Fail)
	defaultMatch(p.Spec.MatchConstraints)
}

func defaultAdmissionPolicyBinding(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	defaultMatch(b.Spec.MatchResources)
}

func defaultMatch(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	fallbackPointer(&m.MatchPolicy, admissionregistrationv1.Equivalent)
	fallbackPointer(&m.NamespaceSelector, metav1.LabelSelector{})
	fallbackPointer(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			fallbackPointer(&rules[i].Scope, admissionregistrationv1.AllScopes)
		}
	}
}
