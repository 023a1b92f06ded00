package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"edgetenants.io/sandbox/controlplane/internal/webhooks"
)

var ctx = context.Background()

// One cluster serves all the tests of what it does; each has a namespace of its own.
func TestCluster(t *testing.T) {
	c := newCluster(t)
	c.up()
	admin := c.client("admin", "system:masters")
	for name, test := range map[string]func(*testing.T, *cluster, *kubernetes.Clientset, string){
		"users need roles":                     usersNeedRoles,
		"server-side apply merges built-ins":   appliesMerge,
		"custom kinds with rules":              customKinds,
		"events are found by their object":     eventsAreFound,
		"events are in two groups":             eventsAreInTwoGroups,
		"events are changed in two groups":     eventsAreChangedInTwoGroups,
		"policies for core events cover both":  policiesCoverBothGroups,
		"recorders of events record":           recordersRecord,
		"events are in the API's description":  eventsAreDescribed,
		"webhooks reach loopback ports":        webhooksReachLoopback,
		"policies are enforced":                policiesAreEnforced,
		"deletion cascades":                    deletionCascades,
		"a namespace goes with its content":    namespacesGo,
		"health without a certificate":         healthIsPublic,
		"the audit log tells who did what":     auditTells,
		"bad requests name the field":          badRequestsNameTheField,
		"the status is written by itself only": statusIsApart,
	} {
		t.Run(name, func(t *testing.T) {
			ns, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			inner := *c
			inner.authority = &authority{t: t, cert: c.cert, key: c.key, dir: c.dir}
			test(t, &inner, admin, ns.Name)
		})
	}
}

func TestDataOutlivesARestart(t *testing.T) {
	c := newCluster(t)
	c.up()
	_, err := c.client("admin", "system:masters").CoreV1().ConfigMaps("default").Create(ctx, config("kept"), metav1.CreateOptions{})
	c.must(err)
	started := time.Now()
	c.must(c.stop())
	if took := time.Since(started); took > 3*time.Second {
		t.Errorf("took %v to stop", took)
	}
	for i, port := range freePorts(t, 3) { // another run has other ports
		*[]*int{&c.flags.port, &c.flags.etcdPort, &c.flags.peerPort}[i] = port
	}
	c.up()
	if _, err := c.client("admin", "system:masters").CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestAStartThatCannotSucceedSaysWhy(t *testing.T) {
	c := newCluster(t)
	c.must(os.Remove(c.file("apiserver.key")))
	err := run(ctx, c.flags, func() { t.Error("announced") })
	if err == nil || !strings.Contains(err.Error(), "apiserver.key") {
		t.Errorf("%v", err)
	}
}

func config(name string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
	out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	yes := true
	for _, o := range owners {
		out.OwnerReferences = append(out.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID, BlockOwnerDeletion: &yes})
	}
	return out
}

func usersNeedRoles(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	account := c.client("system:serviceaccount:" + ns + ":app")
	_, err := account.CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{})
	want := fmt.Sprintf(`secrets is forbidden: User "system:serviceaccount:%s:app" cannot list resource "secrets" in API group "" in the namespace "%s"`, ns, ns)
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("without a role: %v", err)
	}
	_, err = admin.RbacV1().Roles(ns).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"},
		Rules: []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"secrets"}}}}, metav1.CreateOptions{})
	c.must(err)
	// To the group of the namespace's accounts, which no certificate names.
	_, err = admin.RbacV1().RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"},
		RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:serviceaccounts:" + ns}}}, metav1.CreateOptions{})
	c.must(err)
	c.eventually("the list is allowed", func() bool {
		_, err := account.CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{})
		return err == nil
	})
	if _, err := account.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("elsewhere: %v", err)
	}
}

func appliesMerge(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	apply := func(manager, key, value string) error {
		_, err := admin.CoreV1().ConfigMaps(ns).Apply(ctx, applycorev1.ConfigMap("c", ns).WithData(map[string]string{key: value}), metav1.ApplyOptions{FieldManager: manager})
		return err
	}
	c.must(apply("one", "a", "1"))
	c.must(apply("two", "b", "2"))
	if err := apply("two", "a", "3"); !apierrors.IsConflict(err) {
		t.Errorf("another manager's field: %v", err)
	}
	got, err := admin.CoreV1().ConfigMaps(ns).Get(ctx, "c", metav1.GetOptions{})
	c.must(err)
	if got.Data["a"] != "1" || got.Data["b"] != "2" {
		t.Errorf("%v", got.Data)
	}
}

