package main

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applyeventsv1 "k8s.io/client-go/applyconfigurations/events/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
)

func note(ns, name string) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, EventTime: metav1.NewMicroTime(time.Now().Truncate(time.Microsecond)),
		ReportingController: "test.io/c", ReportingInstance: "c-0", Action: "Look", Reason: "Seen", Type: "Normal", Note: "was seen",
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: "about-" + name},
	}
}

// An event is one object in both groups, for each verb.
func eventsAreInTwoGroups(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	old, renewed := admin.CoreV1().Events(ns), admin.EventsV1().Events(ns)
	watched, err := old.Watch(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=about-a"})
	c.must(err)
	defer watched.Stop()
	made, err := renewed.Create(ctx, note(ns, "a"), metav1.CreateOptions{})
	c.must(err)
	read, err := old.Get(ctx, "a", metav1.GetOptions{})
	c.must(err)
	if read.UID != made.UID || read.ResourceVersion != made.ResourceVersion || read.InvolvedObject != made.Regarding || read.Message != "was seen" ||
		read.ReportingController != "test.io/c" || read.ReportingInstance != "c-0" || !read.EventTime.Equal(&made.EventTime) {
		t.Errorf("as core: %+v", read)
	}
	if e := <-watched.ResultChan(); e.Object.(*corev1.Event).UID != made.UID {
		t.Errorf("watched: %+v", e)
	}
	_, err = old.Create(ctx, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Message: "old", Count: 2, Source: corev1.EventSource{Component: "s"},
		InvolvedObject: corev1.ObjectReference{Namespace: ns, Name: "about-b"}, FirstTimestamp: metav1.Now()}, metav1.CreateOptions{})
	c.must(err)
	found, err := renewed.List(ctx, metav1.ListOptions{FieldSelector: "regarding.name=about-b"})
	c.must(err)
	if len(found.Items) != 1 || found.Items[0].Note != "old" || found.Items[0].DeprecatedCount != 2 || found.Items[0].DeprecatedSource.Component != "s" ||
		found.Items[0].DeprecatedFirstTimestamp.IsZero() {
		t.Errorf("as events.k8s.io: %+v", found.Items)
	}
	if all, err := renewed.List(ctx, metav1.ListOptions{}); err != nil || len(all.Items) != 2 {
		t.Errorf("all: %+v, %v", all, err)
	}
	_, err = renewed.List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=about-b"})
	if !apierrors.IsBadRequest(err) {
		t.Errorf("a core selector: %v", err)
	}
	c.must(renewed.Delete(ctx, "b", metav1.DeleteOptions{}))
	if _, err := old.Get(ctx, "b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("deleted: %v", err)
	}
}

func eventsAreChangedInTwoGroups(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	old, renewed := admin.CoreV1().Events(ns), admin.EventsV1().Events(ns)
	made, err := renewed.Create(ctx, note(ns, "a"), metav1.CreateOptions{})
	c.must(err)
	series := []byte(`{"series":{"count":2,"lastObservedTime":"2030-01-01T00:00:00.000000Z"}}`)
	for _, how := range []types.PatchType{types.StrategicMergePatchType, types.MergePatchType} {
		_, err = renewed.Patch(ctx, "a", how, series, metav1.PatchOptions{})
		c.must(err)
	}
	read, err := old.Get(ctx, "a", metav1.GetOptions{})
	c.must(err)
	if read.Series == nil || read.Series.Count != 2 || read.Message != "was seen" {
		t.Errorf("patched: %+v", read)
	}
	_, err = renewed.Patch(ctx, "a", types.MergePatchType, []byte(`{"note":"another"}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "message: Invalid value") {
		t.Errorf("another note: %v", err)
	}
	incomplete := note(ns, "incomplete")
	incomplete.Action = ""
	if _, err = renewed.Create(ctx, incomplete, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "action: Required") {
		t.Errorf("without an action: %v", err)
	}
	apply := func(manager string, wanted *applyeventsv1.EventApplyConfiguration) (*eventsv1.Event, error) {
		return renewed.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager})
	}
	applied, err := apply("one", applyeventsv1.Event("a", ns).WithLabels(map[string]string{"one": "1"}).WithNote(made.Note))
	c.must(err)
	if applied.Labels["one"] != "1" || applied.Series == nil || applied.UID != made.UID {
		t.Errorf("applied: %+v", applied)
	}
	_, err = apply("two", applyeventsv1.Event("a", ns).WithNote("another"))
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".note") {
		t.Errorf("another manager's field: %v", err)
	}
	_, err = old.Patch(ctx, "a", types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"a","labels":{"two":"2"}}}`), metav1.PatchOptions{FieldManager: "two"})
	c.must(err)
	if read, err = old.Get(ctx, "a", metav1.GetOptions{}); err != nil || read.Labels["one"] != "1" || read.Labels["two"] != "2" {
		t.Errorf("applied in both groups: %+v, %v", read, err)
	}
}

// A policy for core events sees those of the other group, too, as core events.
func policiesCoverBothGroups(_ *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	policies := admin.AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{"CREATE"},
						Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"events"}}}}}},
			Validations: []admissionregistrationv1.Validation{{Expression: `object.message != "was seen"`, Message: "not by policy"}},
		}}, metav1.CreateOptions{})
	c.must(err)
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: ns, ValidationActions: []admissionregistrationv1.ValidationAction{"Deny"}}}, metav1.CreateOptions{})
	c.must(err)
	c.eventually("the policy refuses", func() bool {
		_, err := admin.EventsV1().Events(ns).Create(ctx, note(ns, "a"), metav1.CreateOptions{DryRun: []string{"All"}})
		return err != nil && strings.Contains(err.Error(), "not by policy")
	})
}

// What controllers of today's client libraries do.
func recordersRecord(t *testing.T, c *cluster, admin *kubernetes.Clientset, ns string) {
	about, err := admin.CoreV1().ConfigMaps(ns).Create(ctx, config("about"), metav1.CreateOptions{})
	c.must(err)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: admin.EventsV1()})
	c.must(broadcaster.StartRecordingToSinkWithContext(ctx))
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(scheme.Scheme, "test.io/recorder")
	for range 2 { // the second makes a series of the first
		recorder.Eventf(about, nil, "Warning", "Twice", "Repeat", "for %s", "the second time")
		c.eventually("the event is recorded", func() bool {
			found, err := admin.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(about.UID)})
			return err == nil && len(found.Items) == 1 && found.Items[0].Message == "for the second time"
		})
	}
	c.eventually("the series is recorded", func() bool {
		found, err := admin.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "reason=Twice"})
		return err == nil && len(found.Items) == 1 && found.Items[0].Series != nil && found.Items[0].Series.Count >= 2
	})
}

func eventsAreDescribed(t *testing.T, c *cluster, admin *kubernetes.Clientset, _ string) {
	listed, err := admin.Discovery().ServerResourcesForGroupVersion("events.k8s.io/v1")
	c.must(err)
	if r := listed.APIResources; len(r) != 1 || r[0].Name != "events" || r[0].SingularName != "event" || r[0].ShortNames[0] != "ev" || r[0].Kind != "Event" || !r[0].Namespaced {
		t.Errorf("%+v", r)
	}
	for path, text := range map[string]string{"/apis": "events.k8s.io/v1", "/openapi/v2": "io.k8s.api.events.v1.Event", "/openapi/v3/apis/events.k8s.io/v1": "regarding"} {
		body, err := admin.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
		c.must(err)
		if !strings.Contains(string(body), text) {
			t.Errorf("%s does not contain %s", path, text)
		}
	}
}
