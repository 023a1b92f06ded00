package kinds

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func find(t *testing.T, resource string) Kind {
	t.Helper()
	for _, g := range Groups() {
		for _, k := range g.Kinds {
			if k.Resource == resource {
				return k
			}
		}
	}
	t.Fatalf("no kind %s", resource)
	return Kind{}
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func TestValidation(t *testing.T) {
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "r"}
	yes := true
	sealed := &corev1.Secret{ObjectMeta: named("shop", "s"), Type: "Opaque", Immutable: &yes, Data: map[string][]byte{"k": []byte("v")}}
	changed := sealed.DeepCopy()
	changed.Data["k"] = []byte("w")
	cases := []struct {
		name     string
		resource string
		obj, old runtime.Object
		refused  string
	}{
		{"good secret", "secrets", &corev1.Secret{ObjectMeta: named("shop", "s"), Data: map[string][]byte{"tls.crt": nil}}, nil, ""},
		{"bad name", "secrets", &corev1.Secret{ObjectMeta: named("shop", "Not_Good")}, nil, "metadata.name"},
		{"no namespace", "secrets", &corev1.Secret{ObjectMeta: named("", "s")}, nil, "metadata.namespace"},
		{"bad key", "secrets", &corev1.Secret{ObjectMeta: named("shop", "s"), Data: map[string][]byte{"a/b": nil}}, nil, "data[a/b]"},
		{"TLS secret without key", "secrets", &corev1.Secret{ObjectMeta: named("shop", "s"), Type: corev1.SecretTypeTLS}, nil, "data[tls.key]: Required"},
		{"type changed", "secrets", &corev1.Secret{ObjectMeta: named("shop", "s"), Type: "x"}, &corev1.Secret{ObjectMeta: named("shop", "s"), Type: "Opaque"}, "type: Invalid value"},
		{"immutable secret changed", "secrets", changed, sealed, "immutable"},
		{"immutable secret touched", "secrets", sealed, sealed, ""},
		{"key in both maps", "configmaps", &corev1.ConfigMap{ObjectMeta: named("shop", "c"), Data: map[string]string{"k": ""}, BinaryData: map[string][]byte{"k": nil}}, nil, "data[k]: Duplicate"},
		{"namespace with dots", "namespaces", &corev1.Namespace{ObjectMeta: named("", "a.b")}, nil, "metadata.name"},
		{"role with a colon", "clusterroles", &rbacv1.ClusterRole{ObjectMeta: named("", "system:x")}, nil, ""},
		{"role without verbs", "roles", &rbacv1.Role{ObjectMeta: named("shop", "r"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}}}}, nil, "rules[0].verbs"},
		{"role for paths", "roles", &rbacv1.Role{ObjectMeta: named("shop", "r"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/"}}}}, nil, "nonResourceURLs"},
		{"binding's role changed", "rolebindings", &rbacv1.RoleBinding{ObjectMeta: named("shop", "b"), RoleRef: role}, &rbacv1.RoleBinding{RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "other"}}, "roleRef: Invalid value"},
		{"cluster binding of a role", "clusterrolebindings", &rbacv1.ClusterRoleBinding{ObjectMeta: named("", "b"), RoleRef: role}, nil, "roleRef.kind: Unsupported"},
		{"account without namespace", "clusterrolebindings", &rbacv1.ClusterRoleBinding{ObjectMeta: named("", "b"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "x"}}}, nil, "subjects[0].namespace"},
		{"webhook without anything", "validatingwebhookconfigurations", &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: named("", "w"),
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "a.b.io"}}}, nil, "webhooks[0].clientConfig"},
	}
	scheme := NewScheme()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStrategy(scheme, find(t, c.resource))
			errs := s.Validate(context.Background(), c.obj)
			if c.old != nil {
				errs = s.ValidateUpdate(context.Background(), c.obj, c.old)
			}
			said := ""
			if err := errs.ToAggregate(); err != nil {
				said = err.Error()
			}
			if (c.refused == "") != (said == "") || !strings.Contains(said, c.refused) {
				t.Errorf("said %q, want %q", said, c.refused)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	scheme := NewScheme()
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{}},
		Rules:        []admissionregistrationv1.RuleWithOperations{{}},
	}}}
	scheme.Default(hook)
	w := hook.Webhooks[0]
	if *w.FailurePolicy != "Fail" || *w.MatchPolicy != "Equivalent" || *w.TimeoutSeconds != 10 || *w.ClientConfig.Service.Port != 443 || *w.Rules[0].Scope != "*" {
		t.Errorf("webhook: %+v", w)
	}
	binding := &rbacv1.RoleBinding{Subjects: []rbacv1.Subject{{Kind: "User"}, {Kind: "ServiceAccount"}}}
	scheme.Default(binding)
	if binding.RoleRef.APIGroup != rbacv1.GroupName || binding.Subjects[0].APIGroup != rbacv1.GroupName || binding.Subjects[1].APIGroup != "" {
		t.Errorf("binding: %+v", binding)
	}
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	scheme.Default(service)
	if p := service.Spec.Ports[0]; service.Spec.Type != "ClusterIP" || p.Protocol != "TCP" || p.TargetPort.IntVal != 80 {
		t.Errorf("service: %+v", service.Spec)
	}
}

