package kinds

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func findIn(t *testing.T, version schema.GroupVersion, resource string) Kind {
	t.Helper()
	for _, g := range Groups() {
		for _, k := range g.Kinds {
			if g.Version == version && k.Resource == resource {
				return k
			}
		}
	}
	t.Fatalf("no kind %s in %s", resource, version)
	return Kind{}
}

// reported is a valid new event.
func reported() *corev1.Event {
	return &corev1.Event{
		ObjectMeta: named("shop", "e"), InvolvedObject: corev1.ObjectReference{Kind: "TenantClaim", Namespace: "shop", Name: "acme"},
		Reason: "Refused", Message: "no", Type: "Warning", EventTime: metav1.NewMicroTime(time.Now()), Action: "Reconcile",
		ReportingController: "edgetenants.io/provider", ReportingInstance: "provider-0",
	}
}

func TestEveryFieldOfAnEventIsConverted(t *testing.T) {
	now := time.Now()
	full := reported()
	full.Source = corev1.EventSource{Component: "old", Host: "h"}
	full.FirstTimestamp, full.LastTimestamp, full.Count = metav1.NewTime(now), metav1.NewTime(now), 3
	full.Series = &corev1.EventSeries{Count: 2, LastObservedTime: metav1.NewMicroTime(now)}
	full.Related = &corev1.ObjectReference{Kind: "Secret", Name: "s"}
	isWhole(t, full)
	scheme := NewScheme()
	list := &corev1.EventList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.Event{*full}}
	for _, obj := range []runtime.Object{full, list} {
		there, err := scheme.ConvertToVersion(obj, eventsv1.SchemeGroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		if one, ok := there.(*eventsv1.Event); ok {
			isWhole(t, one)
			if one.Note != "no" || one.Regarding.Name != "acme" || one.DeprecatedSource.Component != "old" || one.DeprecatedCount != 3 {
				t.Errorf("%+v", one)
			}
		}
		internal, err := scheme.ConvertToVersion(there, schema.GroupVersion{Group: eventsv1.GroupName, Version: runtime.APIVersionInternal})
		if err != nil {
			t.Fatal(err)
		}
		back, err := scheme.ConvertToVersion(internal, corev1.SchemeGroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		obj.GetObjectKind().SetGroupVersionKind(back.GetObjectKind().GroupVersionKind())
		if !equality.Semantic.DeepEqual(obj, back) {
			t.Errorf("%+v\nis\n%+v", obj, back)
		}
	}
}

// isWhole checks that a field which a later version of the library adds is not forgotten here.
func isWhole(t *testing.T, event any) {
	t.Helper()
	v := reflect.ValueOf(event).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "TypeMeta" {
			t.Errorf("%T: %s is not set", event, name)
		}
	}
}

