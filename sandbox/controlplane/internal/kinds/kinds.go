// Package kinds serves the built-in kinds that Crossplane, its packages and their users need: a table of kinds
// with the published external types, and their storage.
//
// kube-apiserver has an internal type for each kind, with conversions. Those are not published, and are not
// needed with one version per kind: here, every external type is also registered as its own internal version.
// Only events have two versions, see events.go.
package kinds

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Kind is the definition of one built-in kind.
type Kind struct {
	Resource   string
	Singular   string
	ShortNames []string
	Categories []string
	Namespaced bool
	New        func() runtime.Object
	NewList    func() runtime.Object
	// ValidName checks names; nil allows every path segment.
	ValidName apivalidation.ValidateNameFunc
	// Prepare modifies an object before it is stored; old is nil for a new object.
	Prepare func(obj, old runtime.Object)
	// Validate checks an object before it is stored; old is nil for a new object.
	Validate func(obj, old runtime.Object) field.ErrorList
	// CopyStatus copies the status from one object to another; nil means no status subresource.
	CopyStatus func(to, from runtime.Object)
	// Spec is set if metadata.generation counts changes of the specification.
	Spec func(obj runtime.Object) any
	// Fields are the field selectors in addition to metadata.name and metadata.namespace.
	Fields []Field
	// Asked maps a selector in requests to the label in Fields, for labels that this group names differently.
	Asked map[string]string
	// Columns follow NAME in `kubectl get`.
	Columns []Column
	// TTLSeconds is the time after which an object expires; 0 means never.
	TTLSeconds uint64
	// InCore is set if the objects are those of the core group's kind with the same resource name.
	InCore bool
}

// Group is an API group in its served version.
type Group struct {
	Version schema.GroupVersion
	Kinds   []Kind
}

// object is implemented by the pointer to each API type.
type object[T any] interface {
	*T
	runtime.Object
}

// of returns the constructor of an API type.
func of[T any, P object[T]]() func() runtime.Object {
	return func() runtime.Object { return P(new(T)) }
}

// kind creates a table entry from the types of the object and its list.
func kind[T, L any, P object[T], PL object[L]](resource, singular string, namespaced bool, shortNames ...string) Kind {
	return Kind{
		Resource: resource, Singular: singular, Namespaced: namespaced, ShortNames: shortNames,
		New: of[T, P](), NewList: of[L, PL](), ValidName: apivalidation.NameIsDNSSubdomain,
	}
}

// Groups returns the groups in the order in which discovery lists them.
func Groups() []Group {
	return []Group{
		{corev1.SchemeGroupVersion, coreKinds()},
		{appsv1.SchemeGroupVersion, []Kind{deployments()}},
		{coordinationv1.SchemeGroupVersion, []Kind{leases()}},
		{eventsv1.SchemeGroupVersion, []Kind{eventsOfGroup()}},
		{rbacv1.SchemeGroupVersion, rbacKinds()},
		{admissionregistrationv1.SchemeGroupVersion, admissionKinds()},
	}
}

func coreKinds() []Kind {
	serviceAccounts := kind[corev1.ServiceAccount, corev1.ServiceAccountList]("serviceaccounts", "serviceaccount", true, "sa")
	return []Kind{namespaces(), secrets(), configMaps(), serviceAccounts, services(), events()}
}

func namespaces() Kind {
	k := kind[corev1.Namespace, corev1.NamespaceList]("namespaces", "namespace", false, "ns")
	k.ValidName = apivalidation.ValidateNamespaceName
	k.Prepare = prepareNamespace
	k.CopyStatus = func(to, from runtime.Object) { to.(*corev1.Namespace).Status = from.(*corev1.Namespace).Status }
	k.Fields = namespaceFields
	k.Columns = namespaceColumns
	return k
}

func secrets() Kind {
	k := kind[corev1.Secret, corev1.SecretList]("secrets", "secret", true)
	k.Prepare = prepareSecret
	k.Validate = validateSecret
	k.Fields = secretFields
	k.Columns = secretColumns
	return k
}

