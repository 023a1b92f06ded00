package rbac

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// knowing makes an authorizer over stored objects, without a server.
func knowing(t *testing.T, stored ...runtime.Object) *Authorizer {
	t.Helper()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	a := New(factory)
	for _, obj := range stored {
		r := factory.Rbac().V1()
		var err error
		switch obj.(type) {
		case *rbacv1.Role:
			err = r.Roles().Informer().GetStore().Add(obj)
		case *rbacv1.ClusterRole:
			err = r.ClusterRoles().Informer().GetStore().Add(obj)
		case *rbacv1.RoleBinding:
			err = r.RoleBindings().Informer().GetStore().Add(obj)
		case *rbacv1.ClusterRoleBinding:
			err = r.ClusterRoleBindings().Informer().GetStore().Add(obj)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func labelled(role *rbacv1.ClusterRole, label string) *rbacv1.ClusterRole {
	role.Labels = map[string]string{label: "true"}
	return role
}

func aggregates(role *rbacv1.ClusterRole, label string) *rbacv1.ClusterRole {
	role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{label: "true"}}}}
	return role
}

func namespacedRole(namespace, name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules}
}

func bind(namespace, kind, name string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b-" + name},
		RoleRef:    rbacv1.RoleRef{Kind: kind, Name: name}, Subjects: subjects,
	}
}

func bindCluster(name string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "b-" + name},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: name}, Subjects: subjects,
	}
}

func may(verbs, groups, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs: strings.Split(verbs, ","), APIGroups: strings.Split(groups, ","), Resources: strings.Split(resources, ","), ResourceNames: names,
	}
}

func mayPath(verb string, paths ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: paths}
}

func on(verb, group, resource, namespace, name string) authorizer.AttributesRecord {
	resource, sub, _ := strings.Cut(resource, "/")
	return authorizer.AttributesRecord{
		Verb: verb, APIGroup: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: name, ResourceRequest: true,
	}
}

var (
	ann     = rbacv1.Subject{Kind: "User", Name: "ann"}
	devs    = rbacv1.Subject{Kind: "Group", Name: "devs"}
	account = rbacv1.Subject{Kind: "ServiceAccount", Name: "provider", Namespace: "crossplane-system"}
	local   = rbacv1.Subject{Kind: "ServiceAccount", Name: "provider"}
)

