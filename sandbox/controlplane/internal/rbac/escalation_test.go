package rbac

import (
	"context"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

func writes(who user.Info, resource string, obj, old runtime.Object) admission.Attributes {
	m := obj.(metav1.Object)
	operation := admission.Create
	if old != nil {
		operation = admission.Update
	}
	gvr := rbacv1.SchemeGroupVersion.WithResource(resource)
	return admission.NewAttributesRecord(obj, old, rbacv1.SchemeGroupVersion.WithKind("x"), m.GetNamespace(), m.GetName(), gvr, "", operation, nil, false, who)
}

func TestEscalationGuard(t *testing.T) {
	readSecrets, readConfig := may("get", "", "secrets"), may("get", "", "configmaps")
	holds := func(rules ...rbacv1.PolicyRule) []runtime.Object {
		return []runtime.Object{namespacedRole("shop", "held", rules...), bind("shop", "Role", "held", ann)}
	}
	plain := &user.DefaultInfo{Name: "ann"}
	wide := namespacedRole("shop", "new", readSecrets, readConfig)
	annotated := wide.DeepCopy()
	annotated.Annotations = map[string]string{"a": "b"}
	cases := []struct {
		name     string
		stored   []runtime.Object
		who      user.Info
		resource string
		obj, old runtime.Object
		refused  string
	}{
		{name: "grants what is held", stored: holds(readSecrets, readConfig), who: plain, resource: "roles", obj: wide},
		{name: "grants more", stored: holds(readSecrets), who: plain, resource: "roles", obj: wide, refused: "not currently held: [{[get] [] [configmaps]"},
		{name: "may escalate", stored: holds(may("escalate", "rbac.authorization.k8s.io", "roles")), who: plain, resource: "roles", obj: wide},
		{name: "system:masters", who: &user.DefaultInfo{Name: "x", Groups: []string{"system:masters"}}, resource: "roles", obj: wide},
		{name: "an annotation grants nothing", who: plain, resource: "roles", obj: annotated, old: wide},
		{name: "binds what is held", stored: append(holds(readSecrets), clusterRole("c", readSecrets)), who: plain, resource: "rolebindings", obj: bind("shop", "ClusterRole", "c", ann)},
		{name: "binds more", stored: append(holds(readSecrets), clusterRole("c", readConfig)), who: plain, resource: "rolebindings",
			obj: bind("shop", "ClusterRole", "c", ann), refused: "not currently held"},
		{name: "may bind that role", stored: append(holds(may("bind", "rbac.authorization.k8s.io", "clusterroles", "c")), clusterRole("c", readConfig)),
			who: plain, resource: "rolebindings", obj: bind("shop", "ClusterRole", "c", ann)},
		{name: "binds a role that is not there yet", stored: holds(readSecrets), who: plain, resource: "rolebindings",
			obj: bind("shop", "ClusterRole", "later", ann), refused: "not currently held"},
		{name: "aggregation grants what it selects", stored: append(holds(readSecrets), labelled(clusterRole("part", readConfig), "to-new")), who: plain,
			resource: "clusterroles", obj: aggregates(clusterRole("new"), "to-new"), refused: "[configmaps]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := NewEscalationGuard(knowing(t, c.stored...)).Validate(context.Background(), writes(c.who, c.resource, c.obj, c.old), nil)
			if c.refused == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("got %v, want a refusal with %q", err, c.refused)
			}
		})
	}
}

func TestReviews(t *testing.T) {
	a := knowing(t, namespacedRole("shop", "r", may("get", "", "secrets")), bind("shop", "Role", "r", ann))
	attributes := &authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: "shop"}
	asAnn := request.WithUser(request.WithNamespace(context.Background(), "shop"), &user.DefaultInfo{Name: "ann"})
	create := func(resource string, obj runtime.Object) runtime.Object {
		t.Helper()
		out, err := AccessReviews(a)[resource].(reviewREST).Create(asAnn, obj, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", resource, err)
		}
		return out
	}
	self := create("selfsubjectaccessreviews", &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}})
	if !self.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed {
		t.Error("ann may not what she may")
	}
	other := create("subjectaccessreviews", &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "bob", ResourceAttributes: attributes}})
	if other.(*authorizationv1.SubjectAccessReview).Status.Allowed {
		t.Error("bob may what only ann may")
	}
	rules := create("selfsubjectrulesreviews", &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "shop"}})
	if got := rules.(*authorizationv1.SelfSubjectRulesReview).Status.ResourceRules; len(got) != 1 || got[0].Resources[0] != "secrets" {
		t.Errorf("rules of ann: %v", got)
	}
	elsewhere := &authorizationv1.LocalSubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "other"}}}
	if _, err := AccessReviews(a)["localsubjectaccessreviews"].(reviewREST).Create(asAnn, elsewhere, nil, nil); err == nil {
		t.Error("a local review of another namespace was answered")
	}
}
