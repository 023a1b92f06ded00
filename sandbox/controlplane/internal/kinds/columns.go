package kinds

import (
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Column is a column of `kubectl get`. Wide columns are only shown with -o wide.
type Column struct {
	Name string
	Cell func(obj runtime.Object) any
	Wide bool
}

var namespaceColumns = []Column{
	{Name: "Status", Cell: func(o runtime.Object) any { return string(o.(*corev1.Namespace).Status.Phase) }},
}

var secretColumns = []Column{
	{Name: "Type", Cell: func(o runtime.Object) any { return string(o.(*corev1.Secret).Type) }},
	{Name: "Data", Cell: func(o runtime.Object) any { return int64(len(o.(*corev1.Secret).Data)) }},
}

var configMapColumns = []Column{
	{Name: "Data", Cell: func(o runtime.Object) any {
		return int64(len(o.(*corev1.ConfigMap).Data) + len(o.(*corev1.ConfigMap).BinaryData))
	}},
}

var serviceColumns = []Column{
	{Name: "Type", Cell: func(o runtime.Object) any { return string(o.(*corev1.Service).Spec.Type) }},
	{Name: "Cluster-IP", Cell: func(o runtime.Object) any { return orNone(o.(*corev1.Service).Spec.ClusterIP) }},
	{Name: "Port(s)", Cell: func(o runtime.Object) any { return servicePorts(o.(*corev1.Service)) }},
}

var deploymentColumns = []Column{
	{Name: "Ready", Cell: func(o runtime.Object) any {
		d := o.(*appsv1.Deployment)
		return fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, *d.Spec.Replicas)
	}},
	{Name: "Up-to-date", Cell: func(o runtime.Object) any { return int64(o.(*appsv1.Deployment).Status.UpdatedReplicas) }},
	{Name: "Available", Cell: func(o runtime.Object) any { return int64(o.(*appsv1.Deployment).Status.AvailableReplicas) }},
}

var leaseColumns = []Column{
	{Name: "Holder", Cell: func(o runtime.Object) any {
		if holder := o.(*coordinationv1.Lease).Spec.HolderIdentity; holder != nil {
			return *holder
		}
		return ""
	}},
}

var bindingColumns = []Column{
	{Name: "Role", Cell: func(o runtime.Object) any {
		ref := rbacv1.RoleRef{}
		switch b := o.(type) {
		case *rbacv1.RoleBinding:
			ref = b.RoleRef
		case *rbacv1.ClusterRoleBinding:
			ref = b.RoleRef
		}
		return ref.Kind + "/" + ref.Name
	}},
}

var webhookColumns = []Column{
	{Name: "Webhooks", Cell: func(o runtime.Object) any {
		switch c := o.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			return int64(len(c.Webhooks))
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			return int64(len(c.Webhooks))
		}
		return int64(0)
	}},
}

var policyColumns = []Column{
	{Name: "Validations", Cell: func(o runtime.Object) any {
		return int64(len(o.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec.Validations))
	}},
}

var policyBindingColumns = []Column{
	{Name: "PolicyName", Cell: func(o runtime.Object) any {
		return o.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec.PolicyName
	}},
}

// eventColumns replace NAME and AGE, because events are not addressed by name.
var eventColumns = []Column{
	{Name: "Last Seen", Cell: func(o runtime.Object) any { return since(lastSeen(o.(*corev1.Event))) }},
	{Name: "Type", Cell: func(o runtime.Object) any { return o.(*corev1.Event).Type }},
	{Name: "Reason", Cell: func(o runtime.Object) any { return o.(*corev1.Event).Reason }},
	{Name: "Object", Cell: func(o runtime.Object) any {
		about := o.(*corev1.Event).InvolvedObject
		return strings.ToLower(about.Kind) + "/" + about.Name
	}},
	{Name: "Source", Wide: true, Cell: func(o runtime.Object) any { return eventSource(o.(*corev1.Event)) }},
	{Name: "Message", Cell: func(o runtime.Object) any { return strings.TrimSpace(o.(*corev1.Event).Message) }},
	{Name: "First Seen", Wide: true, Cell: func(o runtime.Object) any { return since(firstSeen(o.(*corev1.Event))) }},
	{Name: "Count", Wide: true, Cell: func(o runtime.Object) any { return eventCount(o.(*corev1.Event)) }},
	{Name: "Name", Wide: true, Cell: func(o runtime.Object) any { return o.(*corev1.Event).Name }},
}

// lastSeen is the newest of the times that the old and new event recorders write.
func lastSeen(e *corev1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return firstSeen(e)
}

func firstSeen(e *corev1.Event) time.Time {
	if !e.FirstTimestamp.IsZero() {
		return e.FirstTimestamp.Time
	}
	return e.EventTime.Time
}

func eventCount(e *corev1.Event) int64 {
	if e.Series != nil {
		return int64(e.Series.Count)
	}
	return max(1, int64(e.Count))
}

func since(t time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t))
}

func age(obj runtime.Object) any {
	return since(obj.(metav1.Object).GetCreationTimestamp().Time)
}

func servicePorts(s *corev1.Service) string {
	ports := make([]string, 0, len(s.Spec.Ports))
	for _, p := range s.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
	}
	return orNone(strings.Join(ports, ","))
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}