func TestAuthorize(t *testing.T) {
	const serviceAccount = "system:serviceaccount:crossplane-system:provider"
	readSecrets := may("get,list", "", "secrets")
	cases := []struct {
		name    string
		stored  []runtime.Object
		user    string
		groups  []string
		asked   authorizer.AttributesRecord
		allowed bool
		reason  string
	}{
		{name: "nothing bound", user: "ann", asked: on("get", "", "secrets", "shop", "x")},
		{name: "system:masters need no rule", user: "ann", groups: []string{"system:masters"}, asked: on("delete", "x.io", "things", "", ""), allowed: true},
		{name: "role in its namespace", stored: []runtime.Object{namespacedRole("shop", "r", readSecrets), bind("shop", "Role", "r", ann)},
			user: "ann", asked: on("list", "", "secrets", "shop", ""), allowed: true},
		{name: "role elsewhere", stored: []runtime.Object{namespacedRole("shop", "r", readSecrets), bind("shop", "Role", "r", ann)},
			user: "ann", asked: on("list", "", "secrets", "other", "")},
		{name: "role across namespaces", stored: []runtime.Object{namespacedRole("shop", "r", readSecrets), bind("shop", "Role", "r", ann)},
			user: "ann", asked: on("list", "", "secrets", "", "")},
		{name: "another verb", stored: []runtime.Object{namespacedRole("shop", "r", readSecrets), bind("shop", "Role", "r", ann)},
			user: "ann", asked: on("delete", "", "secrets", "shop", "x")},
		{name: "another group's resource of that name", stored: []runtime.Object{clusterRole("r", readSecrets), bindCluster("r", ann)},
			user: "ann", asked: on("get", "x.io", "secrets", "shop", "x")},
		{name: "cluster role bound in a namespace", stored: []runtime.Object{clusterRole("r", readSecrets), bind("shop", "ClusterRole", "r", devs)},
			user: "ann", groups: []string{"devs"}, asked: on("get", "", "secrets", "shop", "x"), allowed: true},
		{name: "cluster role bound in another namespace", stored: []runtime.Object{clusterRole("r", readSecrets), bind("shop", "ClusterRole", "r", devs)},
			user: "ann", groups: []string{"devs"}, asked: on("get", "", "secrets", "other", "x")},
		{name: "cluster role bound everywhere", stored: []runtime.Object{clusterRole("r", readSecrets), bindCluster("r", account)},
			user: serviceAccount, asked: on("list", "", "secrets", "", ""), allowed: true},
		{name: "service account without namespace is the binding's", stored: []runtime.Object{clusterRole("r", readSecrets), bind("crossplane-system", "ClusterRole", "r", local)},
			user: serviceAccount, asked: on("get", "", "secrets", "crossplane-system", "x"), allowed: true},
		{name: "service account without namespace in another namespace", stored: []runtime.Object{clusterRole("r", readSecrets), bind("shop", "ClusterRole", "r", local)},
			user: serviceAccount, asked: on("get", "", "secrets", "shop", "x")},
		{name: "a user is no group", stored: []runtime.Object{clusterRole("r", readSecrets), bindCluster("r", devs)},
			user: "devs", asked: on("get", "", "secrets", "shop", "x")},
		{name: "named object", stored: []runtime.Object{clusterRole("r", may("get", "", "secrets", "mine")), bindCluster("r", ann)},
			user: "ann", asked: on("get", "", "secrets", "shop", "mine"), allowed: true},
		{name: "another object than the named", stored: []runtime.Object{clusterRole("r", may("get", "", "secrets", "mine")), bindCluster("r", ann)},
			user: "ann", asked: on("get", "", "secrets", "shop", "theirs")},
		{name: "named object does not allow a list", stored: []runtime.Object{clusterRole("r", may("get,list", "", "secrets", "mine")), bindCluster("r", ann)},
			user: "ann", asked: on("list", "", "secrets", "shop", "")},
		{name: "subresource is not its resource", stored: []runtime.Object{clusterRole("r", may("update", "x.io", "things")), bindCluster("r", ann)},
			user: "ann", asked: on("update", "x.io", "things/status", "shop", "x")},
		{name: "subresource of every resource", stored: []runtime.Object{clusterRole("r", may("update", "x.io", "*/status")), bindCluster("r", ann)},
			user: "ann", asked: on("update", "x.io", "things/status", "shop", "x"), allowed: true},
		{name: "everything of a group", stored: []runtime.Object{clusterRole("r", may("*", "x.io", "*")), bindCluster("r", ann)},
			user: "ann", asked: on("patch", "x.io", "things/status", "shop", "x"), allowed: true},
		{name: "path below a prefix", stored: []runtime.Object{clusterRole("r", mayPath("get", "/apis/*")), bindCluster("r", devs)},
			user: "ann", groups: []string{"devs"}, asked: authorizer.AttributesRecord{Verb: "get", Path: "/apis/x.io"}, allowed: true},
		{name: "another path", stored: []runtime.Object{clusterRole("r", mayPath("get", "/apis/*")), bindCluster("r", devs)},
			user: "ann", groups: []string{"devs"}, asked: authorizer.AttributesRecord{Verb: "get", Path: "/metrics"}},
		{name: "every resource is no path", stored: []runtime.Object{clusterRole("r", may("*", "*", "*")), bindCluster("r", ann)},
			user: "ann", asked: authorizer.AttributesRecord{Verb: "get", Path: "/metrics"}},
		{name: "missing role is named", stored: []runtime.Object{bindCluster("r", ann)},
			user: "ann", asked: on("get", "", "secrets", "shop", "x"), reason: `RBAC: clusterrole "r" not found`},
		{name: "aggregated", stored: []runtime.Object{aggregates(clusterRole("r"), "to-r"), labelled(clusterRole("part", readSecrets), "to-r"), bindCluster("r", ann)},
			user: "ann", asked: on("get", "", "secrets", "shop", "x"), allowed: true},
		{name: "aggregated twice", stored: []runtime.Object{aggregates(clusterRole("r"), "to-r"), labelled(aggregates(clusterRole("part"), "to-part"), "to-r"),
			labelled(clusterRole("leaf", readSecrets), "to-part"), bindCluster("r", ann)},
			user: "ann", asked: on("get", "", "secrets", "shop", "x"), allowed: true},
		{name: "aggregated in a circle", stored: []runtime.Object{labelled(aggregates(clusterRole("r"), "a"), "a"), bindCluster("r", ann)},
			user: "ann", asked: on("get", "", "secrets", "shop", "x")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.asked.User = &user.DefaultInfo{Name: c.user, Groups: c.groups}
			decision, reason, err := knowing(t, c.stored...).Authorize(context.Background(), c.asked)
			if err != nil || (decision == authorizer.DecisionAllow) != c.allowed || reason != c.reason {
				t.Errorf("decision %v, reason %q, error %v; want allowed %v, reason %q", decision, reason, err, c.allowed, c.reason)
			}
		})
	}
}

