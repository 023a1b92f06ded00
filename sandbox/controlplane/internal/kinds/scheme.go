package kinds

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// NewScheme registers every built-in kind, the reviews, their defaults and their field selectors.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, coordinationv1.AddToScheme, eventsv1.AddToScheme, rbacv1.AddToScheme,
		admissionregistrationv1.AddToScheme, authorizationv1.AddToScheme, authenticationv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	for _, g := range Groups() {
		utilruntime.Must(scheme.SetVersionPriority(g.Version))
		for _, k := range g.Kinds {
			registerInternal(scheme, g.Version.Group, k.New(), k.NewList())
			registerFields(scheme, g.Version, k)
		}
	}
	registerInternal(scheme, authorizationv1.GroupName, &authorizationv1.SelfSubjectAccessReview{}, &authorizationv1.SubjectAccessReview{},
		&authorizationv1.LocalSubjectAccessReview{}, &authorizationv1.SelfSubjectRulesReview{})
	registerInternal(scheme, authenticationv1.GroupName, &authenticationv1.SelfSubjectReview{})
	addDefaults(scheme)
	addEventConversions(scheme)
	return scheme
}

// Codecs returns the serializers of a scheme.
func Codecs(scheme *runtime.Scheme) serializer.CodecFactory {
	return serializer.NewCodecFactory(scheme)
}

func registerInternal(scheme *runtime.Scheme, group string, types ...runtime.Object) {
	scheme.AddKnownTypes(schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal}, types...)
}

// registerFields lets the API server accept the kind's field selectors, and report unsupported ones.
func registerFields(scheme *runtime.Scheme, version schema.GroupVersion, k Kind) {
	gvks, _, err := scheme.ObjectKinds(k.New())
	utilruntime.Must(err)
	utilruntime.Must(scheme.AddFieldLabelConversionFunc(version.WithKind(gvks[0].Kind), acceptFields(k)))
}