func customKinds(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	extensions, err := apiextensions.NewForConfig(c.as("admin", "system:masters"))
	c.must(err)
	group := ns + ".io"
	schemaOf := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Description: "What is wanted.", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"size": {Type: "integer", XValidations: apiextensionsv1.ValidationRules{{Rule: "self > 0", Message: "must be positive"}}}}}}}
	_, err = extensions.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: group, Scope: "Namespaced",
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schemaOf}}}},
	}, metav1.CreateOptions{})
	c.must(err)
	client, err := dynamic.NewForConfig(c.as("admin", "system:masters"))
	c.must(err)
	things := client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}).Namespace(ns)
	thing := func(size int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Thing",
			"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"size": size}}}
	}
	c.eventually("the kind is served", func() bool {
		_, err := things.Apply(ctx, "x", thing(1), metav1.ApplyOptions{FieldManager: "t"})
		return err == nil
	})
	if _, err := things.Apply(ctx, "x", thing(0), metav1.ApplyOptions{FieldManager: "t"}); err == nil || !strings.Contains(err.Error(), "spec.size: Invalid value: 0: must be positive") {
		t.Errorf("a value against the rule: %v", err)
	}
	for _, path := range []string{"/apis", "/openapi/v3/apis/" + group + "/v1"} {
		c.eventually(path+" knows it", func() bool {
			body, err := admin.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
			return err == nil && strings.Contains(string(body), group)
		})
	}
}

func eventsAreFound(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	for _, name := range []string{"mine", "theirs"} {
		_, err := admin.CoreV1().Events(ns).Create(ctx, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name}, Reason: "R",
			InvolvedObject: corev1.ObjectReference{Namespace: ns, Name: name, UID: types.UID("uid-" + name)}}, metav1.CreateOptions{})
		c.must(err)
	}
	found, err := admin.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=uid-mine,involvedObject.name=mine"})
	c.must(err)
	if len(found.Items) != 1 || found.Items[0].Name != "mine" {
		t.Errorf("%v", found.Items)
	}
}

func webhooksReachLoopback(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	c.server("hook", "hook."+ns+".svc")
	port := freePorts(t, 1)[0]
	hook := &http.Server{Addr: "127.0.0.1:" + strconv.Itoa(port), ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(refuseNamed("refused"))}
	go func() { _ = hook.ListenAndServeTLS(c.file("hook.crt"), c.file("hook.key")) }()
	t.Cleanup(func() { _ = hook.Close() })
	_, err := admin.CoreV1().Services(ns).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "hook",
		Annotations: map[string]string{webhooks.PortAnnotation: strconv.Itoa(port)}}}, metav1.CreateOptions{})
	c.must(err)
	ca, err := os.ReadFile(c.file("ca.crt"))
	c.must(err)
	none := admissionregistrationv1.SideEffectClassNone
	_, err = admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "hook." + ns + ".io", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{CABundle: ca, Service: &admissionregistrationv1.ServiceReference{Namespace: ns, Name: "hook"}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
			Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{"CREATE"},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
		}},
	}, metav1.CreateOptions{})
	c.must(err)
	c.eventually("the webhook refuses", func() bool {
		_, err := admin.CoreV1().ConfigMaps(ns).Create(ctx, config("refused"), metav1.CreateOptions{DryRun: []string{"All"}})
		return err != nil && strings.Contains(err.Error(), "not this one")
	})
	if _, err := admin.CoreV1().ConfigMaps(ns).Create(ctx, config("allowed"), metav1.CreateOptions{}); err != nil {
		t.Errorf("what the webhook allows: %v", err)
	}
}

// refuseNamed answers admission reviews: no to objects of one name.
func refuseNamed(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: review.Request.Name != name, Result: &metav1.Status{Message: "not this one"}}
		_ = json.NewEncoder(w).Encode(review)
	}
}

func policiesAreEnforced(_ *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	policies := admin.AdmissionregistrationV1()
	here := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}}
	_, err := policies.ValidatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{NamespaceSelector: here, ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{"CREATE"},
					Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}}}},
			Validations: []admissionregistrationv1.Validation{{Expression: `object.metadata.name != "refused"`, Message: "not by policy"}},
		}}, metav1.CreateOptions{})
	c.must(err)
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: ns, ValidationActions: []admissionregistrationv1.ValidationAction{"Deny"}}}, metav1.CreateOptions{})
	c.must(err)
	c.eventually("the policy refuses", func() bool {
		_, err := admin.CoreV1().ConfigMaps(ns).Create(ctx, config("refused"), metav1.CreateOptions{DryRun: []string{"All"}})
		return err != nil && strings.Contains(err.Error(), "not by policy")
	})
}

