package kinds

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file validates what would otherwise cause obscure failures later. kube-apiserver's full validation is not
// published.

const immutable = "field is immutable"

func validateSecret(obj, old runtime.Object) field.ErrorList {
	secret := obj.(*corev1.Secret)
	errs := validateKeys(secret.Data, map[string]string(nil))
	if secret.Type == corev1.SecretTypeTLS {
		for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			if _, ok := secret.Data[key]; !ok {
				errs = append(errs, field.Required(field.NewPath("data").Key(key), ""))
			}
		}
	}
	if old == nil {
		return errs
	}
	before := old.(*corev1.Secret)
	if secret.Type != before.Type {
		errs = append(errs, field.Invalid(field.NewPath("type"), secret.Type, immutable))
	}
	if isTrue(before.Immutable) && (!isTrue(secret.Immutable) || !equality.Semantic.DeepEqual(secret.Data, before.Data)) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"))
	}
	return errs
}

func validateConfigMap(obj, old runtime.Object) field.ErrorList {
	config := obj.(*corev1.ConfigMap)
	errs := append(validateKeys(config.Data, config.BinaryData), validateKeys(config.BinaryData, config.Data)...)
	if old == nil {
		return errs
	}
	before := old.(*corev1.ConfigMap)
	same := equality.Semantic.DeepEqual(config.Data, before.Data) && equality.Semantic.DeepEqual(config.BinaryData, before.BinaryData)
	if isTrue(before.Immutable) && (!isTrue(config.Immutable) || !same) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"))
	}
	return errs
}

func validateKeys[A, B any](data map[string]A, taken map[string]B) field.ErrorList {
	var errs field.ErrorList
	for key := range data {
		where := field.NewPath("data").Key(key)
		for _, message := range validation.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(where, key, message))
		}
		if _, twice := taken[key]; twice {
			errs = append(errs, field.Duplicate(where, key))
		}
	}
	return errs
}

func validateRBAC(obj, old runtime.Object) field.ErrorList {
	switch o := obj.(type) {
	case *rbacv1.Role:
		return validateRules(o.Rules, false)
	case *rbacv1.ClusterRole:
		return validateRules(o.Rules, true)
	case *rbacv1.RoleBinding:
		errs := validateRoleRef(o.RoleRef, "Role", "ClusterRole")
		if old != nil && old.(*rbacv1.RoleBinding).RoleRef != o.RoleRef {
			errs = append(errs, field.Invalid(field.NewPath("roleRef"), o.RoleRef, immutable))
		}
		return append(errs, validateSubjects(o.Subjects, false)...)
	case *rbacv1.ClusterRoleBinding:
		errs := validateRoleRef(o.RoleRef, "ClusterRole")
		if old != nil && old.(*rbacv1.ClusterRoleBinding).RoleRef != o.RoleRef {
			errs = append(errs, field.Invalid(field.NewPath("roleRef"), o.RoleRef, immutable))
		}
		return append(errs, validateSubjects(o.Subjects, true)...)
	}
	return nil
}

func validateRules(rules []rbacv1.PolicyRule, nonResourceAllowed bool) field.ErrorList {
	var errs field.ErrorList
	for i, rule := range rules {
		where := field.NewPath("rules").Index(i)
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(where.Child("verbs"), "verbs must contain at least one value"))
		}
		if len(rule.NonResourceURLs) > 0 {
			if !nonResourceAllowed {
				errs = append(errs, field.Invalid(where.Child("nonResourceURLs"), rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
			}
			continue
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(where.Child("apiGroups"), "resource rules must supply at least one api group"))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(where.Child("resources"), "resource rules must supply at least one resource"))
		}
	}
	return errs
}

func validateRoleRef(ref rbacv1.RoleRef, kinds ...string) field.ErrorList {
	var errs field.ErrorList
	where := field.NewPath("roleRef")
	if !slices.Contains(kinds, ref.Kind) {
		errs = append(errs, field.NotSupported(where.Child("kind"), ref.Kind, kinds))
	}
	if ref.Name == "" {
		errs = append(errs, field.Required(where.Child("name"), ""))
	}
	return errs
}

func validateSubjects(subjects []rbacv1.Subject, namespaceRequired bool) field.ErrorList {
	var errs field.ErrorList
	known := []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}
	for i, subject := range subjects {
		where := field.NewPath("subjects").Index(i)
		if !slices.Contains(known, subject.Kind) {
			errs = append(errs, field.NotSupported(where.Child("kind"), subject.Kind, known))
		}
		if subject.Name == "" {
			errs = append(errs, field.Required(where.Child("name"), ""))
		}
		if namespaceRequired && subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == "" {
			errs = append(errs, field.Required(where.Child("namespace"), ""))
		}
	}
	return errs
}

func validateWebhooks(obj, _ runtime.Object) field.ErrorList {
	var errs field.ErrorList
	where := field.NewPath("webhooks")
	switch c := obj.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i, w := range c.Webhooks {
			errs = append(errs, validateWebhook(where.Index(i), w.Name, w.ClientConfig, w.SideEffects, w.AdmissionReviewVersions)...)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i, w := range c.Webhooks {
			errs = append(errs, validateWebhook(where.Index(i), w.Name, w.ClientConfig, w.SideEffects, w.AdmissionReviewVersions)...)
		}
	}
	return errs
}

func validateWebhook(where *field.Path, name string, client admissionregistrationv1.WebhookClientConfig,
	effects *admissionregistrationv1.SideEffectClass, versions []string) field.ErrorList {
	errs := validation.IsFullyQualifiedName(where.Child("name"), name)
	if (client.URL == nil) == (client.Service == nil) {
		errs = append(errs, field.Required(where.Child("clientConfig"), "exactly one of url or service is required"))
	}
	if effects == nil {
		errs = append(errs, field.Required(where.Child("sideEffects"), "must specify one of None, NoneOnDryRun"))
	}
	if len(versions) == 0 {
		errs = append(errs, field.Required(where.Child("admissionReviewVersions"), "must specify one of v1, v1beta1"))
	}
	return errs
}

func isTrue(b *bool) bool { return b != nil && *b }
