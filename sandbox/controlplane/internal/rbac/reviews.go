package rbac

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// AccessReviews returns the storage of the access review kinds, by resource name.
func AccessReviews(a *Authorizer) map[string]rest.Storage {
	return map[string]rest.Storage{
		"selfsubjectaccessreviews":  review[authorizationv1.SelfSubjectAccessReview]("selfsubjectaccessreview", false, a.selfReview),
		"subjectaccessreviews":      review[authorizationv1.SubjectAccessReview]("subjectaccessreview", false, a.subjectReview),
		"localsubjectaccessreviews": review[authorizationv1.LocalSubjectAccessReview]("localsubjectaccessreview", true, a.localReview),
		"selfsubjectrulesreviews":   review[authorizationv1.SelfSubjectRulesReview]("selfsubjectrulesreview", false, a.rulesReview),
	}
}

// IdentityReviews returns the storage of SelfSubjectReview, by resource name.
func IdentityReviews() map[string]rest.Storage {
	return map[string]rest.Storage{
		"selfsubjectreviews": review[authenticationv1.SelfSubjectReview]("selfsubjectreview", false, identify),
	}
}

// reviewREST is the storage of a kind that is never stored: a create returns the result.
type reviewREST struct {
	singular   string
	namespaced bool
	make       func() runtime.Object
	answer     func(ctx context.Context, who user.Info, obj runtime.Object) error
}

func review[T any, P interface {
	*T
	runtime.Object
}](singular string, namespaced bool, answer func(context.Context, user.Info, P) error) reviewREST {
	return reviewREST{
		singular: singular, namespaced: namespaced,
		make: func() runtime.Object { return P(new(T)) },
		answer: func(ctx context.Context, who user.Info, obj runtime.Object) error {
			return answer(ctx, who, obj.(P))
		},
	}
}

// NamespaceScoped implements rest.Scoper.
func (r reviewREST) NamespaceScoped() bool { return r.namespaced }

// New implements rest.Storage.
func (r reviewREST) New() runtime.Object { return r.make() }

// Destroy implements rest.Storage.
func (reviewREST) Destroy() {}

// GetSingularName implements rest.SingularNameProvider.
func (r reviewREST) GetSingularName() string { return r.singular }

// Create implements rest.Creater.
func (r reviewREST) Create(ctx context.Context, obj runtime.Object, valid rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	who, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	if valid != nil {
		if err := valid(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	return obj, r.answer(ctx, who, obj)
}

func (a *Authorizer) selfReview(ctx context.Context, who user.Info, r *authorizationv1.SelfSubjectAccessReview) error {
	r.Status = a.decide(ctx, who, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	return nil
}

func (a *Authorizer) subjectReview(ctx context.Context, _ user.Info, r *authorizationv1.SubjectAccessReview) error {
	r.Status = a.decide(ctx, subject(r.Spec), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	return nil
}

func (a *Authorizer) localReview(ctx context.Context, _ user.Info, r *authorizationv1.LocalSubjectAccessReview) error {
	asked := r.Spec.ResourceAttributes
	if asked == nil || asked.Namespace != request.NamespaceValue(ctx) {
		return apierrors.NewBadRequest(fmt.Sprintf("spec.resourceAttributes.namespace must match namespace: %q", request.NamespaceValue(ctx)))
	}
	r.Status = a.decide(ctx, subject(r.Spec), asked, nil)
	return nil
}

func (a *Authorizer) rulesReview(ctx context.Context, who user.Info, r *authorizationv1.SelfSubjectRulesReview) error {
	resources, paths, incomplete, err := a.RulesFor(ctx, who, r.Spec.Namespace)
	for _, rule := range resources {
		r.Status.ResourceRules = append(r.Status.ResourceRules, authorizationv1.ResourceRule{
			Verbs: rule.GetVerbs(), APIGroups: rule.GetAPIGroups(), Resources: rule.GetResources(), ResourceNames: rule.GetResourceNames(),
		})
	}
	for _, rule := range paths {
		r.Status.NonResourceRules = append(r.Status.NonResourceRules, authorizationv1.NonResourceRule{
			Verbs: rule.GetVerbs(), NonResourceURLs: rule.GetNonResourceURLs(),
		})
	}
	r.Status.Incomplete = incomplete
	return err
}

func identify(_ context.Context, who user.Info, r *authenticationv1.SelfSubjectReview) error {
	r.Status.UserInfo = authenticationv1.UserInfo{Username: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups()}
	return nil
}

func subject(spec authorizationv1.SubjectAccessReviewSpec) user.Info {
	return &user.DefaultInfo{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
}

func (a *Authorizer) decide(ctx context.Context, who user.Info, on *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	asked := authorizer.AttributesRecord{User: who}
	switch {
	case on != nil:
		asked.ResourceRequest = true
		asked.Verb, asked.Namespace, asked.APIGroup, asked.APIVersion = on.Verb, on.Namespace, on.Group, on.Version
		asked.Resource, asked.Subresource, asked.Name = on.Resource, on.Subresource, on.Name
	case path != nil:
		asked.Verb, asked.Path = path.Verb, path.Path
	}
	decision, reason, _ := a.Authorize(ctx, asked)
	return authorizationv1.SubjectAccessReviewStatus{Allowed: decision == authorizer.DecisionAllow, Reason: reason}
}