func deletionCascades(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	maps := admin.CoreV1().ConfigMaps(ns)
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		owner, err := maps.Create(ctx, config("owner"), metav1.CreateOptions{})
		c.must(err)
		_, err = maps.Create(ctx, config("dependent", owner), metav1.CreateOptions{})
		c.must(err)
		c.must(maps.Delete(ctx, "owner", metav1.DeleteOptions{PropagationPolicy: &how}))
		left := 0
		if how == metav1.DeletePropagationOrphan {
			left = 1
		}
		c.eventually(string(how), func() bool {
			found, err := maps.List(ctx, metav1.ListOptions{})
			return err == nil && len(found.Items) == left
		})
	}
	orphan, err := maps.Get(ctx, "dependent", metav1.GetOptions{})
	c.must(err)
	if len(orphan.OwnerReferences) > 0 {
		t.Errorf("still owned by %v", orphan.OwnerReferences)
	}
}

func namespacesGo(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	held := config("held")
	held.Finalizers = []string{"x.io/hold"}
	_, err := admin.CoreV1().ConfigMaps(ns).Create(ctx, held, metav1.CreateOptions{})
	c.must(err)
	_, err = admin.CoreV1().Events(ns).Create(ctx, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}}, metav1.CreateOptions{})
	c.must(err)
	c.must(admin.CoreV1().Namespaces().Delete(ctx, ns, metav1.DeleteOptions{}))
	terminating, err := admin.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
	c.must(err)
	if terminating.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("phase %s", terminating.Status.Phase)
	}
	if _, err := admin.CoreV1().ConfigMaps(ns).Create(ctx, config("late"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("created in a terminating namespace: %v", err)
	}
	c.eventually("the event goes", func() bool {
		found, err := admin.CoreV1().Events(ns).List(ctx, metav1.ListOptions{})
		return err == nil && len(found.Items) == 0
	})
	_, err = admin.CoreV1().ConfigMaps(ns).Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	c.must(err)
	c.eventually("the namespace goes", func() bool {
		_, err := admin.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func healthIsPublic(t *testing.T, c *cluster, _ *kubernetes.Clientset, _ string) {
	nobody := c.as("x")
	nobody.CertFile, nobody.KeyFile = "", ""
	client, err := kubernetes.NewForConfig(nobody)
	c.must(err)
	if _, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		t.Errorf("readyz: %v", err)
	}
	if _, err := client.RESTClient().Get().AbsPath("/api").DoRaw(ctx); !apierrors.IsUnauthorized(err) {
		t.Errorf("api: %v", err)
	}
}

func auditTells(t *testing.T, c *cluster, _ *kubernetes.Clientset, ns string) {
	_, _ = c.client("mallory").CoreV1().Secrets(ns).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": "confidential"}}, metav1.CreateOptions{})
	file, err := os.Open(c.flags.auditLog)
	c.must(err)
	defer file.Close()
	found := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e struct {
			Verb, Stage    string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Namespace, Name string }
			ResponseStatus struct{ Code int }
		}
		c.must(json.Unmarshal(lines.Bytes(), &e))
		if e.User.Username == "mallory" && e.Verb == "create" && e.ObjectRef.Resource == "secrets" && e.ObjectRef.Namespace == ns && e.ResponseStatus.Code == 403 {
			found++
		}
		if strings.Contains(lines.Text(), "confidential") {
			t.Error("a body was logged")
		}
		if e.User.Username == "system:apiserver" && e.Verb == "watch" || e.ObjectRef.Resource == "" || e.Stage == "RequestReceived" {
			t.Errorf("noise: %s", lines.Text())
		}
	}
	if found != 1 {
		t.Errorf("found %d lines", found)
	}
}

func badRequestsNameTheField(t *testing.T, _ *cluster, admin *kubernetes.Clientset, ns string) {
	_, err := admin.CoreV1().ConfigMaps(ns).Create(ctx, config("Not_Good"), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.name") {
		t.Errorf("%v", err)
	}
	if _, err = admin.CoreV1().ConfigMaps("nowhere").Create(ctx, config("x"), metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("in a namespace that does not exist: %v", err)
	}
}

func statusIsApart(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	live, err := admin.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
	c.must(err)
	live.Status.Conditions = []corev1.NamespaceCondition{{Type: "T", Status: "True"}}
	live.Labels["a"] = "b"
	plain, err := admin.CoreV1().Namespaces().Update(ctx, live.DeepCopy(), metav1.UpdateOptions{})
	c.must(err)
	if len(plain.Status.Conditions) > 0 || plain.Labels["a"] != "b" {
		t.Errorf("update: %+v", plain)
	}
	plain.Status.Conditions = live.Status.Conditions
	status, err := admin.CoreV1().Namespaces().UpdateStatus(ctx, plain, metav1.UpdateOptions{})
	c.must(err)
	if len(status.Status.Conditions) != 1 {
		t.Errorf("update of the status: %+v", status)
	}
}
