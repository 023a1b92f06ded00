package kinds

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage/names"
)

// strategy defines how the registry prepares and validates the objects of a kind before it stores them.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind Kind
}

func newStrategy(scheme *runtime.Scheme, k Kind) strategy {
	return strategy{scheme, names.SimpleNameGenerator, k}
}

func (s strategy) NamespaceScoped() bool { return s.kind.Namespaced }

// PrepareForCreate drops the status, which only controllers write.
func (s strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	if s.kind.CopyStatus != nil {
		s.kind.CopyStatus(obj, s.kind.New())
	}
	if s.kind.Spec != nil {
		metaOf(obj).Generation = 1
	}
	if s.kind.Prepare != nil {
		s.kind.Prepare(obj, nil)
	}
}

func (s strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if s.kind.CopyStatus != nil {
		s.kind.CopyStatus(obj, old)
	}
	if s.kind.Spec != nil {
		if !equality.Semantic.DeepEqual(s.kind.Spec(obj), s.kind.Spec(old)) {
			metaOf(obj).Generation++ // the registry has just set it to the old value
		}
	}
	if s.kind.Prepare != nil {
		s.kind.Prepare(obj, old)
	}
}

func (s strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return append(s.validateMeta(obj), s.validateContent(obj, nil)...)
}

func (s strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.validateContent(obj, old)
}

func (s strategy) validateMeta(obj runtime.Object) field.ErrorList {
	valid := s.kind.ValidName
	if valid == nil {
		valid = path.ValidatePathSegmentName
	}
	return apivalidation.ValidateObjectMetaAccessor(obj.(metav1.Object), s.kind.Namespaced, valid, field.NewPath("metadata"))
}

func (s strategy) validateContent(obj, old runtime.Object) field.ErrorList {
	if s.kind.Validate == nil {
		return nil
	}
	return s.kind.Validate(obj, old)
}

func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }
func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
func (strategy) Canonicalize(runtime.Object)    {}
func (strategy) AllowCreateOnUpdate() bool      { return false }
func (strategy) AllowUnconditionalUpdate() bool { return true }

// statusStrategy writes only the status.
type statusStrategy struct{ strategy }

func (s statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	kept := old.DeepCopyObject()
	s.kind.CopyStatus(kept, obj)
	*metaOf(kept) = *metaOf(obj) // with the managed fields of this write
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(kept).Elem())
}

func (statusStrategy) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

func metaOf(obj runtime.Object) *metav1.ObjectMeta {
	return obj.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}
