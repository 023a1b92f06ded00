package kinds

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// Field is one field selector of a kind.
type Field struct {
	Label string
	Value func(obj runtime.Object) string
}

// eventFields are the field selectors with which `kubectl describe` and client libraries select events.
var eventFields = []Field{
	{"involvedObject.kind", func(o runtime.Object) string { return o.(*corev1.Event).InvolvedObject.Kind }},
	{"involvedObject.namespace", func(o runtime.Object) string { return o.(*corev1.Event).InvolvedObject.Namespace }},
	{"involvedObject.name", func(o runtime.Object) string { return o.(*corev1.Event).InvolvedObject.Name }},
	{"involvedObject.uid", func(o runtime.Object) string { return string(o.(*corev1.Event).InvolvedObject.UID) }},
	{"involvedObject.apiVersion", func(o runtime.Object) string { return o.(*corev1.Event).InvolvedObject.APIVersion }},
	{"involvedObject.resourceVersion", func(o runtime.Object) string { return o.(*corev1.Event).InvolvedObject.ResourceVersion }},
	{"involvedObject.fieldPath", func(o runtime.Object) string { return o.(*corev1.Event).InvolvedObject.FieldPath }},
	{"reason", func(o runtime.Object) string { return o.(*corev1.Event).Reason }},
	{"reportingComponent", func(o runtime.Object) string { return o.(*corev1.Event).ReportingController }},
	{"source", func(o runtime.Object) string { return eventSource(o.(*corev1.Event)) }},
	{"type", func(o runtime.Object) string { return o.(*corev1.Event).Type }},
}

var namespaceFields = []Field{
	{"status.phase", func(o runtime.Object) string { return string(o.(*corev1.Namespace).Status.Phase) }},
	{"name", func(o runtime.Object) string { return o.(*corev1.Namespace).Name }},
}

var secretFields = []Field{
	{"type", func(o runtime.Object) string { return string(o.(*corev1.Secret).Type) }},
}

func eventSource(e *corev1.Event) string {
	if e.Source.Component != "" {
		return e.Source.Component
	}
	return e.ReportingController
}

// acceptFields returns a check of the field selectors in a request, which gives them the labels of the kind's fields.
func acceptFields(k Kind) runtime.FieldLabelConversionFunc {
	known := map[string]string{"metadata.name": "metadata.name", "metadata.namespace": "metadata.namespace"}
	for _, f := range k.Fields {
		known[f.Label] = f.Label
	}
	for asked, label := range k.Asked {
		delete(known, label)
		known[asked] = label
	}
	return func(asked, value string) (string, string, error) {
		label, ok := known[asked]
		if !ok {
			return "", "", fmt.Errorf("field label not supported: %s", asked)
		}
		return label, value, nil
	}
}

// attributes returns what selectors compare: labels, names and the kind's own fields.
func attributes(k Kind) storage.AttrFunc {
	return func(obj runtime.Object) (labels.Set, fields.Set, error) {
		m, ok := obj.(metav1.Object)
		if !ok {
			return nil, nil, fmt.Errorf("%T has no metadata", obj)
		}
		set := fields.Set{"metadata.name": m.GetName(), "metadata.namespace": m.GetNamespace()}
		for _, f := range k.Fields {
			set[f.Label] = f.Value(obj)
		}
		return m.GetLabels(), set, nil
	}
}
