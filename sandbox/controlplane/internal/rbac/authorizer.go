// Package rbac authorizes from the stored Roles and Bindings, as Kubernetes' RBAC authorizer does.
//
// That authorizer is not published, but the comparison of rules (k8s.io/component-helpers) and the listers are.
// This package implements the rest from RBAC's documentation: subjects, scopes, aggregation.
package rbac

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// Authorizer authorizes requests. Members of system:masters have all permissions.
type Authorizer struct {
	clusterRoles        rbaclisters.ClusterRoleLister
	clusterRoleBindings rbaclisters.ClusterRoleBindingLister
	roles               rbaclisters.RoleLister
	roleBindings        rbaclisters.RoleBindingLister
}

// New creates an authorizer with the informers of a factory. The caller starts the factory.
func New(factory informers.SharedInformerFactory) *Authorizer {
	r := factory.Rbac().V1()
	return &Authorizer{r.ClusterRoles().Lister(), r.ClusterRoleBindings().Lister(), r.Roles().Lister(), r.RoleBindings().Lister()}
}

// Authorize implements authorizer.Authorizer.
func (a *Authorizer) Authorize(_ context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	if isMaster(asked.GetUser()) {
		return authorizer.DecisionAllow, "", nil
	}
	rules, missing := a.rulesFor(asked.GetUser(), asked.GetNamespace())
	if allowed, _ := validation.Covers(rules, []rbacv1.PolicyRule{ruleFor(asked)}); allowed {
		return authorizer.DecisionAllow, "", nil
	}
	if len(missing) > 0 {
		return authorizer.DecisionNoOpinion, "RBAC: " + strings.Join(missing, ", "), nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// RulesFor implements authorizer.RuleResolver, for `kubectl auth can-i --list`.
func (a *Authorizer) RulesFor(_ context.Context, who user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	rules, _ := a.rulesFor(who, namespace)
	if isMaster(who) {
		all := []string{rbacv1.VerbAll}
		rules = append(rules, rbacv1.PolicyRule{Verbs: all, APIGroups: all, Resources: all}, rbacv1.PolicyRule{Verbs: all, NonResourceURLs: all})
	}
	var resources []authorizer.ResourceRuleInfo
	var paths []authorizer.NonResourceRuleInfo
	for _, r := range rules {
		if len(r.Resources) > 0 {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames})
		}
		if len(r.NonResourceURLs) > 0 {
			paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs})
		}
	}
	return resources, paths, false, nil
}

func isMaster(who user.Info) bool {
	return slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)
}

// ruleFor returns the rule that must be covered to allow the request.
func ruleFor(asked authorizer.Attributes) rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{Verbs: []string{asked.GetVerb()}}
	if !asked.IsResourceRequest() {
		rule.NonResourceURLs = []string{asked.GetPath()}
		return rule
	}
	resource := asked.GetResource()
	if sub := asked.GetSubresource(); sub != "" {
		resource += "/" + sub
	}
	rule.APIGroups, rule.Resources = []string{asked.GetAPIGroup()}, []string{resource}
	if name := asked.GetName(); name != "" {
		rule.ResourceNames = []string{name}
	}
	return rule
}

// rulesFor collects the rules of a user in a namespace, or cluster-wide if it is empty. The second result
// contains the roles of bindings that do not exist, a common cause of unexpected refusals.
func (a *Authorizer) rulesFor(who user.Info, namespace string) (rules []rbacv1.PolicyRule, missing []string) {
	collect := func(ref rbacv1.RoleRef, namespace string) {
		found, err := a.RulesOf(ref, namespace)
		if err != nil {
			missing = append(missing, err.Error())
		}
		rules = append(rules, found...)
	}
	clusterBindings, _ := a.clusterRoleBindings.List(labels.Everything()) // listing from memory cannot fail
	for _, b := range clusterBindings {
		if appliesTo(b.Subjects, who, "") {
			collect(b.RoleRef, "")
		}
	}
	if namespace == "" {
		return rules, missing
	}
	bindings, _ := a.roleBindings.RoleBindings(namespace).List(labels.Everything())
	for _, b := range bindings {
		if appliesTo(b.Subjects, who, namespace) {
			collect(b.RoleRef, namespace)
		}
	}
	return rules, missing
}

// RulesOf resolves the role that a binding in a namespace refers to.
func (a *Authorizer) RulesOf(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	if ref.Kind == "ClusterRole" {
		role, err := a.clusterRoles.Get(ref.Name)
		if err != nil {
			return nil, fmt.Errorf("clusterrole %q not found", ref.Name)
		}
		return a.aggregated(role, sets.New[string]()), nil
	}
	role, err := a.roles.Roles(namespace).Get(ref.Name)
	if err != nil {
		return nil, fmt.Errorf("role %q not found", ref.Name)
	}
	return role.Rules, nil
}

// aggregated resolves aggregation on demand, because no controller writes the aggregated rules into the roles.
// Roles may aggregate each other (admin includes edit, edit includes view), so cycles must be detected.
func (a *Authorizer) aggregated(role *rbacv1.ClusterRole, seen sets.Set[string]) []rbacv1.PolicyRule {
	seen.Insert(role.Name)
	rules := slices.Clone(role.Rules)
	if role.AggregationRule == nil {
		return rules
	}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			continue // an invalid selector selects nothing
		}
		parts, _ := a.clusterRoles.List(selector)
		for _, part := range parts {
			if !seen.Has(part.Name) {
				rules = append(rules, a.aggregated(part, seen)...)
			}
		}
	}
	return rules
}

// appliesTo compares subjects with a user. A ServiceAccount without a namespace is in the binding's namespace.
func appliesTo(subjects []rbacv1.Subject, who user.Info, namespace string) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.UserKind:
			return s.Name == who.GetName()
		case rbacv1.GroupKind:
			return slices.Contains(who.GetGroups(), s.Name)
		case rbacv1.ServiceAccountKind:
			ns := s.Namespace
			if ns == "" {
				ns = namespace
			}
			return ns != "" && who.GetName() == serviceaccount.MakeUsername(ns, s.Name)
		}
		return false
	})
}