func TestEventsAreStoredAsCore(t *testing.T) {
	scheme := NewScheme()
	var versions []schema.GroupVersion
	for _, g := range Groups() {
		versions = append(versions, g.Version)
	}
	text, err := runtime.Encode(Codecs(scheme).LegacyCodec(versions...), reported())
	if err != nil || !strings.Contains(string(text), `"apiVersion":"v1"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestValidationOfEvents(t *testing.T) {
	series := &corev1.EventSeries{Count: 2, LastObservedTime: metav1.NewMicroTime(time.Now())}
	legacy := &corev1.Event{ObjectMeta: named("shop", "e"), InvolvedObject: corev1.ObjectReference{Namespace: "shop"}, Count: 3}
	long := strings.Repeat("x", 1025)
	cases := []struct {
		name    string
		old     *corev1.Event
		change  func(e *corev1.Event)
		refused string
	}{
		{"good", nil, func(*corev1.Event) {}, ""},
		{"of a cluster's object", nil, func(e *corev1.Event) { e.Namespace, e.InvolvedObject.Namespace = "default", "" }, ""},
		{"without eventTime", nil, func(e *corev1.Event) { e.EventTime = metav1.MicroTime{} }, "eventTime: Required"},
		{"without controller", nil, func(e *corev1.Event) { e.ReportingController = "" }, "reportingController: Required"},
		{"of a bad controller", nil, func(e *corev1.Event) { e.ReportingController = "a/b/c" }, "reportingController: Invalid"},
		{"without instance", nil, func(e *corev1.Event) { e.ReportingInstance = "" }, "reportingInstance: Required"},
		{"with a long instance", nil, func(e *corev1.Event) { e.ReportingInstance = long }, "reportingInstance: Invalid value: \"\": can have at most 128"},
		{"without action", nil, func(e *corev1.Event) { e.Action = "" }, "action: Required"},
		{"without reason", nil, func(e *corev1.Event) { e.Reason = "" }, "reason: Required"},
		{"with a long note", nil, func(e *corev1.Event) { e.Message = long }, "message: Invalid value: \"\": can have at most 1024"},
		{"of another type", nil, func(e *corev1.Event) { e.Type = "Error" }, "type: Invalid"},
		{"of a cluster's object elsewhere", nil, func(e *corev1.Event) { e.InvolvedObject.Namespace = "" }, "involvedObject.namespace"},
		{"with a source", nil, func(e *corev1.Event) { e.Source.Component = "c" }, "source: Invalid"},
		{"with a count", nil, func(e *corev1.Event) { e.Count = 1 }, "count: Invalid"},
		{"with a first time", nil, func(e *corev1.Event) { e.FirstTimestamp = metav1.Now() }, "firstTimestamp: Invalid"},
		{"with a last time", nil, func(e *corev1.Event) { e.LastTimestamp = metav1.Now() }, "lastTimestamp: Invalid"},
		{"with a series of one", nil, func(e *corev1.Event) { e.Series = &corev1.EventSeries{Count: 1} }, "series.count"},
		{"with a series without a time", nil, func(e *corev1.Event) { e.Series = &corev1.EventSeries{Count: 2} }, "series.lastObservedTime: Required"},
		{"a series begins", reported(), func(e *corev1.Event) { e.Series = series }, ""},
		{"a bad series", reported(), func(e *corev1.Event) { e.Series = &corev1.EventSeries{} }, "series.count"},
		{"another note", reported(), func(e *corev1.Event) { e.Message = "yes" }, "message: Invalid value: \"yes\": field is immutable"},
		{"another object", reported(), func(e *corev1.Event) { e.InvolvedObject.Name = "other" }, "involvedObject: Invalid"},
		{"another controller", reported(), func(e *corev1.Event) { e.ReportingController = "other" }, "reportingController: Invalid"},
		{"a label of an old event", legacy, func(e *corev1.Event) { e.Labels = map[string]string{"a": "b"} }, ""},
	}
	rules := newStrategy(NewScheme(), findIn(t, eventsv1.SchemeGroupVersion, "events"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			event := reported()
			if c.old != nil {
				event = c.old.DeepCopy()
			}
			c.change(event)
			errs := rules.Validate(context.Background(), event)
			if c.old != nil {
				errs = rules.ValidateUpdate(context.Background(), event, c.old)
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

func TestFieldSelectorsOfEvents(t *testing.T) {
	scheme := NewScheme()
	event := eventsv1.SchemeGroupVersion.WithKind("Event")
	for asked, label := range map[string]string{"regarding.name": "involvedObject.name", "regarding.uid": "involvedObject.uid",
		"reportingController": "reportingComponent", "reason": "reason", "type": "type", "metadata.name": "metadata.name"} {
		if got, _, err := scheme.ConvertFieldLabel(event, asked, "x"); got != label || err != nil {
			t.Errorf("%s: %s, %v", asked, got, err)
		}
	}
	for _, asked := range []string{"involvedObject.name", "reportingComponent", "source", "note"} {
		if _, _, err := scheme.ConvertFieldLabel(event, asked, "x"); err == nil {
			t.Errorf("%s was accepted", asked)
		}
	}
}