func TestOnlyTheStatusSubresourceWritesTheStatus(t *testing.T) {
	k := find(t, "deployments")
	scheme := NewScheme()
	replicas := func(n int32) *int32 { return &n }
	old := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: appsv1.DeploymentSpec{Replicas: replicas(1)}, Status: appsv1.DeploymentStatus{Replicas: 1}}
	sent := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: appsv1.DeploymentSpec{Replicas: replicas(2)}, Status: appsv1.DeploymentStatus{Replicas: 2}}

	main := sent.DeepCopy()
	newStrategy(scheme, k).PrepareForUpdate(context.Background(), main, old)
	if *main.Spec.Replicas != 2 || main.Status.Replicas != 1 || main.Generation != 4 {
		t.Errorf("update: %+v", main)
	}
	status := sent.DeepCopy()
	statusStrategy{newStrategy(scheme, k)}.PrepareForUpdate(context.Background(), status, old)
	if *status.Spec.Replicas != 1 || status.Status.Replicas != 2 || status.Generation != 3 {
		t.Errorf("update of the status: %+v", status)
	}
}

func TestNamespacesKeepTheirFinalizerAndLabel(t *testing.T) {
	s := newStrategy(NewScheme(), find(t, "namespaces"))
	ns := &corev1.Namespace{ObjectMeta: named("", "shop")}
	s.PrepareForCreate(context.Background(), ns)
	if ns.Status.Phase != "Active" || ns.Labels["kubernetes.io/metadata.name"] != "shop" || len(ns.Spec.Finalizers) != 1 {
		t.Errorf("new: %+v", ns)
	}
	edited := ns.DeepCopy()
	edited.Spec.Finalizers, edited.Labels, edited.Status.Phase = nil, nil, "Gone"
	s.PrepareForUpdate(context.Background(), edited, ns)
	if edited.Status.Phase != "Active" || edited.Labels["kubernetes.io/metadata.name"] != "shop" || len(edited.Spec.Finalizers) != 1 {
		t.Errorf("edited: %+v", edited)
	}
}

func TestFieldSelectors(t *testing.T) {
	scheme := NewScheme()
	event := schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	for _, f := range append(eventFields, Field{Label: "metadata.name"}) {
		if _, _, err := scheme.ConvertFieldLabel(event, f.Label, "x"); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := scheme.ConvertFieldLabel(event, "message", "x"); err == nil {
		t.Error("a field that nothing selects by was accepted")
	}
	_, set, err := attributes(find(t, "events"))(&corev1.Event{ObjectMeta: named("shop", "e"), Reason: "R", InvolvedObject: corev1.ObjectReference{UID: "u", Name: "acme"}})
	if err != nil || set["involvedObject.uid"] != "u" || set["involvedObject.name"] != "acme" || set["reason"] != "R" || set["metadata.namespace"] != "shop" {
		t.Errorf("%v, %v", set, err)
	}
}

func TestEventTable(t *testing.T) {
	event := corev1.Event{
		Type: "Warning", Reason: "Refused", Message: "no\n", InvolvedObject: corev1.ObjectReference{Kind: "TenantClaim", Name: "acme"},
		LastTimestamp: metav1.NewTime(time.Now().Add(-90 * time.Second)),
	}
	list := &corev1.EventList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.Event{event}}
	got, err := newTable(find(t, "events")).ConvertToTable(context.Background(), list, nil)
	if err != nil || got.ResourceVersion != "5" || len(got.Rows) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	shown := map[string]any{}
	for i, c := range got.ColumnDefinitions {
		if c.Priority == 0 {
			shown[c.Name] = got.Rows[0].Cells[i]
		}
	}
	want := map[string]any{"Last Seen": "90s", "Type": "Warning", "Reason": "Refused", "Object": "tenantclaim/acme", "Message": "no"}
	for name, cell := range want {
		if shown[name] != cell {
			t.Errorf("%s: %v, want %v", name, shown[name], cell)
		}
	}
	if len(shown) != len(want) {
		t.Errorf("shown: %v", shown)
	}
}

// A kind that is not in the scheme, or a column that panics on an empty object, would only show in use.
func TestEveryKindIsWhole(t *testing.T) {
	scheme := NewScheme()
	for _, g := range Groups() {
		for _, k := range g.Kinds {
			if !scheme.Recognizes(g.Version.WithKind(kindName(t, scheme, k))) {
				t.Errorf("%s: not in the scheme", k.Resource)
			}
			obj := k.New()
			scheme.Default(obj)
			if _, err := newTable(k).ConvertToTable(context.Background(), obj, nil); err != nil {
				t.Errorf("%s: %v", k.Resource, err)
			}
			if _, _, err := attributes(k)(obj); err != nil {
				t.Errorf("%s: %v", k.Resource, err)
			}
		}
	}
}

func kindName(t *testing.T, scheme *runtime.Scheme, k Kind) string {
	t.Helper()
	gvks, _, err := scheme.ObjectKinds(k.New())
	if err != nil {
		t.Fatal(err)
	}
	return gvks[0].Kind
}