func configMaps() Kind {
	k := kind[corev1.ConfigMap, corev1.ConfigMapList]("configmaps", "configmap", true, "cm")
	k.Validate = validateConfigMap
	k.Columns = configMapColumns
	return k
}

func services() Kind {
	k := kind[corev1.Service, corev1.ServiceList]("services", "service", true, "svc")
	k.Categories = []string{"all"}
	k.ValidName = apivalidation.NameIsDNS1035Label
	k.CopyStatus = func(to, from runtime.Object) { to.(*corev1.Service).Status = from.(*corev1.Service).Status }
	k.Columns = serviceColumns
	return k
}

func events() Kind {
	k := kind[corev1.Event, corev1.EventList]("events", "event", true, "ev")
	k.Fields = eventFields
	k.Columns = eventColumns
	k.TTLSeconds = 3600 // kube-apiserver's --event-ttl
	return k
}

func deployments() Kind {
	k := kind[appsv1.Deployment, appsv1.DeploymentList]("deployments", "deployment", true, "deploy")
	k.Categories = []string{"all"}
	k.CopyStatus = func(to, from runtime.Object) { to.(*appsv1.Deployment).Status = from.(*appsv1.Deployment).Status }
	k.Spec = func(obj runtime.Object) any { return obj.(*appsv1.Deployment).Spec }
	k.Columns = deploymentColumns
	return k
}

func leases() Kind {
	k := kind[coordinationv1.Lease, coordinationv1.LeaseList]("leases", "lease", true)
	k.Columns = leaseColumns
	return k
}

func rbacKinds() []Kind {
	all := []Kind{
		kind[rbacv1.ClusterRole, rbacv1.ClusterRoleList]("clusterroles", "clusterrole", false),
		kind[rbacv1.ClusterRoleBinding, rbacv1.ClusterRoleBindingList]("clusterrolebindings", "clusterrolebinding", false),
		kind[rbacv1.Role, rbacv1.RoleList]("roles", "role", true),
		kind[rbacv1.RoleBinding, rbacv1.RoleBindingList]("rolebindings", "rolebinding", true),
	}
	for i := range all {
		all[i].ValidName = path.ValidatePathSegmentName // "system:discovery" is a name
		all[i].Validate = validateRBAC
	}
	all[1].Columns, all[3].Columns = bindingColumns, bindingColumns
	return all
}

func admissionKinds() []Kind {
	validating := kind[admissionregistrationv1.ValidatingWebhookConfiguration, admissionregistrationv1.ValidatingWebhookConfigurationList](
		"validatingwebhookconfigurations", "validatingwebhookconfiguration", false)
	mutating := kind[admissionregistrationv1.MutatingWebhookConfiguration, admissionregistrationv1.MutatingWebhookConfigurationList](
		"mutatingwebhookconfigurations", "mutatingwebhookconfiguration", false)
	bindings := kind[admissionregistrationv1.ValidatingAdmissionPolicyBinding, admissionregistrationv1.ValidatingAdmissionPolicyBindingList](
		"validatingadmissionpolicybindings", "validatingadmissionpolicybinding", false)
	validating.Validate, mutating.Validate = validateWebhooks, validateWebhooks
	validating.Columns, mutating.Columns, bindings.Columns = webhookColumns, webhookColumns, policyBindingColumns
	return []Kind{validating, mutating, admissionPolicies(), bindings}
}

func admissionPolicies() Kind {
	k := kind[admissionregistrationv1.ValidatingAdmissionPolicy, admissionregistrationv1.ValidatingAdmissionPolicyList](
		"validatingadmissionpolicies", "validatingadmissionpolicy", false)
	k.CopyStatus = func(to, from runtime.Object) {
		to.(*admissionregistrationv1.ValidatingAdmissionPolicy).Status = from.(*admissionregistrationv1.ValidatingAdmissionPolicy).Status
	}
	k.Spec = func(obj runtime.Object) any { return obj.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec }
	k.Columns = policyColumns
	return k
}
