package rbac

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// EscalationGuard refuses a Role or a Binding that grants permissions that its writer does not have, unless the
// writer has the verb escalate or bind. kube-apiserver implements this in the storage of these kinds, which is
// why Crossplane's RBAC manager has both verbs.
type EscalationGuard struct {
	*admission.Handler
	authorizer *Authorizer
}

// NewEscalationGuard creates a guard that uses an authorizer.
func NewEscalationGuard(a *Authorizer) *EscalationGuard {
	return &EscalationGuard{admission.NewHandler(admission.Create, admission.Update), a}
}

// Validate implements admission.ValidationInterface.
func (g *EscalationGuard) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().Group != rbacv1.GroupName || isMaster(a.GetUserInfo()) {
		return nil
	}
	granted, verb, resource, name := g.granted(a)
	if granted == nil || g.may(ctx, a.GetUserInfo(), verb, resource, name, a.GetNamespace()) {
		return nil
	}
	held, _ := g.authorizer.rulesFor(a.GetUserInfo(), a.GetNamespace())
	if covered, excess := validation.Covers(held, granted); !covered {
		return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), fmt.Errorf(
			"user %q (groups=%q) is attempting to grant RBAC permissions not currently held: %v",
			a.GetUserInfo().GetName(), a.GetUserInfo().GetGroups(), excess))
	}
	return nil
}

// granted returns the rules that a write grants, with the verb, resource and name that allow it regardless.
func (g *EscalationGuard) granted(a admission.Attributes) (rules []rbacv1.PolicyRule, verb, resource, name string) {
	if old := a.GetOldObject(); old != nil && sameGrant(a.GetObject(), old) {
		return nil, "", "", ""
	}
	switch o := a.GetObject().(type) {
	case *rbacv1.Role:
		return o.Rules, "escalate", "roles", o.Name
	case *rbacv1.ClusterRole:
		return g.authorizer.aggregated(o, sets.New[string]()), "escalate", "clusterroles", o.Name
	case *rbacv1.RoleBinding:
		return g.bound(o.RoleRef, o.Namespace)
	case *rbacv1.ClusterRoleBinding:
		return g.bound(o.RoleRef, "")
	}
	return nil, "", "", ""
}

func (g *EscalationGuard) bound(ref rbacv1.RoleRef, namespace string) (rules []rbacv1.PolicyRule, verb, resource, name string) {
	rules, err := g.authorizer.RulesOf(ref, namespace)
	if err != nil {
		all := []string{rbacv1.VerbAll}
		// A missing role may be created later with any rules.
		rules = []rbacv1.PolicyRule{{Verbs: all, APIGroups: all, Resources: all}}
	}
	resource = "roles"
	if ref.Kind == "ClusterRole" {
		resource = "clusterroles"
	}
	return rules, "bind", resource, ref.Name
}

// sameGrant allows anyone who may update the object to change labels, annotations and finalizers.
func sameGrant(obj, old runtime.Object) bool {
	switch o := obj.(type) {
	case *rbacv1.Role:
		return equality.Semantic.DeepEqual(o.Rules, old.(*rbacv1.Role).Rules)
	case *rbacv1.ClusterRole:
		before := old.(*rbacv1.ClusterRole)
		return equality.Semantic.DeepEqual(o.Rules, before.Rules) && equality.Semantic.DeepEqual(o.AggregationRule, before.AggregationRule)
	case *rbacv1.RoleBinding:
		before := old.(*rbacv1.RoleBinding)
		return o.RoleRef == before.RoleRef && equality.Semantic.DeepEqual(o.Subjects, before.Subjects)
	case *rbacv1.ClusterRoleBinding:
		before := old.(*rbacv1.ClusterRoleBinding)
		return o.RoleRef == before.RoleRef && equality.Semantic.DeepEqual(o.Subjects, before.Subjects)
	}
	return false
}

func (g *EscalationGuard) may(ctx context.Context, who user.Info, verb, resource, name, namespace string) bool {
	on := schema.GroupVersionResource{Group: rbacv1.GroupName, Version: "v1", Resource: resource}
	decision, _, _ := g.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: verb, APIGroup: on.Group, APIVersion: on.Version, Resource: on.Resource,
		Name: name, Namespace: namespace, ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow
}
