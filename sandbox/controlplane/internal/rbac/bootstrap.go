package rbac

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
)

const aggregateTo = "rbac.authorization.k8s.io/aggregate-to-"

// Bootstrap stores Kubernetes' default roles and bindings for the kinds that this server has. Existing objects
// are not changed, so that an administrator can restrict a default.
func Bootstrap(ctx context.Context, client kubernetes.Interface) error {
	for _, role := range defaultRoles() {
		_, err := client.RbacV1().ClusterRoles().Create(ctx, &role, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, binding := range defaultBindings() {
		_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &binding, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

func defaultRoles() []rbacv1.ClusterRole {
	all, get := []string{"*"}, []string{"get"}
	return []rbacv1.ClusterRole{
		role("cluster-admin", "", rbacv1.PolicyRule{Verbs: all, APIGroups: all, Resources: all}, rbacv1.PolicyRule{Verbs: all, NonResourceURLs: all}),
		role("system:discovery", "", rbacv1.PolicyRule{Verbs: get, NonResourceURLs: []string{
			"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"}}),
		role("system:public-info-viewer", "", rbacv1.PolicyRule{Verbs: get, NonResourceURLs: []string{
			"/healthz", "/livez", "/readyz", "/version", "/version/"}}),
		role("system:basic-user", "",
			rule(authorizationv1.GroupName, "create", "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
			rule(authenticationv1.GroupName, "create", "selfsubjectreviews")),
		aggregating("admin", "admin", "edit"),
		aggregating("edit", "edit"),
		aggregating("view", "view"),
		role("system:aggregate-to-admin", "admin", adminRules()...),
		role("system:aggregate-to-edit", "edit", editRules()...),
		role("system:aggregate-to-view", "view", viewRules()...),
	}
}

func defaultBindings() []rbacv1.ClusterRoleBinding {
	return []rbacv1.ClusterRoleBinding{
		binding("cluster-admin", user.SystemPrivilegedGroup),
		binding("system:discovery", user.AllAuthenticated),
		binding("system:basic-user", user.AllAuthenticated),
		binding("system:public-info-viewer", user.AllAuthenticated, user.AllUnauthenticated),
	}
}

func viewRules() []rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	return []rbacv1.PolicyRule{
		{Verbs: read, APIGroups: []string{""}, Resources: []string{"configmaps", "events", "namespaces", "serviceaccounts", "services"}},
		{Verbs: read, APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
	}
}

func editRules() []rbacv1.PolicyRule {
	write := []string{"create", "delete", "deletecollection", "patch", "update"}
	return append(viewRules(),
		rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
		rbacv1.PolicyRule{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts"}},
		rbacv1.PolicyRule{Verbs: write, APIGroups: []string{""}, Resources: []string{"configmaps", "events", "secrets", "serviceaccounts", "services"}},
		rbacv1.PolicyRule{Verbs: write, APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
	)
}

func adminRules() []rbacv1.PolicyRule {
	manage := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	return []rbacv1.PolicyRule{
		{Verbs: manage, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"rolebindings", "roles"}},
		rule(authorizationv1.GroupName, "create", "localsubjectaccessreviews"),
	}
}

func rule(group, verb string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: resources}
}

func role(name, aggregatedInto string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
	labels := map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}
	if aggregatedInto != "" {
		labels[aggregateTo+aggregatedInto] = "true"
	}
	return rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Rules: rules}
}

// aggregating creates a role that aggregates the rules of every role with the label of one of the names.
func aggregating(name string, from ...string) rbacv1.ClusterRole {
	out := role(name, "")
	out.AggregationRule = &rbacv1.AggregationRule{}
	for _, source := range from {
		out.AggregationRule.ClusterRoleSelectors = append(out.AggregationRule.ClusterRoleSelectors,
			metav1.LabelSelector{MatchLabels: map[string]string{aggregateTo + source: "true"}})
	}
	return out
}

func binding(roleName string, groups ...string) rbacv1.ClusterRoleBinding {
	out := rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: roleName, Labels: map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roleName},
	}
	for _, group := range groups {
		out.Subjects = append(out.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group})
	}
	return out
}