func TestDefaultsGrantWhatTheirNamesSay(t *testing.T) {
	var stored []runtime.Object
	for _, r := range defaultRoles() {
		stored = append(stored, &r)
	}
	for _, b := range defaultBindings() {
		stored = append(stored, &b)
	}
	stored = append(stored, bind("shop", "ClusterRole", "view", rbacv1.Subject{Kind: "User", Name: "viewer"}),
		bind("shop", "ClusterRole", "edit", rbacv1.Subject{Kind: "User", Name: "editor"}),
		bind("shop", "ClusterRole", "admin", rbacv1.Subject{Kind: "User", Name: "boss"}))
	a := knowing(t, stored...)
	path := func(p string) authorizer.AttributesRecord { return authorizer.AttributesRecord{Verb: "get", Path: p} }
	cases := []struct {
		user    string
		asked   authorizer.AttributesRecord
		allowed bool
	}{
		{"viewer", on("list", "", "configmaps", "shop", ""), true},
		{"viewer", on("list", "", "secrets", "shop", ""), false},
		{"editor", on("update", "", "secrets", "shop", "x"), true},
		{"editor", on("create", "rbac.authorization.k8s.io", "roles", "shop", ""), false},
		{"boss", on("create", "rbac.authorization.k8s.io", "roles", "shop", ""), true},
		{"boss", on("delete", "apps", "deployments", "shop", "x"), true},
		{"boss", on("list", "", "secrets", "other", ""), false},
		{"anybody", path("/apis"), true},
		{"anybody", path("/openapi/v3"), true},
		{"anybody", path("/metrics"), false},
		{"anybody", on("create", "authorization.k8s.io", "selfsubjectaccessreviews", "", ""), true},
		{"anybody", on("create", "authorization.k8s.io", "subjectaccessreviews", "", ""), false},
	}
	for _, c := range cases {
		c.asked.User = &user.DefaultInfo{Name: c.user, Groups: []string{user.AllAuthenticated}}
		decision, _, _ := a.Authorize(context.Background(), c.asked)
		if (decision == authorizer.DecisionAllow) != c.allowed {
			t.Errorf("%s %s %s%s: decision %v, want allowed %v", c.user, c.asked.Verb, c.asked.Resource, c.asked.Path, decision, c.allowed)
		}
	}
}
