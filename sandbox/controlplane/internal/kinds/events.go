package kinds

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file serves the core events a second time, as events.k8s.io/v1.
//
// kube-apiserver has one internal type for both. Here, the Event of core/v1 takes its place: it is the internal
// version in both groups, and has conversions to and from events.k8s.io/v1. So etcd has each event once, as
// core/v1, and the libraries convert it in each request, watch, patch and apply. A storage that converts by
// itself would also have to convert watches, managed fields and what admission sees.

// eventsOfGroup is the kind in events.k8s.io/v1.
func eventsOfGroup() Kind {
	k := events()
	k.InCore = true
	k.Validate = validateEvent
	k.Fields = nil
	k.Asked = map[string]string{"reportingController": "reportingComponent"}
	for _, f := range eventFields {
		if f.Label == "source" {
			continue // events.k8s.io/v1 has no such selector
		}
		k.Fields = append(k.Fields, f)
		if part, ok := strings.CutPrefix(f.Label, "involvedObject."); ok {
			k.Asked["regarding."+part] = f.Label
		}
	}
	return k
}

func addEventConversions(scheme *runtime.Scheme) {
	addConversion(scheme, eventFromCore)
	addConversion(scheme, eventToCore)
	addConversion(scheme, func(in *corev1.EventList, out *eventsv1.EventList) {
		out.ListMeta, out.Items = in.ListMeta, convertAll(in.Items, eventFromCore)
	})
	addConversion(scheme, func(in *eventsv1.EventList, out *corev1.EventList) {
		out.ListMeta, out.Items = in.ListMeta, convertAll(in.Items, eventToCore)
	})
}

func addConversion[A, B any](scheme *runtime.Scheme, convert func(*A, *B)) {
	utilruntime.Must(scheme.AddConversionFunc((*A)(nil), (*B)(nil), func(a, b any, _ conversion.Scope) error {
		convert(a.(*A), b.(*B))
		return nil
	}))
}

// convertAll keeps nil, because JSON distinguishes it from an empty list.
func convertAll[A, B any](in []A, convert func(*A, *B)) []B {
	if in == nil {
		return nil
	}
	out := make([]B, len(in))
	for i := range in {
		convert(&in[i], &out[i])
	}
	return out
}

func eventFromCore(in *corev1.Event, out *eventsv1.Event) {
	*out = eventsv1.Event{
		ObjectMeta: in.ObjectMeta, EventTime: in.EventTime, Series: (*eventsv1.EventSeries)(in.Series), Action: in.Action,
		ReportingController: in.ReportingController, ReportingInstance: in.ReportingInstance,
		Reason: in.Reason, Type: in.Type, Note: in.Message, Regarding: in.InvolvedObject, Related: in.Related,
		DeprecatedSource: in.Source, DeprecatedCount: in.Count,
		DeprecatedFirstTimestamp: in.FirstTimestamp, DeprecatedLastTimestamp: in.LastTimestamp,
	}
}

func eventToCore(in *eventsv1.Event, out *corev1.Event) {
	*out = corev1.Event{
		ObjectMeta: in.ObjectMeta, EventTime: in.EventTime, Series: (*corev1.EventSeries)(in.Series), Action: in.Action,
		ReportingController: in.ReportingController, ReportingInstance: in.ReportingInstance,
		Reason: in.Reason, Type: in.Type, Message: in.Note, InvolvedObject: in.Regarding, Related: in.Related,
		Source: in.DeprecatedSource, Count: in.DeprecatedCount,
		FirstTimestamp: in.DeprecatedFirstTimestamp, LastTimestamp: in.DeprecatedLastTimestamp,
	}
}

// validateEvent applies the rules of events.k8s.io/v1. Messages name the fields as in core/v1, like those of
// kube-apiserver. The core group accepts events of older recorders, which do not satisfy these rules.
func validateEvent(obj, old runtime.Object) field.ErrorList {
	event := obj.(*corev1.Event)
	if old == nil {
		errs := append(validateReport(event), validateSeries(event.Series)...)
		return append(errs, validateNew(event)...)
	}
	before := old.(*corev1.Event)
	var errs field.ErrorList
	if !before.EventTime.IsZero() {
		errs = validateReport(event)
	}
	if !equality.Semantic.DeepEqual(event.Series, before.Series) {
		errs = append(errs, validateSeries(event.Series)...)
	}
	return append(errs, validateSame(event, before)...)
}

const longestName, longestNote = 128, 1024

// validateReport checks what an event must say, unless an older recorder made it.
func validateReport(e *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	if e.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	about := e.InvolvedObject.Namespace
	if about == "" && e.Namespace != metav1.NamespaceDefault && e.Namespace != metav1.NamespaceSystem {
		errs = append(errs, field.Invalid(field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace"))
	}
	for _, text := range []struct {
		name, value string
		longest     int
		required    bool
	}{
		{"reportingController", e.ReportingController, 0, true},
		{"reportingInstance", e.ReportingInstance, longestName, true},
		{"action", e.Action, longestName, true},
		{"reason", e.Reason, longestName, true},
		{"message", e.Message, longestNote, false},
	} {
		if text.required && text.value == "" {
			errs = append(errs, field.Required(field.NewPath(text.name), ""))
		}
		if text.longest > 0 && len(text.value) > text.longest {
			errs = append(errs, field.Invalid(field.NewPath(text.name), "", fmt.Sprintf("can have at most %d characters", text.longest)))
		}
	}
	for _, message := range validation.IsQualifiedName(e.ReportingController) {
		errs = append(errs, field.Invalid(field.NewPath("reportingController"), e.ReportingController, message))
	}
	return errs
}

func validateSeries(s *corev1.EventSeries) field.ErrorList {
	var errs field.ErrorList
	if s == nil {
		return nil
	}
	if s.Count < 2 {
		errs = append(errs, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
	}
	if s.LastObservedTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
	return errs
}

// validateNew refuses unknown types and the fields of older recorders.
func validateNew(e *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), "", "has invalid value: "+e.Type))
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"firstTimestamp", !e.FirstTimestamp.IsZero()},
		{"lastTimestamp", !e.LastTimestamp.IsZero()},
		{"count", e.Count != 0},
		{"source", e.Source != corev1.EventSource{}},
	} {
		if f.set {
			errs = append(errs, field.Invalid(field.NewPath(f.name), "", "needs to be unset"))
		}
	}
	return errs
}

// validateSame refuses every change except of the series and the metadata.
func validateSame(e, before *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	for _, f := range []struct {
		name     string
		now, was any
	}{
		{"involvedObject", e.InvolvedObject, before.InvolvedObject},
		{"reason", e.Reason, before.Reason},
		{"message", e.Message, before.Message},
		{"source", e.Source, before.Source},
		{"firstTimestamp", e.FirstTimestamp, before.FirstTimestamp},
		{"lastTimestamp", e.LastTimestamp, before.LastTimestamp},
		{"count", e.Count, before.Count},
		{"type", e.Type, before.Type},
		{"eventTime", e.EventTime, before.EventTime},
		{"action", e.Action, before.Action},
		{"related", e.Related, before.Related},
		{"reportingController", e.ReportingController, before.ReportingController},
		{"reportingInstance", e.ReportingInstance, before.ReportingInstance},
	} {
		if !equality.Semantic.DeepEqual(f.now, f.was) {
			errs = append(errs, field.Invalid(field.NewPath(f.name), f.now, immutable))
		}
	}
	return errs
}
